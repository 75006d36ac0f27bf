"""Where a change goes: the pipelines below it, in which order, and what each of them reads.

Nothing is written here; `publish.spread` opens the jobs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from trunkline.model.commits import DEFAULT_BRANCH
from trunkline.model.jobs import BAD
from trunkline.pipelines.spec.codec import view_of
from trunkline.storage.catalog import Session, environments, jobs, pipelines, refs
from trunkline.storage.catalog.pipelines import Edge, PipelineRow

Place = tuple[int, str]
"""A branch: repo key and name."""
NodeKey = tuple[int, str]
"""A pipeline where it runs: its repo's key, and the environment, "" for none."""


class Node(NamedTuple):
    """A pipeline where it is to run, with the version, branch and inputs that it has there."""

    pipeline: PipelineRow
    environment: str
    branch: str
    edges: list[Edge]

    @property
    def key(self) -> NodeKey:
        return self.pipeline.repo, self.environment


def downstream(
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


def input_of(
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
