"""The graph of a project: its repos and pipelines, who reads whom, and how they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from trunkline.lake.core import Core
from trunkline.lake.environmentpipelines import require_environment
from trunkline.model.commits import Repo, RepoKind
from trunkline.model.environments import Environment
from trunkline.model.jobs import Job, JobState
from trunkline.model.lineage import Graph, GraphEdge, GraphNode
from trunkline.model.pipelines import INGEST
from trunkline.model.streams import Flow, FlowState
from trunkline.pipelines.cron import in_words
from trunkline.pipelines.spec.codec import view_of
from trunkline.storage.catalog import (
    Session,
    commits,
    environments,
    flows,
    jobs,
    pipelines,
    refs,
    repos,
    timing,
)
from trunkline.storage.catalog.pipelines import Edge, PipelineRow

PAUSED = "paused"
WAITING = "waiting"
Seen = Callable[[Job], Job]
"""A job as who asks may see it."""


def graph(
    core: Core, project: str, environment: str | None = None, seen: Seen = lambda job: job
) -> Graph:
    """Every repo and pipeline of a project, and those of others that they are connected to; with
    an environment, as they are there.
    """
    with core.database.read() as session:
        here = _here(session, project, environment)
        known = {repo.key: repo for repo in repos.all_repos(session)}
        crons = {
            row.repo: in_words(row.ticks.cron, row.ticks.timezone)
            for pipeline in here.rows
            for row in timing.crons(session, pipeline)
        }
        own = {key for key, repo in known.items() if repo.name.project == project}
        edges = [
            edge
            for edge in here.edges
            if edge.source in known and not own.isdisjoint((edge.pipeline, edge.source))
        ]
        shown = own - here.absent | {key for edge in edges for key in (edge.pipeline, edge.source)}
        nodes = [
            _node(session, repo, here, crons, seen)
            for key, repo in known.items()
            if key in shown and repo.kind is not RepoKind.SYSTEM
        ]
    names = {key: str(repo.name) for key, repo in known.items()}
    arrows = [
        GraphEdge(names[edge.source], names[edge.pipeline], edge.name, edge.propagation)
        for edge in edges
    ]
    return Graph(tuple(nodes), tuple(dict.fromkeys(arrows)))


@dataclass(frozen=True, slots=True)
class _Here:
    """What is present in an environment, or in none; `absent` are repos of what is elsewhere."""

    rows: Mapping[int, PipelineRow]
    edges: Sequence[Edge]
    environment: Environment | None = None
    absent: frozenset[int] = frozenset()


def _here(session: Session, project: str, name: str | None) -> _Here:
    rows = {row.repo: row for row in pipelines.all_pipelines(session)}
    edges = pipelines.every_edge(session)
    elsewhere = frozenset(environments.only_there(session, project))
    if name is None:
        return _Here(rows, edges, absent=elsewhere)
    environment = require_environment(session, project, name)
    present = environments.present(session, project, name)
    there = {
        key: row._replace(version=one.version, paused=False, pending=False)
        for key, one in present.items()
        if one.version and (row := pipelines.find(session, key))
    }
    # Streams and ingests stand still there, and what they had written is read.
    still = {
        key: row
        for key, row in rows.items()
        if row.name.project == project and flows.find(session, key) is not None
    }
    read = environments.edges(session, project, name)
    read += [edge for edge in edges if edge.pipeline in still]
    return _Here(there | still, read, environment, elsewhere - there.keys())


def _node(
    session: Session, repo: Repo, here: _Here, crons: Mapping[int, str], seen: Seen
) -> GraphNode:
    name, held = str(repo.name), _held(session, repo, here.environment)
    if row := here.rows.get(repo.key):
        flow = flows.find(session, repo.key)
        is_ingest = flow is not None and flow.kind == INGEST
        if flow and here.environment:
            state, reason = "", "stands still here"
        else:
            state, reason = (
                _ingest(row, flow)
                if flow and is_ingest
                else _state(session, row, here.environment, seen)
            )
        source = f"from {_source(session, row)}" if is_ingest else ""
        detail = ", ".join(filter(None, (f"v{row.version}", source, held, reason)))
        return GraphNode(name, flow.kind if flow else "pipeline", state, detail)
    if repo.kind is RepoKind.CRON:
        return GraphNode(name, "cron", "", crons.get(repo.key, "only by hand"))
    return GraphNode(name, "repo", "", held)


def _state(
    session: Session, row: PipelineRow, environment: Environment | None, seen: Seen
) -> tuple[str, str]:
    """How a pipeline is: paused, or as its last job is; and what there is to say about that."""
    name = environment.name if environment else ""
    last = next(iter(jobs.listed(session, repo=row.repo, limit=1, environment=name)), None)
    if row.paused:
        return PAUSED, "changes wait" if row.pending else ""
    if last is None:
        return "", f"as on {environment.base}" if environment else "never ran"
    state = WAITING if last.state is JobState.CREATED else str(last.state)
    return state, seen(last).reason


def _ingest(row: PipelineRow, flow: Flow) -> tuple[str, str]:
    """How an ingest is, which has no jobs: paused, or as it says itself."""
    if row.paused:
        return PAUSED, ""
    return (str(flow.state), flow.reason) if flow.state is not FlowState.IDLE else ("", "")


def _source(session: Session, row: PipelineRow) -> str:
    """The kind of an ingest's source: folder, kafka …"""
    version = pipelines.version(session, row.repo, row.version)
    source = view_of(version.spec).source if version else None
    return source.kind if source else ""


def _held(session: Session, repo: Repo, environment: Environment | None) -> str:
    files, size = repo.files, repo.size
    if environment is not None and repo.name.project == environment.project:
        branch = refs.branch(session, repo.key, environment.name)
        head = commits.find(session, repo.key, branch.head) if branch and branch.head else None
        files, size = (head.files, head.size) if head else (0, 0)
    counted = f"{files:,} file{'s' * (files != 1)}"
    return f"{counted}, {size:,} byte{'s' * (size != 1)}"
