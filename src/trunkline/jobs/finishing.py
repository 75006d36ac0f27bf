"""How a job ends: in one transaction with its commit, and only for who still holds its claim."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from trunkline.errors import LeaseLost
from trunkline.jobs.claims import Claim
from trunkline.jobs.context import Context
from trunkline.lake.core import Core
from trunkline.lake.drafts import StoredTree
from trunkline.lake.publish import Ending, Outcome, Readers, end_job, publish
from trunkline.model.commits import Commit
from trunkline.model.expectations import CheckResult
from trunkline.model.jobs import Counts, JobState
from trunkline.model.streams import FlowState
from trunkline.model.told import NOTHING, Told
from trunkline.storage.catalog import Session, commits, events, flows, jobs, leases, pipelines, refs
from trunkline.storage.crashpoints import crashpoint

Stored = tuple[str, str]
"""Where a tree is kept, and its hash."""


class BaseMoved(Exception):
    """What the job builds on or takes over was changed meanwhile: work it out again."""


def succeed(
    core: Core,
    claim: Claim,
    context: Context,
    built: StoredTree,
    index: Stored | None,
    results: Stored | None,
    counts: Counts,
    reason: Told = NOTHING,
    checked: Sequence[CheckResult] = (),
    also: Callable[[Session], None] | None = None,
    readers: Readers = Readers.FOLLOW,
    author: str = "",
) -> Commit:
    """The output becomes visible, and the job is done. `also` is done in the same transaction."""
    crashpoint("job.before_commit")
    with core.database.write() as session:
        check(session, claim)
        branch = refs.branch(session, claim.repo, context.branch)
        if branch is None or branch.head != context.base.id:
            raise BaseMoved
        opened = commits.find(session, claim.repo, claim.job.id)
        if opened is None or opened.finished is not None:
            raise lost(claim)
        _keep(session, claim, context, results)
        if also is not None:
            also(session)
        outcome = Outcome(JobState.SUCCESS, reason, counts, index, context.inputs, checked)
        ending = Ending(
            commit=opened, content=built, outcome=outcome, readers=readers, author=author
        )
        done = publish(session, claim.repo, branch, ending)
        crashpoint("job.in_commit")
    crashpoint("job.committed")
    return done


def fail(
    core: Core,
    claim: Claim,
    context: Context | None,
    state: JobState,
    reason: Told,
    *,
    index: Stored | None = None,
    results: Stored | None = None,
    counts: Counts | None = None,
    checked: Sequence[CheckResult] = (),
) -> None:
    """No output; what was computed is kept, and all that waits for the job is told."""
    with core.database.write() as session:
        check(session, claim)
        if context is not None:
            _keep(session, claim, context, results)
        inputs = context.inputs if context is not None else None
        outcome = Outcome(state, reason, counts, index, inputs, checked)
        end_job(session, claim.repo, claim.job.id, outcome)
        flows.note(session, claim.repo, FlowState.FAILED, str(reason))  # if it is a stream's


def try_again(
    core: Core,
    claim: Claim,
    context: Context,
    reason: Told,
    wait_seconds: float,
    results: Stored | None,
) -> None:
    """The job waits for its next attempt; what was computed is kept."""
    with core.database.write() as session:
        check(session, claim)
        _keep(session, claim, context, results)
        moment = session.now() + int(wait_seconds * 1_000_000)
        jobs.wait(session, claim.repo, claim.job.id, reason, moment)
        events.emit(session, "job", claim.job.pipeline, {"id": claim.job.id, "state": "waiting"})


def check(session: Session, claim: Claim) -> None:
    """In a transaction that ends a job: it is still ours to end. Gives its lease back."""
    job = claim.job
    if not jobs.holds(session, claim.repo, job.id, job.fence):
        raise lost(claim)
    if not leases.release(session, claim.txn):
        raise lost(claim)  # gc may have taken what this attempt wrote


def _keep(session: Session, claim: Claim, context: Context, results: Stored | None) -> None:
    """Add to the pipeline's results. What gc took from them meanwhile must not be used."""
    pipeline = pipelines.find(session, claim.repo)
    if pipeline is None or pipeline.results != context.results_at:
        raise BaseMoved
    for job_id in context.borrowed:
        found = jobs.find(session, claim.repo, job_id)
        if found is None or found.digest != context.version.digest:
            raise BaseMoved
    if results is not None:
        pipelines.set_results(session, claim.repo, *results)


def lost(claim: Claim) -> LeaseLost:
    return LeaseLost(
        f"{claim.job.pipeline}@{claim.job.short_id} is no longer ours: it was cancelled, or "
        "this worker was stopped for longer than its lease.",
        hint="Nothing was changed.",
    )
