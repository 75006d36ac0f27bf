"""Applying, changing, pausing and deleting pipelines: SEMANTICS 7."""

from __future__ import annotations

from typing import Any

import pytest

import trunkline as tl
from tests.jobs.graphs import COPY, LOUD, NOTHING, Graph, reads
from tests.served import home
from trunkline import errors
from trunkline.model.commits import RepoKind
from trunkline.model.jobs import JobState
from trunkline.model.shape import as_json


def jobs_by_state(graph: Graph, name: str) -> list[tuple[str, str]]:
    """States and reasons of a pipeline's jobs, oldest first."""
    return [(str(job.state), job.reason) for job in graph.lake.jobs(name)][::-1]


# -- versions ----------------------------------------------------------------------------------


def test_a_new_name_is_version_1(idle: Graph):
    applied = idle.follow("b", "orders")
    assert (str(applied.name), applied.action, applied.version) == ("b", "created", 1)
    assert idle.lake.repo("b").kind is RepoKind.OUTPUT


def test_applying_the_same_again_changes_nothing(idle: Graph):
    idle.put("orders", a="1")
    idle.apply("b", tl.pfs("orders", NOTHING))
    again = idle.apply("b", tl.pfs("orders", NOTHING))
    assert (again.action, again.version, again.job) == ("unchanged", 1, None)
    assert len(idle.sets("b")) == 1


def test_a_change_is_a_new_version_and_the_old_ones_are_kept(idle: Graph):
    idle.follow("b", "orders", description="old")
    assert idle.follow("b", "orders", description="new").version == 2
    assert [one.version for one in idle.lake.pipeline_versions("b")] == [2, 1]
    assert idle.lake.pipeline("b").description == "new"
    assert idle.lake.pipeline("b", version=1).description == "old"


def test_a_version_that_never_was_is_not_found(idle: Graph):
    idle.follow("b", "orders")
    with pytest.raises(errors.NotFound, match="b has no version 7"):
        idle.lake.pipeline("b", version=7)


@pytest.mark.parametrize(
    "change",
    [
        {"input": tl.pfs("orders", "/other")},
        {"input": tl.cross(tl.pfs("orders", NOTHING), tl.pfs("rates", NOTHING))},
        {"does": LOUD},
        {"does": ["false"]},
        {"env": {"X": "2"}},
        {"output_branch": "daily"},
    ],
    ids=["glob", "another repo", "code", "command", "environment", "branch"],
)
def test_what_decides_results_makes_one_job_at_the_heads_when_it_changes(idle: Graph, change):
    idle.put("orders", a="1")
    newest = idle.put("orders", a="2")
    fields: dict[str, Any] = {"input": tl.pfs("orders", NOTHING), "does": COPY, "env": {"X": "1"}}
    idle.apply("b", **fields)
    idle.run()
    applied = idle.apply("b", **{**fields, **change})
    assert idle.sets("b")[-1] == applied.job
    assert len(idle.sets("b")) == 2
    assert reads(idle.job("b"))["orders"] == newest
    assert idle.job("b").version == 2


@pytest.mark.parametrize(
    "change",
    [{"description": "x"}, {"priority": 3}, {"parallelism_spec": {"constant": 1}}, {"pool": "p"}],
    ids=str,
)
def test_what_decides_no_results_starts_nothing(idle: Graph, change):
    idle.put("orders", a="1")
    idle.follow("b", "orders")
    idle.run()
    applied = idle.follow("b", "orders", **change)
    assert (applied.action, applied.version, applied.job) == ("updated", 2, None)


def test_params_that_python_takes_for_equal_are_other_versions_and_other_results(idle: Graph):
    idle.put("orders", a="1")
    spec: dict[str, Any] = {
        "pipeline": {"name": "q"},
        "input": {"pfs": {"repo": "orders", "glob": "/"}},
    }
    seen: set[str | None] = set()
    for number, value in enumerate((1, 1.0, True, "1", [1], [True], 0, 0.0, -0.0, False), 1):
        spec["transform"] = {"sql": "SELECT ${n} AS n FROM orders", "params": {"n": value}}
        (applied,) = idle.lake.apply(spec).applied
        assert (applied.version, applied.job in {None, *seen}) == (number, False), value
        seen.add(applied.job)
        assert idle.lake.apply(spec).applied[0].action == "unchanged"


