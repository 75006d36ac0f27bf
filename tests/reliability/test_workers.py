"""Several workers on one lake: each job is ended by one of them, whoever stops or dies."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

import trunkline as tl
from tests.postgres import postgres
from tests.reliability import graph
from tests.reliability.harness import (
    assert_no_orphans,
    drain,
    expire_leases,
    finish,
    start_worker,
    worker,
)
from tests.waiting import until
from trunkline.jobs import claims, finishing
from trunkline.jobs.worker import Worker
from trunkline.model.jobs import JobState
from trunkline.storage.catalog import pipelines

WORDS = graph.words(12)


@pytest.fixture
def marks(tmp_path: Path) -> Path:
    return tmp_path / "marks"


def below(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """Spark, its Python and the commands, and what looks after them."""
    found: list[psutil.Process] = psutil.Process(process.pid).children(recursive=True)
    return found


def alive(processes: list[psutil.Process]) -> list[psutil.Process]:
    return [p for p in processes if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]


@pytest.mark.parametrize("point", ["job.all_done", "job.before_commit"])
def test_a_worker_that_was_stopped_past_its_lease_commits_nothing(
    point: str, tmp_path: Path, marks: Path
):
    with tl.init(tmp_path) as lake:
        set_id = graph.make(lake, WORDS, marks)
        stopped = start_worker("drain_stopping_at", tmp_path, point)
        os.waitid(os.P_PID, stopped.pid, os.WSTOPPED)
        try:
            ended = drain(tmp_path)
        finally:
            stopped.send_signal(signal.SIGCONT)
        result = finish(stopped)
        assert (result.code, result.json) == (0, []), result.err
        assert {job["id"] for job in ended} == {set_id}
        assert sorted(job["pipeline"]["repo"] for job in ended) == sorted(graph.PIPELINES)
        (job,) = lake.jobs("upper")
        assert job.attempt == 2
        graph.assert_right(lake, WORDS)
        assert_no_orphans(lake)
        graph.assert_right(lake, WORDS)


@pytest.mark.parametrize("point", ["job.spark_started", "job.all_done"])
def test_a_worker_whose_spark_is_gone_starts_another(point: str, tmp_path: Path, marks: Path):
    """Also if it went before anybody had asked it for anything."""
    with tl.init(tmp_path) as lake:
        graph.make(lake, WORDS, marks)
        result = worker("drain_without_spark_at", tmp_path, point)
        assert result.code == 0, result.err
        assert sorted(job["pipeline"]["repo"] for job in result.json) == sorted(graph.PIPELINES)
        assert {job["state"] for job in result.json} == {"success"}
        graph.assert_right(lake, WORDS)
        assert_no_orphans(lake)


def test_a_worker_stopped_while_its_datums_run_leaves_them_to_another(tmp_path: Path, marks: Path):
    files = graph.words(30)
    with tl.init(tmp_path) as lake:
        graph.make(lake, files, marks, pause=0.2)
        stopped = start_worker("drain", tmp_path)
        until(lambda: len(graph.runs(marks)) > 2, "the first datum")
        stopped.send_signal(signal.SIGSTOP)
        try:
            ended = drain(tmp_path)
        finally:
            stopped.send_signal(signal.SIGCONT)
        result = finish(stopped)
        assert (result.code, result.json) == (0, []), result.err
        assert len(ended) == 3
        graph.assert_right(lake, files)
        assert_no_orphans(lake)
        graph.assert_right(lake, files)


def test_two_workers_run_every_job_once(tmp_path: Path, marks: Path):
    files = graph.words(6)
    with tl.init(tmp_path) as lake:
        sets = [graph.make(lake, files, marks)]
        for number in range(6, 9):
            new = graph.words(1, first=number)
            sets.append(graph.put(lake, new))
            files |= new
        both = [start_worker("drain", tmp_path, TRUNKLINE_WORKER_JOBS="2") for _ in range(2)]
        results = [finish(process) for process in both]
        assert [result.code for result in results] == [0, 0], results
        ended = [(job["pipeline"]["repo"], job["id"]) for result in results for job in result.json]
        assert sorted(ended) == sorted((name, one) for name in graph.PIPELINES for one in sets)
        assert all(job.attempt == 1 for job in lake.jobs())
        assert set(graph.runs(marks).values()) == {1}
        graph.assert_right(lake, files, sets=len(sets))
        assert_no_orphans(lake)


def test_a_dead_workers_job_is_taken_up_while_another_worker_lives(
    spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Its lease runs out without a word, and the other one's is renewed all the time."""
    with tl.init(tmp_path) as lake:
        for name in ("one", "two"):
            lake.create_repo(name)
            with lake.commit(f"{name}@main") as commit:
                commit.put("/file", b"")
            source = {"pfs": {"repo": name, "glob": "/*"}}
            transform = {"cmd": ["true"]}
            lake.apply(
                {"pipeline": {"name": f"of-{name}"}, "input": source, "transform": transform}
            )
        living = claims.claim_next(lake._core, "living", 600)
        assert living is not None
        dead = claims.claim_next(lake._core, "dead", 1)
        assert dead is not None
        stop = threading.Event()
        watching = threading.Thread(target=lake.run, kwargs={"watch": True, "stop": stop})
        watching.start()
        try:
            (job,) = lake.wait(f"{dead.job.pipeline}@{dead.job.id}", timeout=120)
        finally:
            stop.set()
            watching.join()
        assert (job.state, job.attempt) == (JobState.SUCCESS, 2)
        assert not lake.jobs(living.job.pipeline.repo)[0].state.is_over


