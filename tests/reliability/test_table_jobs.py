"""Jobs on tables when a worker dies, is stopped or loses its Spark: ended once, and well."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import trunkline as tl
from tests.copies import copy_lake
from tests.jobs.tables import Tables
from tests.reliability import graph, tablegraph
from tests.reliability.harness import (
    assert_no_orphans,
    assert_sound,
    drain,
    expire_leases,
    finish,
    killed,
    start_worker,
    worker,
)
from tests.reliability.scenarios import TABLE_JOB_POINTS
from tests.reliability.test_workers import alive, below
from tests.waiting import until
from trunkline.engine.session import Session
from trunkline.model.jobs import JobState


@pytest.fixture(scope="module")
def ready(fast_folder: Path) -> Path:
    """A lake whose three jobs wait to be run."""
    folder = fast_folder / "tables"
    with tl.init(folder) as lake:
        tablegraph.make(lake, folder / "code")
    return folder


@pytest.fixture(scope="module")
def wanted(spark: object, ready: Path, fast_folder: Path) -> dict[str, Any]:
    """What the pipelines come to where nothing goes wrong."""
    folder = fast_folder / "undisturbed"
    copy_lake(ready, folder)
    with tl.open(folder) as lake:
        tables = Tables(lake, folder / "code")
        tables.run_well()
        found = tablegraph.made(lake)
        tablegraph.assert_right(lake, found)
    assert found["clean"]["quarantine"]
    return found


@pytest.mark.parametrize("point", TABLE_JOB_POINTS)
def test_a_job_whose_worker_died_is_ended_once(
    point: str, ready: Path, wanted: dict[str, Any], tmp_path: Path
):
    copy_lake(ready, tmp_path, dirs_exist_ok=True)
    result = worker("drain", tmp_path, TRUNKLINE_CRASH_AT=point)
    assert killed(result), result
    with tl.open(tmp_path) as lake:
        assert_sound(lake)
        expire_leases(lake)
        left = {job.pipeline.repo for job in lake.jobs() if not job.state.is_over}
        assert {job.pipeline.repo for job in lake.run().jobs} == left
        tablegraph.assert_right(lake, wanted)


# -- workers that are stopped, and Sparks that die ---------------------------------------------


def test_a_worker_stopped_past_its_lease_commits_nothing(
    ready: Path, wanted: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    copy_lake(ready, tmp_path, dirs_exist_ok=True)
    stopped = start_worker("drain_stopping_at", tmp_path, "job.tables_written")
    os.waitid(os.P_PID, stopped.pid, os.WSTOPPED)
    monkeypatch.setenv("TRUNKLINE_WORKER_LEASE", "2s")
    with tl.open(tmp_path) as lake:
        try:
            ended = [job.pipeline.repo for job in lake.run().jobs]
        finally:
            stopped.send_signal(signal.SIGCONT)
        result = finish(stopped)
        assert (result.code, result.json) == (0, []), result.err
        assert sorted(ended) == sorted(tablegraph.PIPELINES)
        assert sorted(job.attempt for job in lake.jobs()) == [1, 1, 2]
        tablegraph.assert_right(lake, wanted)


# The first call takes for ever; before it, one may end Spark itself.
SLOW_AT_FIRST = """
import os, signal
def f(orders):
    os.makedirs({marks!r}, exist_ok=True)
    number = len(os.listdir({marks!r}))
    open({marks!r} + "/" + str(number), "x").close()
    if number < {deaths}:
        jvm = orders.sparkSession._jvm
        os.kill(jvm.java.lang.ProcessHandle.current().pid(), signal.SIGKILL)
    sleep = "reflect('java.lang.Thread', 'sleep', 600000L)"
    return orders.selectExpr("*", (sleep if number == {deaths} else "'no'") + " AS slept")
