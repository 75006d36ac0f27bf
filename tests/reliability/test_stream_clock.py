"""A clock that jumps: intervals are waited for by it, but nothing is lost or held up by it."""

from __future__ import annotations

import pytest

import trunkline as tl
from tests.flows import empty_batch, flow_of, key_of, stream_of
from tests.reliability.harness import assert_sound
from trunkline.model.jobs import Job, JobState
from trunkline.model.streams import FlowState
from trunkline.pipelines.cron import SECOND
from trunkline.schedule.intervals import StreamClock
from trunkline.storage.catalog import commits, flows, jobs

HOUR = 3600 * SECOND


@pytest.fixture
def clock(lake: tl.Lake) -> StreamClock:
    lake.apply(stream_of("r"))
    return StreamClock(lake._core)


def put(lake: tl.Lake) -> str:
    number = sum(1 for _ in lake.commits("r@main"))
    with lake.commit("r@main") as commit:
        commit.put(f"/{number}.csv", b"id\n1\n")
    return commit.result.id


def now(lake: tl.Lake) -> int:
    with lake._core.database.read() as session:
        return session.now()


def open_jobs(lake: tl.Lake) -> list[Job]:
    return [job for job in lake.jobs("sessions") if not job.state.is_over]


def run(lake: tl.Lake) -> None:
    """The one job that waits ends, as one that nothing came of."""
    (job,) = open_jobs(lake)
    (read,) = job.inputs
    assert read.commit is not None
    repo = key_of(lake, "sessions")
    empty_batch(lake, "sessions", {"r": read.commit})
    assert flow_of(lake, "sessions").state is FlowState.RUNNING
    with lake._core.database.write() as session:
        commits.remove(session, repo, [job.id])
        jobs.forget(session, repo, job.id)


def test_a_jump_back_holds_a_stream_up_for_no_longer_than_its_interval(lake, clock):
    start = now(lake)
    put(lake)
    clock.open_due(start)
    run(lake)
    last = put(lake)
    earlier = start - HOUR
    coming = clock.open_due(earlier)
    assert coming is not None
    assert coming <= earlier + SECOND
    clock.open_due(earlier + SECOND)
    (job,) = open_jobs(lake)
    assert [one.commit for one in job.inputs] == [last]


def test_a_jump_back_holds_up_no_stream_that_failed(lake, clock):
    clock.open_due(now(lake))
    put(lake)
    repo = key_of(lake, "sessions")
    with lake._core.database.write() as session:
        flows.note(session, repo, FlowState.FAILED, "no")
    earlier = now(lake) - HOUR
    clock.open_due(earlier)
    clock.open_due(earlier + SECOND)
    assert open_jobs(lake) == []  # it pauses, for two seconds the first time
    clock.open_due(earlier + 2 * SECOND)
    assert len(open_jobs(lake)) == 1


def test_a_jump_forward_opens_one_job_for_all_that_was_missed(lake, clock):
    start = now(lake)
    put(lake)
    clock.open_due(start)
    run(lake)
    for _ in range(3):
        last = put(lake)
    for moment in (start + HOUR, start + HOUR + SECOND, start + 2 * HOUR):
        clock.open_due(moment)
    (job,) = open_jobs(lake)
    assert [one.commit for one in job.inputs] == [last]
    run(lake)
    assert flow_of(lake, "sessions").position == {"r": last}
    clock.open_due(start + 3 * HOUR)
    assert open_jobs(lake) == []
    assert_sound(lake)


def test_a_clock_that_jumps_to_and_fro_neither_repeats_nor_loses_a_commit(lake, clock):
    start, read, put_by_us = now(lake), [], []
    jumps = [0, HOUR, -HOUR, 2 * HOUR, 0, -2 * HOUR, HOUR, 3 * HOUR]
    for number, jump in enumerate(jumps):
        put_by_us.append(put(lake))
        moment = start + jump + number * SECOND
        for later in (0, SECOND, 2 * SECOND):
            clock.open_due(moment + later)
        for job in open_jobs(lake):
            read += [one.commit for one in job.inputs]
            run(lake)
    assert read == put_by_us


def test_two_clocks_an_hour_apart_open_one_job(lake, clock):
    other = StreamClock(lake._core)
    put(lake)
    moment = now(lake)
    clock.open_due(moment)
    other.open_due(moment + HOUR)
    assert [job.state for job in open_jobs(lake)] == [JobState.CREATED]
