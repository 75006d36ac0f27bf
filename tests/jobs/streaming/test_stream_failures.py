"""Rules on what streams give, and queries that are wrong: one line, and nothing is lost."""

from __future__ import annotations

from typing import Any

import pytest

import trunkline as tl
from tests.jobs.streaming.lakes import TOTALS, WINDOWS, Streams, marked
from trunkline.model.jobs import JobState
from trunkline.model.streams import FlowState

PLAIN = "SELECT user, v FROM clicks"
ROWS = [(1, "a", 1), (2, "b", -2)]


def rule(action: str) -> list[dict[str, Any]]:
    return [{"name": "positive", "expr": "v > 0", "action": action}]


@pytest.mark.parametrize("query", [PLAIN, TOTALS])
@pytest.mark.parametrize(
    ("action", "left"),
    [("warn", [("a", 1), ("b", -2)]), ("drop", [("a", 1)]), ("quarantine", [("a", 1)])],
)
def test_rules_on_rows(streams: Streams, query: str, action: str, left: Any) -> None:
    upsert = {"upsert": ["user"]} if query == TOTALS else {}
    streams.stream("checked", query, expectations=rule(action), **upsert)
    streams.put(*ROWS)
    streams.drain_well()
    assert streams.rows("checked", "user", "v") == left
    (check,) = streams.lake.checks("checked")
    assert check.result.broken == 1
    if action == "quarantine":
        rows = streams.rows("checked@main:/_quarantine/positive", "user", "v")
        assert rows == [("b", -2)]
    streams.put((3, "c", 4), (4, "b", 1))
    streams.drain_well()
    assert ("c", 4) in streams.rows("checked", "user", "v")


def test_a_batch_of_which_a_rule_leaves_nothing_is_told_all_the_same(streams: Streams) -> None:
    streams.stream("checked", PLAIN, expectations=rule("drop"), interval="1s")
    streams.put((2, "b", -2))
    (job,) = streams.drain_well()
    (check,) = streams.lake.checks("checked")
    assert (check.job, check.result.broken) == (job.id, 1)
    assert streams.batches("checked")[0].rows_out == 0


@pytest.mark.parametrize("how", [{}, {"interval": "1s"}])
def test_a_rule_that_must_hold(streams: Streams, how: Any) -> None:
    """Nothing is published and nothing read; with another rule it goes on without loss."""
    more = {"upsert": ["user"], **how}
    streams.stream("checked", TOTALS, expectations=rule("fail"), **more)
    streams.put((1, "a", 1))
    streams.drain_well()
    before = streams.flow("checked")
    streams.put((2, "b", -2))
    reason = streams.fail("checked")
    assert "positive" in reason
    after = streams.flow("checked")
    assert (after.state, after.reason) == (FlowState.FAILED, reason)
    assert (after.position, after.number) == (before.position, before.number)
    assert streams.rows("checked", "user", "v") == [("a", 1)]
    streams.put((3, "c", 3))
    streams.stream("checked", TOTALS, expectations=rule("warn"), **more)
    streams.drain_well()
    assert streams.rows("checked", "user", "v") == [("a", 1), ("b", -2), ("c", 3)]
    assert streams.flow("checked").state is not FlowState.FAILED
    assert streams.lake.fsck().ok


