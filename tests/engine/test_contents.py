"""What a statement is made of, as Spark tells it, held against what may be; without a Spark."""

from __future__ import annotations

import pytest

from trunkline.engine.statements import Argument, Contents, UnknownFunction, judge, judge_step
from trunkline.errors import NotAllowed

QUERY = "org.apache.spark.sql.catalyst.plans.logical.Project"
KELVIN, FI = "\u212a", "\ufb01"


def reading(*names: str, exact: bool = False) -> Contents:
    return Contents((), (), frozenset((name,) for name in names), exact)


def test_inputs_are_read_in_upper_and_lower_case():
    judge_step(reading("orders", "ORDERS", f"BOO{KELVIN}S"), ["Orders", "books"])
    with pytest.raises(NotAllowed, match='"ORDERS" is none'):
        judge_step(reading("orders", "ORDERS", exact=True), ["orders"])


@pytest.mark.parametrize("name", ["orderſ", f"{FI}les", "İtems", "ıtems", "strasse"])
def test_what_spark_would_look_for_elsewhere_is_no_input(name: str):
    known = ["orders", "files", "items", "straße"]
    with pytest.raises(NotAllowed, match=f'"{name}" is none'):
        judge_step(reading(name), known)
    with pytest.raises(NotAllowed, match="two ways"):
        judge(Contents((QUERY,), (), frozenset({(name,)})), known)


def calling(kind: str, name: str, *arguments: Argument) -> Contents:
    called = kind, list(arguments), 0, 1, tuple(name.split("."))
    return Contents((QUERY,), (called,), frozenset())


CLASS = '{"type": "udt", "class": "java.lang.Object", "sqlType": "integer"}'
REFUSED = [
    ("from_json", None, CLASS),
    ("from_csv", None, CLASS),
    ("from_xml", None, "a int", None),
    ("schema_of_xml", None, None),
    ("to_xml", None, None, None),
    ("variant_get", None, "$", CLASS),
    ("try_variant_get", None, "$", None),
    ("reflect", "java.lang.System", "exit"),
    ("xpath", "<a/>", "/a"),
]
BEFORE = (
    "", "builtin.", "system.builtin.", "SYSTEM.Builtin.", "ſystem.builtin.", "system.buİltin.",
    "buıltin.", "session.", "system.session.", "a.b.c.", "builtin.builtin.",
)  # fmt: skip


@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("call", REFUSED, ids=lambda call: call[0])
def test_a_function_is_looked_into_whatever_is_in_front_of_its_name(
    before: str, call: tuple[str, *tuple[Argument, ...]]
):
    name, *arguments = call
    for spelled in (name, name.upper()):
        contents = calling("scalar", before + spelled, *arguments)
        for refuse in (lambda one: judge(one, []), lambda one: judge_step(one, [])):
            with pytest.raises(NotAllowed):
                refuse(contents)


def test_what_says_that_it_is_sparks_own_is_what_it_is_without_that():
    for before in ("", "builtin.", "system.builtin.", "System.BUILTIN."):
        for contents in (
            calling("scalar", before + "abs", None),
            calling("scalar", before + "from_json", None, "a int"),
            calling("scalar", before + "from_json", None, ["builtin", "schema_of_json"]),
            calling("table", before + "range", None),
        ):
            judge(contents, [])
            judge_step(contents, [])


@pytest.mark.parametrize("name", ["theirs", "session.theirs", "catalog.a.theirs", "reﬂect"])
def test_functions_that_are_not_sparks_are_for_pipelines_alone(name: str):
    judge_step(calling("scalar", name), [])
    with pytest.raises(UnknownFunction):
        judge(calling("scalar", name), [])


@pytest.mark.parametrize(
    "name", ["builtin.new", "SYSTEM.builtin.new", "ſystem.builtin.new", "buİltin.new"]
)
def test_what_may_be_sparks_own_and_is_in_no_list_is_nobody_elses(name: str):
    with pytest.raises(NotAllowed, match="no function"):
        judge_step(calling("scalar", name), [])