def test_settings_of_spark_that_decide_results_compute_them_anew(idle: Graph):
    idle.put("orders", a="1")
    spec: dict[str, Any] = {
        "pipeline": {"name": "q"},
        "input": {"pfs": {"repo": "orders", "glob": "/"}},
    }
    spec["transform"] = {"sql": "SELECT hour(at) AS h FROM orders"}
    idle.lake.apply(spec)
    for settings, runs in (
        ({"spark.sql.session.timeZone": "UTC"}, False),
        ({"spark.sql.session.timeZone": "Asia/Tokyo"}, True),
        ({"spark.sql.session.timeZone": "Asia/Tokyo", "spark.sql.shuffle.partitions": 3}, False),
        ({"spark.sql.ansi.enabled": False}, True),
        ({"spark.sql.legacy.something": 1}, True),
    ):
        idle.run()
        (applied,) = idle.lake.apply({**spec, "spark": settings}).applied
        assert (applied.action, applied.job is not None) == ("updated", runs), settings


def test_jobs_downstream_of_a_changed_pipeline_are_of_the_same_set(idle: Graph):
    idle.put("orders", a="1")
    idle.follow("b", "orders")
    idle.follow("c", "b")
    idle.run()
    applied = idle.apply("b", tl.pfs("orders", NOTHING), ["false"])
    assert idle.sets("c")[-1] == applied.job


def test_a_pipeline_that_reads_something_else_now_no_longer_hears_of_the_old(idle: Graph):
    idle.follow("b", "orders")
    idle.follow("b", "rates")
    idle.put("orders", a="1")
    made = idle.put("rates", r="1")
    assert idle.sets("b") == [made]


# -- unfinished jobs ---------------------------------------------------------------------------


def test_applying_kills_unfinished_jobs_and_starts_one_in_their_place(idle: Graph):
    idle.follow("b", "orders")
    idle.put("orders", a="1")
    newest = idle.put("orders", a="2")
    idle.apply("b", tl.pfs("orders", NOTHING), ["false"])
    killed = ("killed", "version 2 was applied")
    assert jobs_by_state(idle, "b") == [killed, killed, ("created", "")]
    assert reads(idle.job("b")) == {"orders": newest}


def test_a_change_that_decides_no_results_still_makes_up_for_the_job_it_kills(idle: Graph):
    idle.follow("b", "orders")
    newest = idle.put("orders", a="1")
    applied = idle.follow("b", "orders", description="better")
    assert applied.job == idle.sets("b")[-1]
    assert reads(idle.job("b")) == {"orders": newest}
    assert idle.run_one().state is JobState.SUCCESS


def test_what_waits_for_a_killed_job_is_unrunnable_and_comes_with_the_new_one(idle: Graph):
    idle.follow("b", "orders")
    idle.follow("c", "b")
    made = idle.put("orders", a="1")
    applied = idle.apply("b", tl.pfs("orders", NOTHING), ["false"])
    assert idle.states(made) == {"b": "killed", "c": "unrunnable"}
    assert idle.job("c", made).reason == "its input b was stopped"
    assert idle.sets("c") == [made, applied.job]


# -- reprocess ---------------------------------------------------------------------------------


def test_changed_code_runs_all_again_and_says_why(graph: Graph):
    graph.put("orders", a="x", b="y")
    graph.apply("b", "orders")
    graph.run_well()
    graph.apply("b", "orders", LOUD)
    job = graph.run_well()
    assert graph.reasons(job) == {"/a": "code changed", "/b": "code changed"}
    assert graph.files("b") == {"/a": "X", "/b": "Y"}


