"""Steering streams: back to any of their commits, or anew from another place of their inputs.

Output, offsets and state move together. What reads the output is told, as when any branch moves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trunkline.errors import NotFound, Precondition, TrunklineError, Usage
from trunkline.lake import checkpoints, savepoints
from trunkline.lake.core import Core, resolve, resolve_commit
from trunkline.lake.pipelines import require
from trunkline.lake.propagation import output_branch
from trunkline.lake.publish import Change, kill_job, move, spread
from trunkline.model.commits import Commit, RepoName
from trunkline.model.ids import new_id
from trunkline.model.inputs import leaves
from trunkline.model.refs import Ref
from trunkline.model.streams import Batch, Flow
from trunkline.model.told import Kind, Told, of_place
from trunkline.pipelines.spec.codec import from_json
from trunkline.storage.catalog import Session, commits, events, flows, jobs, pipelines, refs
from trunkline.storage.catalog.pipelines import PipelineRow
from trunkline.storage.crashpoints import crashpoint
from trunkline.storage.objects.keys import STREAMS

START, NOW = "start", "now"


@dataclass(frozen=True, slots=True)
class Steered:
    """Where a stream goes on from. `job` is the set that was started by it, if any."""

    name: RepoName
    epoch: int
    batch: int
    commit: str | None
    position: dict[str, Any]
    job: str | None


def require_flow(
    session: Session, name: RepoName, kind: str = "stream"
) -> tuple[PipelineRow, Flow]:
    row = require(session, name)
    flow = flows.find(session, row.repo)
    if flow is None or flow.kind != kind:
        what = "an ingest" if flow is not None and flow.kind == "ingest" else "no stream"
        raise Usage(
            f"{name} is {what}." if kind == "stream" else f"{name} is no ingest.",
            hint="trunkline stream list shows streams, trunkline ingest list ingests.",
        )
    return row, flow


def rewind(core: Core, name: RepoName, to: str, author: str) -> Steered:
    """Back to one of the stream's own commits: output, offsets and state as they were then."""
    with core.database.read() as session:
        row, _ = require_flow(session, name)
        _, commit = resolve_commit(session, Ref(name, to))
        batch = batch_at(session, row.repo, commit)
        stateful = bool(batch.state)
    state = _state_of(core, name, row.repo, batch) if stateful else {}
    facts: dict[str, Any] = {
        "state": state,
        "watermark": batch.watermark,
        "moved": bool(batch.state.get("moved")),
        "batches": batch.number if batch.rows_in else 0,
    }
    crashpoint("stream.rewinding")
    with core.database.write() as session:
        row, _ = require_flow(session, name)
        _stop_jobs(session, row, Told(Kind.STREAM_REWOUND))
        branch = refs.branch(session, row.repo, output_branch(session, row))
        assert branch is not None
        move(session, row.repo, branch, commit.id, author, f"rewind to {commit.short_id}")
        epoch = flows.begin_epoch(session, row.repo, batch.number, batch.end, facts)
        place = (row.repo, branch.name)
        cause = of_place(Kind.REWOUND, name, commit=commit.id)
        job = spread(session, new_id(), Change(cause, author, {place: commit.id}))
    return Steered(name, epoch, batch.number, commit.id, dict(batch.end), job)


def restart(
    core: Core, name: RepoName, start: str, author: str, *, keep_output: bool = False
) -> Steered:
    """Anew, without state, from `start` of the inputs: "start", "now", or a ref of theirs.

    What there is of output stays readable until the first new batch takes its place; with
    `keep_output` that is added to it.
    """
    with core.database.write() as session:
        row, _ = require_flow(session, name)
        version = pipelines.version(session, row.repo, row.version)
        assert version is not None
        spec = from_json(version.spec)
        position: dict[str, Any] = {}
        for leaf in leaves(spec.input):
            if not leaf.stream.static and (at := _start(session, leaf.repo, leaf.branch, start)):
                position[leaf.name] = at
        _stop_jobs(session, row, Told(Kind.STREAM_RESTARTED))
        facts = {} if keep_output else {"replace": True}
        epoch = flows.begin_epoch(session, row.repo, 0, position, facts)
        events.emit(session, "pipeline", name, {"restarted": start})
        streaming = spec.transform.streaming
        job = None
        if streaming is not None and streaming.interval is None:
            job = spread(
                session, new_id(), Change(Told(Kind.RESTARTED), author, forced=(row.repo,))
            )
    return Steered(name, epoch, 0, None, position, job)


def take_savepoint(core: Core, name: RepoName, author: str) -> Commit:
    """Keep the state of the newest batch as a commit, for as long as it is wanted."""
    with core.database.read() as session:
        row, _ = require_flow(session, name)
        head = refs.branch(session, row.repo, output_branch(session, row))
        found = commits.find(session, row.repo, head.head) if head and head.head else None
        if found is None:
            raise Precondition(f"{name} has no commit yet.", hint="Let it run first.")
        batch = batch_at(session, row.repo, found)
    if not batch.state:
        raise Precondition(
            f"{name} keeps no state: it can be rewound to any of its commits as it is."
        )
    return savepoints.savepoint(core, name, batch, author)


def _start(session: Session, repo: RepoName, branch: str, start: str) -> str | None:
    """The commit after which an input is read."""
    if start == START:
        return None
    text = branch if start == NOW else start
    owner, at, ref = text.rpartition("@")
    if at and owner != str(repo):
        return None
    try:
        return resolve(session, Ref(repo, ref if at else text)).id
    except NotFound:
        if start == NOW:
            return None
        raise


def batch_at(session: Session, repo: int, commit: Commit) -> Batch:
    """What is known of a commit; of one that only compacts, what is known of the one before."""
    at: Commit | None = commit
    while at is not None:
        if (batch := flows.batch_of(session, repo, at.id)) is not None:
            return batch
        at = commits.find(session, repo, at.parent) if at.parent else None
    raise Precondition(
        f"{commit.short_id} of {commit.repo} was not made by a batch of the stream.",
        hint=f"trunkline stream batches {commit.repo} lists those that were.",
    )


def _state_of(core: Core, name: RepoName, repo: int, batch: Batch) -> dict[str, Any]:
    """Where the state after a batch is: still as the stream left it, or in a savepoint."""
    state = dict(batch.state)
    try:
        checkpoints.check(core.objects, state["checkpoint"], state["batch"], str(name))
    except TrunklineError as error:
        kept = savepoints.find(core, name, batch.commit)
        if kept is None:
            raise Precondition(
                f"The state of {name} after batch {batch.number} is no longer there.",
                hint=_choices(core, name, repo) or error.hint,
            ) from None
        return savepoints.restore(core, kept, f"{STREAMS}{repo}/{new_id()}")
    return state


def _choices(core: Core, name: RepoName, repo: int) -> str:
    """Commits that the stream can still go back to."""
    possible = [one.commit[:12] for one in savepoints.listed(core, name)]
    with core.database.read() as session:
        newest = flows.batches(session, repo, limit=100)
    for batch in newest:
        if len(possible) >= 3:
            break
        try:
            checkpoints.check(core.objects, batch.state["checkpoint"], batch.state["batch"], "")
        except (TrunklineError, KeyError):
            continue
        possible.append(batch.commit[:12])
    if not possible:
        return f"Begin anew: trunkline stream restart {name} --from REF."
    return f"It can go back to {', '.join(dict.fromkeys(possible))}; or begin anew: stream restart."


def _stop_jobs(session: Session, row: PipelineRow, reason: Told) -> None:
    for job in jobs.listed(session, repo=row.repo, unfinished=True):
        kill_job(session, row.repo, job.id, reason)