def test_a_drain_goes_on_with_what_became_ready_when_it_looked_away(
    spark, tmp_path: Path, marks: Path, monkeypatch: pytest.MonkeyPatch
):
    """A job ends just after there was no slot free for the next."""
    claim = Worker._claim

    def look_away(worker: Worker) -> bool:
        found = claim(worker)
        if not found:
            until(lambda: not worker._running, "the end of the job")
        return found

    monkeypatch.setattr(Worker, "_claim", look_away)
    with tl.init(tmp_path) as lake:
        graph.make(lake, WORDS, marks)
        lake.run(jobs=1)
        graph.assert_right(lake, WORDS)


def test_a_drain_reports_every_job_that_it_ended(
    spark, tmp_path: Path, marks: Path, monkeypatch: pytest.MonkeyPatch
):
    """However long it takes to look a job up once more."""
    report = Worker._report_end

    def slowly(worker: Worker, running: Any) -> None:
        time.sleep(0.5)
        report(worker, running)

    monkeypatch.setattr(Worker, "_report_end", slowly)
    with tl.init(tmp_path) as lake:
        graph.make(lake, WORDS, marks)
        assert sorted(job.pipeline.repo for job in lake.run().jobs) == sorted(graph.PIPELINES)


def test_jobs_of_one_pipeline_on_several_branches_lose_no_results(
    spark, tmp_path: Path, marks: Path
):
    """They run at once, and each adds to the results of the pipeline."""
    with tl.init(tmp_path) as lake:
        graph.make(lake, graph.words(2), marks, pause=0.1)
        lake.run()
        for number in range(2, 6):
            graph.put(lake, graph.words(1, first=number))
        for job in lake.jobs("upper"):
            if not job.state.is_over:
                lake.cancel_job(f"upper@{job.id}")
        for branch in ("past", "other"):
            lake.backfill("upper", branch=branch)
        graph.put(lake, graph.words(1, first=6))
        lake.run(jobs=3)
        assert not [job for job in lake.jobs("upper") if job.state is JobState.FAILURE]
        files = graph.words(7)
        assert graph.read(lake, "upper@main") == graph.expected(files)["upper"]
        with lake._core.database.read() as session:
            (row,) = [row for row in pipelines.all_pipelines(session) if row.name.repo == "upper"]
        results = lake._core.manifests.read(row.results, row.results_hash)
        assert results.files == len(files)
        assert_no_orphans(lake)
        before = graph.runs(marks)
        lake.delete_branch("upper@past")
        lake.backfill("upper", branch="again")
        lake.run()
        assert graph.runs(marks) == before


def test_a_worker_whose_objects_may_be_gone_commits_nothing(
    spark, tmp_path: Path, marks: Path, monkeypatch: pytest.MonkeyPatch
):
    """It holds the job, but not the lease that keeps gc from what it wrote."""
    monkeypatch.setenv("TRUNKLINE_WORKER_LEASE", "2s")
    taken: list[int] = []
    with tl.init(tmp_path) as lake:

        def collect(point: str) -> None:
            if point == "job.before_commit" and not taken:
                expire_leases(lake)
                taken.append(lake.gc(grace=0).objects)

        monkeypatch.setattr(finishing, "crashpoint", collect)
        graph.make(lake, WORDS, marks)
        lake.run()
        assert taken[0] > 0
        assert [job.attempt for job in lake.jobs("upper")] == [2]
        graph.assert_right(lake, WORDS)
        assert_no_orphans(lake)


def test_jobs_go_on_when_the_database_was_away(tmp_path: Path, marks: Path):
    server = postgres()
    files = graph.words(6)
    store = (tmp_path / "objects").as_uri()
    with tl.init(tmp_path / "lake", catalog=server.catalog(), store=store) as lake:
        graph.make(lake, files, marks)
        hang = tmp_path / "hang"
        hang.touch()
        worker = start_worker("drain", tmp_path / "lake")
        until(lambda: len(graph.runs(marks)) == 2, "two commands")
        server.stop()
        try:
            time.sleep(3)  # longer than a claim lasts
        finally:
            server.start()
        hang.unlink()
        result = finish(worker)
        assert result.code == 0, result.err
        assert [job["state"] for job in result.json] == ["success"] * 3
        graph.assert_right(lake, files)
        assert_no_orphans(lake)


def test_nothing_of_a_killed_worker_lives_on(tmp_path: Path, marks: Path):
    with tl.init(tmp_path) as lake:
        graph.make(lake, WORDS, marks)
        hang = tmp_path / "hang"
        hang.touch()
        worker = start_worker("drain", tmp_path)
        until(lambda: len(graph.runs(marks)) == 2, "two commands")
        started = below(worker)
        assert len(graph.commands(marks)) >= 2
        worker.kill()
        finish(worker)
        until(lambda: not graph.commands(marks), "the end of all commands", 90)
        until(lambda: not alive(started), "the end of all that the worker started", 90)
        hang.unlink()
        assert len(drain(tmp_path)) == 3
        graph.assert_right(lake, WORDS)
        assert_no_orphans(lake)
