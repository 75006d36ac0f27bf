"""Streams that are joined: with each other, and with tables beside them."""

from __future__ import annotations

import pyarrow as pa
import pytest

import trunkline as tl
from tests.jobs.streaming.lakes import Streams, marked

NAMED = "SELECT c.user, c.v, n.name FROM clicks c JOIN names n ON c.user = n.user"
BOUND = """
from pyspark.sql import functions as F

def f(clicks, taps):
    c, t = clicks.alias("c"), taps.alias("t")
    near = F.expr("c.user = t.user AND t.ts BETWEEN c.ts AND c.ts + INTERVAL 5 SECONDS")
    return c.join(t, near, "leftOuter").select("c.user", F.col("c.v").alias("v"),
                                               F.col("t.v").alias("tap"))
"""


@pytest.fixture
def joined(streams: Streams) -> Streams:
    streams.lake.create_repo("taps")
    streams.lake.create_repo("names")
    return streams


def name(streams: Streams, **names: str) -> str:
    table = pa.table({"user": list(names), "name": list(names.values())})
    return streams.write(table, "names")


@pytest.mark.slow
def test_two_streams_within_a_time(joined: Streams) -> None:
    """A row that found no other comes when the watermarks say that none will."""
    joined.stream("near", BOUND, tl.cross(marked(), marked(repo="taps")))
    joined.put((1, "a", 1), (2, "b", 2))
    joined.drain_well()
    assert joined.flow("near").position == {}, "nobody knows the columns of taps yet"
    joined.put((4, "a", 10), (6, "x", 20), repo="taps")
    joined.drain_well()
    assert joined.rows("near", "user", "v", "tap") == [("a", 1, 10)]
    joined.put((30, "c", 3))
    joined.drain_well()
    assert joined.rows("near", "user") == [("a",)], "the slower watermark is at 6"
    joined.put((31, "c", 30), repo="taps")
    joined.drain_well()
    rows = [("a", 1, 10), ("b", 2, None), ("c", 3, 30)]
    assert joined.rows("near", "user", "v", "tap") == rows
    assert "joins two streams" in joined.flow("near").facts["kind"]


@pytest.mark.slow
def test_late_rows_of_a_join_are_those_of_their_input(joined: Streams) -> None:
    joined.stream("near", BOUND, tl.cross(marked(), marked(repo="taps")))
    joined.put((100, "a", 1))
    joined.put((100, "a", 10), repo="taps")
    joined.drain_well()
    joined.put((5, "a", 7), (99, "z", 8), repo="taps")
    joined.put((101, "b", 2))
    joined.drain_well()
    late = joined.rows("near@main:/_late/taps", "ts", "user", "v")
    assert late == [(5, "a", 7), (99, "z", 8)]
    assert joined.flow("near").facts["late"] == 2


def test_an_interval_stream_waits_for_its_other_input_in_peace(joined: Streams) -> None:
    """Without columns of one input nothing can be done: draining comes to an end all the same."""
    joined.stream("near", BOUND, tl.cross(marked(), marked(repo="taps")), interval="1s")
    joined.put((1, "a", 1))
    assert joined.drain() == []
    joined.put((2, "a", 10), (3, "x", 1), repo="taps")
    joined.drain_well()
    assert joined.rows("near", "user", "v", "tap") == [("a", 1, 10)]


def test_a_table_that_moves_is_seen_at_the_next_batch(joined: Streams) -> None:
    name(joined, a="Ada")
    both = tl.cross(tl.pfs("clicks"), tl.pfs("names", static="moving"))
    joined.stream("named", NAMED, both)
    joined.put((1, "a", 1), (1, "b", 2))
    joined.drain_well()
    second = name(joined, b="Bob")
    assert joined.drain_well() == [], "a table starts nothing"
    joined.put((2, "b", 3))
    joined.drain_well()
    assert joined.rows("named") == [("a", 1, "Ada"), ("b", 3, "Bob")]
    inputs = {one.name: one.commit for one in joined.lake.jobs("named")[0].inputs}
    assert inputs == {"clicks": joined.head("clicks"), "names": second}


