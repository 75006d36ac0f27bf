"""SQL of pipelines: its steps, what it reads, its parameters, and what is said of the rest."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import load
from trunkline.errors import InvalidSpec
from trunkline.model.pipelines import Param
from trunkline.pipelines.sql_fill import literal
from trunkline.pipelines.sql_tokens import tokens
from trunkline.pipelines.sqltext import (
    caret,
    check_params,
    check_reads,
    essence,
    fill,
    parse,
)

PARAMS: dict[str, Param] = {
    "s": "it's \\ fine",
    "n": 5,
    "minus": -5,
    "x": 1.5,
    "yes": True,
    "day": "2026-01-31",
    "near": "2026-02-31",
    "names": ("a", "b'c"),
    "days": ("2026-01-31",),
    "eu": "eu",
    "tick": "a`b",
    "lines": "a\nb",
}


def sql_of(case: list[str], *marks: str) -> str:
    return "\n".join(line for line in case if not line.startswith(marks))


def marked(case: list[str], mark: str) -> str | None:
    return next((line[len(mark) :].strip() for line in case if line.startswith(mark)), None)


@pytest.mark.parametrize("case", load("sql.case"), ids="|".join)
def test_cases(case):
    script = parse(sql_of(case, "=>", "<-", "<?"), where="day.sql")
    steps = [f"{step.kind}:{step.name}" if step.name else step.kind for step in script.steps]
    assert steps == (marked(case, "=>") or "").split()
    exact = marked(case, "<-")
    assert (script.doubt < 0) == (exact is not None)
    names = exact if exact is not None else marked(case, "<?")
    assert sorted(script.reads) == sorted((names or "").split())


@pytest.mark.parametrize("case", load("sql_refused.case"), ids="|".join)
def test_refusals(case):
    with pytest.raises(InvalidSpec) as caught:
        script = parse(sql_of(case, "=>", "??", "|>"), where="day.sql")
        check_reads(script, ["orders", "customers"], "day.sql")
    message, *picture = caught.value.message.split("\n")
    assert message == marked(case, "=>")
    assert len(picture) == 2
    for line in case:
        if line.startswith("|> "):
            assert picture[1] == line[3:]
        if line.startswith("?? "):
            assert caught.value.hint == line[3:]


@pytest.mark.parametrize("case", load("sql_fill.case"), ids="|".join)
def test_parameters(case):
    sql = sql_of(case, "=>", "!!")
    said = marked(case, "!!")
    if said is None:
        assert fill(sql, PARAMS, "day.sql") == marked(case, "=>")
        return
    with pytest.raises(InvalidSpec) as caught:
        fill(sql, PARAMS, "day.sql")
    assert caught.value.message.split("\n")[0] == said


def test_parameters_that_nothing_asks_for():
    check_params("SELECT ${a}, '${b}'", {"a": 1, "b": "x"}, "day.sql")
    with pytest.raises(InvalidSpec) as caught:
        check_params("SELECT ${a} -- ${b}", {"a": 1, "b": 2}, "transform.sql")
    assert caught.value.message.split("\n")[0] == (
        'transform.sql, line 1: nothing asks for the parameter "b".'
    )
    assert caught.value.hint == (
        "Write ${b} where it belongs, or take it out. The text asks for a."
    )


def test_steps_know_where_they_begin():
    sql = "-- a\nCREATE TEMP VIEW a AS\n  SELECT *\n  FROM x; SELECT * FROM a\n;"
    first, last = parse(sql, where="day.sql").steps
    assert (first.sql, first.line, first.column) == ("SELECT *\n  FROM x", 3, 3)
    assert (last.sql, last.line, last.column) == ("SELECT * FROM a", 4, 11)


def test_places_are_counted_in_characters():
    sql = "SELECT '😀ä' AS a,\n '😀' AS b FROM ordrs"
    with pytest.raises(InvalidSpec) as caught:
        check_reads(parse(sql, where="day.sql"), ["orders"], "day.sql")
    assert caught.value.message.split("\n")[1:] == [
        "2 |  '😀' AS b FROM ordrs",
        "  |                ^",
    ]


def test_a_caret_under_a_long_line_and_under_none():
    long = "SELECT " + "a, " * 100 + "b FROM c"
    said, line, mark = caret(long, 1, len(long), "wrong").split("\n")
    assert said == "wrong"
    assert len(line) < 120
    assert line[mark.index("^")] == "c"
    assert caret("a", 7, 1, "wrong") == "wrong"
    assert caret("\tab\x1bc", 1, 2, "x") == "x\n1 |  ab c\n  |  ^"


def test_comments_and_formatting_are_not_the_essence():
    plain = "SELECT a - b, '-- x' FROM c;"
    other = "-- why\nSELECT a -\n\tb, '-- x' /* so */ FROM c;  -- end\n"
    assert essence(plain) == essence(other)
    assert essence("SELECT 'a b'") != essence("SELECT 'a  b'")
    assert essence("SELECT a--b") == "SELECT a"


texts = st.text(max_size=20)


@given(texts)
def test_no_text_becomes_code(value):
    """Whatever a parameter holds, it stays one string, and one name."""
    for template, count in (("${a}", 1), ("'${a}'", 1), ("`x${a}`", 1), ('"${a}"', 1)):
        filled = fill(template, {"a": value}, "day.sql")
        assert len([*tokens(filled, "day.sql")]) == count or filled.startswith("DATE '")
        assert "\n" not in filled or template.startswith("`")


@given(st.text(st.sampled_from("ab'\"`\\ ;-/*${}()\n\tSELECT FROM"), max_size=40))
def test_any_text_is_read_or_refused(sql):
    with contextlib.suppress(InvalidSpec):
        parse(fill(sql, PARAMS, "day.sql"), where="day.sql")


@pytest.mark.parametrize(
    ("value", "text"),
    [(True, "TRUE"), (0, "0"), (1e-7, "1e-07"), ((1, "a"), "(1, 'a')"), ("", "''")],
)
def test_literals(value, text):
    assert literal(value) == text
