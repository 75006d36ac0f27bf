"""Streams that run at an interval: a job for each, when there is something for it to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from trunkline.lake.core import Core
from trunkline.lake.propagation import output_branch
from trunkline.lake.publish import open_job
from trunkline.model.backoff import Backoff
from trunkline.model.ids import new_id
from trunkline.model.inputs import leaves
from trunkline.model.streams import Flow, FlowState
from trunkline.model.told import Kind, Told
from trunkline.pipelines.cron import SECOND
from trunkline.pipelines.spec.codec import from_json
from trunkline.storage.catalog import Session, flows, jobs, pipelines, refs
from trunkline.storage.catalog.pipelines import Edge, PipelineRow

STREAM = "stream"
_BACKOFF = Backoff(2.0, 600.0)
_SOON = SECOND // 10


class _Declared(NamedTuple):
    """What a version says: how often, and which of its inputs are streams."""

    version: int
    interval: float | None
    streams: frozenset[str]


@dataclass
class _Seen:
    """When a stream's last job was opened, and how often in a row it failed since.

    `failed` is the failure that was counted last, `since` from when its pause is counted: a clock
    may jump back, and who waits must not wait for longer because of it.
    """

    opened: int = 0
    failures: int = 0
    failed: int = 0
    since: int = 0
    version: int = 0


class StreamClock:
    """Opens jobs of streams. Any number may work on one lake: the catalog decides who was first.

    A stream that failed is tried again, after longer and longer pauses; at once when it is
    applied, rewound or resumed.
    """

    def __init__(self, core: Core, author: str = STREAM) -> None:
        self.opened = 0
        self._core = core
        self._author = author
        self._declared: dict[int, _Declared] = {}
        self._seen: dict[int, _Seen] = {}

    def open_due(self, now: int, *, waits: bool = True) -> int | None:
        """Open what is due; when to look again. Without `waits` no interval is waited for."""
        coming: list[int] = []
        with self._core.database.read() as session:
            found = flows.listed(session, STREAM)
            todo = []
            for flow in found:
                due = self._due(session, flow, now, waits)
                if due is None:
                    continue
                interval = int((self._declared[flow.repo].interval or 0) * SECOND)
                if due > now:
                    coming.append(due)
                elif self._has_news(session, flow):
                    todo.append(flow)
                    coming.append(now + interval)
                else:
                    # Its time has come, but no row yet, or the batch before is not done.
                    coming.append(now + min(interval, _SOON))
        for flow in todo:
            self._open(flow, now)
        return min(coming, default=None)

    def _due(self, session: Session, flow: Flow, now: int, waits: bool) -> int | None:
        """When its next job may be opened; None if it runs on commits, or is paused."""
        row = pipelines.find(session, flow.repo)
        if row is None or row.paused:
            self._seen.pop(flow.repo, None)
            return None
        said = self._said(session, row)
        if said.interval is None:
            return None
        # Whose failure nobody here has seen is tried at once.
        seen = self._seen.setdefault(flow.repo, _Seen(failed=flow.updated, version=row.version))
        if seen.version != row.version or flow.state is not FlowState.FAILED:
            seen.version, seen.failures = row.version, 0
        elif flow.updated != seen.failed:
            seen.failed, seen.failures = flow.updated, seen.failures + 1
            seen.since = flow.updated
        seen.opened, seen.since = min(seen.opened, now), min(seen.since, now)
        if seen.failures:
            return seen.since + int(_BACKOFF.pause(seen.failures) * SECOND)
        return seen.opened + int(said.interval * SECOND) if waits else now

    def _said(self, session: Session, row: PipelineRow) -> _Declared:
        said = self._declared.get(row.repo)
        if said is None or said.version != row.version:
            version = pipelines.version(session, row.repo, row.version)
            assert version is not None
            spec = from_json(version.spec)
            streaming = spec.transform.streaming
            said = _Declared(
                row.version,
                streaming.interval if streaming else None,
                frozenset(leaf.name for leaf in leaves(spec.input) if not leaf.stream.static),
            )
            self._declared[row.repo] = said
        return said

    def _has_news(self, session: Session, flow: Flow) -> bool:
        """Whether an input has what the stream has not read, or its watermark is to act."""
        if jobs.listed(session, repo=flow.repo, unfinished=True, limit=1):
            return False
        if flow.facts.get("moved"):
            return True
        streams, seen = self._declared[flow.repo].streams, flow.facts.get("seen", {})
        for edge in pipelines.reads(session, flow.repo):
            branch = refs.branch(session, edge.source, edge.branch)
            head = branch.head if branch else None
            known = (None, flow.position.get(edge.name), seen.get(edge.name))
            if edge.name in streams and head not in known:
                return True
        return False

    def _open(self, flow: Flow, now: int) -> None:
        with self._core.database.write() as session:
            row = pipelines.find(session, flow.repo)
            again = flows.find(session, flow.repo)
            if row is None or row.paused or again is None or not self._has_news(session, again):
                return
            branch = output_branch(session, row)
            heads = [(edge, _head(session, edge)) for edge in pipelines.reads(session, flow.repo)]
            open_job(session, new_id(), row, branch, heads, Told(Kind.INTERVAL), self._author)
        self._seen[flow.repo].opened = now
        self.opened += 1


def _head(session: Session, edge: Edge) -> str | None:
    branch = refs.branch(session, edge.source, edge.branch)
    return branch.head if branch else None
