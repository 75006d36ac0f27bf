"""A worker is stopped, or loses its Spark, in the middle of a batch: the batch counts once."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

import trunkline as tl
from tests.flows import flow_of
from tests.jobs.streaming.lakes import TOTALS, Streams
from tests.postgres import postgres
from tests.reliability import streams
from tests.reliability.harness import (
    assert_no_orphans,
    assert_sound,
    finish,
    start_worker,
    worker,
)
from trunkline.engine.streaming import live
from trunkline.jobs.claims import Claim
from trunkline.model.streams import FlowState

FIRST, EVERY = 1_000, 3_000


@pytest.fixture
def lake(spark: object, tmp_path: Path) -> tl.Lake:
    """Streams that have made one batch each, and wait to make the next."""
    lake = tl.init(tmp_path)
    streams.make(lake, tmp_path / "code")
    streams.put(lake, 0, FIRST)
    lake.run()
    streams.put(lake, FIRST, EVERY)
    return lake


@pytest.mark.parametrize("point", ["stream.offsets_logged", "stream.batch_done"])
def test_a_worker_that_was_stopped_past_its_lease_commits_nothing(
    point: str, lake: tl.Lake, tmp_path: Path
):
    """What it goes on to write is in a checkpoint of its own, and in files that nobody names."""
    with lake:
        stopped = start_worker("drain_stopping_at", tmp_path, point)
        os.waitid(os.P_PID, stopped.pid, os.WSTOPPED)
        try:
            ended = lake.run().jobs
        finally:
            stopped.send_signal(signal.SIGCONT)
        result = finish(stopped)
        assert (result.code, result.json) == (0, []), result.err
        assert sorted(job.pipeline.repo for job in ended) == sorted(streams.STREAMS)
        assert max(job.attempt for job in ended) == 2
        for name in streams.STREAMS:
            assert flow_of(lake, name).state is not FlowState.FAILED
        streams.assert_right(lake, EVERY)
        assert_no_orphans(lake)
        # Whose state it goes on from is that of who committed.
        streams.put(lake, EVERY, EVERY + 500)
        lake.run()
        streams.assert_right(lake, EVERY + 500)


def test_a_worker_that_comes_back_to_its_own_job_makes_the_batch_once(
    lake: tl.Lake, tmp_path: Path
):
    """Nobody took it over: it claims the job once more while its first attempt goes on."""
    with lake:
        stopped = start_worker("drain_stopping_at", tmp_path, "stream.offsets_logged")
        os.waitid(os.P_PID, stopped.pid, os.WSTOPPED)
        time.sleep(3)  # longer than a claim lasts
        stopped.send_signal(signal.SIGCONT)
        result = finish(stopped)
        assert result.code == 0, result.err
        assert sorted(job["pipeline"]["repo"] for job in result.json) == sorted(streams.STREAMS)
        streams.assert_right(lake, EVERY)
        assert_sound(lake)


def test_a_query_in_the_middle_of_a_batch_is_nobody_elses(
    spark: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Whoever has the same job, in the same process, neither uses its query nor ends it."""
    with tl.init(tmp_path) as lake:
        lake.create_repo("clicks")
        found = Streams(lake, tmp_path / "code")
        found.stream("totals", TOTALS, upsert=["user"])
        found.put((1, "a", 1))
        (job,) = found.drain_well()
        flow = found.flow("totals")
        state = (flow.facts["state"]["checkpoint"], flow.facts["state"]["batch"])
        at: list[tuple[str, int] | None] = []

        def look(point: str = "") -> None:
            query = found.engine.live(flow.repo)
            at.append((query.checkpoint, query.batch) if query else None)
            found.engine.cancel(Claim(flow.repo, job, "another"))

        look()
        monkeypatch.setattr(live, "crashpoint", look)
        found.put((2, "a", 2))
        (job,) = found.drain_well()
        found.close()
        assert at[0] == state
        assert len(at) > 1
        assert state not in at[1:]
        assert None not in at
        assert job.attempt == 1
        assert found.rows("totals", "user", "n", "v") == [("a", 2, 3)]


def test_streams_go_on_when_the_database_was_away(spark: object, tmp_path: Path):
    server = postgres()
    store = (tmp_path / "objects").as_uri()
    with tl.init(tmp_path / "lake", catalog=server.catalog(), store=store) as lake:
        streams.make(lake, tmp_path / "code")
        streams.put(lake, 0, FIRST)
        lake.run()
        streams.put(lake, FIRST, EVERY)
        stopped = start_worker("drain_stopping_at", tmp_path / "lake", "stream.batch_done")
        os.waitid(os.P_PID, stopped.pid, os.WSTOPPED)
        server.stop()
        try:
            stopped.send_signal(signal.SIGCONT)
            time.sleep(3)  # longer than a claim lasts
        finally:
            server.start()
        result = finish(stopped)
        assert result.code == 0, result.err
        assert {job["state"] for job in result.json} == {"success"}, result.json
        streams.assert_right(lake, EVERY)
        assert_no_orphans(lake)


def test_two_workers_take_turns_with_streams(lake: tl.Lake, tmp_path: Path):
    """Each goes on from the state that the other left."""
    with lake:
        for start in range(EVERY, EVERY + 2_000, 500):
            streams.put(lake, start, start + 500)
        both = [start_worker("drain", tmp_path) for _ in range(2)]
        results = [finish(process) for process in both]
        assert [result.code for result in results] == [0, 0], results
        ended = [(job["pipeline"]["repo"], job["id"]) for result in results for job in result.json]
        assert len(ended) == len(set(ended)) == 5 * len(streams.STREAMS)
        assert all(job.attempt == 1 for job in lake.jobs())
        streams.assert_right(lake, EVERY + 2_000)
        assert_no_orphans(lake)


@pytest.mark.parametrize("point", ["stream.forked", "stream.offsets_logged", "stream.batch_done"])
def test_a_worker_whose_spark_is_gone_starts_another(point: str, lake: tl.Lake, tmp_path: Path):
    with lake:
        result = worker("drain_without_spark_at", tmp_path, point)
        assert result.code == 0, result.err
        assert sorted(job["pipeline"]["repo"] for job in result.json) == sorted(streams.STREAMS)
        assert {job["state"] for job in result.json} == {"success"}
        assert max(job["attempt"] for job in result.json) > 1
        streams.assert_right(lake, EVERY)
