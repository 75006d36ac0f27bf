"""Outputs that were made on another branch are taken over: nothing is computed a second time.

An output is what its inputs and its code made of it. Where both are the same, so is the output:
the job is over as soon as it is there, and its commit shares the files of the other. It has its
own inputs and version in its record, so it says where it comes from as any other commit does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trunkline.lake.propagation import Node
from trunkline.model.commits import Commit
from trunkline.model.jobs import Job, JobState
from trunkline.pipelines.spec.codec import view_of
from trunkline.storage.catalog import Session, commits, jobs, pipelines, repos
from trunkline.storage.catalog.pipelines import Edge


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


def would_make(
    session: Session, node: Node, inputs: Sequence[tuple[Edge, str | None]], made: Made
) -> bool:
    """Whether a pipeline would make of its inputs what was made already."""
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
