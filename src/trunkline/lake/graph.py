"""The graph of a project: its repos and pipelines, who reads whom, and how they are."""

from __future__ import annotations

from collections.abc import Mapping

from trunkline.lake.core import Core
from trunkline.model.commits import Repo, RepoKind
from trunkline.model.jobs import JobState
from trunkline.model.lineage import Graph, GraphEdge, GraphNode
from trunkline.model.pipelines import INGEST
from trunkline.model.streams import Flow, FlowState
from trunkline.pipelines.cron import in_words
from trunkline.storage.catalog import Session, flows, jobs, pipelines, repos, timing
from trunkline.storage.catalog.pipelines import PipelineRow

PAUSED = "paused"
WAITING = "waiting"


def graph(core: Core, project: str) -> Graph:
    """Every repo and pipeline of a project, and those of others that they are connected to."""
    with core.database.read() as session:
        known = {repo.key: repo for repo in repos.all_repos(session)}
        rows = {row.repo: row for row in pipelines.all_pipelines(session)}
        crons = {
            row.repo: in_words(row.spec["cron"], row.spec.get("timezone") or "UTC")
            for pipeline in rows
            for row in timing.crons(session, pipeline)
        }
        own = {key for key, repo in known.items() if repo.name.project == project}
        edges = [
            edge
            for edge in pipelines.every_edge(session)
            if edge.source in known and not own.isdisjoint((edge.pipeline, edge.source))
        ]
        shown = own | {key for edge in edges for key in (edge.pipeline, edge.source)}
        nodes = [
            _node(session, repo, rows, crons)
            for key, repo in known.items()
            if key in shown and repo.kind is not RepoKind.SYSTEM
        ]
    names = {key: str(repo.name) for key, repo in known.items()}
    arrows = [
        GraphEdge(names[edge.source], names[edge.pipeline], edge.name, edge.propagation)
        for edge in edges
    ]
    return Graph(tuple(nodes), tuple(dict.fromkeys(arrows)))


def _node(
    session: Session, repo: Repo, rows: Mapping[int, PipelineRow], crons: Mapping[int, str]
) -> GraphNode:
    name, held = str(repo.name), _held(repo)
    if row := rows.get(repo.key):
        flow = flows.find(session, repo.key)
        is_ingest = flow is not None and flow.kind == INGEST
        state, reason = _ingest(row, flow) if flow and is_ingest else _state(session, row)
        source = f"from {_source(session, row)}" if is_ingest else ""
        detail = ", ".join(filter(None, (f"v{row.version}", source, held, reason)))
        return GraphNode(name, flow.kind if flow else "pipeline", state, detail)
    if repo.kind is RepoKind.CRON:
        return GraphNode(name, "cron", "", crons.get(repo.key, "only by hand"))
    return GraphNode(name, "repo", "", held)


def _state(session: Session, row: PipelineRow) -> tuple[str, str]:
    """How a pipeline is: paused, or as its last job is; and what there is to say about that."""
    last = next(iter(jobs.listed(session, repo=row.repo, limit=1, environment="")), None)
    if row.paused:
        return PAUSED, "changes wait" if row.pending else ""
    if last is None:
        return "", "never ran"
    state = WAITING if last.state is JobState.CREATED else str(last.state)
    return state, last.reason


def _ingest(row: PipelineRow, flow: Flow) -> tuple[str, str]:
    """How an ingest is, which has no jobs: paused, or as it says itself."""
    if row.paused:
        return PAUSED, ""
    return (str(flow.state), flow.reason) if flow.state is not FlowState.IDLE else ("", "")


def _source(session: Session, row: PipelineRow) -> str:
    """The kind of an ingest's source: folder, kafka …"""
    version = pipelines.version(session, row.repo, row.version)
    return next(iter(version.spec["source"]), "") if version else ""


def _held(repo: Repo) -> str:
    files = f"{repo.files:,} file{'s' * (repo.files != 1)}"
    return f"{files}, {repo.size:,} byte{'s' * (repo.size != 1)}"
