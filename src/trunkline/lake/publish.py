"""The only way a branch moves, and all that follows from it, in the caller's transaction.

A commit ends by `publish`, well or badly: its row, the head, the log of refs, its job, the checks,
events, deliveries, branches that follow, and jobs for those who read it. A head that goes to
another commit goes there by `move`. Whatever starts work comes through `spread`: commits of
people, of schedules and of pipelines, branches that were moved, pipelines that were applied. All
that one change causes shares its id, and each pipeline gets at most one commit of it. Every
event wakes those who wait in this process, as soon as it is committed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from trunkline.errors import BranchMoved
from trunkline.lake.drafts import StoredTree
from trunkline.lake.handover import Made, would_make
from trunkline.lake.propagation import Node, NodeKey, Place, downstream, input_of
from trunkline.lake.triggering import fires
from trunkline.model.commits import Branch, Commit, Origin, RepoName
from trunkline.model.egress import Target
from trunkline.model.expectations import CheckResult
from trunkline.model.ids import new_id
from trunkline.model.jobs import BAD, Counts, Job, JobInput, JobState
from trunkline.model.told import NOTHING, Kind, Told, of_place, waits_for
from trunkline.pipelines.spec.codec import target_to, view_of
from trunkline.pipelines.triggers import order
from trunkline.storage.catalog import (
    Session,
    checks,
    commits,
    deliveries,
    events,
    flows,
    jobs,
    pipelines,
    refs,
    repos,
    timing,
)
from trunkline.storage.catalog.pipelines import Edge, PipelineRow
from trunkline.storage.crashpoints import crashpoint

Moved = dict[Place, str | None]
"""Where branches point by now."""
_BAD_INPUT = {
    JobState.FAILURE: Kind.INPUT_FAILED,
    JobState.KILLED: Kind.INPUT_STOPPED,
    JobState.UNRUNNABLE: Kind.INPUT_UNRUNNABLE,
}


class Readers(Enum):
    """Who is told of a commit when it is published."""

    START = "start"
    """All who read its branch: they get jobs."""
    FOLLOW = "follow"
    """Branches that follow, and who reads those. The others' jobs are of its set already."""
    LATER = "later"
    """Nobody: the caller spreads what was published together."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a commit's job ends."""

    state: JobState
    reason: Told = NOTHING
    counts: Counts | None = None
    index: tuple[str, str] | None = None
    inputs: Sequence[JobInput] | None = None
    checks: Sequence[CheckResult] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a commit ends. `author` is who ends it, if that is not who began it."""

    commit: Commit
    """As it was opened; one that `is_new` as it is to be."""
    content: StoredTree | Commit | None = None
    """What it holds; what the head does, if it ends with an error."""
    is_new: bool = False
    request: str | None = None
    error: str = ""
    outcome: Outcome | None = None
    readers: Readers = Readers.LATER
    author: str = ""


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


# -- one commit, one head ----------------------------------------------------------------------


def publish(session: Session, repo: int, branch: Branch | None, ending: Ending) -> Commit:
    """End a commit on a branch that points where it was seen to; as the catalog has it then.

    One that ends with an error stays for diagnosis: the branch, and whoever builds on it, passes
    it by.
    """
    commit, outcome = ending.commit, ending.outcome
    head = branch.head if branch else None
    content = ending.content
    if ending.error:
        content = commits.find(session, repo, head) if head else None
    done = replace(
        commit,
        parent=head,
        finished=session.now(),
        error=ending.error or None,
        root=content.root if content else None,
        root_hash=content.root_hash if content else None,
        files=content.files if content else 0,
        size=content.size if content else 0,
    )
    if ending.is_new:
        commits.add(session, repo, done, ending.request)
    else:
        if commit.parent != head:
            commits.move_below(session, repo, commit.id, head)
        commits.finish(session, repo, done)
    if not ending.error:
        assert branch is not None
        reason = "job" if outcome else str(commit.origin)
        _swap(session, repo, branch, commit.id, refs.Move(commit.author, reason))
        if branch.open == commit.id:
            refs.set_open(session, repo, branch.name, None)
            commits.unstage(session, repo, commit.id)
        events.emit(session, "commit", commit.repo, {"id": commit.id, "branch": branch.name})
    if outcome:
        _end_job(session, repo, commit.repo, commit.id, outcome)
    stored = commits.find(session, repo, commit.id)
    assert stored is not None
    author, place = ending.author or commit.author, (repo, commit.branch)
    if ending.readers is Readers.START:
        change = Change(caused_by(stored), author, {place: commit.id}, frozenset({place}))
        spread(session, commit.id, change)
    elif ending.readers is Readers.FOLLOW and (moved := follow(session, place, commit.id, author)):
        cause = of_place(Kind.MOVED, commit.repo, commit.branch)
        spread(session, commit.id, Change(cause, "trigger", moved))
    return stored


def move(
    session: Session, repo: int, branch: Branch, to: str | None, author: str, reason: str
) -> None:
    """Point a branch at another finished commit, or at none. Who reads it is not told yet."""
    _swap(session, repo, branch, to, refs.Move(author, reason))
    events.emit(session, "branch", branch.repo, {"branch": branch.name, "head": to})


def _swap(session: Session, repo: int, branch: Branch, to: str | None, why: refs.Move) -> None:
    if not refs.swap_head(session, repo, branch.name, branch.head, to, why):
        raise BranchMoved(
            f"{branch.repo}@{branch.name} moved meanwhile.", hint="Nothing was changed; try again."
        )


def withdraw(session: Session, repo: int, commit_id: str) -> None:
    """Nothing came of an open commit: neither it nor its job stays."""
    commits.remove(session, repo, [commit_id])
    jobs.forget(session, repo, commit_id)


def caused_by(commit: Commit) -> Told:
    """Why a job runs."""
    return of_place(Kind.COMMIT, commit.repo, commit.branch, commit.id)


def deliver(session: Session, repo: int, commit_id: str, targets: Iterable[Target]) -> None:
    """A version is to go out to targets."""
    for target in targets:
        spec = target_to(target)
        deliveries.enqueue(session, repo, commit_id, target.name, target.kind, spec)


# -- branches that follow others ---------------------------------------------------------------


def follow(session: Session, finished: Place, commit_id: str, author: str) -> Moved:
    """Move every branch whose trigger fires on this finished commit; where they point now."""
    return _follow_all(session, {finished: commit_id}, frozenset({finished}), author)


def _follow_all(
    session: Session, moved: Mapping[Place, str | None], finished: frozenset[Place], author: str
) -> Moved:
    done: Moved = {}
    for repo in sorted({repo for repo, _ in finished}):
        declared = {row.branch: row for row in timing.triggers(session, repo)}
        heads = {name: moved[(r, name)] for r, name in finished if r == repo}
        for branch in order({name: row.trigger for name, row in declared.items()}):
            row = declared[branch]
            source = heads.get(row.trigger.branch)
            if source is not None and fires(session, row, source):
                heads[branch] = done[repo, branch] = source
                point(session, repo, branch, source, author)
    return done


def catch_up(session: Session, repo: int, branch: str, author: str) -> None:
    """A branch has begun to follow: it counts what was there before."""
    found = refs.branch(session, repo, branch)
    if found is not None and found.head is not None:
        follow(session, (repo, branch), found.head, author)


def point(session: Session, repo: int, name: str, commit_id: str, author: str) -> None:
    """Move a branch that follows, or make it where it is still missing."""
    branch = refs.branch(session, repo, name)
    if branch is None:
        refs.add_branch(session, repo, name, None, refs.Move(author, "trigger"))
        branch = Branch(_name(session, repo), name, None, session.now())
    move(session, repo, branch, commit_id, author, "trigger")


# -- jobs for those who read -------------------------------------------------------------------


def spread(session: Session, set_id: str, change: Change) -> str | None:
    """Start every job that the change asks for; the id of their set, or None if there is none."""
    moved = dict(change.moved)
    moved.update(_follow_all(session, moved, change.finished, change.author))
    nodes = downstream(session, moved, change.forced_nodes)
    if not nodes:
        return None
    ids = _set_ids(session, set_id, nodes)
    started: dict[str, str] = {}
    followed: Moved = {}
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
        inputs = [(edge, input_of(session, edge, moved, is_stream)) for edge in node.edges]
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
        if made is not None and _take_over(session, node, own_id, inputs, made):
            followed.update(follow(session, place, own_id, change.author))
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


def _take_over(
    session: Session,
    node: Node,
    job_id: str,
    inputs: Sequence[tuple[Edge, str | None]],
    made: Made,
) -> bool:
    """End a job that has just been opened with an output that is known, if it is the same."""
    repo, source, before = node.pipeline.repo, made.commit, made.job
    if not would_make(session, node, inputs, made):
        return False
    going = jobs.listed(session, repo=repo, unfinished=True)
    if any(one.branch == node.branch and one.id != job_id for one in going):
        return False  # in its turn: one that was made before would end after it, and undo it
    jobs.start(session, repo, job_id)
    outcome = Outcome(
        JobState.SUCCESS,
        of_place(Kind.TAKEN_OVER, source.repo, source.branch, source.id),
        Counts(
            skipped=before.counts.total,
            total=before.counts.total,
            rows_out=before.counts.rows_out,
        ),
        (before.index, before.index_hash or "") if before.index else None,
        checks=[one.result for one in checks.listed(session, repo=repo, job=before.id)],
    )
    opened = commits.find(session, repo, job_id)
    assert opened is not None
    branch = refs.branch(session, repo, node.branch)
    publish(session, repo, branch, Ending(commit=opened, content=source, outcome=outcome))
    return True


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
    at = refs.branch(session, pipeline.repo, branch)
    if at is None:
        refs.add_branch(session, pipeline.repo, branch, None, refs.Move(author, "job"))
    commit = Commit(
        id=set_id,
        repo=pipeline.name,
        branch=branch,
        parent=at.head if at else None,
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
            end_job(session, pipeline.repo, set_id, Outcome(JobState.UNRUNNABLE, reason))
            return False
    return True


def _is_open(session: Session, edge: Edge, commit_id: str) -> bool:
    found = commits.find(session, edge.source, commit_id)
    return found is not None and found.finished is None


def _name(session: Session, repo: int) -> RepoName:
    found = repos.name_of(session, repo)
    assert found is not None
    return found


def end_job(session: Session, repo: int, job_id: str, outcome: Outcome) -> list[int]:
    """A job ends without output: its commit with an error, and all that waits for it with it.

    The pipelines, by their repos, of those of other sets that waited.
    """
    name, state, reason = _name(session, repo), outcome.state, outcome.reason
    opened = commits.find(session, repo, job_id)
    if opened is not None and opened.finished is None:
        error = f"{state}: {reason}" if reason else str(state)
        ending = Ending(commit=opened, error=error, outcome=outcome)
        publish(session, repo, refs.branch(session, repo, opened.branch), ending)
    else:
        _end_job(session, repo, name, job_id, outcome)
    waited: list[int] = []
    for below, below_id in jobs.using(session, repo, job_id):
        why = of_place(_BAD_INPUT[state], name)
        further = end_job(session, below, below_id, Outcome(JobState.UNRUNNABLE, why))
        waited += further if below_id == job_id else [below, *further]
    return waited


def kill_job(session: Session, repo: int, job_id: str, reason: Told) -> list[int]:
    """As `end_job`, of one that is not wanted any more."""
    return end_job(session, repo, job_id, Outcome(JobState.KILLED, reason))


def _end_job(session: Session, repo: int, name: RepoName, job_id: str, outcome: Outcome) -> None:
    ended = jobs.end(
        session,
        repo,
        job_id,
        outcome.state,
        outcome.reason,
        counts=outcome.counts,
        index=outcome.index,
        inputs=outcome.inputs,
    )
    if not ended:
        return
    checks.record(session, repo, job_id, outcome.checks, session.now())
    events.emit(session, "job", name, {"id": job_id, "state": str(outcome.state)})
    if outcome.state is JobState.SUCCESS:
        deliver(session, repo, job_id, _targets(session, repo, job_id))


def _targets(session: Session, repo: int, job_id: str) -> Sequence[Target]:
    """Where a job's output goes: nowhere, if it is only tried out."""
    job = jobs.find(session, repo, job_id)
    declared = pipelines.version(session, repo, job.version) if job else None
    if job is None or declared is None or job.environment:
        return ()
    spec = view_of(declared.spec)
    return spec.egress if job.branch == spec.output_branch else ()
