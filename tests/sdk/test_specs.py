"""What is handed to `apply`: files beside specs, and functions that take their inputs."""

from pathlib import Path

import pytest

from trunkline.errors import InvalidSpec, TrunklineError
from trunkline.sdk.specs import gather

SPEC = """
pipeline: {name: daily}
input: {pfs: {repo: orders, glob: /}}
transform: {%s}
"""


def write(folder: Path, transform: str, **files: str) -> str:
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
    (folder / "a.yaml").write_text(SPEC % transform)
    return str(folder / "a.yaml")


def test_sql_beside_the_spec(tmp_path):
    path = write(tmp_path, "sql: day.sql", day_sql="\ufeffSELECT * FROM orders")
    (found,) = gather((path,), "default", {}).declared
    assert found.spec.transform.sql == "SELECT * FROM orders"
    assert found.spec.transform.sql_file == "day.sql"
    assert found.code == ()


def test_sql_beside_the_python_file(tmp_path):
    (tmp_path / "day.sql").write_text("SELECT * FROM orders")
    (tmp_path / "p.py").write_text(
        "import trunkline as tl\n"
        "p = tl.Pipeline(name='daily', input=tl.pfs('orders'), sql='day.sql')\n"
    )
    (found,) = gather((str(tmp_path / "p.py"),), "default", {}).declared
    assert found.spec.transform.sql == "SELECT * FROM orders"
    assert found.code == ()


def test_sql_of_a_dict_is_from_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "day.sql").write_text("SELECT 1")
    raw = {
        "pipeline": {"name": "daily"},
        "input": {"pfs": {"repo": "orders", "glob": "/"}},
        "transform": {"sql": "day.sql"},
    }
    (found,) = gather((raw,), "default", {}).declared
    assert found.spec.transform.sql == "SELECT 1"


def test_a_function_of_dataframes_travels_with_its_file(tmp_path):
    path = write(tmp_path, "spark: 'a.py:f'", a_py="def f(orders, ctx=None): ...")
    (found,) = gather((path,), "default", {}).declared
    assert [name for name, _ in found.code] == ["/a.py"]


@pytest.mark.parametrize(
    ("transform", "files", "said"),
    [
        ("sql: dya.sql", {"day_sql": "SELECT 1"}, 'Did you mean "day.sql"?'),
        ("spark: 'a.py:f'", {"a_py": "def g(orders): ..."}, 'a.py has no function "f".'),
        (
            "spark: 'a.py:f'",
            {"a_py": "def f(ordrs): ..."},
            'the parameter "ordrs" of f is no input. Did you mean "orders"?',
        ),
    ],
)
def test_refusals(tmp_path, transform, files, said):
    path = write(tmp_path, transform, **files)
    with pytest.raises(TrunklineError) as caught:
        gather((path,), "default", {})
    assert caught.value.message.startswith(path)
    assert caught.value.message.endswith(said)


def test_sql_that_is_no_text(tmp_path):
    path = write(tmp_path, "sql: day.sql")
    (tmp_path / "day.sql").write_bytes(b"SELECT '\xff'")
    with pytest.raises(InvalidSpec, match=r"transform\.sql: day\.sql is not UTF-8 text\."):
        gather((path,), "default", {})