def test_a_table_that_is_pinned_stays(joined: Streams) -> None:
    first = name(joined, a="Ada")
    both = tl.cross(tl.pfs("clicks"), tl.pfs("names", static="pinned"))
    joined.stream("named", NAMED, both)
    joined.put((1, "a", 1))
    joined.drain_well()
    name(joined, b="Bob")
    joined.put((2, "b", 3), (3, "a", 4))
    joined.drain_well()
    assert joined.rows("named") == [("a", 1, "Ada"), ("a", 4, "Ada")]
    assert joined.flow("named").position["names"] == first
    joined.lake.restart_stream("named")
    joined.drain_well()
    assert joined.rows("named") == [("a", 1, "Ada"), ("a", 4, "Ada"), ("b", 3, "Bob")]


def test_a_table_at_a_ref(joined: Streams) -> None:
    first = name(joined, a="Ada")
    joined.lake.create_tag("names@v1", "main")
    name(joined, b="Bob")
    both = tl.cross(tl.pfs("clicks"), tl.pfs("names", static="v1"))
    joined.stream("named", NAMED, both)
    joined.put((1, "a", 1), (2, "b", 3))
    joined.drain_well()
    assert joined.rows("named") == [("a", 1, "Ada")]
    inputs = {one.name: one.commit for one in joined.lake.jobs("named")[0].inputs}
    assert inputs["names"] == first


def test_a_table_beside_a_stream_with_state(joined: Streams) -> None:
    """The table is another one at each batch, the state goes on."""
    name(joined, a="Ada")
    sql = (
        "SELECT n.name, count(*) AS n FROM clicks c JOIN names n ON c.user = n.user GROUP BY n.name"
    )
    both = tl.cross(tl.pfs("clicks"), tl.pfs("names", static=True))
    joined.stream("counted", sql, both, upsert=["name"])
    joined.put((1, "a", 1), (1, "b", 1))
    joined.drain_well()
    name(joined, b="Bob")
    joined.put((2, "a", 1), (2, "b", 1))
    joined.drain_well()
    assert joined.rows("counted", "name", "n") == [("Ada", 2), ("Bob", 1)]


@pytest.mark.slow
def test_late_rows_may_have_columns_of_one_name(joined: Streams) -> None:
    """As after a join: those of the second get a number."""
    name(joined, a="Ada")
    query = """
    from pyspark.sql import functions as F

    def f(clicks, names):
        both = clicks.join(names, clicks["user"] == names["user"])
        return both.groupBy(F.window("ts", "10 seconds").alias("w"), "name") \\
            .agg(F.count("*").alias("n")).select("name", "n")
    """
    joined.stream("late", query, tl.cross(marked(), tl.pfs("names", static=True)))
    joined.put((30, "a", 1))
    joined.drain_well()
    joined.put((1, "a", 2), (31, "a", 3))
    joined.drain_well()
    assert joined.rows("late@main:/_late/clicks", "ts", "user", "user_2") == [(1, "a", "a")]


def test_late_duplicates(joined: Streams) -> None:
    query = """
    def f(clicks):
        return clicks.dropDuplicates(["user", "ts"])
    """
    joined.stream("once", query, marked())
    joined.put((10, "a", 1), (10, "a", 1))
    joined.drain_well()
    joined.put((3, "b", 1), (10, "c", 1), (11, "c", 1))
    joined.drain_well()
    assert joined.rows("once", "user", "ts") == [("a", 10), ("c", 11)]
    assert joined.rows("once@main:/_late/clicks", "user", "ts") == [("b", 3), ("c", 10)]


@pytest.mark.slow
def test_late_rows_of_a_union_are_those_of_their_input(joined: Streams) -> None:
    query = """
    from pyspark.sql import functions as F

    def f(clicks, taps):
        w = F.window("ts", "10 seconds")
        return clicks.union(taps).groupBy(w.alias("w")).agg(F.count("*").alias("n"))
    """
    joined.stream("both", query, tl.cross(marked(), marked(repo="taps")))
    joined.put((30, "a", 1))
    joined.put((31, "a", 1), repo="taps")
    joined.drain_well()
    joined.put((1, "c", 1), (32, "a", 1))
    joined.put((2, "t", 1), (3, "t", 1), (33, "a", 1), repo="taps")
    joined.drain_well()
    assert joined.rows("both@main:/_late/clicks", "ts", "user") == [(1, "c")]
    assert joined.rows("both@main:/_late/taps", "ts", "user") == [(2, "t"), (3, "t")]
    assert joined.flow("both").facts["late"] == 3
