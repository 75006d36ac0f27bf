"""Outputs that were made on another branch are taken over: nothing is computed a second time.

An output is what its inputs and its code made of it. Where both are the same, so is the output:
the job is over as soon as it is there, and its commit shares the files of the other. It has its
own inputs and version in its record, so it says where it comes from as any other commit does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from trunkline.model.commits import Commit
from trunkline.model.jobs import Counts, Job, JobState
from trunkline.model.told import Kind, of_place
from trunkline.pipelines.spec.codec import target_to, view_of
from trunkline.storage.catalog import (
    Session,
    checks,
    commits,
    deliveries,
    events,
    jobs,
    pipelines,
    refs,
    repos,
)
from trunkline.storage.catalog.pipelines import Edge

if TYPE_CHECKING:
    from trunkline.lake.propagation import Node


@dataclass(frozen=True, slots=True)
class Made:
    """The output of a job, with what each of its inputs held, in their order."""

    commit: Commit
    job: Job
    contents: tuple[str | None, ...]


def made_at(session: Session, repo: int, commit_id: str | None) -> Made | None:
    """The output at a commit, if it is that of a job which went well."""
    commit = commits.find(session, repo, commit_id) if commit_id else None
    job = jobs.find(session, repo, commit.id) if commit else None
    if commit is None or job is None or job.state is not JobState.SUCCESS or job.is_stream:
        return None
    contents = []
    for one in job.inputs:
        source = repos.key_of(session, one.repo)
        contents.append(None if source is None else content_of(session, source, one.commit))
    return Made(commit, job, tuple(contents))


def content_of(session: Session, repo: int, commit_id: str | None) -> str | None:
    """The hash of what is read at a commit; None if that is not known yet, or not any more."""
    while commit_id is not None:
        commit = commits.find(session, repo, commit_id)
        if commit is None or commit.finished is None or commit.forgotten is not None:
            return None
        if commit.error is None:
            return commit.root_hash or ""
        commit_id = commit.parent
    return ""


def take_over(
    session: Session,
    node: Node,
    job_id: str,
    inputs: Sequence[tuple[Edge, str | None]],
    made: Made,
) -> bool:
    """End a job that has just been made with an output that is known; whether it is the same."""
    repo = node.pipeline.repo
    if not _would_make(session, node, inputs, made):
        return False
    before = jobs.listed(session, repo=repo, unfinished=True)
    if any(one.branch == node.branch and one.id != job_id for one in before):
        return False  # in its turn: one that was made before would end after it, and undo it
    branch = refs.branch(session, repo, node.branch)
    opened = commits.find(session, repo, job_id)
    assert branch is not None
    assert opened is not None
    source = made.commit
    done = replace(
        opened,
        finished=session.now(),
        root=source.root,
        root_hash=source.root_hash,
        files=source.files,
        size=source.size,
    )
    commits.finish(session, repo, done)
    refs.swap_head(session, repo, branch.name, branch.head, job_id, refs.Move(done.author, "job"))
    jobs.start(session, repo, job_id)
    total = made.job.counts.total
    jobs.end(
        session,
        repo,
        job_id,
        JobState.SUCCESS,
        of_place(Kind.TAKEN_OVER, source.repo, source.branch, source.id),
        counts=Counts(skipped=total, total=total, rows_out=made.job.counts.rows_out),
        index=(made.job.index, made.job.index_hash or "") if made.job.index else None,
    )
    _deliver(session, node, job_id)
    rules = [one.result for one in checks.listed(session, repo=repo, job=made.job.id)]
    checks.record(session, repo, job_id, rules, session.now())
    events.emit(session, "commit", done.repo, {"id": job_id, "branch": branch.name})
    events.emit(session, "job", done.repo, {"id": job_id, "state": str(JobState.SUCCESS)})
    return True


def _deliver(session: Session, node: Node, job_id: str) -> None:
    """The output goes to the pipeline's targets; what is tried out in an environment does not."""
    version = pipelines.version(session, node.pipeline.repo, node.pipeline.version)
    if node.environment or version is None:
        return
    for one in view_of(version.spec).egress:
        repo = node.pipeline.repo
        deliveries.enqueue(session, repo, job_id, one.name, one.kind, target_to(one))


def _would_make(
    session: Session, node: Node, inputs: Sequence[tuple[Edge, str | None]], made: Made
) -> bool:
    repo, job = node.pipeline.repo, made.job
    ours = pipelines.version(session, repo, node.pipeline.version)
    theirs = pipelines.version(session, repo, job.version)
    if ours is None or theirs is None or ours.digest != job.digest:
        return False
    if job.counts.failed or job.counts.recovered:
        return False  # these are tried again
    # Rules are no part of the digest: other rules may let the same output fail.
    ours_view, theirs_view = view_of(ours.spec), view_of(theirs.spec)
    if ours_view.input != theirs_view.input:
        return False
    if ours_view.expectations != theirs_view.expectations:
        return False
    if made.commit.forgotten is not None:
        return False
    read = [(edge, commit_id) for edge, commit_id in inputs if edge.is_leaf]
    here = [(edge.name, content_of(session, edge.source, one)) for edge, one in read]
    there = zip((one.name for one in job.inputs), made.contents, strict=True)
    return None not in (held for _, held in here) and here == list(there)
