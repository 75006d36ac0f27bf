"""A commit finished: who reads it? Open commits and jobs for all of them, in its own transaction.

Everything that starts work comes through here: commits of people, of schedules and of
pipelines, branches that were moved, pipelines that were applied. All that one change causes
shares its id, and each pipeline gets at most one commit of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from trunkline.lake.handover import Made, take_over
from trunkline.lake.triggering import follow
from trunkline.model.commits import DEFAULT_BRANCH, Branch, Commit, Origin, RepoName
from trunkline.model.ids import new_id
from trunkline.model.jobs import BAD, Job, JobInput, JobState
from trunkline.model.told import Kind, Told, of_place, waits_for
from trunkline.pipelines.spec.codec import view_of
from trunkline.storage.catalog import (
    Session,
    commits,
    environments,
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
_BAD_INPUT = {
    JobState.FAILURE: Kind.INPUT_FAILED,
    JobState.KILLED: Kind.INPUT_STOPPED,
    JobState.UNRUNNABLE: Kind.INPUT_UNRUNNABLE,
}
NodeKey = tuple[int, str]
"""A pipeline where it runs: its repo's key, and the environment, "" for none."""


@dataclass(frozen=True, slots=True)
class Change:
    """What happened: which branches point where now, and which pipelines must run anyway.

    `finished` are the branches that got a finished commit (not a head moved by hand): only
    those fire triggers.
    """

    cause: Told
    author: str
    moved: Mapping[Place, str | None] = field(default_factory=dict)
    finished: frozenset[Place] = frozenset()
    forced: tuple[int, ...] = ()
    replay: str = ""
    """For those that are forced: the rule whose quarantine is made again, or * for all."""
    causes: Mapping[Place, Told] = field(default_factory=dict)
    """What to say instead of `cause` to those that read a branch, where several were moved."""
    environment: str = ""
    """Where those that are forced run."""
    made: Mapping[NodeKey, Made] = field(default_factory=dict)
    """Outputs made elsewhere, for those to take over who would make the same."""

    @property
    def forced_nodes(self) -> frozenset[NodeKey]:
        return frozenset((repo, self.environment) for repo in self.forced)


class Node(NamedTuple):
    """A pipeline where it is to run, with the version, branch and inputs that it has there."""

    pipeline: PipelineRow
    environment: str
    branch: str
    edges: list[Edge]

    @property
    def key(self) -> NodeKey:
        return self.pipeline.repo, self.environment


def spread(session: Session, set_id: str, change: Change) -> str | None:
    """Start every job that the change asks for; the id of their set, or None if there is none."""
    moved = dict(change.moved)
    moved.update(follow(session, moved, change.finished, change.author))
    nodes = _downstream(session, moved, change.forced_nodes)
    if not nodes:
        return None
    ids = _set_ids(session, set_id, nodes)
    started: dict[str, str] = {}
    followed: dict[Place, str | None] = {}
    causes = dict(change.causes)
    for node in nodes:
        pipeline = node.pipeline
        hit = any(e.propagation and (e.source, e.branch) in moved for e in node.edges)
        if not hit and node.key not in change.forced_nodes:
            continue
        if pipeline.paused:
            pipelines.set_pending(session, pipeline.repo, True)
            continue
        is_stream = flows.find(session, pipeline.repo) is not None
        inputs = [(edge, _input(session, edge, moved, is_stream)) for edge in node.edges]
        if all(commit is None for _, commit in inputs):
            continue
        read = [(e.source, e.branch) for e in node.edges if e.propagation]
        cause = next((causes[place] for place in read if place in causes), change.cause)
        place, own_id = (pipeline.repo, node.branch), ids[node.environment]
        replay = change.replay if node.key in change.forced_nodes else ""
        can_run = open_job(
            session,
            own_id,
            pipeline,
            node.branch,
            inputs,
            cause,
            change.author,
            replay=replay,
            environment=node.environment,
        )
        made = change.made.get(node.key) if can_run else None
        if made is not None and take_over(session, node, own_id, inputs, made):
            done = frozenset({place})
            followed.update(follow(session, {place: own_id}, done, change.author))
        moved[place], causes[place] = own_id, cause
        started.setdefault(node.environment, own_id)
    if followed:
        spread(session, set_id, Change(change.cause, "trigger", followed))
    crashpoint("propagate.in_transaction")
    return started.get(change.environment) or next(iter(started.values()), None)