def test_no_reprocess_keeps_old_results_though_the_code_changed(graph: Graph):
    graph.put("orders", a="x")
    graph.apply("b", "orders")
    graph.run_well()
    applied = graph.apply("b", "orders", LOUD, how={"no_reprocess": True})
    assert (applied.version, applied.job) == (2, None)
    graph.put("orders", b="y")
    job = graph.run_well()
    assert graph.ran(job) == {"/b"}
    assert graph.files("b") == {"/a": "x", "/b": "Y"}


def test_applying_the_same_again_keeps_what_was_to_be_kept(graph: Graph):
    graph.put("orders", a="x")
    graph.apply("b", "orders")
    graph.run_well()
    graph.apply("b", "orders", LOUD, how={"no_reprocess": True})
    (plan,) = graph.lake.plan(graph.spec("b", "orders", LOUD)).pipelines
    assert (plan.action, plan.run, plan.keep) == ("unchanged", 0, 1)
    assert graph.apply("b", "orders", LOUD).action == "unchanged"
    graph.apply("b", "orders", LOUD, how={"reprocess": True})
    graph.run_well()
    assert graph.files("b") == {"/a": "X"}


def test_a_plan_and_what_it_is_a_plan_of_agree(graph: Graph):
    graph.put("orders", a="x")
    graph.apply("b", "orders")
    graph.run_well()
    words = {"update": "updated", "unchanged": "unchanged"}
    ways: list[dict[str, Any]] = [{}, {"no_reprocess": True}, {"reprocess": True}]
    for how in ways:
        for source in (COPY, LOUD):
            (plan,) = graph.lake.plan(graph.spec("b", "orders", source), **how).pipelines
            applied = graph.apply("b", "orders", source, how=how)
            assert (words[plan.action], plan.version) == (applied.action, applied.version)
            jobs = graph.run()
            assert plan.run == sum(job.counts.processed for job in jobs)


def test_reprocess_runs_all_again_though_nothing_changed(graph: Graph):
    graph.put("orders", a="x", b="y")
    graph.apply("b", "orders")
    graph.run_well()
    applied = graph.apply("b", "orders", how={"reprocess": True})
    assert applied.version == 2
    job = graph.run_well()
    assert graph.reasons(job) == {"/a": "reprocess", "/b": "reprocess"}


def test_reprocess_and_no_reprocess_together_are_refused(idle: Graph):
    with pytest.raises(errors.Usage):
        idle.follow("b", "orders", how={"reprocess": True, "no_reprocess": True})


def test_a_change_of_a_comment_in_a_spec_or_of_a_datums_tries_runs_nothing_again(graph: Graph):
    graph.put("orders", a="x")
    graph.apply("b", "orders", datum_tries=1)
    graph.run_well()
    graph.apply("b", "orders", datum_tries=2, description="better")
    graph.put("orders", b="y")
    assert graph.ran(graph.run_well()) == {"/b"}


# -- code --------------------------------------------------------------------------------------


def test_the_code_of_each_version_can_be_shown_and_compared(idle: Graph):
    idle.apply("b", "orders", COPY)
    idle.apply("b", "orders", LOUD)
    lake = idle.lake
    assert lake.read("b.code@v1:/work.py").decode().strip() == COPY.strip()
    assert lake.read("b.code@v2:/work.py").decode().strip() == LOUD.strip()
    assert '"python": "work.py:f"' in lake.read("b.code@v2:/pipeline.json").decode()
    changed = [one.path for one in lake.diff("b.code@v1", "b.code@v2").changes]
    assert changed == ["/work.py"]


def test_code_that_is_no_longer_there_is_not_in_the_next_version(idle: Graph):
    idle.apply("b", "orders")
    more = idle.code / "b" / "more.py"
    more.write_text("x = 1\n")
    idle.apply("b", "orders")
    more.unlink()
    idle.apply("b", "orders")
    has = [("/more.py" in idle.files(f"b.code@v{number}")) for number in (1, 2, 3)]
    assert has == [False, True, False]


