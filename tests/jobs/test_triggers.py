"""Branches that follow others, by real commits: SEMANTICS 8. Nothing here needs Spark."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

import trunkline as tl
from tests.jobs.graphs import NOTHING, Graph, reads
from tests.schedule.conftest import Clock
from trunkline import errors
from trunkline.model.inputs import Trigger
from trunkline.model.jobs import RunEvent


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("trunkline.storage.catalog.sqlite.now_micros", lambda: made.micros)
    return made


def branch(graph: Graph, name: str, on: str = "main", **conditions: Any) -> None:
    graph.lake.create_branch(f"orders@{name}", trigger=Trigger(on, **conditions))


def verdict(graph: Graph, name: str) -> object:
    return next(one["verdict"] for one in graph.lake.triggers("orders") if one["branch"] == name)


# -- conditions --------------------------------------------------------------------------------


def test_a_branch_moves_when_enough_commits_were_made_since_its_head(idle: Graph):
    branch(idle, "live", commits=2)
    idle.put("orders", a="1")
    assert idle.head("orders@live") is None
    second = idle.put("orders", a="2")
    assert idle.head("orders@live") == second
    idle.put("orders", a="3")
    assert idle.head("orders@live") == second
    fourth = idle.put("orders", a="4")
    assert idle.head("orders@live") == fourth


def test_a_branch_moves_when_the_other_has_grown_enough_since_its_head(idle: Graph):
    branch(idle, "live", size=10)
    idle.put("orders", a="x" * 9)
    assert idle.head("orders@live") is None
    second = idle.put("orders", b="x")
    assert idle.head("orders@live") == second
    idle.put("orders", c="x" * 9)
    assert idle.head("orders@live") == second
    fourth = idle.put("orders", d="x")
    assert idle.head("orders@live") == fourth


def test_what_shrinks_does_not_grow(idle: Graph):
    branch(idle, "live", size=5)
    first = idle.put("orders", a="x" * 5)
    idle.put("orders", a=None)
    assert idle.head("orders@live") == first


def test_a_branch_moves_at_most_as_often_as_its_rate_allows(idle: Graph, clock: Clock):
    branch(idle, "live", rate_limit="@hourly")
    idle.put("orders", a="0")
    assert idle.head("orders@live") is None
    assert verdict(idle, "live") == "waits: not before 2026-01-10T13:00:00Z"
    clock.set("2026-01-10T13:10:00Z")
    first = idle.put("orders", a="1")
    assert idle.head("orders@live") == first
    clock.set("2026-01-10T13:50:00Z")
    idle.put("orders", a="2")
    assert idle.head("orders@live") == first
    clock.set("2026-01-10T14:00:00Z")
    third = idle.put("orders", a="3")
    assert idle.head("orders@live") == third


def test_a_rate_counts_from_when_the_branch_began_to_follow(idle: Graph, clock: Clock):
    """Pachyderm's own sequence: the second commit by size, the fifth by count, the seventh by
    time."""
    branch(idle, "live", rate_limit="@every 10s", size=100, commits=3)
    moved = []
    for number, (size, second) in enumerate(
        [(1, 0), (99, 1), (1, 2), (1, 3), (1, 4), (1, 5), (1, 16)], start=1
    ):
        clock.set(f"2026-01-10T12:10:{second:02}Z")
        made = idle.put("orders", **{f"f{number}": "x" * size})
        if idle.head("orders@live") == made:
            moved.append(number)
    assert moved == [2, 5, 7]


def test_any_condition_suffices(idle: Graph):
    branch(idle, "live", commits=5, size=10)
    made = idle.put("orders", a="x" * 10)
    assert idle.head("orders@live") == made


def test_unless_all_must_hold(idle: Graph):
    branch(idle, "live", commits=2, size=10, all=True)
    idle.put("orders", a="x" * 10)
    assert idle.head("orders@live") is None
    made = idle.put("orders", b="x")
    assert idle.head("orders@live") == made


def test_a_trigger_says_how_far_it_is(idle: Graph):
    branch(idle, "live", commits=3)
    idle.put("orders", a="1")
    assert verdict(idle, "live") == "waits: 1 new commit, needs 3"


def test_cron_takes_no_notice_of_commits(idle: Graph, clock: Clock):
    branch(idle, "night", cron="0 0 * * *")
    newest = idle.put("orders", a="1")
    assert idle.head("orders@night") is None
    clock.set("2026-01-11T00:00:00Z")
    idle.run()
    assert idle.head("orders@night") == newest


def test_run_ends_with_a_clock_that_is_quicker_than_its_jobs(
    lake: tl.Lake, tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
):
    graph = Graph(lake, tmp_path / "code")
    tick = tl.cron("tick", "@every 1s", overwrite=True)
    graph.apply("fast", tl.cross(tick, tl.pfs("orders", NOTHING)), ["true"])
    graph.put("orders", a="1")

    def later() -> int:
        clock.micros += 200_000
        return clock.micros

    monkeypatch.setattr("trunkline.storage.catalog.sqlite.now_micros", later)
    clock.micros += 5_000_000
    stop, ended = threading.Event(), []

    def watch(event: RunEvent) -> None:
        ended.append(event)
        if len(ended) > 40:
            stop.set()

    graph.run(listener=watch, stop=stop)
    assert not stop.is_set()
    assert len(lake.commits("fast_tick@main")) == 1


# -- what follows ------------------------------------------------------------------------------


def test_readers_of_the_branch_run_in_the_set_of_the_commit_that_moved_it(idle: Graph):
    branch(idle, "live", commits=2)
    idle.apply("b", tl.pfs("orders", NOTHING, branch="live"), ["true"])
    idle.put("orders", a="1")
    assert idle.sets("b") == []
    made = idle.put("orders", a="2")
    assert idle.sets("b") == [made]
    assert reads(idle.job("b")) == {"orders": made}


def test_who_reads_both_branches_gets_one_job(idle: Graph):
    branch(idle, "live", commits=1)
    both = tl.cross(tl.pfs("orders", NOTHING, "new"), tl.pfs("orders", NOTHING, "old", "live"))
    idle.apply("b", both, ["true"])
    made = idle.put("orders", a="1")
    assert idle.sets("b") == [made]
    assert reads(idle.job("b")) == {"new": made, "old": made}


def test_a_chain_moves_in_one_go_each_link_by_its_own_condition(idle: Graph):
    branch(idle, "first", "main", commits=2)
    branch(idle, "second", "first", commits=1)
    branch(idle, "third", "second", commits=100)
    idle.put("orders", a="1")
    assert [idle.head(f"orders@{name}") for name in ("first", "second", "third")] == [None] * 3
    made = idle.put("orders", a="2")
    assert [idle.head(f"orders@{name}") for name in ("first", "second", "third")] == [
        made,
        made,
        None,
    ]


def test_moving_the_followed_branch_by_hand_fires_nothing(idle: Graph):
    idle.put("orders", a="1")
    idle.lake.create_branch("orders@staging")
    branch(idle, "live", "staging", commits=1)
    before = idle.head("orders@live")
    made = idle.put("orders", a="2")
    idle.lake.move_branch("orders@staging", made)
    assert idle.head("orders@live") == before


def test_finishing_an_open_commit_fires(idle: Graph):
    branch(idle, "live", commits=1)
    opened = idle.lake.start_commit("orders@main")
    assert idle.head("orders@live") is None
    idle.lake.finish_commit("orders@main")
    assert idle.head("orders@live") == opened.id


def test_an_open_commit_is_finished_on_top_of_where_its_branch_went_meanwhile(idle: Graph):
    branch(idle, "live", commits=1)
    first = idle.put("orders", a="1")
    opened = idle.lake.start_commit("orders@live")
    second = idle.put("orders", b="2")
    done = idle.lake.finish_commit("orders@live")
    assert (done.id, done.parent) == (opened.id, second)
    assert [commit.id for commit in idle.lake.commits("orders@live")] == [done.id, second, first]


def test_a_pipelines_output_can_be_followed(idle: Graph):
    idle.follow("b", "orders")
    idle.lake.create_branch("b@stable", trigger=Trigger("main", commits=2))
    idle.apply("c", tl.pfs("b", NOTHING, branch="stable"), ["true"])
    idle.put("orders", a="1")
    idle.run()
    assert idle.sets("c") == []
    made = idle.put("orders", a="2")
    idle.run()
    assert idle.head("b@stable") == made
    assert [reads(job) for job in idle.lake.jobs("c")] == [{"b": made}]
    assert {str(job.state) for job in idle.lake.jobs("c")} == {"success"}


# -- on an input of a pipeline -----------------------------------------------------------------


def test_an_input_may_have_a_trigger_of_its_own(idle: Graph):
    idle.apply("b", tl.pfs("orders", NOTHING, trigger={"commits": 2}), ["true"])
    idle.put("orders", a="1")
    assert idle.sets("b") == []
    made = idle.put("orders", a="2")
    assert idle.sets("b") == [made]
    assert reads(idle.job("b")) == {"orders": made}


def test_it_counts_what_was_there_before(idle: Graph):
    idle.put("orders", a="1")
    made = idle.put("orders", a="2")
    idle.apply("b", tl.pfs("orders", NOTHING, trigger={"commits": 2}), ["true"])
    assert reads(idle.job("b")) == {"orders": made}


def test_its_trigger_is_changed_in_the_spec_alone(idle: Graph):
    """Ended by hand, the pipeline never ran again, also if it was applied again as it was."""
    idle.apply("b", tl.pfs("orders", NOTHING, trigger={"commits": 2}), ["true"])
    (branch,) = [one["branch"] for one in idle.lake.triggers("orders")]
    for trigger in (None, Trigger("main", commits=7)):
        with pytest.raises(errors.InUse, match="because the spec of b says so"):
            idle.lake.follow_branch(f"orders@{branch}", trigger)
    assert len(idle.lake.triggers("orders")) == 1


def test_its_trigger_goes_with_the_pipeline(idle: Graph):
    idle.apply("b", tl.pfs("orders", NOTHING, trigger={"commits": 2}), ["true"])
    idle.lake.delete_pipeline("b")
    assert idle.lake.triggers("orders") == []


def test_it_goes_too_when_the_pipeline_is_changed_not_to_have_it(idle: Graph):
    idle.apply("b", tl.pfs("orders", NOTHING, trigger={"commits": 2}), ["true"])
    idle.follow("b", "orders")
    assert idle.lake.triggers("orders") == []


# -- refused -----------------------------------------------------------------------------------


def test_loops_are_refused(idle: Graph):
    branch(idle, "first", commits=1)
    branch(idle, "second", "first", commits=1)
    back = tl.pfs("orders", NOTHING, branch="main", trigger={"branch": "second", "commits": 1})
    with pytest.raises(errors.Usage, match="second → main|main → first → second"):
        idle.apply("b", back, ["true"])
    assert len(idle.lake.triggers("orders")) == 2


def test_a_branch_cannot_follow_one_that_is_not_there(idle: Graph):
    with pytest.raises(errors.TrunklineError, match='"nowhere"|"live"'):
        branch(idle, "live", "nowhere", commits=1)
    with pytest.raises(errors.TrunklineError):
        branch(idle, "live", "live", commits=1)
    assert [found.name for found in idle.lake.branches("orders")] == ["main"]


@pytest.mark.parametrize(
    "conditions",
    [{"commits": -1}, {"commits": 0}, {"size": -1}, {}, {"rate_limit": "sometimes"}, {"cron": "x"}],
    ids=str,
)
def test_conditions_that_cannot_be_meant_are_refused(idle: Graph, conditions):
    with pytest.raises(errors.Usage):
        branch(idle, "live", **conditions)
    assert idle.lake.triggers("orders") == []


@pytest.mark.parametrize("trigger", [{"size": "10 parsecs"}, {"commits": -2}, {}], ids=str)
def test_so_are_they_in_a_spec(idle: Graph, trigger):
    with pytest.raises(errors.InvalidSpec):
        idle.apply("b", tl.pfs("orders", NOTHING, trigger=trigger), ["true"])


def test_a_trigger_on_an_output_branch_is_refused(idle: Graph):
    idle.follow("b", "orders")
    idle.lake.create_branch("b@other")
    output = tl.pfs("b", NOTHING, branch="main", trigger={"branch": "other", "commits": 1})
    with pytest.raises(errors.Usage, match="is a pipeline's output"):
        idle.apply("c", output, ["true"])
