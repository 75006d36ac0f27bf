"""All repos and pipelines at a glance, now or as of a commit set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from trunkline.errors import InvalidSchedule, NotFound
from trunkline.lake.core import Core, Sees, resolve_set, seen_keys, unknown_set
from trunkline.lake.declarations import SCHEDULE, cron_repos
from trunkline.lake.flowkinds import flow_of, has_own_clock
from trunkline.model.commits import DEFAULT_BRANCH, RepoKind, RepoName
from trunkline.model.expectations import Action, CheckState
from trunkline.model.ids import is_id_prefix
from trunkline.model.inputs import Pfs, leaves
from trunkline.model.jobs import Job, JobState
from trunkline.model.overview import (
    NEW,
    PAUSED,
    CheckCounts,
    Head,
    LastJob,
    Overview,
    OverviewEdge,
    OverviewNode,
)
from trunkline.model.pipelines import INGEST, PipelineSpec, Ticks
from trunkline.model.streams import Batch, Flow, FlowState
from trunkline.pipelines import cron
from trunkline.pipelines.spec.codec import from_json, view_of
from trunkline.storage.catalog import Session, commits, flows, jobs, pipelines, repos, timing
from trunkline.storage.catalog import overview as catalog
from trunkline.storage.catalog.overview import At, HeadRow, NodeRow
from trunkline.storage.catalog.pipelines import Edge, VersionRow

MICROS = 1_000_000
LEAST_LATELY = 3.0
"""A stream whose last batch is younger, in seconds, or than three of its intervals, is running."""
_RUN = (JobState.RUNNING, JobState.FINISHING)


def overview(
    core: Core, project: str | None = None, at: str | None = None, sees: Sees | None = None
) -> Overview:
    """Every repo and pipeline of a project and those they are connected to, or all of the lake.

    With `at`, an id of a commit set or the first digits of one, as they were then. To whom `sees`
    nothing of a set it is not there; what else is told is not narrowed by it.
    """
    with core.database.read() as session:
        if project is not None and not repos.has_project(session, project):
            raise NotFound(f'There is no project "{project}".')
        then = _moment(session, at, sees) if at is not None else None
        every = catalog.nodes(session)
        seen = _Seen(session, then, every)
        nodes = {node.key: node for node in every if seen.is_there(node)}
        edges = [edge for edge in seen.edges if {edge.source, edge.pipeline} <= nodes.keys()]
        shown = set(nodes)
        if project is not None:
            own = {key for key, node in nodes.items() if node.name.project == project}
            edges = [edge for edge in edges if not own.isdisjoint((edge.source, edge.pipeline))]
            shown = own | {key for edge in edges for key in (edge.source, edge.pipeline)}
        names = {key: node.name for key, node in nodes.items()}
        return Overview(
            then.set_id if then else None,
            then.time if then else seen.now,
            tuple(seen.node(node, names) for key, node in nodes.items() if key in shown),
            tuple(
                dict.fromkeys(
                    OverviewEdge(
                        names[edge.source], names[edge.pipeline], edge.name, edge.propagation
                    )
                    for edge in edges
                )
            ),
        )


def _moment(session: Session, text: str, sees: Sees | None) -> At:
    """When the change of a set was made, as `sql --at` takes it too."""
    try:
        set_id = resolve_set(session, text, sees)
    except NotFound:
        # Of a commit that was removed the job may be left.
        among = seen_keys(session, sees)
        left = jobs.listed(session, id_prefix=text, among=among) if is_id_prefix(text) else []
        if len({job.id for job in left}) != 1:
            raise
        names, set_id = [job.pipeline for job in left], left[0].id
        time = min(job.created for job in left)
    else:
        members = commits.in_set(session, set_id)
        names = [one.repo for one in members]
        finished = [one.finished for one in members if one.finished is not None]
        time = min(finished or [one.started for one in members])
    if sees is not None and not any(map(sees, names)):
        raise unknown_set(text)
    return At(set_id, time, catalog.used(session, set_id))


@dataclass(frozen=True, slots=True)
class _Declared:
    """What a version of a pipeline says of it."""

    version: VersionRow
    spec: PipelineSpec | None
    """Of a version that is no longer in force: what the catalog keeps of others is read there."""

    view: PipelineSpec
    """Of each version, for a field or two."""

    @property
    def kind(self) -> str:
        return flow_of(self.view) or "pipeline"

    @property
    def how(self) -> str:
        source = self.view.source
        return source.kind if source else self.view.transform.kind

    @property
    def interval(self) -> float | None:
        """Seconds between a stream's batches, if it has a clock."""
        streaming = self.view.transform.streaming
        return streaming.interval if streaming else None


