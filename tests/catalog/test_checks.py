"""Results of expectations in the catalog, on each database."""

from __future__ import annotations

from tests.catalog.conftest import add_repo
from trunkline.model.commits import DEFAULT_PROJECT, RepoName
from trunkline.model.expectations import Action, CheckKind, CheckResult, CheckState
from trunkline.model.ids import new_id
from trunkline.model.jobs import Job, JobState
from trunkline.model.told import NOTHING
from trunkline.storage.catalog import Database, Session, checks, jobs, pipelines, repos

ROW = '{"id":1,"name":"Zoë \'quoted\'"}'


def a_job(session: Session, repo: int, *, backfill: str | None = None, replay: str = "") -> str:
    job = Job(
        id=new_id(),
        pipeline=RepoName(DEFAULT_PROJECT, "ignored"),
        version=1,
        branch="main",
        state=JobState.CREATED,
        told_reason=NOTHING,
        told_cause=NOTHING,
        created=1,
        backfill=backfill,
        replay=replay,
    )
    jobs.add(session, repo, job)
    return job.id


def result(name: str = "r", state: CheckState = CheckState.PASSED, **fields: object) -> CheckResult:
    return CheckResult(name, CheckKind.EXPR, Action.FAIL, state, **fields)  # type: ignore[arg-type]


FULL = CheckResult(
    "not_negative",
    CheckKind.EXPR,
    Action.QUARANTINE,
    CheckState.WARNED,
    "orders",
    4_000_000_000_000,
    12,
    "12 of 4,000 rows break x >= 0",
    (ROW, "{}"),
)


def test_what_is_recorded_is_read_back(database: Database, repo: int):
    with database.write() as session:
        job = a_job(session, repo)
        checks.record(session, repo, job, [FULL, result("other")], 77)
        first, second = checks.listed(session, repo=repo)
        assert first.result == FULL
        assert (first.job, first.at) == (job, 77)
        assert second.result.name == "other"


def test_recording_again_replaces_and_nothing_is_nothing(database: Database, repo: int):
    with database.write() as session:
        job = a_job(session, repo)
        checks.record(session, repo, job, [result("a"), result("b")], 1)
        checks.record(session, repo, job, [result("c")], 2)
        assert [one.result.name for one in checks.listed(session, repo=repo)] == ["c"]
        checks.record(session, repo, job, [], 3)
        assert checks.listed(session) == []


def test_the_newest_jobs_of_each_pipeline_come_first(database: Database):
    with database.write() as session:
        orders, items = add_repo(session, "orders"), add_repo(session, "items")
        for at, repo in ((1, orders), (2, items), (3, orders), (4, orders)):
            checks.record(session, repo, a_job(session, repo), [result("a"), result("b")], at)
        newest = [(one.pipeline, one.at) for one in checks.listed(session)]
        assert newest == [("orders", 4)] * 2 + [("items", 2)] * 2
        two = [one.at for one in checks.listed(session, repo=orders, jobs_each=2)]
        assert two == [4, 4, 3, 3]
        assert checks.listed(session, project="elsewhere") == []


def test_a_state_is_that_of_the_newest_job(database: Database, repo: int):
    with database.write() as session:
        old, new = a_job(session, repo), a_job(session, repo)
        checks.record(session, repo, old, [result("a", CheckState.FAILED)], 1)
        checks.record(session, repo, new, [result("a"), result("b", CheckState.FAILED)], 2)
        failed = checks.listed(session, repo=repo, state=CheckState.FAILED)
        assert [one.result.name for one in failed] == ["b"]
        before = checks.listed(session, repo=repo, job=old, state=CheckState.FAILED)
        assert [one.result.name for one in before] == ["a"]


def test_backfills_do_not_hide_the_present(database: Database, repo: int):
    with database.write() as session:
        present, past = a_job(session, repo), a_job(session, repo, backfill="f" * 32)
        checks.record(session, repo, present, [result("a")], 1)
        checks.record(session, repo, past, [result("b")], 2)
        assert [one.result.name for one in checks.listed(session)] == ["a"]
        assert [one.result.name for one in checks.listed(session, job=past)] == ["b"]


def test_samples_can_be_forgotten_and_the_counts_stay(database: Database):
    with database.write() as session:
        orders, items = add_repo(session), add_repo(session)
        first, second = a_job(session, orders), a_job(session, orders)
        other = a_job(session, items)
        for at, (repo, job) in enumerate(((orders, first), (orders, second), (items, other))):
            checks.record(session, repo, job, [FULL], at)

        def left() -> list[bool]:
            found = {one.job: one.result for one in checks.listed(session, jobs_each=9)}
            assert all(one.broken == 12 for one in found.values())
            return [bool(found[job].samples) for job in (first, second, other)]

        assert checks.forget_samples(session, before=1) == 1
        assert left() == [False, True, True]
        assert checks.forget_samples(session, repo=orders, job=second) == 1
        assert left() == [False, False, True]
        assert checks.forget_samples(session, repo=items) == 1
        assert left() == [False, False, False]


def test_they_go_with_their_pipeline_and_with_their_repo(database: Database):
    with database.write() as session:
        for remove in (repos.remove, pipelines.remove):
            repo = add_repo(session)
            checks.record(session, repo, a_job(session, repo), [FULL], 1)
            remove(session, repo)
            assert checks.listed(session) == []


def test_a_job_keeps_what_it_makes_again(database: Database, repo: int):
    with database.write() as session:
        plain, replay = a_job(session, repo), a_job(session, repo, replay="not_negative")
        kept = {job.id: job.replay for job in jobs.listed(session, repo=repo)}
        assert kept == {plain: "", replay: "not_negative"}