def _set_ids(session: Session, set_id: str, nodes: Sequence[Node]) -> dict[str, str]:
    """The set of each environment's jobs. A repo has one commit in a set.

    So the set that has been here before gets another id: a branch that follows closes a circle
    of its own, or two environments have a job of the same pipeline.
    """
    ids: dict[str, str] = {}
    taken: set[int] = set()
    for environment in sorted({node.environment for node in nodes}):
        own = {node.pipeline.repo for node in nodes if node.environment == environment}
        if own & taken or any(commits.find(session, repo, set_id) for repo in own):
            ids[environment] = new_id()
        else:
            ids[environment] = set_id
            taken |= own
    return ids


def _downstream(
    session: Session, moved: Mapping[Place, str | None], forced: Iterable[NodeKey]
) -> list[Node]:
    """Every pipeline the change may reach, each after all it reads."""
    found: dict[NodeKey, Node] = {}
    feeds: dict[NodeKey, set[NodeKey]] = {}
    waiting = [(None, key) for place in moved for key in _started_by(session, place)]
    queue: list[tuple[NodeKey | None, NodeKey]] = [*((None, key) for key in forced), *waiting]
    while queue:
        source, key = queue.pop()
        if source is not None:
            feeds.setdefault(key, set()).add(source)
        if key in found or (node := node_of(session, *key)) is None:
            continue
        found[key] = node
        place = (node.pipeline.repo, node.branch)
        queue += [(key, reader) for reader in _started_by(session, place)]
    return _ordered(found, feeds)


def _started_by(session: Session, place: Place) -> Iterator[NodeKey]:
    """Who reads a branch and runs when it moves."""
    for edge in pipelines.readers(session, *place):
        if edge.propagation:
            yield edge.pipeline, ""
    for environment, edge in environments.readers(session, *place):
        if edge.propagation:
            yield edge.pipeline, environment


def node_of(session: Session, repo: int, environment: str) -> Node | None:
    """A pipeline as it is in an environment, or in none; None if it is not there."""
    row = pipelines.find(session, repo)
    if row is None:
        return None
    if not environment:
        if not row.version:
            return None
        return Node(row, "", output_branch(session, row), pipelines.reads(session, repo))
    here = environments.present_in(session, repo, environment)
    found = environments.find(session, row.name.project, environment)
    if here is None or found is None or not here.version:
        return None
    # Pausing is for the jobs that run by themselves: in an environment somebody tries things.
    row = row._replace(version=here.version, paused=False, pending=False)
    branch = found.branch(output_branch(session, row))
    return Node(row, environment, branch, environments.reads(session, repo, environment))


def _ordered(found: Mapping[NodeKey, Node], feeds: Mapping[NodeKey, set[NodeKey]]) -> list[Node]:
    # What is read without propagation does not start a job, but goes before it all the same.
    writers = {(node.pipeline.repo, node.branch): key for key, node in found.items()}
    left = {
        key: feeds.get(key, set())
        | {writers[e.source, e.branch] for e in node.edges if (e.source, e.branch) in writers}
        for key, node in found.items()
    }
    done: list[Node] = []
    while left:
        ready = sorted(key for key, before in left.items() if not before & left.keys())
        # Cycles are refused when pipelines are applied; a damaged catalog must not hang us.
        for key in ready or sorted(left):
            done.append(found[key])
            del left[key]
    return done


def output_branch(session: Session, pipeline: PipelineRow) -> str:
    version = pipelines.version(session, pipeline.repo, pipeline.version)
    return view_of(version.spec).output_branch if version else DEFAULT_BRANCH


