"""A disk that is full when rows or state of a stream are written: it goes on once there is room."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import trunkline as tl
from tests.flows import flow_of
from tests.reliability import streams
from tests.reliability.harness import assert_no_orphans, assert_sound
from tests.reliability.test_disk_full import KIB, fill
from tests.waiting import until
from trunkline.model.jobs import JobState

FIRST, EVERY = 1_000, 2_500


@pytest.fixture
def lake(spark: object, tmpfs: Path, tmp_path: Path) -> Iterator[tl.Lake]:
    """Streams that have made one batch each, and wait to make the next; their objects and their
    state lie on a disk of 4 MiB.
    """
    with tl.init(tmp_path / "lake", store=f"file://{tmpfs}/objects") as made:
        streams.make(made, tmp_path / "code")
        streams.put(made, 0, FIRST)
        made.run()
        streams.put(made, FIRST, EVERY)
        yield made


@pytest.mark.parametrize("leave", [0, 48])
def test_a_batch_that_finds_no_room_is_made_when_there_is_some(
    leave: int, lake: tl.Lake, tmpfs: Path
):
    before = {name: flow_of(lake, name) for name in streams.STREAMS}
    ballast = fill(tmpfs, leave * KIB)
    running = threading.Thread(target=lake.run)
    running.start()
    try:
        until(lambda: any(job.attempt > 1 for job in lake.jobs()), "a second attempt")
        (tried, *_) = [job for job in lake.jobs() if job.attempt > 1]
        now = flow_of(lake, tried.pipeline.repo)
        if not tried.state.is_over:
            assert "space" in tried.reason or not tried.reason, tried.reason
            assert now.number == before[tried.pipeline.repo].number
    finally:
        ballast.unlink()
        running.join()
    streams.assert_right(lake, EVERY)
    assert_no_orphans(lake)


def test_a_batch_that_never_finds_room_says_so_and_leaves_nothing(lake: tl.Lake, tmpfs: Path):
    before = {name: flow_of(lake, name) for name in streams.STREAMS}
    rows = {name: lake.table(name).arrow() for name in streams.STREAMS}
    ballast = fill(tmpfs, 16 * KIB)
    jobs = lake.run().jobs
    assert {job.state for job in jobs} == {JobState.FAILURE}
    for job in jobs:
        assert "space" in job.reason or "full" in job.reason, job.reason
        assert "\n" not in job.reason
    for name, flow in before.items():
        now = flow_of(lake, name)
        assert (now.number, now.position) == (flow.number, flow.position)
        assert lake.table(name).arrow().equals(rows[name])
        assert lake.stream(name).state == "failed"
    assert_sound(lake)
    ballast.unlink()
    streams.put(lake, EVERY, EVERY + 500)
    lake.run()
    assert streams.wrong(lake, EVERY + 500) == {}
    for name in streams.STREAMS:
        streams.assert_joined(lake, name)
    assert_no_orphans(lake)
