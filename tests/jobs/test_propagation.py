"""Which jobs a change starts, in whose name: SEMANTICS 2. Nothing here needs Spark."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

import trunkline as tl
from tests.jobs.graphs import NOTHING, Graph, reads
from tests.served import home
from trunkline.errors import (
    AmbiguousId,
    CommitUnfinished,
    InUse,
    InvalidSpec,
    NotAllowed,
    TrunklineError,
)
from trunkline.jobs.claims import claim_next
from trunkline.model import ids
from trunkline.model.jobs import JobState
from trunkline.storage.catalog.bell import bell_of


@pytest.fixture
def diamond(idle: Graph) -> Graph:
    """orders → b → c → d, and rates → c."""
    idle.follow("b", "orders")
    idle.follow("c", "b", "rates")
    idle.follow("d", "c")
    return idle


# -- open commits ------------------------------------------------------------------------------


def test_a_commit_opens_one_in_every_pipeline_downstream_under_its_own_id(diamond: Graph):
    made = diamond.put("orders", a="1")
    found = {str(c.repo): c for c in diamond.lake.show(made).commits}
    assert found.keys() == {"orders", "b", "c", "d"}
    assert {name for name, commit in found.items() if commit.finished is None} == {"b", "c", "d"}


def test_the_open_commit_is_the_job(diamond: Graph):
    made = diamond.put("orders", a="1")
    jobs = [job for job in diamond.lake.jobs() if job.id == made]
    states = {str(job.pipeline): str(job.state) for job in jobs}
    assert states == {"b": "created", "c": "waiting", "d": "waiting"}
    assert {job.output_commit for job in jobs} == {None}
    with pytest.raises(CommitUnfinished):
        diamond.files(f"b@{made}")


def test_each_job_says_what_it_reads_and_why_it_is_there(diamond: Graph):
    first = diamond.put("rates", r="1")
    made = diamond.put("orders", a="1")
    job = diamond.job("c", made)
    assert reads(job) == {"b": made, "rates": first}
    assert job.cause == f"orders@main got {made[:12]}"


def test_one_transaction_on_both_ends_of_a_diamond_gives_each_pipeline_one_commit(diamond: Graph):
    with diamond.lake.transaction() as transaction:
        transaction.commit("orders").put("/a", b"1")
        transaction.commit("rates").put("/r", b"1")
    for name in "bcd":
        assert diamond.sets(name) == [transaction.id]
    assert reads(diamond.job("c")) == {"b": transaction.id, "rates": transaction.id}


def test_a_job_names_the_repo_that_it_reads_of_those_that_one_transaction_changed(idle: Graph):
    idle.follow("b", "orders")
    idle.follow("c", "rates")
    idle.follow("d", "c")
    with idle.lake.transaction() as transaction:
        transaction.commit("orders").put("/a", b"1")
        transaction.commit("rates").put("/r", b"1")
    told = {name: idle.job(name).cause.partition(" ")[0] for name in "bcd"}
    assert told == {"b": "orders@main", "c": "rates@main", "d": "rates@main"}


def test_only_what_is_downstream_is_started(diamond: Graph):
    made = diamond.put("rates", r="1")
    assert {str(c.repo) for c in diamond.lake.show(made).commits} == {"rates", "c", "d"}


def test_an_empty_commit_starts_jobs_too(diamond: Graph):
    with diamond.lake.commit("orders") as commit:
        pass
    assert diamond.sets("b") == [commit.result.id]


def test_a_commit_that_is_only_started_starts_nothing_until_it_is_finished(diamond: Graph):
    opened = diamond.lake.start_commit("orders@main")
    diamond.put("orders", a="1")
    assert diamond.sets("b") == []
    diamond.lake.finish_commit("orders@main")
    assert diamond.sets("b") == diamond.sets("d") == [opened.id]


def test_another_branch_starts_nothing(diamond: Graph):
    diamond.lake.create_branch("orders@dev")
    diamond.put("orders@dev", a="1")
    assert diamond.sets("b") == []


def test_a_failed_transaction_leaves_no_open_commit(diamond: Graph):
    with pytest.raises(ZeroDivisionError), diamond.lake.transaction() as transaction:
        transaction.commit("orders").put("/a", b"1")
        raise ZeroDivisionError
    assert diamond.lake.jobs() == []


def test_people_cannot_write_where_a_pipeline_writes(diamond: Graph):
    for act in (lambda: diamond.put("b", a="1"), lambda: diamond.lake.start_commit("b@main")):
        with pytest.raises(NotAllowed, match="output of a pipeline"):
            act()


def test_the_output_of_a_set_builds_on_the_last_good_output(diamond: Graph):
    first = diamond.put("orders", a="1")
    second = diamond.put("orders", a="2")
    diamond.run()
    assert diamond.head("b@main") == second
    assert [commit.id for commit in diamond.lake.commits("b@main")] == [second, first]


def test_every_change_that_may_start_a_job_is_heard_in_its_process_at_once(diamond: Graph):
    bell = bell_of(home(diamond.lake)._core.database.url)
    first = diamond.put("orders", a="1")
    diamond.lake.create_repo("prices")
    diamond.put("prices", p="1")

    def rings(act: Callable[[], object]) -> bool:
        before = bell.count()
        act()
        return bell.count() > before

    assert rings(lambda: diamond.put("orders", a="3"))
    assert rings(lambda: diamond.lake.move_branch("orders@main", first))
    assert rings(lambda: diamond.lake.drop("prices@main"))
    assert rings(lambda: diamond.lake.run_pipeline("b"))
    assert rings(lambda: diamond.follow("late", "orders"))
    diamond.lake.start_commit("orders@main")
    assert rings(lambda: diamond.lake.finish_commit("orders@main"))


# -- repo@ID -----------------------------------------------------------------------------------


def test_a_repo_without_a_commit_in_a_set_is_as_the_set_saw_it(diamond: Graph):
    before = diamond.put("rates", r="1")
    made = diamond.put("orders", a="1")
    diamond.put("rates", r="2")
    assert diamond.lake.commit_info(f"rates@{made}").id == before
    assert diamond.files(f"rates@{made}") == {"/r": "1"}


def test_that_holds_at_any_distance(diamond: Graph):
    before = diamond.put("orders", a="1")
    diamond.run()
    made = diamond.put("rates", r="1")
    assert diamond.lake.commit_info(f"orders@{made}").id == before


# -- pipelines on what is there already --------------------------------------------------------


def test_two_branches_of_one_repo_are_told_apart(idle: Graph):
    """A set has one commit of each repo that changed; of one that was only read it may be two."""
    old = idle.put("orders", a="1")
    idle.lake.create_branch("orders@dev")
    new = idle.put("orders", a="2")
    both = tl.cross(tl.pfs("orders", NOTHING, "new"), tl.pfs("orders", NOTHING, "old", "dev"))
    idle.apply("b", tl.cross(both, tl.pfs("rates", NOTHING)), ["true"])
    made = idle.put("rates", r="1")
    idle.run()
    assert reads(idle.job("b", made)) == {"new": new, "old": old, "rates": made}
    with pytest.raises(AmbiguousId) as caught:
        idle.files(f"orders@{made}")
    assert f"read 2 commits of orders: {old[:12]}, {new[:12]}" in caught.value.message
    changed = idle.put("orders@dev", a="3")
    idle.run()
    assert reads(idle.job("b", changed)) == {"new": new, "old": changed, "rates": made}
    assert idle.files(f"orders@{changed}") == {"/a": "3"}


def test_a_new_pipeline_makes_one_job_however_long_the_history_is(idle: Graph):
    for number in range(4):
        newest = idle.put("orders", a=str(number))
    applied = idle.follow("b", "orders")
    assert idle.sets("b") == [applied.job]
    assert reads(idle.job("b")) == {"orders": newest}
    assert idle.job("b").cause == "applied"


def test_a_new_pipeline_on_empty_repos_waits_for_the_first_commit(idle: Graph):
    assert idle.follow("b", "orders").job is None
    made = idle.put("orders", a="1")
    assert idle.sets("b") == [made]


def test_a_chain_applied_at_once_runs_as_one_set(idle: Graph):
    idle.put("orders", a="1")
    specs = [
        idle.spec("c", tl.pfs("b", NOTHING), ["true"]),
        idle.spec("b", tl.pfs("orders", NOTHING), ["true"]),
    ]
    report = idle.lake.apply(*specs)
    assert {str(one.name): one.job for one in report.applied} == dict.fromkeys(
        "bc", report.applied[0].job
    )
    assert {str(job.state) for job in idle.run()} == {"success"}


def test_a_job_of_a_set_before_that_is_not_done_is_waited_for(idle: Graph):
    idle.follow("b", "orders")
    made = idle.put("orders", a="1")
    idle.follow("c", "b")
    assert reads(idle.job("c")) == {"b": made}
    assert [str(job.pipeline) for job in idle.run()] == ["b", "c"]


# -- branches ----------------------------------------------------------------------------------


def test_moving_an_input_back_reuses_its_commit_and_makes_a_new_set_downstream(diamond: Graph):
    old = diamond.put("orders", a="1")
    new = diamond.put("orders", a="2")
    diamond.lake.move_branch("orders@main", old)
    assert diamond.head("orders@main") == old
    first, second, third = diamond.sets("b")
    assert (first, second) == (old, new)
    assert third not in (old, new)
    assert reads(diamond.job("b", third)) == {"orders": old}
    assert diamond.sets("d")[-1] == third
    assert diamond.job("b", third).cause == f"orders@main was moved to {old[:12]}"


def test_deferred_processing_runs_once_when_the_branch_is_moved(diamond: Graph):
    diamond.put("orders", a="0")
    diamond.run()
    diamond.lake.create_branch("orders@staging")
    for number in range(3):
        newest = diamond.put("orders@staging", a=str(number))
    assert len(diamond.sets("b")) == 1
    diamond.lake.move_branch("orders@main", "staging")
    assert len(diamond.sets("b")) == 2
    assert reads(diamond.job("b")) == {"orders": newest}


def test_a_branch_that_is_read_is_not_deleted(idle: Graph):
    idle.apply("b", tl.pfs("orders", NOTHING, branch="live"), ["true"])
    with pytest.raises(InUse, match="orders@live is read by b"):
        idle.lake.delete_branch("orders@live")


def test_dropping_a_head_starts_readers_on_the_commit_before(idle: Graph):
    first = idle.put("orders", a="1")
    idle.put("orders", a="2")
    idle.follow("b", "orders")
    idle.run()
    idle.lake.drop("orders@main", recursive=True)
    assert idle.head("orders@main") == first
    assert reads(idle.job("b")) == {"orders": first}


@pytest.mark.parametrize("verb", ["drop", "squash"])
def test_who_reads_a_branch_that_falls_back_with_what_it_was_made_from_is_told(
    idle: Graph, verb: str
):
    idle.follow("b", "orders")
    first = idle.put("orders", a="1")
    idle.run()
    second = idle.put("orders", a="2")
    idle.run()
    idle.lake.create_branch("b@live", "main")
    idle.apply("c", tl.pfs("b", NOTHING, branch="live"), ["true"])
    idle.run()
    if verb == "drop":
        idle.lake.drop("orders@main", recursive=True)
    else:
        idle.lake.pause_pipeline("b")
        idle.put("orders", a="3")
        idle.lake.squash("orders@main^", recursive=True)
    assert idle.head("b@live") == first
    assert reads(idle.job("c")) == {"b": first}
    assert idle.job("c").cause == f"b@live was moved to {first[:12]}"
    told = [one.facts for one in idle.lake.events(kinds=["drop"]) if one.repo.repo == "b"]
    assert told == [{"id": second}]


def test_a_pipeline_may_write_another_branch_than_main(idle: Graph):
    idle.follow("b", "orders", output_branch="daily")
    idle.apply("c", tl.pfs("b", NOTHING, branch="daily"), ["true"])
    idle.follow("of-main", "b")
    made = idle.put("orders", a="1")
    idle.run()
    assert idle.head("b@daily") == made
    assert (idle.sets("c"), idle.sets("of-main")) == ([made], [])


# -- propagation: never ------------------------------------------------------------------------


def test_an_input_that_does_not_propagate_starts_nothing(idle: Graph):
    silent = tl.pfs("rates", NOTHING, propagation="never")
    idle.apply("b", tl.cross(tl.pfs("orders", NOTHING), silent), ["true"])
    idle.put("rates", r="1")
    assert idle.sets("b") == []


def test_the_next_job_by_another_input_reads_its_present_head(idle: Graph):
    silent = tl.pfs("rates", NOTHING, propagation="never")
    idle.apply("b", tl.cross(tl.pfs("orders", NOTHING), silent), ["true"])
    idle.put("rates", r="1")
    newest = idle.put("rates", r="2")
    made = idle.put("orders", a="1")
    assert reads(idle.job("b")) == {"orders": made, "rates": newest}


def test_in_one_transaction_the_silent_input_is_read_as_it_is_then(idle: Graph):
    silent = tl.pfs("rates", NOTHING, propagation="never")
    idle.apply("b", tl.cross(tl.pfs("orders", NOTHING), silent), ["true"])
    with idle.lake.transaction() as transaction:
        transaction.commit("orders").put("/a", b"1")
        transaction.commit("rates").put("/r", b"1")
    assert reads(idle.job("b")) == {"orders": transaction.id, "rates": transaction.id}


def test_a_silent_pipeline_of_the_same_set_is_waited_for(idle: Graph):
    idle.follow("b", "orders")
    silent = tl.pfs("b", NOTHING, propagation="never")
    idle.apply("c", tl.cross(tl.pfs("orders", NOTHING), silent), ["true"])
    made = idle.put("orders", a="1")
    assert reads(idle.job("c")) == {"orders": made, "b": made}
    assert [str(job.pipeline) for job in idle.run()] == ["b", "c"]


# -- transactions ------------------------------------------------------------------------------


def test_repos_pipelines_and_commits_of_a_transaction_take_effect_together(idle: Graph):
    with idle.lake.transaction() as transaction:
        transaction.create_repo("prices")
        transaction.apply(idle.spec("b", tl.pfs("prices", NOTHING), ["true"]))
        transaction.commit("prices").put("/p", b"1")
        assert idle.lake.pipelines() == []
    assert idle.sets("b") == [transaction.id]
    assert reads(idle.job("b")) == {"prices": transaction.id}
    names = {str(commit.repo) for commit in idle.lake.show(transaction.id).commits}
    assert names == {"prices", "b", "b.code"}


def test_a_pipeline_of_a_transaction_that_fails_was_never_there(idle: Graph):
    with pytest.raises(ZeroDivisionError), idle.lake.transaction() as transaction:
        transaction.apply(idle.spec("b", tl.pfs("orders", NOTHING), ["true"]))
        raise ZeroDivisionError
    assert idle.lake.pipelines() == []
    assert {str(repo.name) for repo in idle.lake.repos()} == {"orders", "rates"}


# -- what may be read --------------------------------------------------------------------------


def test_a_pipeline_cannot_read_its_own_output(idle: Graph):
    with pytest.raises(TrunklineError, match="b reads its own output"):
        idle.follow("b", "b")


def test_a_circle_is_refused_with_its_path(diamond: Graph):
    with pytest.raises(TrunklineError) as refused:
        diamond.follow("b", "orders", "d")
    assert "b → c → d → b" in str(refused.value)
    assert diamond.lake.pipeline("b").version == 1


def test_a_circle_within_one_apply_is_refused_too(idle: Graph):
    one = idle.spec("x", tl.pfs("y", NOTHING), ["true"])
    two = idle.spec("y", tl.pfs("x", NOTHING), ["true"])
    with pytest.raises(TrunklineError, match="→"):
        idle.lake.apply(one, two)
    assert idle.lake.pipelines() == []


def test_one_repo_may_be_read_twice_under_two_names(idle: Graph):
    both = tl.cross(tl.pfs("orders", NOTHING, "left"), tl.pfs("orders", NOTHING, "right"))
    idle.apply("b", both, ["true"])
    made = idle.put("orders", a="1")
    assert reads(idle.job("b")) == {"left": made, "right": made}
    assert idle.run_one().state is JobState.SUCCESS


def test_repos_of_other_projects_can_be_read(idle: Graph):
    idle.lake.create_project("lab")
    spec = idle.spec("b", tl.pfs("orders", NOTHING, project="default"), ["true"])
    spec["pipeline"]["project"] = "lab"
    idle.lake.apply(spec)
    made = idle.put("orders", a="1")
    (job,) = idle.lake.jobs("lab/b")
    assert (job.id, str(job.pipeline)) == (made, "lab/b")
    assert idle.run_one().state is JobState.SUCCESS


def test_one_name_twice_is_refused(idle: Graph):
    both = tl.cross(tl.pfs("orders", NOTHING, "x"), tl.pfs("rates", NOTHING, "x"))
    with pytest.raises(InvalidSpec, match='both called "x"'):
        idle.apply("b", both, ["true"])


def test_members_of_a_union_may_share_a_name(idle: Graph):
    both = tl.union(tl.pfs("orders", NOTHING, "x"), tl.pfs("rates", NOTHING, "x"))
    idle.apply("b", both, ["true"])
    made = idle.put("rates", r="1")
    assert [(one.name, one.commit) for one in idle.job("b").inputs] == [("x", None), ("x", made)]


def test_a_clock_that_is_set_back_neither_turns_jobs_around_nor_holds_them(
    lake: tl.Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    graph, right = Graph(lake, tmp_path / "code"), time.time_ns
    graph.follow("b", "orders")
    monkeypatch.setattr(ids, "_last", ids._last)  # for the tests that follow
    monkeypatch.setattr(time, "time_ns", lambda: right() + 86_400 * 10**9)
    graph.run()
    first = graph.put("orders", a="x")
    claimed = claim_next(lake._core, "who dies", seconds=0.5)
    assert claimed is not None
    monkeypatch.setattr(time, "time_ns", right)
    second = graph.put("orders", a="y")
    assert [job.id for job in graph.run()] == [first, second]
    assert graph.head("b") == second