def test_people_cannot_write_to_the_code_of_a_pipeline(idle: Graph):
    idle.follow("b", "orders")
    with pytest.raises(errors.NotAllowed, match="keeps the code"):
        idle.put("b.code", a="1")


def test_a_job_names_its_code_as_a_source(idle: Graph):
    idle.follow("b", "orders")
    made = idle.put("orders", a="1")
    sources = idle.lake.show(made).sources["b"]
    assert {str(one.repo) for one in sources} == {"orders", "b.code"}


# -- refused -----------------------------------------------------------------------------------


def test_a_missing_repo_is_refused_with_a_suggestion(idle: Graph):
    with pytest.raises(errors.NotFound) as refused:
        idle.follow("b", "ordrs")
    assert 'reads the repo "ordrs", which does not exist. Did you mean "orders"?' in str(
        refused.value
    )
    assert idle.lake.pipelines() == []


def test_the_name_of_a_repo_is_refused(idle: Graph):
    with pytest.raises(errors.AlreadyExists, match="A plain repo named rates exists"):
        idle.follow("rates", "orders")


def test_a_branch_that_is_not_there_is_told_beside_the_one_that_has_data(idle: Graph):
    idle.put("orders", a="1", b="2")
    spec = idle.spec("m", tl.pfs("orders", "/*", branch="master"), ["true"])
    said = (
        "m reads orders@master, a branch that does not exist and is made empty; "
        "orders@main has 2 files."
    )
    plan = idle.lake.plan(spec)
    assert plan.notes == (said,)
    assert plan.pipelines[0].note == "no data: orders@master has no commits"
    assert as_json(plan)["notes"] == [said]
    assert idle.lake.apply(spec).notes == (said,)
    assert idle.lake.apply(spec).notes == (
        "m reads orders@master, which has no commits; orders@main has 2 files.",
    )
    assert idle.lake.plan().pipelines[0].note == "no data: orders@master has no commits"


def test_a_branch_that_a_pipeline_does_not_write_is_told(idle: Graph):
    upstream = idle.spec("up", tl.pfs("orders", "/*"), ["true"])
    reader = idle.spec("down", tl.pfs("up", "/*", branch="master"), ["true"])
    what = "down reads up@master, a branch that does not exist and is made empty"
    assert idle.lake.apply(upstream, reader).notes == (f"{what}; up writes to main.",)
    both = idle.spec("both", tl.pfs("up", "/*"), ["true"])
    assert idle.lake.apply(both).notes == ()


@pytest.mark.parametrize("how", ["changed", "deleted"])
def test_the_empty_branch_that_a_pipeline_brought_goes_with_it(idle: Graph, how: str):
    idle.put("orders", a="1")
    names = ("m", "other")
    for name in names:
        idle.apply(name, tl.pfs("orders", NOTHING, branch="master"), ["true"])
    idle.lake.create_repo("plain")
    idle.lake.create_branch("plain@mine")
    idle.apply("p", tl.pfs("plain", NOTHING, branch="mine"), ["true"])
    for name in names:
        assert "master" in {one.name for one in idle.lake.branches("orders")}
        if how == "deleted":
            idle.lake.delete_pipeline(name)
        else:
            idle.apply(name, tl.pfs("orders", NOTHING), ["true"])
    assert {one.name for one in idle.lake.branches("orders")} == {"main"}
    idle.lake.delete_pipeline("p")
    assert {one.name for one in idle.lake.branches("plain")} == {"main", "mine"}


def test_a_branch_with_data_stays_when_its_reader_goes(idle: Graph):
    idle.apply("m", tl.pfs("orders", NOTHING, branch="master"), ["true"])
    idle.put("orders@master", a="1")
    idle.lake.delete_pipeline("m")
    assert idle.head("orders@master")


