"""Collecting while jobs run: nothing goes that a job needs, or has begun to use."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import trunkline as tl
from tests.reliability import graph
from tests.reliability.harness import (
    assert_no_orphans,
    assert_sound,
    finish,
    start_job,
    start_worker,
)
from tests.waiting import until
from trunkline.jobs import finishing
from trunkline.model.jobs import JobState

NOTHING = {"TRUNKLINE_RESULTS_KEEP": "0s"}


@pytest.fixture
def forgetful(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tl.Lake]:
    """The same lake, opened by somebody who keeps no results."""
    monkeypatch.setenv("TRUNKLINE_RESULTS_KEEP", "0s")
    tl.init(tmp_path).close()
    with tl.open(tmp_path) as lake:
        yield lake


@pytest.fixture
def marks(tmp_path: Path) -> Path:
    return tmp_path / "marks"


def test_what_jobs_need_stays_while_others_collect(tmp_path: Path, marks: Path):
    """Two collect all the while, one of whom keeps no results either."""
    files = graph.words(8)
    stop = tmp_path / "stop"
    with tl.init(tmp_path) as lake:
        sets = [graph.make(lake, files, marks, pause=0.05)]
        worker = start_worker("watch", tmp_path, stop)
        collectors = [start_job("collect", tmp_path, stop, **kept) for kept in ({}, NOTHING)]
        try:
            for number in range(5):
                lake.wait(sets[-1], timeout=120)
                gone = sorted(files)[number]
                new = {**graph.words(2, first=100 + number), "/w007": b"again %d\n" % number}
                sets.append(graph.put(lake, new, remove=(gone,)))
                files = {**files, **new}
                del files[gone]
            ended = lake.wait(sets[-1], timeout=120)
        finally:
            stop.touch()
            results = [finish(process) for process in (*collectors, worker)]
        assert [result.code for result in results] == [0, 0, 0], results
        assert [job.state for job in ended] == [JobState.SUCCESS] * 3
        assert min(result.json for result in results[:2]) > 1
        graph.assert_right(lake, files, sets=len(sets))
        assert_no_orphans(lake)
        graph.assert_right(lake, files, sets=len(sets))


def parts(lake: tl.Lake) -> list[str]:
    return [info.key for info in lake._core.objects.list("jobs/") if info.key.endswith(".part")]


def killed_half_way(lake: tl.Lake, marks: Path, files: graph.Files) -> set[str]:
    """Cancel a job when it has some results; the words whose commands were started."""
    graph.make(lake, files, marks, pause=0.2)
    running = threading.Thread(target=lake.run)
    running.start()
    until(lambda: parts(lake), "a part")
    job = lake.cancel_job(f"upper@{lake.jobs('upper')[0].id}")
    running.join()
    graph.wait_until_quiet(marks)
    assert [one.state for one in lake.jobs("upper")] == [JobState.KILLED]
    assert 0 < len(graph.runs(marks)) < len(files), job
    assert_sound(lake)
    return set(graph.runs(marks))


def failed_in_part(lake: tl.Lake, marks: Path, files: graph.Files) -> None:
    """One datum fails, for now; what the others made is in no commit."""
    fails = marks.parent / "fail-w003"
    fails.touch()
    graph.make(lake, files, marks)
    lake.run()
    fails.unlink()
    assert [one.state for one in lake.jobs("upper")] == [JobState.FAILURE]
    assert_sound(lake)


def test_what_a_failed_job_had_done_is_taken_over(spark, tmp_path: Path, marks: Path):
    files = graph.words(8)
    with tl.init(tmp_path) as lake:
        failed_in_part(lake, marks, files)
        assert_no_orphans(lake)
        lake.rerun_job(f"upper@{lake.jobs('upper')[0].id}")
        lake.run()
        assert graph.runs(marks) == {path[1:]: 1 + (path == "/w003") for path in files}
        graph.assert_right(lake, files)
        assert_no_orphans(lake)
        graph.assert_right(lake, files)


def test_what_a_killed_job_had_done_is_taken_over(spark, tmp_path: Path, marks: Path):
    files = graph.words(24)
    with tl.init(tmp_path) as lake:
        begun = killed_half_way(lake, marks, files)
        lake.gc(grace=0)
        lake.rerun_job(f"upper@{lake.jobs('upper')[0].id}")
        lake.run()
        again = [name for name, count in graph.runs(marks).items() if count > 1]
        assert len(again) < len(begun)
        assert lake.jobs("upper")[0].counts.skipped == len(begun) - len(again)
        graph.assert_right(lake, files)
        assert_no_orphans(lake)
        graph.assert_right(lake, files)


def test_what_a_killed_job_had_done_goes_in_time(spark, forgetful: tl.Lake, marks: Path):
    files = graph.words(24)
    begun = killed_half_way(forgetful, marks, files)
    assert_no_orphans(forgetful)
    assert parts(forgetful) == []
    forgetful.rerun_job(f"upper@{forgetful.jobs('upper')[0].id}")
    forgetful.run()
    assert {name for name, count in graph.runs(marks).items() if count > 1} == begun
    graph.assert_right(forgetful, files)


def test_a_datum_that_comes_back_is_reused_until_its_result_is_forgotten(
    spark, forgetful: tl.Lake, tmp_path: Path, marks: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("TRUNKLINE_RESULTS_KEEP")
    files = graph.words(4)
    rest = {path: data for path, data in files.items() if path != "/w000"}
    with tl.open(tmp_path) as lake:
        graph.make(lake, files, marks)
        lake.run()
        graph.put(lake, {}, remove=("/w000",))
        lake.run()
        graph.assert_right(lake, rest, sets=2)
        lake.gc(grace=0)
        graph.put(lake, files)
        lake.run()
        assert graph.runs(marks)["w000"] == 1
        graph.assert_right(lake, files, sets=3)

        graph.put(lake, {}, remove=("/w000",))
        lake.run()
        forgetful.gc(grace=0)
        graph.put(lake, files)
        lake.run()
        assert graph.runs(marks) == {"w000": 2, "w001": 1, "w002": 1, "w003": 1}
        graph.assert_right(lake, files, sets=5)
        assert_no_orphans(lake)


@pytest.mark.parametrize("after", ["a failed job", "a killed job"])
def test_what_a_job_takes_over_cannot_go_before_it_commits(
    after: str, spark, forgetful: tl.Lake, marks: Path, monkeypatch: pytest.MonkeyPatch
):
    """It is collected when the job has everything but its commit: it must be worked out again."""
    files = graph.words(24)
    if after == "a killed job":
        killed_half_way(forgetful, marks, files)
    else:
        failed_in_part(forgetful, marks, files)
    forgetful.rerun_job(f"upper@{forgetful.jobs('upper')[0].id}")
    collected: list[int] = []

    def collect(point: str) -> None:
        if point == "job.before_commit" and not collected:
            collected.append(forgetful.gc(grace=0).objects)

    monkeypatch.setattr(finishing, "crashpoint", collect)
    forgetful.run()
    assert collected[0] > 0
    graph.assert_right(forgetful, files)
    assert_no_orphans(forgetful)
    graph.assert_right(forgetful, files)


def test_what_was_concatenated_can_be_so_again(spark, forgetful: tl.Lake):
    """A commit has the whole; its pieces are no file of any commit."""
    lake = forgetful
    lake.create_repo("words")
    graph.put(lake, graph.words(3))
    lake.apply(
        {
            "pipeline": {"name": "all"},
            "input": {"pfs": {"repo": "words", "glob": "/*"}},
            "transform": {"cmd": ["sh"], "stdin": ['cat "$words" > pfs/out/all']},
            "merge": "concat",
        }
    )
    lake.run()
    lake.gc(grace=0)
    graph.put(lake, graph.words(1, first=3), remove=("/w000",))
    lake.run()
    assert [job.reason for job in lake.jobs("all")] == ["", ""]
    assert lake.read("all@main:/all") == b"word 1\nword 2\nword 3\n"
    assert_no_orphans(lake)
