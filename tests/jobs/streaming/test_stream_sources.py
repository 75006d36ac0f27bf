"""What a stream reads: rows that were changed, batches that are cut, columns that come and go."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import trunkline as tl
from tests.jobs.streaming.lakes import TOTALS, WINDOWS, Streams, clicks, marked
from trunkline.model.streams import FlowState

PLAIN = "SELECT user, v FROM clicks"


def changed(streams: Streams) -> str:
    """A row that was read is changed, in a file of its own."""
    streams.lake.update_table("clicks@main", {"v": "10"}, where="user = 'a'")
    return streams.head("clicks")


def test_a_stream_stops_at_changed_rows_and_says_what_one_can_do(streams: Streams) -> None:
    streams.stream("plain", PLAIN)
    streams.put((1, "a", 1))
    streams.drain_well()
    commit = changed(streams)
    reason = streams.fail("plain")
    assert "was removed" in reason or "was changed" in reason
    assert commit[:12] in reason and "changes: skip" in reason and "stream restart plain" in reason
    flow = streams.flow("plain")
    assert (flow.state, flow.reason) == (FlowState.FAILED, reason)
    assert streams.lake.stream("plain").state is FlowState.FAILED
    streams.lake.restart_stream("plain", "main", keep_output=True)
    streams.drain_well()
    assert streams.flow("plain").state is not FlowState.FAILED
    streams.put((2, "b", 2))
    streams.drain_well()
    assert streams.rows("plain") == [("a", 1), ("b", 2)]
    assert streams.lake.fsck().ok


def test_an_interval_stream_gives_what_came_before_the_change(streams: Streams) -> None:
    streams.stream("plain", PLAIN, tl.pfs("clicks", limit={"commits": 1}), interval="1s")
    streams.put((1, "a", 1))
    streams.put((2, "b", 2))
    changed(streams)
    bad = streams.drain()[-1]
    assert "changes: skip" in bad.reason
    assert streams.rows("plain") == [("a", 1), ("b", 2)]
    # A fresh look tries it once more, and comes to an end.
    assert "changes: skip" in streams.lake.run().jobs[0].reason


def test_changed_rows_may_be_passed_by(streams: Streams) -> None:
    streams.stream("plain", PLAIN, tl.pfs("clicks", changes="skip"), interval="1s")
    streams.put((1, "a", 1))
    streams.drain_well()
    commit = changed(streams)
    streams.drain_well()
    assert streams.flow("plain").position == {"clicks": commit}
    assert streams.flow("plain").facts["skipped"] >= 1
    assert streams.lake.stream("plain").skipped >= 1
    streams.put((2, "b", 2))
    streams.drain_well()
    assert streams.rows("plain") == [("a", 1), ("b", 2)]


def test_changed_rows_may_come_as_rows(streams: Streams) -> None:
    query = "SELECT user, v, _change FROM clicks"
    streams.stream("plain", query, tl.pfs("clicks", changes="rows"))
    streams.put((1, "a", 1), (2, "b", 2))
    streams.drain_well()
    changed(streams)
    streams.drain_well()
    streams.lake.delete_from("clicks@main", "user = 'b'")
    streams.drain_well()
    assert streams.rows("plain", "user", "v", "_change") == [
        *[("a", 1, "delete"), ("a", 1, "insert"), ("a", 10, "insert")],
        *[("b", 2, "delete"), ("b", 2, "insert")],
    ]


@pytest.mark.parametrize(
    "limit", [{"commits": 2}, {"files": 1}, {"bytes": "1B"}, {"commits": 3, "files": 2}]
)
def test_limits_cut_what_is_new_and_lose_nothing(streams: Streams, limit: Any) -> None:
    for number in range(5):
        streams.put((number, f"u{number}", number))
    streams.stream("now", TOTALS, tl.pfs("clicks", limit=limit), upsert=["user"])
    streams.stream("then", PLAIN, tl.pfs("clicks", limit=limit), interval="1s")
    streams.drain_well()
    rows = [(f"u{number}", number) for number in range(5)]
    assert streams.rows("now", "user", "v") == rows
    assert streams.rows("then", "user", "v") == rows
    assert len(streams.batches("now")) == 1, "the set of the commit has one"
    count = streams.flow("now").facts["batches"]
    assert count == len(streams.batches("then")) == (3 if "commits" in limit else 5)
    assert streams.lake.fsck().ok


def test_a_compaction_of_the_source_is_no_news(streams: Streams) -> None:
    streams.stream("totals", TOTALS, upsert=["user"])
    for number in range(3):
        streams.put((number, "a", 1))
    streams.drain_well()
    streams.lake.compact("clicks@main")
    streams.drain_well()
    assert streams.rows("totals", "user", "n") == [("a", 3)]
    assert streams.flow("totals").position == {"clicks": streams.head("clicks")}
    streams.put((9, "a", 1))
    streams.drain_well()
    assert streams.rows("totals", "user", "n") == [("a", 4)]


def test_a_branch_that_was_moved_back_is_rows_gone(streams: Streams) -> None:
    streams.stream("plain", PLAIN)
    first = streams.put((1, "a", 1))
    streams.put((2, "b", 2))
    streams.drain_well()
    streams.lake.move_branch("clicks@main", first)
    assert "changes: skip" in streams.fail("plain")


def more(*rows: tuple[Any, ...]) -> pa.Table:
    """Clicks with a column more."""
    table = clicks(*rows)
    return table.append_column("page", pa.array([row[3] for row in rows], pa.string()))


@pytest.mark.slow
def test_a_column_more(streams: Streams) -> None:
    """Queries with state and without go on; who selects all gets it too."""
    streams.stream("all", "SELECT * FROM clicks")
    streams.stream("windows", WINDOWS, marked())
    streams.put((1, "a", 1))
    streams.drain_well()
    streams.write(more((2, "b", 2, "home"), (12, "c", 3, "shop")))
    streams.drain_well()
    assert streams.rows("all", "user", "page") == [("a", None), ("b", "home"), ("c", "shop")]
    assert streams.rows("windows", "start", "n", "v") == [(0, 2, 3)]
    streams.put((13, "d", 4))  # without it again
    streams.put((25, "e", 4))
    streams.drain_well()
    assert streams.rows("windows", "start", "n", "v") == [(0, 2, 3), (10, 2, 7)]


def test_a_type_that_state_cannot_take_is_refused(streams: Streams) -> None:
    query = """
    from pyspark.sql import functions as F
    def f(clicks):
        return clicks.groupBy("v").agg(F.count("*").alias("n"))
    """
    streams.stream("counted", query, upsert=["v"])
    small = clicks((1, "a", 1)).set_column(2, "v", pa.array([1], pa.int32()))
    streams.write(small)
    streams.drain_well()
    streams.write(clicks((1, "a", 1 << 40)))
    reason = streams.fail("counted")
    assert "cannot use its state" in reason and "stream restart counted" in reason
    streams.lake.restart_stream("counted")
    streams.drain_well()
    assert streams.rows("counted", "v", "n") == [(1, 1), (1 << 40, 1)]


@pytest.mark.slow
def test_back_to_the_middle_of_a_commit(streams: Streams) -> None:
    """Its files were read one by one; so they are again, each once."""
    with streams.lake.commit("clicks@main") as commit:
        for number in range(4):
            commit.put(f"/{number}.csv", f"user,v\nu{number},{number}\n".encode())
    limited = tl.pfs("clicks", limit={"files": 1})
    streams.stream("plain", PLAIN, limited, interval="1s")
    streams.stream("totals", "SELECT user, count(*) AS n FROM clicks GROUP BY user", limited,
                   interval="1s", upsert=["user"])  # fmt: skip
    streams.drain_well()
    rows = streams.rows("plain", "user")
    assert rows == [("u0",), ("u1",), ("u2",), ("u3",)]
    for name in ("plain", "totals"):
        made = streams.batches(name)
        assert len(made) == 4 and "+" in made[1].end["clicks"]
        streams.lake.rewind_stream(name, made[1].commit)
        assert len(streams.rows(name)) == 2
    streams.drain_well()
    assert streams.rows("plain", "user") == rows
    assert {n for (n,) in streams.rows("totals", "n")} == {1}
    assert streams.lake.fsck().ok


def test_a_wider_type_goes_on_without_state(streams: Streams) -> None:
    streams.stream("plain", PLAIN)
    streams.write(clicks((1, "a", 1)).set_column(2, "v", pa.array([1], pa.int32())))
    streams.drain_well()
    streams.write(clicks((1, "b", 1 << 40)))
    streams.drain_well()
    assert streams.rows("plain", "user", "v") == [("a", 1), ("b", 1 << 40)]