def test_a_pool_that_nobody_made_is_told(idle: Graph):
    idle.put("orders", a="1")
    spec = idle.spec("p", tl.pfs("orders", NOTHING), ["true"], pool="nosuch")
    said = (
        "p is in the pool nosuch, which does not exist and limits nothing: "
        "trunkline pool set nosuch SLOTS"
    )
    assert idle.lake.plan(spec).notes == idle.lake.apply(spec).notes == (said,)
    idle.lake.set_pool("nosuch", 1)
    assert idle.lake.apply(spec).notes == ()


def test_secrets_that_are_not_set_and_folders_of_images_are_told_at_once(idle: Graph):
    secret = [{"name": "chat-token", "env_var": "TOKEN"}]
    spec = idle.spec("p", "orders", ["true"], secrets=secret)
    spec["transform"]["working_dir"] = "/code"
    folder = "p works in /code of the datum's folder, where pfs/ and its code are"
    missing = "p needs the secret chat-token, which is not set: trunkline secret set chat-token"
    for report in (idle.lake.plan(spec), idle.lake.apply(spec)):
        assert report.notes == (missing, f"{folder}; there are no images here.")
    home(idle.lake).set_secret("chat-token", "sesame-99")
    assert idle.lake.plan(spec).notes == (f"{folder}; there are no images here.",)


def test_a_plan_without_datums_says_why(idle: Graph):
    two = tl.cross(tl.pfs("orders", "/*"), tl.pfs("rates", "/*"))
    plans = [idle.spec("one", tl.pfs("orders", "/*.csv"), ["true"]), idle.spec("two", two, ["x"])]

    def notes() -> list[str]:
        return [one.note for one in idle.lake.plan(*plans).pipelines]

    assert notes() == [
        "no data: orders@main has no commits",
        "no data: orders@main, rates@main have no commits",
    ]
    idle.put("orders", a="1")
    assert notes() == [
        "no datums: nothing in orders@main matches /*.csv",
        "no data: rates@main has no commits",
    ]
    idle.put("rates")
    assert notes()[1] == "no datums: its inputs have nothing that goes together"


def test_all_are_applied_or_none(idle: Graph):
    good = idle.spec("b", tl.pfs("orders", NOTHING), ["true"])
    bad = idle.spec("c", tl.pfs("no-such", NOTHING), ["true"])
    with pytest.raises(errors.NotFound):
        idle.lake.apply(good, bad)
    assert {str(repo.name) for repo in idle.lake.repos()} == {"orders", "rates"}


def test_one_name_declared_twice_is_refused(idle: Graph):
    spec = idle.spec("b", tl.pfs("orders", NOTHING), ["true"])
    with pytest.raises(errors.InvalidSpec, match="b is declared twice"):
        idle.lake.apply(spec, spec)


def test_a_pipeline_that_is_not_there_is_not_found_with_a_suggestion(idle: Graph):
    idle.follow("daily", "orders")
    for act in (idle.lake.pipeline, idle.lake.pause_pipeline, idle.lake.run_pipeline):
        with pytest.raises(errors.NotFound, match='Did you mean "daily"?'):
            act("dayly")


# -- pause and resume --------------------------------------------------------------------------


def test_a_paused_pipeline_gets_no_jobs_and_what_ran_is_killed(idle: Graph):
    idle.follow("b", "orders")
    idle.put("orders", a="1")
    idle.lake.pause_pipeline("b")
    idle.put("orders", a="2")
    assert jobs_by_state(idle, "b") == [("killed", "its pipeline was paused")]
    assert idle.lake.pipeline("b").state == "paused"


def test_all_that_came_meanwhile_makes_exactly_one_job_at_the_newest_heads(idle: Graph):
    idle.follow("b", "orders")
    idle.lake.pause_pipeline("b")
    for number in range(3):
        newest = idle.put("orders", a=str(number))
    started = idle.lake.resume_pipeline("b")
    assert idle.sets("b") == [started]
    assert reads(idle.job("b")) == {"orders": newest}
    assert idle.job("b").cause == "resumed"
    assert idle.lake.resume_pipeline("b") is None
    assert idle.sets("b") == [started]


