"""What a rewind of a stream would undo, for who has to decide."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import Any

from trunkline.lake.core import Core, resolve_commit
from trunkline.lake.declarations import reading_graph
from trunkline.lake.propagation import output_branch
from trunkline.lake.streams import batch_at, require_flow
from trunkline.model.commits import Commit, RepoName
from trunkline.model.refs import Ref
from trunkline.pipelines.dag import Dag
from trunkline.storage.catalog import Session, commits, flows, refs


@dataclass(frozen=True, slots=True)
class RewindPlan:
    """Commits and rows that would no longer be on the stream's branch, and who reads that.

    `batch` is the one it goes back to; `position` is where it would read on.
    """

    name: RepoName
    commit: str
    batch: int
    position: dict[str, Any]
    commits: int
    rows: int
    late: int
    readers: tuple[RepoName, ...]


def plan(core: Core, name: RepoName, to: str) -> RewindPlan:
    with core.database.read() as session:
        row, _ = require_flow(session, name)
        _, target = resolve_commit(session, Ref(name, to))
        batch = batch_at(session, row.repo, target)
        branch = refs.branch(session, row.repo, output_branch(session, row))
        head = branch.head if branch else None
        undone = _undone(session, row.repo, head, target)
        known = [flows.batch_of(session, row.repo, one.id) for one in undone]
        graph = Dag.of(reading_graph(session, []))
    return RewindPlan(
        name,
        target.id,
        batch.number,
        dict(batch.end),
        len(undone),
        sum(one.rows_out for one in known if one),
        sum(one.late for one in known if one),
        tuple(graph.downstream(name)),
    )


def _undone(session: Session, repo: int, head: str | None, target: Commit) -> list[Commit]:
    """The commits of the branch that the target does not build on."""
    newest = commits.find(session, repo, head) if head else None
    if newest is None:
        return []
    top = min(newest.depth, target.depth)

    def parted(depth: int) -> bool:
        mine = commits.at_depth(session, repo, newest.id, depth)
        return mine != commits.at_depth(session, repo, target.id, depth)

    shared = bisect_left(range(1, top + 1), True, key=parted)
    if shared == newest.depth:
        return []
    return commits.chain(session, repo, newest.id, newest.depth - shared)
