"""What of a Python file can affect one of its functions."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import load
from trunkline.errors import InvalidSpec
from trunkline.pipelines.source import reachable_source


@pytest.mark.parametrize("case", load("source.case"), ids="|".join)
def test_cases(case):
    text = "\n".join(line for line in case if not line.startswith("=> "))
    (wanted,) = (line[3:] for line in case if line.startswith("=> "))
    found = reachable_source(text, "f", name="dir/file.py")
    if wanted == "*":
        assert found.splitlines() == [
            line for part in ast.parse(text).body for line in ast.unparse(part).splitlines()
        ]
    else:
        assert [line for line in found.splitlines() if line] == [
            line for line in wanted.split("|") if line
        ]
    compile(found, "file.py", "exec")


def test_comments_and_formatting_do_not_count():
    plain = "def f(datum):\n    return g(1)\ndef g(x):\n    return x\n"
    other = (
        "# why\n\ndef f( datum ) :\n  # because\n  return g( 1 )\n\n\n\ndef g(x):   return (x)\n"
    )
    assert reachable_source(plain, "f") == reachable_source(other, "f")


def test_what_is_refused():
    with pytest.raises(InvalidSpec) as caught:
        reachable_source("def edge(datum): ...", "edges", name="a.py")
    assert caught.value.message == 'a.py has no function "edges". Did you mean "edge"?'
    with pytest.raises(InvalidSpec, match=r"a\.py:2: "):
        reachable_source("x = 1\ndef f(:\n", "f", name="a.py")
    with pytest.raises(InvalidSpec):
        reachable_source("def f(d): return '\0'", "f", name="a.py")


calls = st.lists(st.lists(st.integers(0, 7), max_size=3), min_size=8, max_size=8)


def text_of(calls: list[list[int]], bodies: list[int]) -> str:
    """Functions f0 … f7, each with a number of its own, that call each other."""
    return "\n".join(
        f"def f{i}(datum):\n    return {bodies[i]}, {', '.join(f'f{j}(datum)' for j in below)}"
        for i, below in enumerate(calls)
    )


@given(calls, st.integers(0, 7))
def test_changing_what_is_reached_and_only_that_changes_the_source(calls, changed):
    reached = {0}
    while more := {j for i in reached for j in calls[i]} - reached:
        reached |= more
    bodies = [100 + i for i in range(8)]
    before = reachable_source(text_of(calls, bodies), "f0")
    bodies[changed] = 999
    after = reachable_source(text_of(calls, bodies), "f0")
    assert (before != after) == (changed in reached)
