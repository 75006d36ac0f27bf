"""What the counts of a write come to: a state and a sentence for each rule."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import pytest

from trunkline import errors
from trunkline.jobs.expectations import (
    LONGEST_SAMPLE,
    TableFacts,
    facts,
    failure_text,
    greatest,
    settle,
    share,
    shortened,
)
from trunkline.model.expectations import Action, CheckKind, CheckResult, CheckState, Expectation

NOW = int(datetime(2026, 1, 10, 12, tzinfo=UTC).timestamp()) * 1_000_000
POSITIVE = Expectation("positive", CheckKind.EXPR, expr="revenue >=\n  0")


def settled(rule: Expectation, table: TableFacts, *before: int) -> CheckResult:
    (found,) = settle([rule], {"": table}, {"": before}, NOW)
    return found


def counted(broken: int, rows: int = 4_000) -> TableFacts:
    return TableFacts(seen=rows, rows=rows, broken={"positive": broken})


# -- rules about rows --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "state", "said"),
    [
        (Action.FAIL, CheckState.FAILED, ""),
        (Action.WARN, CheckState.WARNED, ""),
        (Action.DROP, CheckState.WARNED, "; they were dropped"),
        (Action.QUARANTINE, CheckState.WARNED, "; they were quarantined"),
    ],
)
def test_broken_rows_are_said_with_what_became_of_them(action, state, said):
    found = settled(replace(POSITIVE, action=action), counted(12))
    assert found.state is state
    assert found.said == f"12 of 4,000 rows (0.3 %) break revenue >= 0{said}"
    assert (found.rows, found.broken, found.rate) == (4_000, 12, 0.003)


def test_a_row_may_be_quarantined_rather_than_dropped():
    drop = replace(POSITIVE, action=Action.DROP)
    hold = Expectation("odd", CheckKind.EXPR, Action.QUARANTINE, expr="odd")
    for odd, said in ((0, "they were dropped"), (1, "they were dropped, unless quarantined")):
        table = TableFacts(10, 10, {"positive": 2, "odd": odd})
        assert settle([drop, hold], {"": table}, {}, NOW)[0].said.endswith(f"; {said}")


def test_a_rule_that_holds_says_so():
    assert settled(POSITIVE, counted(0)).said == "none of 4,000 rows break revenue >= 0"
    nothing = settled(POSITIVE, TableFacts(rows=9))
    assert (nothing.state, nothing.said) == (CheckState.PASSED, "no rows were computed")


@pytest.mark.parametrize(("broken", "state"), [(40, CheckState.PASSED), (41, CheckState.FAILED)])
def test_a_share_of_rows_may_be_tolerated(broken, state):
    found = settled(replace(POSITIVE, tolerate=0.01), counted(broken))
    assert found.state is state
    assert found.said.endswith("1 % are tolerated")


def test_rows_that_are_taken_out_are_told_of_whatever_is_tolerated():
    rule = replace(POSITIVE, action=Action.DROP, tolerate=0.5)
    assert settled(rule, counted(1)).state is CheckState.WARNED


@pytest.mark.parametrize(
    ("rule", "one", "several"),
    [
        (POSITIVE, "breaks revenue >= 0", "break revenue >= 0"),
        (Expectation("x", CheckKind.NOT_NULL, columns=("a", "b")), "has no a or no b",
         "have no a or no b"),
        (Expectation("x", CheckKind.ACCEPTED, columns=("a",), values=("x", 1)),
         "has a a other than x, 1", "have a a other than x, 1"),
        (Expectation("x", CheckKind.UNIQUE, columns=("a", "b")),
         "shares its a and b with another", "share their a and b with another"),
        (Expectation("x", CheckKind.FOREIGN_KEY, columns=("a",), references=("t", ("id",))),
         "has a a that is not in t (id)", "have a a that is not in t (id)"),
    ],
)  # fmt: skip
def test_every_kind_of_rule_is_said_in_words(rule, one, several):
    table = TableFacts(seen=10, broken={rule.name: 1})
    assert settled(rule, table).said == f"1 of 10 rows (10 %) {one}"
    assert settled(rule, replace(table, broken={rule.name: 2})).said.endswith(several)


@pytest.mark.parametrize(
    ("rate", "text"),
    [(0, "0 %"), (1, "100 %"), (0.5, "50 %"), (0.12345, "12.35 %"), (0.003, "0.3 %"),
     (0.0000001, "under 0.01 %"), (0.999999, "over 99.99 %")],
)  # fmt: skip
def test_a_share_is_never_rounded_to_nothing_or_to_all(rate, text):
    assert share(rate) == text


@dataclass(frozen=True)
class Written:
    seen: int
    broken: tuple[int, ...]
    samples: tuple[tuple[str, ...], ...]


def test_several_writes_of_a_table_add_up():
    some = [Written(10, (n, 0), (tuple(f'{{"n":{n}}}' for _ in range(3)), ())) for n in (1, 2)]
    found = facts(("a", "b"), some, rows=15, stats=["{}"])
    assert (found.seen, found.rows, dict(found.broken)) == (20, 15, {"a": 3, "b": 0})
    assert [json.loads(one)["n"] for one in found.samples["a"]] == [1, 1, 1, 2, 2]
    assert facts((), [], rows=3) == TableFacts(rows=3)


def test_samples_stay_small_and_stay_json():
    assert shortened('{"a":1}') == '{"a":1}'
    long = json.loads(shortened(json.dumps({"id": 1, "text": "x" * 9_999, "deep": [1] * 999})))
    assert long["id"] == 1
    assert all(len(long[name]) < 210 for name in ("text", "deep"))
    wide = shortened(json.dumps({f"column{n}": "y" * 150 for n in range(500)}))
    assert len(wide) < LONGEST_SAMPLE + 100
    assert json.loads(wide)["…"].endswith("more columns")
    assert json.loads(shortened("no json " * 100))["row"].startswith("no json")


# -- rules about tables ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "state", "said"),
    [
        (9, CheckState.FAILED, "the table has 9 rows, fewer than 10"),
        (10, CheckState.PASSED, "the table has 10 rows"),
        (2_001, CheckState.FAILED, "the table has 2,001 rows, more than 2,000"),
        (1, CheckState.FAILED, "the table has 1 row, fewer than 10"),
    ],
)
def test_a_table_has_neither_too_few_rows_nor_too_many(rows, state, said):
    rule = Expectation("size", CheckKind.ROW_COUNT, least=10, most=2000)
    found = settled(rule, TableFacts(rows=rows))
    assert (found.state, found.said, found.rows) == (state, said, rows)


@pytest.mark.parametrize(
    ("rows", "before", "state", "said"),
    [
        (79, (100,), CheckState.WARNED, "21 % fewer than 100; at most 20 % fewer are expected"),
        (80, (100,), CheckState.PASSED, "20 % fewer than 100"),
        (151, (100,), CheckState.WARNED, "51 % more than 100; at most 50 % more are expected"),
        (100, (100,), CheckState.PASSED, "as many as 100"),
        (100, (50, 150, 1), CheckState.PASSED, "as many as the mean 100 of 2 versions"),
        (5, (), CheckState.PASSED, "had none before to compare with"),
        (5, (0, 0), CheckState.PASSED, "had none before to compare with"),
    ],
)
def test_a_table_neither_shrinks_nor_grows_too_much(rows, before, state, said):
    rule = Expectation(
        "steady", CheckKind.ROW_COUNT_CHANGE, Action.WARN, least=0.2, most=0.5, over=2
    )
    found = settled(rule, TableFacts(rows=rows), *before)
    assert found.state is state
    assert found.said.endswith(said)


def stats(*values: object, column: str = "at") -> list[str]:
    return [json.dumps({column: [None, value, 0]}) for value in values]


def test_freshness_is_that_of_the_newest_value():
    rule = Expectation("fresh", CheckKind.FRESHNESS, columns=("At",), within=86_400)
    an_hour_ago = NOW - 3_600 * 1_000_000
    found = settled(rule, TableFacts(rows=3, stats=[*stats(an_hour_ago, 5), "", "{}"]))
    assert found.state is CheckState.PASSED
    assert found.said == "the newest At is 2026-01-10 11:00 UTC, 1h ago"
    late = settled(rule, TableFacts(rows=3, stats=stats("2026-01-08", "2026-01-07")))
    assert late.state is CheckState.FAILED
    assert late.said == "the newest At is 2026-01-08, 2d 12h ago; it may be 1d old"
    empty = settled(rule, TableFacts(stats=stats(None)))
    assert empty.state is CheckState.FAILED
    assert "no rows with one" in empty.said


def test_what_is_no_moment_cannot_be_fresh():
    with pytest.raises(errors.InvalidSpec, match='The column name holds "Ada"'):
        greatest(stats("Ada", column="name"), "name")
    assert greatest(stats("2026-01-01T00:00:00+01:00"), "at") == 1767222000000000


# -- all together ------------------------------------------------------------------------------


def test_a_rule_belongs_to_one_table():
    two = {"orders": counted(1), "items": counted(0)}
    rules = [replace(POSITIVE, table="orders"), replace(POSITIVE, table="items")]
    found = settle(rules, two, {}, NOW)
    assert [(one.table, one.broken) for one in found] == [("orders", 1), ("items", 0)]
    with pytest.raises(errors.InvalidSpec, match="must name its table: there are items, orders"):
        settle([POSITIVE], two, {}, NOW)
    with pytest.raises(errors.InvalidSpec, match='"item".*Did you mean "items"'):
        settle([replace(POSITIVE, table="item")], two, {}, NOW)
    assert settle([POSITIVE], {"orders": counted(3)}, {}, NOW)[0].broken == 3


def test_a_job_that_made_no_table_is_held_to_its_rules_all_the_same():
    size = Expectation("size", CheckKind.ROW_COUNT, least=1, table="orders")
    found = settle([POSITIVE, size], {}, {}, NOW)
    assert [one.state for one in found] == [CheckState.PASSED, CheckState.FAILED]


def test_the_reason_of_a_job_names_the_first_rule_that_failed():
    def result(name: str, state: CheckState) -> CheckResult:
        return CheckResult(name, CheckKind.EXPR, Action.FAIL, state, said=f"it is {name}")

    good, bad, worse = (
        result("a", CheckState.WARNED),
        result("b", CheckState.FAILED),
        result("c", CheckState.FAILED),
    )
    assert failure_text([good]) == ""
    assert failure_text([good, bad]) == "the check b: it is b"
    assert failure_text([good, bad, worse]) == "2 of 3 checks failed, the first b: it is b"