class _Seen:
    """All that is known of a moment, read at once."""

    def __init__(self, session: Session, at: At | None, nodes: Sequence[NodeRow]) -> None:
        self.at = at
        self.now = session.now()
        present = {node.key: node.version for node in nodes}
        keys = {node.name: node.key for node in nodes}
        self._declared = {
            repo: _Declared(
                version,
                None if version.version == present[repo] else from_json(version.spec),
                view_of(version.spec),
            )
            for repo, version in catalog.versions(session, at).items()
        }
        self.edges = list(self._edges(session, keys))
        branches = {DEFAULT_BRANCH, *(edge.branch for edge in self.edges)}
        branches |= {one.view.output_branch for one in self._declared.values()}
        self._heads = catalog.heads(session, branches, at)
        self._jobs = catalog.last_jobs(session, at)
        self._good = catalog.last_good_jobs(session, at, self._jobs)
        self._unfinished = catalog.unfinished(session) if at is None else {}
        self._checks = _counted(catalog.check_states(session, at))
        self._flows = {flow.repo: flow for flow in flows.listed(session)}
        self._batches = catalog.batches_at(session, at) if at is not None else {}
        self._own, self._ticks = self._schedules(session, keys)
        self._inputs: dict[int, list[Edge]] = {}
        for edge in self.edges:
            self._inputs.setdefault(edge.pipeline, []).append(edge)
        self._used = {repo for repo, _ in at.used} if at else set()
        self._used |= {key for edge in self.edges for key in (edge.source, edge.pipeline)}

    def is_there(self, node: NodeRow) -> bool:
        if self.at is None:
            return True
        if node.version is not None and node.key not in self._declared:
            return False
        # A repo may be made in the very change, a few microseconds after its time.
        in_force = node.key in self._declared or node.key in self._used
        return node.created <= self.at.time or in_force

    def node(self, node: NodeRow, names: Mapping[int, RepoName]) -> OverviewNode:
        declared = self._declared.get(node.key)
        if declared is None:
            is_cron = node.kind == RepoKind.CRON
            return OverviewNode(
                node.name,
                "cron" if is_cron else "repo",
                description=node.description,
                schedule=self._ticks.get(node.key, "") if is_cron else "",
                head=_head(self._heads.get((node.key, DEFAULT_BRANCH))),
            )
        flow, batch = self._flows.get(node.key), self._batches.get(node.key)
        sources = dict.fromkeys(edge.source for edge in self._inputs.get(node.key, ()))
        last = self._jobs.get(node.key)
        paused = node.paused and self.at is None
        return OverviewNode(
            node.name,
            declared.kind,
            state=self._state(node.key, declared, paused, last, flow),
            description=declared.view.description,
            paused=paused,
            version=declared.version.version,
            how=declared.how,
            schedule=self._own.get(node.key, ""),
            inputs=tuple(names[key] for key in sources if key in names),
            head=_head(self._heads.get((node.key, declared.view.output_branch))),
            job=_last(last) if last else None,
            checks=self._checks.get(node.key),
            behind=self._behind(node.key, flow, batch),
            rows_per_second=self._speed(flow, batch),
            late=self._late(flow, batch),
        )

    # -- how it is -------------------------------------------------------------------------

    def _state(
        self, key: int, declared: _Declared, paused: bool, last: Job | None, flow: Flow | None
    ) -> str:
        if flow is not None:
            return str(self._flow_state(key, declared, paused, last, flow))
        if paused and not self._unfinished.get(key):
            return PAUSED
        if last is None:
            return NEW
        return str(JobState.WAITING if last.state is JobState.CREATED else last.state)

    def _flow_state(
        self, key: int, declared: _Declared, paused: bool, last: Job | None, flow: Flow
    ) -> FlowState:
        if self.at is not None:
            if last is not None and last.state is JobState.FAILURE:
                return FlowState.FAILED
            return FlowState.RUNNING if key in self._batches else FlowState.IDLE
        if paused:
            return FlowState.PAUSED
        if any(state in _RUN for state in self._unfinished.get(key, ())):
            return FlowState.RUNNING
        if flow.state is FlowState.FAILED:
            return flow.state
        if flow.kind == INGEST:
            return FlowState.RUNNING if flow.expires > self.now else FlowState.IDLE
        lately = max(3 * (declared.interval or 0), LEAST_LATELY) * MICROS
        is_lately = flow.state is FlowState.RUNNING and self.now - flow.updated < lately
        return FlowState.RUNNING if declared.interval and is_lately else FlowState.IDLE

    def _behind(self, key: int, flow: Flow | None, batch: Batch | None) -> int:
        """How many inputs have another head than what the output was made from."""
        if flow is not None:
            position = flow.position if self.at is None else batch.end if batch else {}
            # A place within a commit is written commit+files.
            read = {name: str(place).partition("+")[0] for name, place in position.items()}
        else:
            good = self._good.get(key)
            read = {one.name: one.commit or "" for one in good.inputs} if good else {}
        count = 0
        for edge in self._inputs.get(key, ()):
            head = self._heads.get((edge.source, edge.branch))
            if edge.is_leaf and head is not None and head.commit != read.get(edge.name):
                # A branch that follows moves a little after the set's time, and is read by it.
                count += (edge.source, read.get(edge.name, "")) not in self._used_commits
        return count

    @property
    def _used_commits(self) -> frozenset[tuple[int, str]]:
        return self.at.used if self.at is not None else frozenset()

    def _speed(self, flow: Flow | None, batch: Batch | None) -> float | None:
        if flow is not None and self.at is None:
            found: float | None = flow.facts.get("rows_per_second")
            return found
        return batch.rows_in / batch.seconds if batch and batch.seconds else None

    def _late(self, flow: Flow | None, batch: Batch | None) -> int:
        if flow is not None and self.at is None:
            return int(flow.facts.get("late", 0))
        return batch.late if batch else 0

    # -- what it reads, and when -----------------------------------------------------------

    def _edges(self, session: Session, keys: Mapping[RepoName, int]) -> Iterator[Edge]:
        for edge in pipelines.every_edge(session):
            declared = self._declared.get(edge.pipeline)
            if declared is not None and declared.spec is None:
                yield edge
        for repo, declared in self._declared.items():
            if declared.spec is not None:
                yield from _edges_of(repo, declared.spec, keys)

    def _schedules(
        self, session: Session, keys: Mapping[RepoName, int]
    ) -> tuple[dict[int, str], dict[int, str]]:
        """When pipelines run by the clock, and when cron repos tick, in words."""
        rows = [(row.pipeline, row.name, row.ticks) for row in timing.crons(session)]
        is_old = {repo for repo, one in self._declared.items() if one.spec is not None}
        rows = [row for row in rows if row[0] not in is_old]
        for repo, declared in self._declared.items():
            if declared.spec is not None:
                rows += [(repo, n, Ticks(**given)) for n, given in cron_repos(declared.spec)]
        own: dict[int, dict[str, str]] = {}
        ticks: dict[int, str] = {}
        for pipeline, name, given in rows:
            words = _words(given.cron, given.timezone)
            own.setdefault(pipeline, {})[name.repo] = words
            if name in keys:
                ticks[keys[name]] = words
        return {repo: _joined(words) for repo, words in own.items()}, ticks


