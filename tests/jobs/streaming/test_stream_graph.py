"""Streams among other pipelines: who starts whom, in which set, and how often."""

from __future__ import annotations

import pytest

import trunkline as tl
from tests.jobs.streaming.lakes import TOTALS, WINDOWS, Streams, marked
from trunkline.model.jobs import JobState

GOOD = "SELECT * FROM clicks WHERE v >= 0"
SUM = "SELECT sum(v) AS v FROM totals"


@pytest.mark.slow
def test_a_commit_runs_through_streams_and_batch_pipelines_in_one_set(streams: Streams) -> None:
    streams.batch("good", GOOD, tl.pfs("clicks"))
    streams.stream("totals", TOTALS.replace("clicks", "good"), tl.pfs("good"), upsert=["user"])
    streams.batch("whole", SUM, tl.pfs("totals"))
    streams.stream("log", "SELECT v FROM whole", tl.pfs("whole", changes="rows"))
    put = streams.put((1, "a", 1), (2, "b", 2), (3, "b", -1))
    jobs = streams.drain_well()
    assert {str(job.pipeline) for job in jobs} == {"good", "totals", "whole", "log"}
    assert {job.id for job in jobs} == {put}
    put = streams.put((4, "a", 4))
    jobs = streams.drain_well()
    assert {job.id for job in jobs} == {put}
    assert streams.rows("whole", "v") == [(7,)]
    assert streams.rows("log", "v") == [(3,), (3,), (7,)], "what it was, and what it is"
    for name in ("good", "totals", "whole", "log"):
        assert streams.head(name) == put
        (above,) = [one for one in streams.lake.lineage(f"{name}@main").up if one.kind == "commit"]
        assert above.commit == put
    assert streams.lake.fsck().ok


def test_columns_are_followed_through_streams(streams: Streams) -> None:
    """With state and without, up to what people put."""
    streams.stream("plain", "SELECT user, v * 2 AS twice FROM clicks")
    totals = "SELECT user, sum(twice) AS v FROM plain GROUP BY user"
    streams.stream("totals", totals, tl.pfs("plain"), upsert=["user"])
    streams.put((1, "a", 1))
    streams.drain_well()
    (found,) = streams.lake.column_lineage("totals@main", "v").columns
    (below,) = found.below
    (source,) = below.below
    assert [(str(one.repo), one.column) for one in (found, below, source)] == [
        ("totals", "v"),
        ("plain", "twice"),
        ("clicks", "v"),
    ]


def test_what_fails_above_makes_nothing_of_a_stream(streams: Streams) -> None:
    streams.batch("good", "SELECT assert_true(v > 0), * FROM clicks", tl.pfs("clicks"))
    streams.stream("plain", "SELECT user, v FROM good", tl.pfs("good"))
    streams.put((1, "a", 0))
    assert streams.drain()[0].state is JobState.FAILURE
    assert streams.lake.jobs("plain")[0].state is JobState.UNRUNNABLE
    assert streams.flow("plain").position == {}
    streams.batch("good", "SELECT v > 0 AS fine, * FROM clicks", tl.pfs("clicks"))
    streams.drain_well()
    assert streams.rows("plain", "user", "v") == [("a", 0)]


def test_an_interval_opens_jobs_only_for_news(streams: Streams) -> None:
    streams.stream("plain", "SELECT user, v FROM clicks WHERE v > 0", interval="5s")
    clock = streams.ticker.streams
    assert streams.drain() == []
    streams.put((1, "a", 1))
    now = streams.ticker.now()
    again = clock.open_due(now)
    assert clock.opened == 1 and again is not None and again > now
    clock.open_due(now + 60_000_000)
    assert clock.opened == 1, "one is unfinished"
    (job,) = streams.work()
    assert (job.state, job.cause) == (JobState.SUCCESS, "interval")
    assert list(streams.lake.datums(f"plain@{job.id}")) == [], "its work is a batch"
    clock.open_due(now + 120_000_000)
    assert clock.opened == 1, "there is nothing new"
    streams.put((2, "b", 2))
    clock.open_due(now + 1_000_000)
    assert clock.opened == 1, "the interval has not passed"
    clock.open_due(now + 5_000_000)
    assert clock.opened == 2
    streams.work()
    assert streams.rows("plain", "user") == [("a",), ("b",)]


