"""What streams make of what comes: rows, windows, late rows, keys, state of every kind."""

from __future__ import annotations

import pytest

import trunkline as tl
from tests.jobs.streaming.lakes import TOTALS, WINDOWS, Streams, clicks, marked


def test_a_query_without_state_gets_each_row_once(streams: Streams) -> None:
    """Rows that were there before it was applied, and those of each commit after."""
    streams.put((1, "a", 1), (2, "b", -1))
    streams.stream("plain", "SELECT user, v * 2 AS w FROM clicks WHERE v > 0")
    streams.drain_well()
    assert streams.rows("plain", "user", "w") == [("a", 2)]
    streams.put((3, "c", 3))
    streams.put((4, "d", 4))
    streams.drain_well()
    assert streams.rows("plain", "user", "w") == [("a", 2), ("c", 6), ("d", 8)]
    one, two, three = streams.batches("plain")
    assert [one.rows_in, two.rows_in, three.rows_in] == [2, 1, 1]
    assert one.end == two.start and two.end == three.start
    assert streams.flow("plain").facts["kind"].startswith("no state")
    assert not one.state


def test_windows_come_when_the_watermark_has_passed_them(streams: Streams) -> None:
    streams.put((1, "a", 1), (5, "b", 2))
    streams.stream("windows", WINDOWS, marked("5s"))
    streams.drain_well()
    assert streams.rows("windows", "start", "n", "v") == []
    streams.put((16, "a", 4))  # the watermark is at 11
    streams.drain_well()
    assert streams.rows("windows", "start", "n", "v") == [(0, 2, 3)]
    flow = streams.flow("windows")
    assert flow.facts["watermark"] == streams.batches("windows")[-1].watermark
    assert flow.facts["state_rows"] == 1
    assert "aggregates" in flow.facts["kind"]


def test_late_rows_are_kept_and_counted(streams: Streams) -> None:
    """A row behind the watermark whose window is open is not late."""
    streams.stream("windows", WINDOWS, marked("5s"))
    streams.put((1, "a", 1), (27, "b", 2))  # the watermark is at 22
    streams.drain_well()
    streams.put((20, "open", 4), (9, "late", 8), (5, "late", 16), (28, "c", 32))
    streams.drain_well()
    late = "windows@main:/_late/clicks"
    assert streams.rows(late, "ts", "user", "v") == [(5, "late", 16), (9, "late", 8)]
    assert set(streams.rows(late, "_watermark")) == {(22,)}
    last = streams.batches("windows")[-1]
    assert (last.late, last.rows_in) == (2, 4)
    assert streams.flow("windows").facts["late"] == 2
    streams.put((40, "d", 64))
    streams.drain_well()
    assert streams.rows("windows", "start", "n", "v") == [(0, 1, 1), (20, 3, 38)]
    assert streams.flow("windows").facts["late"] == 2
    assert streams.lake.stream("windows").late == 2


def test_a_row_may_be_late_for_one_window_of_two(streams: Streams) -> None:
    sliding = WINDOWS.replace('"10 seconds"', '"10 seconds", "5 seconds"')
    streams.stream("sliding", sliding, marked())
    streams.put((1, "a", 1), (12, "b", 2))  # closes [-5, 5) and [0, 10)
    streams.drain_well()
    streams.put((7, "c", 4))  # late for [0, 10), in time for [5, 15)
    streams.drain_well()
    assert streams.rows("sliding@main:/_late/clicks", "ts", "user") == [(7, "c")]
    streams.put((30, "d", 8))
    streams.drain_well()
    assert streams.rows("sliding", "start", "n", "v") == [
        *[(-5, 1, 1), (0, 1, 1)],
        *[(10, 1, 2), (5, 2, 6)],
    ]


def test_upsert_puts_rows_in_the_place_of_their_key(streams: Streams) -> None:
    streams.stream("totals", TOTALS, upsert=["user"])
    streams.put((1, "a", 1), (2, "b", 2), (2, None, 4))
    streams.drain_well()
    streams.put((3, "a", 8), (4, None, 16), (5, "c", 32))
    streams.drain_well()
    assert streams.rows("totals", "user", "n", "v") == [
        *[("a", 2, 9), ("b", 1, 2)],
        *[("c", 1, 32), (None, 2, 20)],
    ]
    assert [one.rows_out for one in streams.batches("totals")] == [3, 3]


def test_a_key_that_several_batches_of_a_job_have_is_of_the_last(streams: Streams) -> None:
    limited = tl.pfs("clicks", limit={"commits": 1})
    for number in range(3):
        streams.put((number, "a", 1 << number), (number, f"u{number}", 1))
    streams.stream("totals", TOTALS, limited, upsert=["user"])
    streams.drain_well()
    rows = [("a", 3, 7), ("u0", 1, 1), ("u1", 1, 1), ("u2", 1, 1)]
    assert streams.rows("totals", "user", "n", "v") == rows
    (batch,) = streams.batches("totals")
    assert streams.flow("totals").facts["batches"] == 3
    assert batch.rows_in == 6