"""


def slow_at_first(lake: tl.Lake, marks: Path, deaths: int = 0, **fields: Any) -> Tables:
    tables = Tables(lake, marks.parent / "code")
    lake.create_repo("orders")
    tables.day("2026-01-01", (1, 2.5), (2, 3.5))
    source = SLOW_AT_FIRST.format(marks=str(marks), deaths=deaths)
    tables.spark("slow", source, tl.pfs("orders", "/"), mode="whole", **fields)
    return tables


def test_spark_is_started_again_when_its_jvm_dies(tmp_path: Path):
    marks = tmp_path / "marks"
    with tl.init(tmp_path) as lake:
        tables = slow_at_first(lake, marks, deaths=1)
        running = start_worker("drain", tmp_path, TRUNKLINE_SPARK_ARCHIVE="no")
        until(lambda: marks.exists() and len(list(marks.iterdir())) == 2, "the second call")
        time.sleep(1)  # until Spark has the job
        (jvm,) = [one for one in alive(below(running)) if one.name() == "java"]
        jvm.kill()
        result = finish(running)
        assert result.code == 0, result.err
        (job,) = result.json
        assert (job["state"], job["attempt"]) == ("success", 3), job["reason"]
        rows = tables.rows("slow@main", "id", "amount", "slept")
        assert rows == [(1, 2.5, "no"), (2, 3.5, "no")]
        assert_no_orphans(lake)


@pytest.fixture
def running(spark: Session, tmp_path: Path) -> Iterator[Callable[..., tuple[Tables, Any]]]:
    """A lake whose only job is in the hands of Spark, and the thread that waits for it."""
    with ExitStack() as stack:

        def start(**fields: Any) -> tuple[Tables, threading.Thread]:
            lake = stack.enter_context(tl.init(tmp_path / "lake"))
            tables = slow_at_first(lake, tmp_path / "marks", **fields)
            thread = threading.Thread(target=tables.run)
            thread.start()
            until(lambda: is_busy(spark), "the Spark job")
            return tables, thread

        yield start


def is_busy(spark: Session) -> bool:
    assert spark.context is not None
    return bool(spark.context.statusTracker().getActiveJobsIds())


def assert_nothing_came_of_it(tables: Tables, spark: Session, state: JobState, why: str) -> None:
    (job,) = tables.lake.jobs("slow")
    assert (job.state, why in job.reason) == (state, True), job.reason
    assert tables.lake.commits("slow@main") == []
    until(lambda: not is_busy(spark), "the end of the Spark job", 90)
    assert_no_orphans(tables.lake)
    tables.day("2026-01-02", (3, 4.5))
    assert tables.run_one().counts.rows_out == 3


def test_cancelling_a_job_ends_its_spark_job_and_publishes_nothing(running, spark):
    tables, thread = running()
    (job,) = tables.lake.jobs("slow")
    tables.lake.cancel_job(f"slow@{job.id}", "no longer wanted")
    thread.join(120)
    assert not thread.is_alive()
    assert_nothing_came_of_it(tables, spark, JobState.KILLED, "no longer wanted")


def test_a_job_that_takes_too_long_is_ended(running, spark):
    tables, thread = running(job_timeout="3s")
    thread.join(120)
    assert not thread.is_alive()
    assert_nothing_came_of_it(tables, spark, JobState.KILLED, "timed out after 3 s")


# -- early cut-off -----------------------------------------------------------------------------


def test_another_jvm_finds_the_same_rows_and_keeps_the_files(
    ready: Path, wanted: dict[str, Any], fast_folder: Path, tmp_path: Path
):
    copy_lake(fast_folder / "undisturbed", tmp_path, dirs_exist_ok=True)
    with tl.open(tmp_path) as lake:
        before = {name: graph.entries(lake, name) for name in tablegraph.PIPELINES}
        tablegraph.declare(Tables(lake, tmp_path / "code"), reprocess=True)
        ended = {job["pipeline"]["repo"]: job for job in drain(tmp_path)}
        assert {job["state"] for job in ended.values()} == {"success"}
        assert (ended["daily"]["counts"]["processed"], ended["clean"]["counts"]["processed"]) == (
            3,
            1,
        )
        assert (ended["total"]["counts"]["processed"], ended["total"]["counts"]["skipped"]) == (
            0,
            1,
        )
        for name, held in before.items():
            assert graph.entries(lake, name) == held
        assert_sound(lake)