def _edges_of(repo: int, spec: PipelineSpec, keys: Mapping[RepoName, int]) -> Iterator[Edge]:
    """What a version read that is no longer in force, as far as that is still there."""
    waits = spec.schedule is not None or has_own_clock(spec)
    for leaf in leaves(spec.input):
        if leaf.repo in keys:
            silent = (waits and isinstance(leaf, Pfs)) or bool(leaf.stream.static)
            starts = leaf.propagation and not silent
            yield Edge(repo, leaf.name, keys[leaf.repo], leaf.branch, starts, True)
    tick = RepoName(spec.name.project, f"{spec.name.repo}_{SCHEDULE}")
    if spec.schedule is not None and tick in keys:
        yield Edge(repo, SCHEDULE, keys[tick], DEFAULT_BRANCH, True, False)


def _joined(words: Mapping[str, str]) -> str:
    """One schedule as it is; several by the names of their repos."""
    if len(words) == 1:
        return next(iter(words.values()))
    return "; ".join(f"{name}: {text}" for name, text in words.items())


@lru_cache(maxsize=1000)
def _words(text: str, timezone: str) -> str:
    try:
        return cron.in_words(text, timezone)
    except InvalidSchedule:
        return text


def _counted(rows: Iterable[tuple[int, str, str, int]]) -> dict[int, CheckCounts]:
    found: dict[int, CheckCounts] = {}
    for repo, state, action, n in rows:
        is_aside = state == CheckState.WARNED and action == Action.QUARANTINE
        field = "quarantined" if is_aside else state
        before = found.get(repo, CheckCounts())
        found[repo] = replace(before, **{field: getattr(before, field) + n})
    return found


def _head(row: HeadRow | None) -> Head | None:
    return Head(*row) if row is not None else None


def _last(job: Job) -> LastJob:
    counts = job.counts
    return LastJob(
        job.id,
        job.state,
        job.told_reason,
        job.told_cause,
        job.version,
        job.created,
        job.started,
        job.finished,
        counts.processed,
        counts.skipped,
        counts.failed,
        counts.total,
        counts.rows_in,
        counts.rows_out,
        counts.bytes_in,
        counts.bytes_out,
    )