def test_a_job_that_the_pause_killed_is_made_up_for(idle: Graph):
    idle.follow("b", "orders")
    made = idle.put("orders", a="1")
    idle.lake.pause_pipeline("b")
    idle.lake.resume_pipeline("b")
    assert reads(idle.job("b")) == {"orders": made}
    assert idle.run_one().state is JobState.SUCCESS


def test_a_pause_without_news_resumes_without_a_job(idle: Graph):
    idle.follow("b", "orders")
    idle.put("orders", a="1")
    idle.run()
    idle.lake.pause_pipeline("b")
    assert idle.lake.resume_pipeline("b") is None


def test_pipelines_below_a_paused_one_run_when_it_is_resumed(idle: Graph):
    idle.follow("b", "orders")
    idle.follow("c", "b")
    idle.lake.pause_pipeline("b")
    idle.put("orders", a="1")
    assert idle.sets("c") == []
    started = idle.lake.resume_pipeline("b")
    assert idle.sets("c") == [started]


def test_pipelines_below_a_paused_one_go_on_by_their_other_inputs(idle: Graph):
    idle.follow("b", "orders")
    idle.put("orders", a="1")
    idle.follow("c", "b", "rates")
    idle.run()
    last = idle.head("b")
    idle.lake.pause_pipeline("b")
    made = idle.put("rates", r="1")
    assert reads(idle.job("c")) == {"b": last, "rates": made}
    assert idle.run_one().state is JobState.SUCCESS


def test_a_paused_pipeline_stays_paused_when_it_is_changed(idle: Graph):
    idle.put("orders", a="1")
    idle.follow("b", "orders")
    idle.run()
    idle.lake.pause_pipeline("b")
    assert idle.apply("b", tl.pfs("orders", NOTHING), ["false"]).job is None
    assert idle.lake.pipeline("b").state == "paused"
    started = idle.lake.resume_pipeline("b")
    assert idle.job("b").id == started
    assert idle.job("b").version == 2


def test_a_paused_pipeline_cannot_be_run_by_hand(idle: Graph):
    idle.put("orders", a="1")
    idle.follow("b", "orders")
    idle.lake.pause_pipeline("b")
    with pytest.raises(errors.Precondition, match="b is paused"):
        idle.lake.run_pipeline("b")


def test_a_pipeline_can_be_run_by_hand_whatever_changed(idle: Graph):
    idle.put("orders", a="1")
    idle.follow("b", "orders")
    idle.follow("c", "b")
    idle.run()
    started = idle.lake.run_pipeline("b")
    assert (idle.sets("b")[-1], idle.sets("c")[-1]) == (started, started)


# -- delete ------------------------------------------------------------------------------------


def test_a_deleted_pipeline_takes_its_output_and_code_with_it(idle: Graph):
    idle.follow("b", "orders")
    idle.put("orders", a="1")
    idle.run()
    idle.lake.delete_pipeline("b")
    assert {str(repo.name) for repo in idle.lake.repos()} == {"orders", "rates"}
    assert (idle.lake.pipelines(), idle.lake.jobs()) == ([], [])
    idle.put("orders", a="2")
    assert idle.follow("b", "orders").version == 1


def test_a_pipeline_that_others_read_is_not_deleted(idle: Graph):
    idle.follow("b", "orders")
    idle.follow("c", "b")
    with pytest.raises(errors.InUse, match="b is read by c"):
        idle.lake.delete_pipeline("b")
    assert idle.lake.pipeline("b").version == 1


def test_unless_forced_and_then_its_readers_stop(idle: Graph):
    idle.follow("b", "orders")
    idle.follow("c", "b", "rates")
    idle.lake.delete_pipeline("b", force=True)
    assert idle.lake.pipeline("c").state == "paused"
    idle.put("rates", r="1")
    with pytest.raises(errors.Precondition, match="An input of c was deleted"):
        idle.lake.resume_pipeline("c")
    idle.follow("c", "rates")
    idle.lake.resume_pipeline("c")
    assert idle.run_one().state is JobState.SUCCESS