def open_job(
    session: Session,
    set_id: str,
    pipeline: PipelineRow,
    branch: str,
    inputs: Iterable[tuple[Edge, str | None]],
    cause: Told,
    author: str,
    *,
    version: int | None = None,
    backfill: str | None = None,
    replay: str = "",
    environment: str = "",
) -> bool:
    """Insert the open commit, where it comes from, and the job that will fill it.

    False if that is over already: what it would read ended badly.
    """
    inputs = list(inputs)
    declared = pipelines.version(session, pipeline.repo, version or pipeline.version)
    assert declared is not None
    at = _branch(session, pipeline, branch, author)
    commit = Commit(
        id=set_id,
        repo=pipeline.name,
        branch=branch,
        parent=at.head,
        message=str(cause),
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
        told_reason=waits_for(coming),
        told_cause=cause,
        created=session.now(),
        inputs=tuple(
            JobInput(edge.name, names[edge.source], edge.branch, source_id)
            for edge, source_id in inputs
            if edge.is_leaf
        ),
        digest=declared.digest,
        priority=view_of(declared.spec).priority,
        backfill=backfill,
        replay=replay,
        environment=environment,
    )
    lane = jobs.STREAM if flows.find(session, pipeline.repo) else ""
    jobs.add(session, pipeline.repo, job, view_of(declared.spec).pool, lane)
    events.emit(session, "job", pipeline.name, {"id": set_id, "state": str(job.state)})
    for edge, one in inputs:
        made = jobs.find(session, edge.source, one) if one else None
        if made is not None and made.state in BAD and (not lane or made.id == set_id):
            reason = of_place(_BAD_INPUT[made.state], made.pipeline)
            end_job(session, pipeline.repo, set_id, JobState.UNRUNNABLE, reason)
            return False
    return True


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


def _input(
    session: Session, edge: Edge, moved: Mapping[Place, str | None], is_stream: bool
) -> str | None:
    """The commit in force: the set's own, else one that is still being made, else the head.

    Without a head it is the one that should have become that, and failed: who reads it cannot
    run. Only a stream takes it for nothing, since it reads on from where it was.
    """
    if (edge.source, edge.branch) in moved:
        return moved[(edge.source, edge.branch)]
    if coming := jobs.newest(session, edge.source, edge.branch, unfinished=True):
        return coming.id
    branch = refs.branch(session, edge.source, edge.branch)
    if (branch is not None and branch.head is not None) or is_stream:
        return branch.head if branch else None
    last = jobs.newest(session, edge.source, edge.branch)
    return last.id if last is not None and last.state in BAD else None


def _name(session: Session, repo: int) -> RepoName:
    found = repos.name_of(session, repo)
    assert found is not None
    return found


def end_job(
    session: Session, repo: int, job_id: str, state: JobState, reason: Told, **facts: object
) -> list[int]:
    """A job ends without output: its commit with an error, and all that waits for it with it.

    The pipelines, by their repos, of those of other sets that waited.
    """
    ended = jobs.end(session, repo, job_id, state, reason, **facts)  # type: ignore[arg-type]
    name = _name(session, repo)
    found = commits.find(session, repo, job_id)
    if found is not None and found.finished is None:
        _close_with_error(session, repo, found, f"{state}: {reason}" if reason else str(state))
    if ended:
        events.emit(session, "job", name, {"id": job_id, "state": str(state)})
    waited: list[int] = []
    for below, below_id in jobs.using(session, repo, job_id):
        why = of_place(_BAD_INPUT[state], name)
        further = end_job(session, below, below_id, JobState.UNRUNNABLE, why)
        waited += further if below_id == job_id else [below, *further]
    return waited


def _close_with_error(session: Session, repo: int, commit: Commit, error: str) -> None:
    """The commit stays for diagnosis; the branch, and whoever builds on it, passes it by."""
    branch = refs.branch(session, repo, commit.branch)
    commits.move_below(session, repo, commit.id, branch.head if branch else None)
    parent = commits.find(session, repo, branch.head) if branch and branch.head else None
    failed = replace(
        commit,
        finished=session.now(),
        error=error,
        root=parent.root if parent else None,
        root_hash=parent.root_hash if parent else None,
        files=parent.files if parent else 0,
        size=parent.size if parent else 0,
    )
    commits.finish(session, repo, failed)
