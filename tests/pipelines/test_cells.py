"""What of a notebook travels with a function: what it reaches, the newest of each."""

import sys
from types import ModuleType

import pytest

import trunkline as tl
from trunkline.errors import InvalidSpec
from trunkline.pipelines.cells import FILE, cells_source, is_in_cell


@pytest.fixture
def cells(monkeypatch):
    """Cells as a kernel keeps them, and the namespace that they were run in."""
    main = ModuleType("__main__")
    main.__dict__["In"] = []
    monkeypatch.setitem(sys.modules, "__main__", main)

    def run(*texts):
        for text in texts:
            main.__dict__["In"].append(text)
            exec(compile(text, f"/tmp/ipykernel_1/{len(text)}.py", "exec"), main.__dict__)
        return main.__dict__

    return run


def test_only_what_is_reached_travels(cells):
    cells(
        "import math\nimport os", "other = 1", "half = 0.5", "def f(n):\n    return math.pi * half"
    )
    made = cells_source("f", "here")
    assert made == "import math\nhalf = 0.5\ndef f(n):\n    return math.pi * half\n"


def test_the_newest_cell_counts(cells):
    cells("def f(n):\n    return 1", "def f(n):\n    return 2")
    assert "return 2" in cells_source("f", "here")
    assert "return 1" not in cells_source("f", "here")


def test_modules_of_one_package_go_together(cells):
    parse, ask = "import urllib.parse", "import urllib.request"
    does = "def f(n):\n    return (urllib.parse, urllib.request)"
    cells(parse, ask, does)
    made = f"{parse}\n{ask}\n{does}\n"
    assert cells_source("f", "here") == made
    cells(parse)
    assert cells_source("f", "here") == made, "run again it is the same"
    cells("import json as urllib")
    assert cells_source("f", "here") == f"{does}\nimport json as urllib\n"


def test_names_of_columns_are_no_variables(cells):
    cells("shop = open('/dev/null').read()", "def f(n):\n    return n.groupBy('shop')")
    assert cells_source("f", "here") == "def f(n):\n    return n.groupBy('shop')\n"


def test_what_a_cell_computes_cannot_travel(cells):
    cells("rates = open('/dev/null').read()", "def f(n):\n    return rates")
    with pytest.raises(InvalidSpec, match="f uses rates, which a cell computes") as caught:
        cells_source("f", "here")
    assert "params" in caught.value.hint


def test_cells_that_are_no_python_are_passed_over(cells):
    names = cells("def f(n):\n    return 1")
    names["In"].insert(0, "%%html\n<b>")
    assert "return 1" in cells_source("f", "here")


def test_a_pipeline_of_a_cell_has_a_name_that_stays(cells):
    names = cells(
        "import trunkline as tl",
        "@tl.pipeline(input=tl.pfs('orders', glob='/*'))\ndef copy(datum):\n    return 1",
    )
    declared = names["copy"]
    assert is_in_cell(declared.function)
    assert declared.spec("default").transform.python == f"{FILE}:copy"
    assert declared.source == "def copy(datum):\n    return 1\n"


def test_a_function_that_is_gone_is_told(cells):
    cells("x = 1")
    with pytest.raises(InvalidSpec, match="no cell defines f"):
        cells_source("f", "here")


def test_functions_of_files_are_not_taken_for_cells():
    @tl.pipeline(input=tl.pfs("orders", glob="/*"))
    def copy(datum):
        return 1

    assert not is_in_cell(copy.function)