def test_the_output_can_be_kept_as_a_plain_repo(graph: Graph):
    graph.put("orders", a="x")
    graph.apply("b", "orders")
    graph.apply("c", "b")
    graph.run()
    graph.lake.delete_pipeline("b", keep_repo=True)
    assert graph.lake.repo("b").kind is RepoKind.USER
    assert graph.files("b") == {"/a": "x"}
    made = graph.put("b", z="by hand")
    assert graph.sets("c")[-1] == made
    graph.run_well()
    assert graph.files("c") == {"/a": "x", "/z": "by hand"}


def test_deleting_ends_what_waits(idle: Graph):
    idle.follow("b", "orders")
    idle.follow("c", "b")
    made = idle.put("orders", a="1")
    idle.lake.delete_pipeline("b", keep_repo=True)
    assert idle.states(made) == {"b": "killed", "c": "unrunnable"}


def test_a_repo_that_a_pipeline_reads_is_not_deleted(idle: Graph):
    idle.follow("b", "orders")
    with pytest.raises(errors.InUse, match="b"):
        idle.lake.delete_repo("orders")


def test_the_repos_of_a_pipeline_are_deleted_with_it_and_not_alone(idle: Graph):
    idle.follow("b", "orders")
    for name in ("b", "b.code"):
        with pytest.raises(errors.TrunklineError):
            idle.lake.delete_repo(name)
    assert idle.put("orders", a="1") in idle.sets("b")


# -- plan --------------------------------------------------------------------------------------


def test_a_plan_counts_and_says_why_and_does_nothing(graph: Graph):
    graph.put("orders", a="x", b="y")
    graph.apply("b", "orders")
    graph.apply("c", "b")
    graph.run()
    (plan,) = graph.lake.plan(graph.spec("b", "orders", LOUD)).pipelines
    assert (plan.action, plan.version, plan.run, plan.keep) == ("update", 2, 2, 0)
    assert plan.reasons == {"code changed": 2}
    assert plan.downstream == ("c",)
    assert graph.lake.pipeline("b").version == 1
    assert graph.files("b") == {"/a": "x", "/b": "y"}


def test_a_plan_of_the_same_keeps_everything(graph: Graph):
    graph.put("orders", a="x", b="y")
    graph.apply("b", "orders")
    graph.run_well()
    (plan,) = graph.lake.plan(graph.spec("b", "orders")).pipelines
    assert (plan.action, plan.run, plan.keep) == ("unchanged", 0, 2)


def test_a_plan_without_specs_tells_what_is_due(graph: Graph):
    graph.put("orders", a="x", b="y", c="z")
    graph.apply("b", "orders")
    graph.run_well()
    graph.put("orders", a="new", b=None, d="w")
    (plan,) = graph.lake.plan().pipelines
    assert (plan.run, plan.keep, plan.drop) == (2, 1, 1)
    assert plan.reasons == {"input changed": 1, "input gone": 1, "new": 1, "unchanged": 1}


def test_a_plan_finds_results_of_old_versions(graph: Graph):
    graph.put("orders", a="x")
    graph.apply("b", "orders")
    graph.run_well()
    graph.apply("b", "orders", LOUD)
    graph.run_well()
    (plan,) = graph.lake.plan(graph.spec("b", "orders", COPY)).pipelines
    assert (plan.run, plan.reuse) == (0, 1)


def test_the_datums_of_a_spec_that_never_ran_can_be_listed(idle: Graph):
    idle.put("orders", a="x", b="y")
    found = [datum for _, datum in idle.lake.datums_of(idle.spec("b", "orders"))]
    assert [(d.inputs[0].path, d.state, d.reason) for d in found] == [
        ("/a", "waiting", "new"),
        ("/b", "waiting", "new"),
    ]
    assert idle.lake.pipelines() == []