def test_a_run_makes_the_batches_after_one_that_another_worker_left(streams: Streams) -> None:
    """That one is unfinished, so no other is opened before it is done."""
    streams.stream("plain", "SELECT user FROM clicks", interval="1s")
    streams.put((1, "a", 1))
    streams.ticker.streams.open_due(streams.ticker.now())
    streams.put((2, "b", 2))
    assert len(streams.lake.run().jobs) == 2
    assert streams.rows("plain", "user") == [("a",), ("b",)]


def test_a_paused_stream_reads_what_came_meanwhile_when_it_goes_on(streams: Streams) -> None:
    streams.stream("plain", "SELECT user FROM clicks", interval="1s")
    streams.put((1, "a", 1))
    streams.drain_well()
    streams.lake.pause_pipeline("plain")
    streams.put((2, "b", 2))
    streams.put((3, "c", 2))
    assert streams.drain() == []
    streams.lake.resume_pipeline("plain")
    streams.drain_well()
    assert streams.rows("plain", "user") == [("a",), ("b",), ("c",)]


def test_of_an_empty_batch_nothing_stays_but_how_far_it_has_come(streams: Streams) -> None:
    streams.stream("plain", "SELECT user, v FROM clicks WHERE v > 0", interval="1s")
    streams.put((1, "a", 1))
    streams.drain_well()
    commits, jobs = streams.commits("plain"), len(streams.lake.jobs("plain"))
    last = streams.put((2, "b", -1))
    streams.drain()
    assert streams.flow("plain").position == {"clicks": last}
    assert streams.commits("plain") == commits
    assert len(streams.lake.jobs("plain")) == jobs
    streams.put((3, "c", 1))
    streams.drain_well()
    assert streams.rows("plain", "user") == [("a",), ("c",)]
    assert [one.number for one in streams.batches("plain")] == [1, 2]
    assert streams.lake.fsck().ok


def test_an_empty_batch_of_on_commit_is_its_parent(streams: Streams) -> None:
    """It is a member of its set, and what is below has nothing to do."""
    streams.stream("plain", "SELECT user, v FROM clicks WHERE v > 0")
    streams.batch("below", "SELECT count(*) AS n FROM plain", tl.pfs("plain"))
    streams.put((1, "a", 1))
    streams.drain_well()
    put = streams.put((2, "b", -1))
    jobs = streams.drain_well()
    assert {job.id for job in jobs} == {put}
    before, after = (streams.lake.commit_info(f"plain@main{up}") for up in ("^", ""))
    assert before.root_hash == after.root_hash
    assert streams.rows("below", "n") == [(1,)]


def test_when_nothing_comes_a_moved_watermark_acts_in_a_batch_of_its_own(streams: Streams) -> None:
    streams.stream("windows", WINDOWS, marked(), interval="1s")
    streams.put((1, "a", 1), (20, "b", 2))
    streams.drain_well()
    assert streams.rows("windows", "start", "n", "v") == [(0, 1, 1)]
    (batch,) = streams.batches("windows")
    assert batch.rows_in == 0, "the one with the rows made no commit"
    assert not streams.flow("windows").facts["moved"]
    opened = streams.ticker.streams.opened
    assert opened == 2
    assert streams.drain() == []
    assert streams.ticker.streams.opened == opened


def test_a_batch_pipeline_below_a_stream_may_run_less_often(streams: Streams) -> None:
    streams.stream("plain", "SELECT user, v FROM clicks", interval="1s")
    streams.batch(
        "below", "SELECT count(*) AS n FROM plain", tl.pfs("plain", trigger={"commits": 3})
    )
    for number in range(7):
        streams.put((number, "a", number))
        streams.drain_well()
    counted = [job for job in streams.lake.jobs("below") if job.state is JobState.SUCCESS]
    assert len(streams.commits("plain")) == 7
    assert len(counted) == 2
    assert streams.rows("below", "n") == [(6,)]


def test_an_interval_stream_starts_what_is_below_when_it_is_done(streams: Streams) -> None:
    streams.stream("plain", "SELECT user, v FROM clicks", interval="1s")
    streams.batch("below", "SELECT count(*) AS n FROM plain", tl.pfs("plain"))
    streams.put((1, "a", 1))
    streams.drain_well()
    above, below = streams.lake.jobs("plain")[0], streams.lake.jobs("below")[0]
    assert above.id == below.id == streams.head("plain") == streams.head("below")
    assert streams.rows("below", "n") == [(1,)]
