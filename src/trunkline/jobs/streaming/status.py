"""How streams and ingests go: what the catalog knows of them, put together for people."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from math import ceil
from typing import Any

from trunkline.errors import TrunklineError
from trunkline.jobs.streaming.lag import behind
from trunkline.jobs.streaming.positions import Place
from trunkline.lake.core import Core
from trunkline.lake.flowkinds import STREAM
from trunkline.lake.propagation import output_branch
from trunkline.lake.streams import require_flow
from trunkline.model.commits import RepoName
from trunkline.model.flowstatus import IngestStatus, InputLag, Speed, StreamStatus
from trunkline.model.inputs import Pfs, leaves
from trunkline.model.jobs import JobState
from trunkline.model.pipelines import INGEST, PipelineSpec
from trunkline.model.streams import Batch, Flow, FlowState, IngestSource
from trunkline.pipelines.spec.codec import from_json
from trunkline.storage.catalog import Session, commits, flows, jobs, pipelines, refs
from trunkline.storage.catalog.pipelines import PipelineRow

RECENT = 100
"""So many batches tell how fast a flow is."""
LEAST_LATELY = 3.0
"""A stream whose last batch is younger, in seconds, or than three of its intervals, is running."""
BEHIND_SECONDS = 60.0
"""A stream that leaves a commit unread for longer is behind."""
MICROS = 1_000_000
_WAITS = "a job waits: trunkline run, or a worker, runs it"
_UNHELD = "no worker holds it: trunkline run, or a worker, runs it"


def streams(core: Core, project: str | None) -> list[StreamStatus]:
    """Every stream, of one project or of all."""
    return [stream(core, name) for name in _names(core, STREAM, project)]


def stream(core: Core, name: RepoName) -> StreamStatus:
    with core.database.read() as session:
        row, flow = require_flow(session, name, STREAM)
        spec = _spec(session, row)
        recent = _recent(session, row)
        now = session.now()
        state, reason = _stream_state(session, row, flow, spec, now)
        heads = []
        for leaf in leaves(spec.input):
            if isinstance(leaf, Pfs) and not leaf.stream.static:
                heads.append((leaf, _head(session, row.repo, leaf.name)))
    facts = flow.facts
    inputs = tuple(_lag(core, leaf, flow.position.get(leaf.name), at, now) for leaf, at in heads)
    return StreamStatus(
        name=row.name,
        state=state,
        reason=reason,
        epoch=flow.epoch,
        batch=flow.number,
        now=now,
        updated=flow.updated,
        last=recent[0] if recent else None,
        speed=speed(recent, facts.get("rows_per_second")),
        malformed=facts.get("malformed", 0),
        trigger=trigger_words(spec),
        kind=facts.get("kind", ""),
        inputs=inputs,
        watermark=facts.get("watermark"),
        late=facts.get("late", 0),
        skipped=facts.get("skipped", 0),
        state_rows=facts.get("state_rows", 0),
        state_bytes=facts.get("state_bytes", 0),
        seconds=facts.get("seconds"),
    )


def overview(core: Core) -> dict[str, Any]:
    """How many there are in the lake, and the names of those that want to be looked at."""
    flowing, coming = streams(core, None), ingests(core, None)
    failed = [one.name for one in (*flowing, *coming) if one.state is FlowState.FAILED]
    slow = [one.name for one in flowing if one.lag_seconds > BEHIND_SECONDS]
    return {
        "streams": len(flowing),
        "ingests": len(coming),
        "flows_failed": tuple(map(str, failed)),
        "flows_behind": tuple(map(str, slow)),
    }


def ingests(core: Core, project: str | None) -> list[IngestStatus]:
    """Every ingest, of one project or of all."""
    return [ingest(core, name) for name in _names(core, INGEST, project)]


def ingest(core: Core, name: RepoName) -> IngestStatus:
    with core.database.read() as session:
        row, flow = require_flow(session, name, INGEST)
        source = _spec(session, row).source
        recent = flows.batches(session, row.repo, epoch=flow.epoch, limit=RECENT)
        now = session.now()
    assert source is not None
    held = flow.expires > now
    state, reason = flow.state, flow.reason
    if row.paused:
        state, reason = FlowState.PAUSED, ""
    elif state is not FlowState.FAILED:
        state = FlowState.RUNNING if held else FlowState.IDLE
        reason = "" if held else _UNHELD
    return IngestStatus(
        name=row.name,
        state=state,
        reason=reason,
        epoch=flow.epoch,
        batch=flow.number,
        now=now,
        updated=flow.updated,
        last=recent[0] if recent else None,
        speed=speed(recent, flow.facts.get("rows_per_second")),
        malformed=flow.facts.get("malformed", 0),
        source=source_words(source),
        interval=source.interval,
        worker=flow.holder if held else None,
        rows=flow.facts.get("rows", 0),
        position=flow.position,
        facts={key: value for key, value in flow.facts.items() if key not in _KNOWN},
    )


_KNOWN = ("rows_per_second", "rows", "malformed", "last", flows.PASSED)
"""Facts of an ingest that its status has in other places."""


def speed(recent: Sequence[Batch], last: float | None) -> Speed:
    """Of batches, the newest first. The time between them counts: rows did not come then."""
    timed = [one for one in recent if one.at is not None]
    seconds = sorted(one.seconds / one.count for one in recent)
    if not timed or not seconds:
        return Speed(0.0, last or 0.0)
    oldest = timed[-1]
    began = (oldest.at or 0) - int(oldest.seconds * MICROS)
    span = max(((timed[0].at or 0) - began) / MICROS, 1e-6)
    rate = sum(one.rows_in for one in timed) / span
    own = timed[0].rows_in / max(timed[0].seconds, 1e-6)
    return Speed(
        rate, own if last is None else last, quantile(seconds, 0.5), quantile(seconds, 0.99)
    )


def quantile(ordered: Sequence[float], part: float) -> float:
    """The least value that so large a part of all does not exceed."""
    return ordered[max(ceil(len(ordered) * part) - 1, 0)]


def trigger_words(spec: PipelineSpec) -> str:
    streaming = spec.transform.streaming
    if streaming is None or streaming.interval is None:
        return "on commit"
    return f"every {streaming.interval:g}s"


def source_words(source: IngestSource) -> str:
    """`folder ./inbox`: the kind, and what tells one from another of it."""
    options = source.options
    told = {
        "folder": str(options.get("path", "")),
        "kafka": ", ".join(options.get("topics", ())),
        "http": f"{options.get('host', '')}:{options.get('port', '')}",
        "python": str(options.get("function", "")),
        "rate": f"{options.get('rows_per_second', '')} rows/s",
        "objects": str(options.get("url", "")),
        "sql": str(options.get("table") or "query"),
        "delta": str(options.get("url", "")),
        "iceberg": str(options.get("table", "")),
        "api": str(options.get("url", "")),
    }
    return f"{source.kind} {told.get(source.kind, '')}".rstrip()


def _names(core: Core, kind: str, project: str | None) -> list[RepoName]:
    with core.database.read() as session:
        found = flows.listed(session, kind)
        return [one.name for one in found if project in (None, one.name.project)]


def _spec(session: Session, row: PipelineRow) -> PipelineSpec:
    version = pipelines.version(session, row.repo, row.version)
    assert version is not None
    return from_json(version.spec)


def _recent(session: Session, row: PipelineRow) -> list[Batch]:
    """The newest batches, without those that a rewind has undone."""
    branch = refs.branch(session, row.repo, output_branch(session, row))
    if branch is None or branch.head is None:
        return []
    there = commits.chain(session, row.repo, branch.head, RECENT)
    ids = {one.id for one in there}
    found = [one for one in flows.batches(session, row.repo, limit=2 * RECENT) if one.commit in ids]
    if found:
        return found
    oldest = (flows.batch_of(session, row.repo, one.id) for one in there)
    return [one for one in oldest if one is not None][:1]


def _head(session: Session, repo: int, name: str) -> str | None:
    for edge in pipelines.reads(session, repo):
        if edge.name == name:
            branch = refs.branch(session, edge.source, edge.branch)
            return branch.head if branch else None
    return None


def _stream_state(
    session: Session, row: PipelineRow, flow: Flow, spec: PipelineSpec, now: int
) -> tuple[FlowState, str]:
    if row.paused:
        return FlowState.PAUSED, ""
    open_jobs = jobs.listed(session, repo=row.repo, unfinished=True)
    if any(job.state in (JobState.RUNNING, JobState.FINISHING) for job in open_jobs):
        return FlowState.RUNNING, ""
    if flow.state is FlowState.FAILED:
        return flow.state, flow.reason
    streaming = spec.transform.streaming
    interval = streaming.interval if streaming else None
    lately = max(3 * (interval or 0), LEAST_LATELY) * MICROS
    if interval is not None and flow.state is FlowState.RUNNING and now - flow.updated < lately:
        return FlowState.RUNNING, ""
    waiting = next((job for job in open_jobs), None)
    return FlowState.IDLE, (waiting.reason or _WAITS) if waiting else ""


def _lag(core: Core, leaf: Pfs, since: str | None, head: str | None, now: int) -> InputLag:
    unread, oldest = 0, None
    with suppress(TrunklineError):  # what it reads may be gone: its own error will say so
        unread, oldest = behind(core, leaf, since, head)
    seconds = max(now - oldest, 0) / MICROS if oldest is not None else 0.0
    read = Place.parse(since).commit if since else None
    return InputLag(leaf.name, leaf.repo, leaf.branch, read, unread, seconds)