def test_upsert_without_state(streams: Streams) -> None:
    """The row that came last has the key."""
    streams.stream("newest", "SELECT user, v FROM clicks", upsert=["user"])
    streams.put((1, "a", 1), (1, "b", 2))
    streams.drain_well()
    streams.put((2, "a", 3))
    streams.drain_well()
    assert streams.rows("newest", "user", "v") == [("a", 3), ("b", 2)]
    streams.put((3, "a", 4), (4, "a", 5))
    assert "user = a more than once" in streams.fail("newest")


def test_streams_in_sql_keep_state_and_partition(streams: Streams) -> None:
    sql = """
    SELECT window.start AS start, user, count(*) AS n
    FROM clicks GROUP BY window(ts, '10 seconds'), user
    """
    streams.stream("counted", sql, marked(), partition_by=["user"])
    streams.put((1, "a", 1), (2, "b", 1), (3, "a", 1), (10, "a", 1))
    streams.drain_well()
    assert streams.rows("counted", "start", "user", "n") == [(0, "a", 2), (0, "b", 1)]
    files = [one.path for one in streams.lake.ls("counted", recursive=True)]
    assert {path.split("/")[1] for path in files if "=" in path} == {"user=a", "user=b"}


def test_duplicates_are_removed(streams: Streams) -> None:
    query = """
    def f(clicks):
        return clicks.dropDuplicatesWithinWatermark(["user"])
    """
    streams.stream("once", query, marked("100s"))
    streams.put((1, "a", 1), (2, "b", 2), (3, "a", 4))
    streams.drain_well()
    streams.put((4, "b", 8), (5, "c", 16))
    streams.drain_well()
    assert [user for (user,) in streams.rows("once", "user")] == ["a", "b", "c"]
    assert "duplicates" in streams.flow("once").facts["kind"]


STATEFUL = """
import pandas as pd
from pyspark.sql.streaming import StatefulProcessor
from pyspark.sql.types import LongType, StringType, StructField, StructType

class Count(StatefulProcessor):
    def init(self, handle):
        self.seen = handle.getValueState("seen", StructType([StructField("n", LongType())]))

    def handleInputRows(self, key, rows, times):
        n = self.seen.get()[0] if self.seen.exists() else 0
        n += sum(len(one) for one in rows)
        self.seen.update((n,))
        yield pd.DataFrame({"user": [key[0]], "n": [n]})

    def close(self):
        pass

def f(clicks):
    out = StructType([StructField("user", StringType()), StructField("n", LongType())])
    return clicks.groupBy("user").transformWithStateInPandas(Count(), out, "Update", "None")
"""


@pytest.mark.slow
def test_state_of_ones_own(streams: Streams) -> None:
    streams.stream("own", STATEFUL, upsert=["user"])
    streams.put((1, "a", 1), (2, "b", 1))
    streams.drain_well()
    streams.forget_queries()
    streams.put((3, "a", 1), (4, "a", 1))
    streams.drain_well()
    assert streams.rows("own", "user", "n") == [("a", 3), ("b", 1)]
    assert "state of its own" in streams.flow("own").facts["kind"]


def test_two_inputs_as_one(streams: Streams) -> None:
    streams.lake.create_repo("taps")
    query = """
    def f(clicks, taps):
        return clicks.unionByName(taps).select("user", "v")
    """
    streams.put((1, "a", 1))
    streams.write(clicks((1, "t", 2)), "taps")
    streams.stream("both", query, tl.cross(tl.pfs("clicks"), tl.pfs("taps")))
    streams.drain_well()
    streams.write(clicks((2, "t", 3)), "taps")
    streams.drain_well()
    assert streams.rows("both", "user", "v") == [("a", 1), ("t", 2), ("t", 3)]


def test_upsert_into_partitions(streams: Streams) -> None:
    streams.stream("totals", TOTALS, upsert=["user"], partition_by=["user"])
    streams.put((1, "a", 1), (1, "b", 2))
    streams.drain_well()
    before = {one.path: one.hash for one in streams.lake.ls("totals", recursive=True)}
    streams.put((2, "a", 4))
    streams.drain_well()
    assert streams.rows("totals", "user", "n", "v") == [("a", 2, 5), ("b", 1, 2)]
    after = {one.path: one.hash for one in streams.lake.ls("totals", recursive=True)}
    (kept,) = [path for path in before if path.startswith("/user=b/")]
    assert after[kept] == before[kept], "only the partition of the key is written"
