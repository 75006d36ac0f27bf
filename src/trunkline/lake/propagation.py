"""A commit finished: who reads it? Open commits and jobs for all of them, in its own transaction.

Everything that starts work comes through here: commits of people, of schedules and of
pipelines, branches that were moved, pipelines that were applied. All that one change causes
shares its id, and each pipeline gets at most one commit of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from trunkline.lake.triggering import follow
from trunkline.model.commits import DEFAULT_BRANCH, Branch, Commit, Origin, RepoName
from trunkline.model.ids import new_id
from trunkline.model.jobs import Job, JobInput, JobState
from trunkline.storage.catalog import (
    Session,
    commits,
    events,
    flows,
    jobs,
    pipelines,
    refs,
    repos,
)
from trunkline.storage.catalog.pipelines import Edge, PipelineRow
from trunkline.storage.crashpoints import crashpoint

Place = tuple[int, str]
"""A branch: repo key and name."""


@dataclass(frozen=True, slots=True)
class Change:
    """What happened: which branches point where now, and which pipelines must run anyway.

    `finished` are the branches that got a finished commit (not a head moved by hand): only
    those fire triggers.
    """

    cause: str
    author: str
    moved: Mapping[Place, str | None] = field(default_factory=dict)
    finished: frozenset[Place] = frozenset()
    forced: tuple[int, ...] = ()
    replay: str = ""
    """For those that are forced: the rule whose quarantine is made again, or * for all."""
    causes: Mapping[Place, str] = field(default_factory=dict)
    """What to say instead of `cause` to those that read a branch, where several were moved."""


def spread(session: Session, set_id: str, change: Change) -> str | None:
    """Start every job that the change asks for; the id of their set, or None if there is none."""
    moved = dict(change.moved)
    moved.update(follow(session, moved, change.finished, change.author))
    waves = _downstream(session, moved, change.forced)
    if not waves:
        return None
    if any(commits.find(session, pipeline.repo, set_id) for pipeline in waves):
        # The set has been here before: a branch that follows closes a circle of its own.
        set_id = new_id()
    started = 0
    causes = dict(change.causes)
    for pipeline in waves:
        edges = pipelines.reads(session, pipeline.repo)
        hit = any(e.propagation and (e.source, e.branch) in moved for e in edges)
        if not hit and pipeline.repo not in change.forced:
            continue
        if pipeline.paused:
            pipelines.set_pending(session, pipeline.repo, True)
            continue
        read = [(e.source, e.branch) for e in edges if e.propagation]
        cause = next((causes[place] for place in read if place in causes), change.cause)
        if branch := _open_job(
            session, set_id, pipeline, edges, moved, replace(change, cause=cause)
        ):
            moved[(pipeline.repo, branch)] = set_id
            causes[(pipeline.repo, branch)] = cause
            started += 1
    crashpoint("propagate.in_transaction")
    return set_id if started else None


def _downstream(
    session: Session, moved: Mapping[Place, str | None], forced: Sequence[int]
) -> list[PipelineRow]:
    """Every pipeline the change may reach, each after all it reads."""
    found: dict[int, PipelineRow] = {}
    feeds: dict[int, set[int]] = {}
    waiting: list[tuple[int | None, Edge]] = [
        (None, edge) for repo, branch in moved for edge in pipelines.readers(session, repo, branch)
    ]
    queue = [repo for repo in forced if _discover(session, repo, found)]
    while waiting or queue:
        if waiting:
            source, edge = waiting.pop()
            if not edge.propagation:
                continue
            if source is not None:
                feeds.setdefault(edge.pipeline, set()).add(source)
            if not _discover(session, edge.pipeline, found):
                continue
            repo = edge.pipeline
        else:
            repo = queue.pop()
        branch = output_branch(session, found[repo])
        waiting += [(repo, edge) for edge in pipelines.readers(session, repo, branch)]
    return _ordered(session, found, feeds)


def _discover(session: Session, repo: int, found: dict[int, PipelineRow]) -> bool:
    """Whether the pipeline had not been met yet."""
    if repo in found:
        return False
    row = pipelines.find(session, repo)
    if row is None:
        return False
    found[repo] = row
    return True


def _ordered(
    session: Session, found: Mapping[int, PipelineRow], feeds: Mapping[int, set[int]]
) -> list[PipelineRow]:
    # What is read without propagation does not start a job, but goes before it all the same.
    left = {
        repo: feeds.get(repo, set())
        | {e.source for e in pipelines.reads(session, repo) if e.source in found}
        for repo in found
    }
    done: list[PipelineRow] = []
    while left:
        ready = sorted(repo for repo, before in left.items() if not before & left.keys())
        # Cycles are refused when pipelines are applied; a damaged catalog must not hang us.
        for repo in ready or sorted(left):
            done.append(found[repo])
            del left[repo]
    return done


def output_branch(session: Session, pipeline: PipelineRow) -> str:
    version = pipelines.version(session, pipeline.repo, pipeline.version)
    return str(version.spec.get("output_branch") or DEFAULT_BRANCH) if version else DEFAULT_BRANCH


def _open_job(
    session: Session,
    set_id: str,
    pipeline: PipelineRow,
    edges: Sequence[Edge],
    moved: Mapping[Place, str | None],
    change: Change,
) -> str | None:
    """The open commit and the job of one pipeline; its branch, or None if it reads nothing."""
    inputs = [(edge, _input(session, edge, moved)) for edge in edges]
    if all(commit is None for _, commit in inputs):
        return None
    branch = output_branch(session, pipeline)
    replay = change.replay if pipeline.repo in change.forced else ""
    open_job(session, set_id, pipeline, branch, inputs, change.cause, change.author, replay=replay)
    return branch


def open_job(
    session: Session,
    set_id: str,
    pipeline: PipelineRow,
    branch: str,
    inputs: Iterable[tuple[Edge, str | None]],
    cause: str,
    author: str,
    *,
    version: int | None = None,
    backfill: str | None = None,
    replay: str = "",
) -> None:
    """Insert the open commit, where it comes from, and the job that will fill it."""
    inputs = list(inputs)
    declared = pipelines.version(session, pipeline.repo, version or pipeline.version)
    assert declared is not None
    at = _branch(session, pipeline, branch, author)
    commit = Commit(
        id=set_id,
        repo=pipeline.name,
        branch=branch,
        parent=at.head,
        message=cause,
        author=author,
        started=session.now(),
        finished=None,
        origin=Origin.PIPELINE,
    )
    commits.add(session, pipeline.repo, commit)
    for edge, source_id in inputs:
        if source_id is not None:
            commits.add_provenance(session, pipeline.repo, set_id, edge.source, source_id)
    commits.add_provenance(session, pipeline.repo, set_id, pipeline.code_repo, declared.code)
    names = {edge.source: _name(session, edge.source) for edge, _ in inputs}
    coming = [names[edge.source] for edge, one in inputs if one and _is_open(session, edge, one)]
    job = Job(
        id=set_id,
        pipeline=pipeline.name,
        version=declared.version,
        branch=branch,
        state=JobState.WAITING if coming else JobState.CREATED,
        reason=f"waits for {', '.join(map(str, dict.fromkeys(coming)))}" if coming else "",
        cause=cause,
        created=session.now(),
        inputs=tuple(
            JobInput(edge.name, names[edge.source], edge.branch, source_id)
            for edge, source_id in inputs
            if edge.is_leaf
        ),
        digest=declared.digest,
        priority=int(declared.spec.get("priority") or 0),
        backfill=backfill,
        replay=replay,
    )
    lane = jobs.STREAM if flows.find(session, pipeline.repo) else ""
    jobs.add(session, pipeline.repo, job, str(declared.spec.get("pool") or ""), lane)
    events.emit(session, "job", pipeline.name, {"id": set_id, "state": str(job.state)})


def _is_open(session: Session, edge: Edge, commit_id: str) -> bool:
    found = commits.find(session, edge.source, commit_id)
    return found is not None and found.finished is None


def _branch(session: Session, pipeline: PipelineRow, branch: str, author: str) -> Branch:
    found = refs.branch(session, pipeline.repo, branch)
    if found is None:
        refs.add_branch(session, pipeline.repo, branch, None, refs.Move(author, "job"))
        found = refs.branch(session, pipeline.repo, branch)
    assert found is not None
    return found


def _input(session: Session, edge: Edge, moved: Mapping[Place, str | None]) -> str | None:
    """The commit in force: the set's own, else one that is still being made, else the head."""
    if (edge.source, edge.branch) in moved:
        return moved[(edge.source, edge.branch)]
    if coming := jobs.newest(session, edge.source, edge.branch, unfinished=True):
        return coming.id
    branch = refs.branch(session, edge.source, edge.branch)
    return branch.head if branch else None