RAISES = """
def f(clicks):
    from pyspark.sql import functions as F

    @F.udf("long")
    def divided(v):
        return 10 // v
    found = clicks.select("user", divided("v").alias("v"))
    return found
"""
RAISES_AT_ONCE = """
def f(clicks):
    numbers = {}
    return clicks.where(numbers["limit"])
"""
RAISES_WITH_STATE = """
from pyspark.sql.streaming import StatefulProcessor
from pyspark.sql.types import LongType, StringType, StructField, StructType

class Count(StatefulProcessor):
    def init(self, handle):
        pass

    def handleInputRows(self, key, rows, times):
        yield 1 + "a"

    def close(self):
        pass

def f(clicks):
    out = StructType([StructField("user", StringType()), StructField("n", LongType())])
    return clicks.groupBy("user").transformWithStateInPandas(Count(), out, "Update", "None")
"""
WRONG = {
    "a function that raises": (RAISES_AT_ONCE, {}, ("KeyError", "work.py:4")),
    "in Spark's workers": (RAISES, {}, ("ZeroDivisionError", "work.py:7: return 10 // v")),
    "with state": (RAISES_WITH_STATE, {"upsert": ["user"]}, ("TypeError", "work.py:10: yield 1")),
    "no DataFrame": ("def f(clicks):\n    return 5\n", {}, ("int", "DataFrame")),
    "several": ('def f(clicks):\n    return {"a": clicks, "b": clicks}\n', {}, ("one output",)),
    "a batch call": (
        "def f(clicks):\n    return clicks.limit(clicks.count())\n",
        {},
        ("count", "collect"),
    ),
    "no such column": ('def f(clicks):\n    return clicks.select("page")\n', {}, ("page",)),
    "no watermark": (WINDOWS, {}, ("watermark",)),
    "a key that is not there": (TOTALS, {"upsert": ["page"]}, ("page", "user")),
}


PER_BATCH = {
    "a window": (
        """
        def f(clicks):
            return clicks.selectExpr("user", "rank() OVER (PARTITION BY user ORDER BY v) AS n")
        """,
        "A window looks at several rows",
    ),
    "a scalar": (
        "SELECT user FROM clicks WHERE v > (SELECT avg(v) FROM clicks)",
        "Streaming query is not allowed in subquery",
    ),
    "in": (
        "SELECT user FROM clicks WHERE v NOT IN (SELECT v FROM clicks WHERE v > 3)",
        "Streaming query is not",
    ),
    "except": (
        """
        def f(clicks):
            return clicks.select("user").subtract(clicks.where("v > 3").select("user"))
        """,
        "EXCEPT looks at several rows",
    ),
    "groups in pandas": (
        """
        def f(clicks):
            def first(page):
                return page.head(1)
            return clicks.groupBy("user").applyInPandas(first, clicks.schema)
        """,
        "applyInPandas looks at several rows",
    ),
}


@pytest.mark.parametrize("what", PER_BATCH)
def test_what_depends_on_how_rows_fall_into_batches_is_refused(streams: Streams, what: str) -> None:
    query, word = PER_BATCH[what]
    streams.stream("wrong", query)
    streams.put((1, "a", 0), (2, "a", 5))
    (job,) = streams.drain()
    assert job.state is JobState.FAILURE
    assert word in (job.reason or "")
    assert streams.flow("wrong").position == {}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_query_is_said_in_one_line(streams: Streams, what: str) -> None:
    query, how, words = WRONG[what]
    streams.stream("wrong", query, **how)
    streams.put((1, "a", 0))
    reason = streams.fail("wrong")
    for word in words:
        assert word in reason, reason
    assert len(reason) < 600, reason
    assert streams.flow("wrong").state is FlowState.FAILED
    assert streams.flow("wrong").position == {}
    assert [job.attempt for job in streams.lake.jobs("wrong")] == [1], "it would fail again"


def test_packages_that_are_missing(streams: Streams) -> None:
    query = "def f(clicks):\n    return clicks\n"
    streams.stream("wrong", query, requirements=["no-such-package>=2"])
    streams.put((1, "a", 0))
    assert "no-such-package" in streams.fail("wrong")


def test_a_time_that_is_no_time(streams: Streams) -> None:
    streams.stream("wrong", WINDOWS, tl.pfs("clicks", watermark=("user", "1s")))
    streams.put((1, "a", 0))
    assert "user" in streams.fail("wrong")
    streams.stream("wrong", WINDOWS, marked())
    streams.drain_well()
    assert streams.flow("wrong").state is not FlowState.FAILED
