"""After any history the output is that of a run from scratch: the promise of incremental work."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings

import trunkline as tl
from tests.jobs.histories import KINDS, Play, Step, histories
from trunkline.model.jobs import DatumState, JobState

few = settings(
    max_examples=2,
    deadline=None,
    derandomize=True,
    database=None,
    # A step is some tenths of a second: to shrink a history would take many minutes.
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("histories")
    with tl.init(folder) as lake:
        for name in ("left", "right"):
            lake.create_repo(name)
            with lake.commit(name):
                pass
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@few
@given(history=histories)
def test_after_any_history_the_output_is_that_of_a_run_from_scratch(
    spark: object, template: Path, kind: str, history: list[Step]
):
    with tempfile.TemporaryDirectory() as folder:
        play = Play(template, Path(folder, "played"), kind, Path(folder, "flag"))
        fresh = Play(template, Path(folder, "fresh"), kind, Path(folder, "flag"))
        try:
            compare(play, fresh, history)
        finally:
            play.close()
            fresh.close()


def compare(play: Play, fresh: Play, history: list[Step]) -> None:
    play.declare()
    for step in history:
        play.step(step)
    last = play.settle()

    fresh.mark = play.mark
    fresh.begin_with(play.inputs())
    fresh.declare()
    first = fresh.settle()
    assert last.state == first.state
    assert failed(play, last.id) == failed(fresh, first.id)
    if last.state is not JobState.SUCCESS:
        play.mend()
        fresh.mend()
        play.settle()
        fresh.settle()
    assert play.graph.files("out") == fresh.graph.files("out")

    (plan,) = play.lake.plan().pipelines
    assert (plan.run, plan.reuse, plan.drop) == (play.graph.job("out").counts.failed, 0, 0)
    good = [job.id for job in play.lake.jobs("out") if job.state is JobState.SUCCESS]
    commits = [commit.id for commit in play.lake.commits("out@main")]
    assert commits == good, "one commit for each good job, in their order"


def failed(play: Play, job_id: str) -> set[str]:
    return {one.id for one in play.lake.datums(job_id) if one.state is DatumState.FAILED}
