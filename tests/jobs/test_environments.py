"""Environments: branches of a whole project, on which its pipelines run. No Spark is needed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import trunkline as tl
from tests.jobs.graphs import NOTHING, Graph, reads
from tests.served import home, through_door
from trunkline import Lake
from trunkline.errors import (
    AlreadyExists,
    BranchMoved,
    InUse,
    MergeConflict,
    NotFound,
    Precondition,
    Usage,
)
from trunkline.model.commits import Origin
from trunkline.model.environments import CodeState, DataState, EnvironmentStatus
from trunkline.model.jobs import JobState

DEV = {"env": "dev"}


both = pytest.mark.parametrize("chain", ["local", "http"], indirect=True)
"""For tests that between them use all there is: in the folder, and through a server."""


@pytest.fixture
def alone(lake: Lake, tmp_path: Path) -> Graph:
    return Graph(lake, tmp_path / "code")


@pytest.fixture
def chain(request: pytest.FixtureRequest, alone: Graph) -> Iterator[Graph]:
    """orders → b → c, and rates → c, all of it run once; the environment dev."""
    alone.follow("b", "orders")
    alone.follow("c", "b", "rates")
    alone.put("orders", a="1")
    alone.put("rates", r="1")
    alone.run()
    alone.lake.create_environment("dev")
    if getattr(request, "param", "local") == "local":
        yield alone
        return
    with through_door(alone.lake) as remote:
        yield Graph(remote, alone.code)


def code(found: EnvironmentStatus) -> dict[str, CodeState]:
    return {str(one.name): one.state for one in found.pipelines}


def data(found: EnvironmentStatus) -> dict[str, DataState]:
    return {f"{one.repo}@{one.branch}": one.state for one in found.branches}


def change(
    graph: Graph, name: str, *sources: str, env: str | None = "dev", word: str = "1"
) -> None:
    """Another version of a pipeline that finds nothing to do."""
    graph.follow(name, *sources, env={"WORD": word}, how={"env": env})


def heads(graph: Graph, *repos: str) -> list[str | None]:
    return [graph.head(repo) for repo in repos]


# -- made --------------------------------------------------------------------------------------


@both
def test_an_environment_is_a_branch_of_every_repo_where_main_is_and_starts_nothing(chain: Graph):
    for repo in ("orders", "rates", "b", "c"):
        assert chain.head(f"{repo}@dev") == chain.head(repo) is not None
    found = chain.lake.environment_status("dev")
    assert set(code(found).values()) == {CodeState.SAME}
    assert set(data(found).values()) == {DataState.SAME}
    assert not found.changed
    assert chain.run() == []
    assert [one.name for one in chain.lake.environments()] == ["dev"]


def test_a_repo_without_commits_has_an_empty_branch(alone: Graph):
    alone.lake.create_environment("dev")
    assert alone.head("orders@dev") is None
    alone.put("orders@dev", a="1")
    assert alone.head("orders") is None


@both
def test_a_name_that_is_taken_is_refused_and_says_where(chain: Graph):
    chain.lake.create_branch("rates@work")
    with pytest.raises(AlreadyExists, match="rates@work"):
        chain.lake.create_environment("work")
    with pytest.raises(AlreadyExists, match="environment dev already"):
        chain.lake.create_environment("dev")
    with pytest.raises(Usage, match="starts from main"):
        chain.lake.create_environment("other", "dev")
    with pytest.raises(Usage, match="main"):
        chain.lake.create_environment("main")
    assert chain.head("orders@work") is None
    assert [one.name for one in chain.lake.environments()] == ["dev"]


def test_what_is_not_there_is_said_with_what_is(chain: Graph):
    with pytest.raises(NotFound, match='no environment "div".*"dev"'):
        chain.lake.environment_status("div")


# -- running in it -----------------------------------------------------------------------------


def test_a_commit_in_an_environment_runs_what_reads_it_there_and_nothing_elsewhere(chain: Graph):
    before = heads(chain, "orders", "b", "c")
    made = chain.put("orders@dev", a="2")
    found = {str(job.pipeline): job for job in chain.lake.jobs() if job.id == made}
    assert found.keys() == {"b", "c"}
    assert {(job.branch, job.environment) for job in found.values()} == {("dev", "dev")}
    assert reads(found["c"]) == {"b": made, "rates": chain.head("rates")}
    assert [one.branch for one in found["c"].inputs] == ["dev", "dev"]
    chain.run()
    assert chain.head("c@dev") == made
    assert heads(chain, "orders", "b", "c") == before


def test_a_commit_on_main_runs_nothing_in_an_environment(chain: Graph):
    made = chain.put("orders", a="2")
    jobs = [job for job in chain.lake.jobs() if job.id == made]
    assert {job.environment for job in jobs} == {""}
    assert data(chain.lake.environment_status("dev"))["orders@dev"] is DataState.BEHIND


@both
def test_applied_in_an_environment_a_version_is_there_only(chain: Graph):
    before = heads(chain, "b", "c", "b.code")
    change(chain, "b", "orders")
    assert chain.lake.pipeline("b").version == 1
    assert chain.lake.pipeline("b", env="dev").version == 2
    assert {str(one.name): one.version for one in chain.lake.pipelines(env="dev")} == {
        "b": 2,
        "c": 1,
    }
    assert [one.version for one in chain.lake.pipeline_versions("b")] == [1]
    ran = chain.run()
    assert [(str(job.pipeline), job.branch) for job in ran] == [("b", "dev"), ("c", "dev")]
    assert heads(chain, "b", "c", "b.code") == before
    assert code(chain.lake.environment_status("dev")) == {
        "b": CodeState.CHANGED,
        "c": CodeState.SAME,
    }
    chain.put("orders", a="3")
    (b, _) = chain.run()
    assert b.version == 1, "main goes on with its own version"


def test_numbers_of_versions_are_given_once(chain: Graph):
    change(chain, "b", "orders", word="1")
    change(chain, "b", "orders", env=None, word="2")
    assert chain.lake.pipeline("b").version == 3
    assert chain.lake.pipeline("b", env="dev").version == 2
    assert [one.version for one in chain.lake.pipeline_versions("b")] == [3, 1]


def test_one_transaction_on_both_sides_gives_each_its_own_set(chain: Graph):
    with chain.lake.transaction() as transaction:
        transaction.commit("orders").put("/a", b"2")
        transaction.commit("rates@dev").put("/r", b"2")
    found = {(str(job.pipeline), job.environment): job.id for job in chain.lake.jobs()[:3]}
    assert found.keys() == {("b", ""), ("c", ""), ("c", "dev")}
    assert found["c", ""] == transaction.id != found["c", "dev"]
    chain.run()
    assert chain.head("c") != chain.head("c@dev")


@both
def test_a_pipeline_may_be_new_in_an_environment(chain: Graph):
    chain.follow("d", "c", how=DEV)
    assert chain.head("d") is None
    chain.run()
    assert chain.head("d@dev") is not None
    with pytest.raises(NotFound, match="only in the environment dev"):
        chain.lake.pipeline("d")
    assert [str(one.name) for one in chain.lake.pipelines()] == ["b", "c"]
    assert [str(job.pipeline) for job in home(chain.lake).jobs("d")] == ["d"]
    assert code(chain.lake.environment_status("dev"))["d"] is CodeState.NEW


def test_what_was_made_on_main_later_is_branched_when_it_is_read(chain: Graph):
    chain.lake.create_repo("late")
    late = chain.put("late", x="1")
    change(chain, "b", "orders", "late")
    assert chain.head("late@dev") == late
    chain.lake.create_repo("later")
    chain.lake.sync_environment("dev")
    assert "dev" in chain.lake.repo("later").branches


@both
def test_a_pipeline_is_run_by_hand_in_an_environment(chain: Graph):
    made = chain.lake.run_pipeline("b", env="dev")
    assert {str(job.pipeline) for job in chain.run()} == {"b", "c"}
    assert chain.head("b@dev") == made != chain.head("b")


def test_a_schedule_does_not_tick_in_an_environment(chain: Graph):
    chain.follow("nightly", "orders", how=DEV, schedule={"cron": "* * * * *"})
    chain.run()
    assert chain.lake.next_ticks("b") == []
    first = chain.head("nightly@dev")
    chain.put("orders@dev", a="2")
    chain.run()
    assert chain.head("nightly@dev") == first is not None
    chain.lake.run_pipeline("nightly", env="dev")
    chain.run()
    assert chain.head("nightly@dev") != first
    chain.lake.merge_environment("dev")
    assert len(chain.lake.next_ticks("nightly")) == 5


def test_streams_and_ingests_are_not_applied_in_an_environment(chain: Graph, tmp_path: Path):
    spec = {"ingest": {"name": "inbox"}, "source": {"folder": {"path": str(tmp_path)}}}
    with pytest.raises(Usage, match="an ingest, and those do not run in an environment"):
        chain.lake.apply(spec, env="dev")


def test_pausing_is_for_main(chain: Graph):
    chain.lake.pause_pipeline("b")
    chain.put("orders@dev", a="2")
    assert {str(job.pipeline) for job in chain.run()} == {"b", "c"}


def test_a_failed_job_is_tried_again_where_it_failed(chain: Graph):
    made = chain.put("orders@dev", a="2")
    chain.lake.cancel_job(f"b@{made}")
    again = chain.lake.rerun_job(made)
    ran = chain.run()
    assert {(str(job.pipeline), job.branch, job.id) for job in ran} == {
        ("b", "dev", again),
        ("c", "dev", again),
    }


def test_inputs_of_other_projects_are_read_and_start_nothing(chain: Graph):
    chain.lake.create_project("other")
    chain.lake.create_repo("other/facts")
    facts = chain.put("other/facts", f="1")
    both = tl.cross(tl.pfs("c", NOTHING), tl.pfs("facts", NOTHING, project="other"))
    chain.apply("d", both, ["true"], how=DEV)
    (job,) = chain.run()
    assert reads(job) == {"c": chain.head("c@dev"), "facts": facts}
    chain.put("other/facts", f="2")
    assert chain.run() == []


@both
def test_a_plan_and_a_diff_are_of_the_environment(chain: Graph):
    spec = chain.spec("b", tl.pfs("orders", NOTHING), ["true"], env={"WORD": "other"})
    (plan,) = chain.lake.plan(spec, env="dev").pipelines
    assert (plan.action, plan.version, plan.downstream) == ("update", 2, ("c",))
    chain.lake.apply(spec, env="dev")
    assert chain.lake.plan(spec).pipelines[0].version == 3
    assert [str(one.name) for one in chain.lake.plan(env="dev").pipelines] == ["b", "c"]
    chain.put("orders@dev", z="2")
    found = chain.lake.environment_diff("dev")
    (code,) = found.code
    assert "+  env: {WORD: other}" in code.text.splitlines()
    (repo,) = [one for one in found.repos if one.kind == "user"]
    assert (str(repo.repo), repo.added, repo.bytes, repo.paths) == ("orders", 1, 1, ("+ /z",))


def test_what_is_delivered_to_the_world_is_mains(chain: Graph, tmp_path: Path):
    chain.follow("b", "orders", egress={"folder": str(tmp_path / "out")}, how=DEV)
    chain.put("orders@dev", a="2")
    chain.run()
    assert chain.lake.deliveries("b") == []
    done = chain.lake.merge_environment("dev")
    (delivery,) = chain.lake.deliveries("b")
    assert delivery.commit == done.set_id


# -- merged ------------------------------------------------------------------------------------


@both
def test_a_merge_publishes_code_and_data_under_one_id_without_a_job_to_run(chain: Graph):
    change(chain, "b", "orders")
    chain.follow("d", "c", how=DEV)
    chain.put("orders@dev", a="2")
    chain.run()
    done = chain.lake.merge_environment("dev")
    assert (done.published, done.started) == (3, 0)
    assert chain.run() == []
    assert heads(chain, "orders", "b", "c", "d") == [done.set_id] * 4
    assert chain.files("orders") == {"/a": "2"}
    assert chain.lake.pipeline("b").version == 3
    merged = chain.lake.commit_info("orders@main")
    assert (merged.origin, merged.merged) == (Origin.MERGE, (chain.head("orders@dev"),))
    job = chain.job("c", done.set_id)
    assert (job.state, job.branch, job.environment) == (JobState.SUCCESS, "main", "")
    assert reads(job) == {"b": done.set_id, "rates": chain.head("rates")}
    assert job.counts.processed == 0
    assert not chain.lake.environment_status("dev").changed
    chain.put("orders", a="3")
    assert {str(job.pipeline) for job in chain.run()} == {"b", "c", "d"}, "main goes on"


@both
def test_a_dry_run_says_what_it_would_do_and_does_nothing(chain: Graph):
    change(chain, "b", "orders")
    chain.put("orders@dev", a="2")
    chain.run()
    before = heads(chain, "orders", "b", "c", "b.code")
    done = chain.lake.merge_environment("dev", dry_run=True)
    assert [(one.what, str(one.name), one.action) for one in done.steps] == [
        ("pipeline", "b", "updated"),
        ("repo", "orders", "forwarded"),
    ]
    assert done.set_id is None
    assert heads(chain, "orders", "b", "c", "b.code") == before
    assert chain.lake.pipeline("b").version == 1


def test_a_merge_of_nothing_does_nothing(chain: Graph):
    assert chain.lake.merge_environment("dev").steps == ()
    chain.put("orders", a="2")
    chain.run()
    before = heads(chain, "orders", "b", "c")
    assert chain.lake.merge_environment("dev").steps == ()
    assert heads(chain, "orders", "b", "c") == before


def test_where_main_moved_too_only_that_part_is_computed(chain: Graph):
    change(chain, "b", "orders")
    chain.run()
    chain.put("rates", r="2")
    chain.run()
    done = chain.lake.merge_environment("dev")
    assert (done.published, done.started) == (1, 1), "b as it is, c with the newer rates"
    (job,) = chain.run()
    assert (str(job.pipeline), job.branch) == ("c", "main")
    assert reads(job) == {"b": done.set_id, "rates": chain.head("rates")}


@both
def test_files_that_both_sides_changed_are_a_conflict_and_nothing_is_done(chain: Graph):
    change(chain, "b", "orders")
    chain.put("orders@dev", a="2")
    chain.put("orders", a="3")
    chain.run()
    before = heads(chain, "orders", "b", "c", "b.code")
    with pytest.raises(MergeConflict, match="orders: both changed /a"):
        chain.lake.merge_environment("dev")
    assert heads(chain, "orders", "b", "c", "b.code") == before
    assert chain.lake.pipeline("b").version == 1
    with pytest.raises(MergeConflict):
        chain.lake.sync_environment("dev")
    chain.lake.sync_environment("dev", strategy="ours")
    chain.run()
    chain.lake.merge_environment("dev")
    assert chain.files("orders") == {"/a": "2"}


def test_other_files_of_both_sides_are_merged(chain: Graph):
    chain.put("orders@dev", b="2")
    chain.put("orders", c="3")
    chain.run()
    done = chain.lake.merge_environment("dev")
    assert chain.files("orders") == {"/a": "1", "/b": "2", "/c": "3"}
    assert chain.head("orders") == done.set_id
    assert {job.id for job in chain.run()} == {done.set_id}


def test_code_that_both_sides_changed_is_a_conflict(chain: Graph):
    change(chain, "b", "orders", word="1")
    change(chain, "b", "orders", env=None, word="2")
    chain.run()
    assert code(chain.lake.environment_status("dev"))["b"] is CodeState.CONFLICT
    with pytest.raises(MergeConflict, match="pipeline b: changed both in dev and in main"):
        chain.lake.merge_environment("dev")
    assert chain.lake.pipeline("b").version == 3
    chain.lake.sync_environment("dev", strategy="ours")
    chain.lake.merge_environment("dev")
    assert chain.lake.pipeline("b").spec["transform"]["env"] == {"WORD": "1"}  # type: ignore[index]


def test_nothing_is_merged_while_jobs_are_not_over_or_after_they_failed(chain: Graph):
    made = chain.put("orders@dev", a="2")
    with pytest.raises(Precondition, match="not over: b, c"):
        chain.lake.merge_environment("dev")
    chain.lake.cancel_job(f"b@{made}")
    with pytest.raises(Precondition, match="did not end well: b"):
        chain.lake.merge_environment("dev")
    chain.lake.merge_environment("dev", force=True)
    assert chain.files("orders") == {"/a": "2"}
    assert {str(job.pipeline) for job in chain.run()} == {"b", "c"}


@both
def test_a_pipeline_deleted_in_an_environment_stays_on_main_until_it_is_said(chain: Graph):
    with pytest.raises(InUse, match="read by c in the environment dev"):
        chain.lake.delete_pipeline("b", env="dev")
    chain.lake.delete_pipeline("c", env="dev")
    chain.put("orders@dev", a="2")
    assert [str(job.pipeline) for job in chain.run()] == ["b"]
    assert code(chain.lake.environment_status("dev"))["c"] is CodeState.DELETED
    chain.lake.merge_environment("dev")
    assert chain.lake.pipeline("c").version == 1
    chain.run()
    chain.lake.merge_environment("dev", delete=True)
    with pytest.raises(NotFound):
        chain.lake.pipeline("c")
    assert chain.lake.pipeline("b").version == 1


def test_a_side_that_moves_while_it_is_merged_is_seen(
    chain: Graph, monkeypatch: pytest.MonkeyPatch
):
    from trunkline.lake import environmentmerge

    lake = home(chain.lake)
    chain.put("orders@dev", a="2")
    chain.run()
    declare = environmentmerge.declare  # type: ignore[attr-defined]

    def slowly(*given: object, **named: object) -> object:
        monkeypatch.setattr(environmentmerge, "declare", declare)
        chain.put("orders@dev", a="3")
        return declare(*given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(environmentmerge, "declare", slowly)
    before = heads(chain, "orders", "b")
    with pytest.raises(BranchMoved, match="orders@dev"):
        lake.merge_environment("dev")
    assert heads(chain, "orders", "b") == before


def test_a_version_that_is_applied_on_main_while_it_is_merged_is_seen(
    chain: Graph, monkeypatch: pytest.MonkeyPatch
):
    from trunkline.lake import environmentmerge

    change(chain, "b", "orders")
    chain.run()
    declare = environmentmerge.declare  # type: ignore[attr-defined]

    def slowly(*given: object, **named: object) -> object:
        monkeypatch.setattr(environmentmerge, "declare", declare)
        change(chain, "b", "orders", env=None, word="2")
        return declare(*given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(environmentmerge, "declare", slowly)
    with pytest.raises(BranchMoved, match="pipeline b"):
        chain.lake.merge_environment("dev")
    assert chain.lake.pipeline("b").spec["transform"]["env"] == {"WORD": "2"}  # type: ignore[index]
    with pytest.raises(MergeConflict):
        chain.lake.merge_environment("dev")


def test_what_is_taken_over_waits_for_jobs_that_were_there_before(chain: Graph):
    chain.put("orders@dev", a="2")
    chain.run()
    before = chain.lake.run_pipeline("b")
    done = chain.lake.merge_environment("dev")
    assert (done.published, done.started) == (0, 2)
    ended = [job.id for job in chain.run() if str(job.pipeline) == "b"]
    assert ended == [before, done.set_id]
    assert heads(chain, "b", "c") == [done.set_id] * 2


def test_nothing_is_taken_over_past_a_rule_that_it_was_not_held_against(chain: Graph):
    chain.put("orders@dev", a="2")
    chain.run()
    chain.follow("b", "orders", description="with a rule")
    assert chain.run() == [], "the output of now stays as it is"
    with home(chain.lake)._core.database.write() as session:  # tables, and so rules, need Spark
        rule = '{"expectations": [{"name": "paid", "expr": "paid > 0"}], '
        session.execute(
            "UPDATE pipeline_versions SET spec = :rule || substr(spec, 2) WHERE version = 2",
            {"rule": rule},
        )
    done = chain.lake.merge_environment("dev")
    assert (done.published, done.started) == (0, 2)


def test_a_merge_does_not_run_what_a_clock_starts_and_nobody_touched(alone: Graph):
    alone.follow("nightly", "orders", schedule={"cron": "0 3 * * *"})
    alone.put("orders", a="1")
    alone.lake.run_pipeline("nightly")
    alone.run()
    alone.lake.create_environment("dev")
    newest = alone.lake.run_pipeline("nightly")
    alone.run()
    with home(alone.lake)._core.database.write() as session:
        session.execute("UPDATE commits SET root_hash = 'another' WHERE id = :id", {"id": newest})
    alone.put("rates@dev", r="2")
    done = alone.lake.merge_environment("dev")
    assert (done.published, done.started, alone.head("nightly")) == (0, 0, newest)


# -- synced ------------------------------------------------------------------------------------


@both
def test_a_sync_brings_newer_data_and_takes_over_what_was_computed(chain: Graph):
    chain.put("orders", a="2")
    chain.run()
    done = chain.lake.sync_environment("dev")
    assert (done.published, done.started) == (2, 0)
    assert chain.run() == []
    assert chain.head("orders@dev") == chain.head("orders")
    assert set(data(chain.lake.environment_status("dev")).values()) == {DataState.SAME}
    assert chain.lake.sync_environment("dev").steps == ()


def test_a_sync_runs_what_the_environment_has_of_its_own(chain: Graph):
    change(chain, "b", "orders")
    chain.run()
    chain.put("orders", a="2")
    chain.run()
    done = chain.lake.sync_environment("dev")
    assert (done.published, done.started) == (0, 2)
    assert {job.branch for job in chain.run()} == {"dev"}


def test_a_sync_brings_newer_code(chain: Graph):
    change(chain, "b", "orders", env=None)
    chain.follow("d", "c")
    chain.run()
    assert code(chain.lake.environment_status("dev")) == {
        "b": CodeState.BEHIND,
        "c": CodeState.SAME,
        "d": CodeState.BEHIND,
    }
    done = chain.lake.sync_environment("dev")
    assert (done.published, done.started) == (3, 0)
    found = chain.lake.environment_status("dev")
    assert set(code(found).values()) == {CodeState.SAME}
    assert set(data(found).values()) == {DataState.SAME}


# -- what it keeps others from -----------------------------------------------------------------


def test_a_branch_of_an_environment_goes_with_it(chain: Graph):
    with pytest.raises(InUse, match="belongs to the environment dev"):
        chain.lake.delete_branch("orders@dev")


def test_a_pipeline_that_an_environment_has_is_deleted_there_first(chain: Graph):
    with pytest.raises(InUse, match="in the environment dev"):
        chain.lake.delete_pipeline("c")
    chain.lake.delete_pipeline("c", env="dev")
    chain.lake.delete_pipeline("c")
    assert code(chain.lake.environment_status("dev")) == {"b": CodeState.SAME}


def test_a_repo_that_is_read_in_an_environment_only_stays(chain: Graph):
    chain.lake.create_repo("extra")
    change(chain, "b", "orders", "extra")
    with pytest.raises(InUse, match="read by the pipeline b in the environment dev"):
        chain.lake.delete_repo("extra")


def test_main_does_not_write_into_an_environment(chain: Graph):
    with pytest.raises(Usage, match="belongs to the environment dev"):
        chain.follow("x", "orders", output_branch="dev")
    with pytest.raises(Usage, match="environment's"):
        chain.lake.backfill("b", branch="dev")


def test_main_does_not_read_from_an_environment(chain: Graph):
    for leaf in ({"branch": "dev"}, {"trigger": {"branch": "dev", "commits": 2}}):
        reads = tl.pfs("orders", NOTHING, **leaf)
        with pytest.raises(Usage, match="x cannot read orders@dev: that branch belongs"):
            chain.apply("x", reads, ["true"])


def test_what_was_applied_in_an_environment_is_not_restored_on_main(chain: Graph):
    change(chain, "b", "orders")
    with pytest.raises(NotFound, match="in the environment dev only"):
        chain.lake.restore_pipeline("b", 2)
    assert chain.lake.pipeline("b").version == 1


# -- gone --------------------------------------------------------------------------------------


@both
def test_an_environment_is_deleted_with_its_branches_and_what_is_only_there(chain: Graph):
    chain.follow("d", "c", how=DEV)
    chain.put("orders@dev", a="2")
    with pytest.raises(Precondition, match="has what main has not: d, orders@dev"):
        chain.lake.delete_environment("dev")
    chain.lake.delete_environment("dev", force=True)
    assert chain.lake.environments() == []
    names = {str(repo.name): repo.branches for repo in chain.lake.repos(system=True)}
    assert names == dict.fromkeys(("orders", "rates", "b", "c", "b.code", "c.code"), ("main",))
    assert chain.job("b").state is JobState.KILLED
    assert chain.run() == []
    assert home(chain.lake).fsck().ok
    chain.lake.create_environment("dev")


def test_an_unfinished_commit_goes_by_force_only(chain: Graph):
    opened = chain.lake.start_commit("orders@dev")
    with pytest.raises(Precondition, match="orders@dev has the unfinished commit"):
        chain.lake.delete_environment("dev")
    assert [one.name for one in chain.lake.environments()] == ["dev"]
    assert chain.lake.commit_info(f"orders@{opened.id}").finished is None
    chain.lake.delete_environment("dev", force=True)
    assert chain.lake.environments() == []


def test_a_merged_environment_needs_no_force(chain: Graph):
    chain.put("orders@dev", a="2")
    chain.run()
    chain.lake.merge_environment("dev")
    chain.lake.delete_environment("dev")
    lake = home(chain.lake)
    lake.gc()
    assert lake.fsck().ok
    assert chain.files("orders") == {"/a": "2"}


def test_a_branch_that_is_not_main_has_its_own_in_an_environment(alone: Graph):
    alone.lake.create_branch("orders@staging")
    alone.put("orders@staging", a="1")
    alone.apply("b", tl.pfs("orders", NOTHING, branch="staging"), ["true"], output_branch="out")
    alone.run()
    alone.lake.create_environment("dev")
    assert alone.head("orders@dev.staging") == alone.head("orders@staging")
    made = alone.put("orders@dev.staging", a="2")
    (job,) = alone.run()
    assert (job.branch, alone.head("b@dev.out")) == ("dev.out", made)
    alone.lake.merge_environment("dev")
    assert alone.run() == []
    assert alone.files("orders@staging") == {"/a": "2"}
    assert alone.head("b@out") == alone.head("orders@staging")