def _name(session: Session, repo: int) -> RepoName:
    found = repos.name_of(session, repo)
    assert found is not None
    return found


def end_job(
    session: Session, repo: int, job_id: str, state: JobState, reason: str, **facts: object
) -> None:
    """A job ends without output: its commit with an error, and all that waits for it with it."""
    ended = jobs.end(session, repo, job_id, state, reason, **facts)  # type: ignore[arg-type]
    name = _name(session, repo)
    found = commits.find(session, repo, job_id)
    if found is not None and found.finished is None:
        _close_with_error(session, repo, found, f"{state}: {reason}" if reason else str(state))
    if ended:
        events.emit(session, "job", name, {"id": job_id, "state": str(state)})
    for below, below_id in jobs.using(session, repo, job_id):
        what = "failed" if state is JobState.FAILURE else f"is {state}"
        end_job(session, below, below_id, JobState.UNRUNNABLE, f"its input {name} {what}")


def _close_with_error(session: Session, repo: int, commit: Commit, error: str) -> None:
    """The commit stays for diagnosis; the branch, and whoever builds on it, passes it by."""
    branch = refs.branch(session, repo, commit.branch)
    commits.move_below(session, repo, commit.id, branch.head if branch else None)
    parent = commits.find(session, repo, branch.head) if branch and branch.head else None
    session.execute(
        """UPDATE commits SET finished = :now, error = :error, root = :root,
               root_hash = :root_hash, files = :files, size = :size
           WHERE repo = :repo AND id = :id""",
        {
            "repo": repo,
            "id": commit.id,
            "now": session.now(),
            "error": error,
            "root": parent.root if parent else None,
            "root_hash": parent.root_hash if parent else None,
            "files": parent.files if parent else 0,
            "size": parent.size if parent else 0,
        },
    )
