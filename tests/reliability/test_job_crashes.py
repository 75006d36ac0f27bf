"""`kill -9` at every point on the way of a job: another worker ends it, once and well."""

from __future__ import annotations

from pathlib import Path

import pytest

import trunkline as tl
from tests.copies import copy_lake
from tests.reliability import graph
from tests.reliability.harness import (
    assert_no_orphans,
    assert_sound,
    drain,
    expire_leases,
    killed,
    worker,
)
from tests.reliability.scenarios import JOB_POINTS

WORDS = graph.words(12)


@pytest.fixture(scope="module")
def ready(fast_folder: Path) -> Path:
    """A lake whose three jobs wait to be run."""
    folder = fast_folder / "graph"
    with tl.init(folder) as lake:
        graph.make(lake, WORDS, folder / "marks")
    return folder


@pytest.mark.parametrize("point", [point for point in JOB_POINTS if point != "job.half_done"])
def test_a_job_whose_worker_died_is_ended_once(
    point: str, ready: Path, spark: object, tmp_path: Path
):
    copy_lake(ready, tmp_path, dirs_exist_ok=True)
    result = worker("drain", tmp_path, TRUNKLINE_CRASH_AT=point)
    assert killed(result), result
    with tl.open(tmp_path) as lake:
        assert_sound(lake)
        expire_leases(lake)
        left = {job.pipeline.repo for job in lake.jobs() if not job.state.is_over}
        assert {job.pipeline.repo for job in lake.run().jobs} == left
        graph.assert_right(lake, WORDS)
        assert_no_orphans(lake)
        graph.assert_right(lake, WORDS)


def test_what_was_half_done_is_not_done_again(tmp_path: Path):
    files = graph.words(40)
    marks = tmp_path / "marks"
    with tl.init(tmp_path) as lake:
        graph.make(lake, files, marks, pause=0.25)
        result = worker("drain", tmp_path, TRUNKLINE_CRASH_AT="job.half_done")
        assert killed(result), result
        assert_sound(lake)
        begun = len(graph.runs(marks))
        assert 0 < begun < len(files)
        # What is not finished is needed, whoever collects.
        lake.gc(grace=0)
        drain(tmp_path)
        done = graph.runs(marks)
        again = [name for name, count in done.items() if count > 1]
        assert max(done.values()) <= 2
        assert len(again) < begun, "nothing that was finished was taken over"
        (job,) = lake.jobs("upper")
        assert (job.attempt, job.counts.processed, job.counts.skipped) == (2, len(files), 0)
        graph.assert_right(lake, files)
        assert_no_orphans(lake)
        graph.assert_right(lake, files)
