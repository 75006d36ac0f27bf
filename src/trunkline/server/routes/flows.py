"""Streams and ingests."""

from __future__ import annotations

from dataclasses import replace

from fastapi import Request
from fastapi.responses import JSONResponse, Response

from trunkline.lake.rewinds import RewindPlan
from trunkline.lake.savepoints import Savepoint
from trunkline.lake.streams import Steered
from trunkline.model.commits import Commit, RepoName
from trunkline.model.flowstatus import FlowStatus, IngestStatus, StreamStatus
from trunkline.model.streams import Batch
from trunkline.sdk.lake import Lake
from trunkline.sdk.wire.flows import Restart, Rewind
from trunkline.sdk.wire.values import Page
from trunkline.server.calls import (
    ANYBODY,
    MAINTAIN_REPO,
    READ_REPO,
    WRITE_REPO,
    Call,
    Caller,
    Routes,
)
from trunkline.server.following import looked
from trunkline.server.forwarding import forwarded, listener_of
from trunkline.server.hidden_inputs import hides, shown_batches, shown_stream
from trunkline.server.paging import Cursor, Limit, page

routes = Routes(tags=["flows"])
STREAM = "/streams/{project}/{repo}"
INGEST = "/ingests/{project}/{repo}"


@routes.GET("/streams", ANYBODY)
def list_streams(
    call: Caller, project: str | None = None, limit: Limit = 100, cursor: Cursor = None
) -> Page[StreamStatus]:
    """The streams of a project, or of all, that the caller may read, with how they go."""
    found = _lake(call, project).streams(all_projects=project is None)
    seen = [shown_stream(call, one) for one in call.visible(found, _name)]
    return page(seen, _key, limit, cursor)


@routes.GET(STREAM, READ_REPO)
def get_stream(call: Caller, project: str, repo: str) -> StreamStatus:
    """How a stream goes: its state, lag, watermark and speed."""
    return shown_stream(call, call.lake.stream(f"{project}/{repo}"))


@routes.GET(f"{STREAM}/batches", READ_REPO)
def list_stream_batches(
    call: Caller, project: str, repo: str, limit: Limit = 100, cursor: Cursor = None
) -> Page[Batch]:
    """What each commit of a stream or an ingest read and wrote, newest first."""
    most = limit + 1 if cursor is None else None
    found = call.lake.stream_batches(f"{project}/{repo}", most)
    shown = shown_batches(call, RepoName(project, repo), found)
    return page(shown, _newest, limit, cursor)


@routes.GET(f"{STREAM}/rewind", READ_REPO)
def plan_rewind(call: Caller, project: str, repo: str, to: str) -> RewindPlan:
    """What a rewind would undo, and who would be told. Nothing happens."""
    plan = call.lake.plan_rewind(f"{project}/{repo}", to)
    hidden = hides(call, RepoName(project, repo))
    return replace(
        plan,
        position={} if hidden else plan.position,
        readers=tuple(call.visible(plan.readers, lambda one: one)),
    )


@routes.POST(f"{STREAM}/rewind", MAINTAIN_REPO)
def rewind_stream(call: Caller, project: str, repo: str, body: Rewind) -> Steered:
    """Back to one of its commits: output, offsets and state."""
    return call.lake.rewind_stream(f"{project}/{repo}", body.to)


@routes.POST(f"{STREAM}/restart", MAINTAIN_REPO)
def restart_stream(call: Caller, project: str, repo: str, body: Restart) -> Steered:
    """Begin anew without state."""
    return call.lake.restart_stream(f"{project}/{repo}", body.start, body.keep_output)


@routes.GET(f"{STREAM}/savepoints", READ_REPO)
def list_savepoints(
    call: Caller, project: str, repo: str, limit: Limit = 100, cursor: Cursor = None
) -> Page[Savepoint]:
    """Newest first."""
    found = call.lake.savepoints(f"{project}/{repo}")
    return page(found, lambda one: f"{(1 << 128) - int(one.id, 16):040d}", limit, cursor)


@routes.POST(f"{STREAM}/savepoints", WRITE_REPO, status_code=201)
def take_savepoint(call: Caller, project: str, repo: str) -> Commit:
    """Keep the state after the newest batch as a commit."""
    return call.lake.take_savepoint(f"{project}/{repo}")


@routes.GET("/repos/{project}/{repo}/batches", READ_REPO)
def list_batches(
    call: Caller, project: str, repo: str, limit: Limit = 100, cursor: Cursor = None
) -> Page[Batch]:
    """What is known of the commits of a stream or an ingest; of other repos nothing."""
    found = call.lake.commit_batches(f"{project}/{repo}")
    shown = shown_batches(call, RepoName(project, repo), found.values())
    return page(shown, _newest, limit, cursor)


@routes.GET("/repos/{project}/{repo}/batches/{commit}", READ_REPO)
def get_batch(call: Caller, project: str, repo: str, commit: str) -> Batch | None:
    """What is known of the batch that made a commit; null if none did."""
    name = RepoName(project, repo)
    found = call.lake._batch_of(name, commit)
    return shown_batches(call, name, [found])[0] if found else None


@routes.GET("/ingests", ANYBODY)
def list_ingests(
    call: Caller, project: str | None = None, limit: Limit = 100, cursor: Cursor = None
) -> Page[IngestStatus]:
    """The ingests of a project, or of all, that the caller may read, with how they go."""
    found = _lake(call, project).ingests(all_projects=project is None)
    return page(call.visible(found, _name), _key, limit, cursor)


@routes.GET(INGEST, READ_REPO)
def get_ingest(call: Caller, project: str, repo: str) -> IngestStatus:
    """How an ingest goes: its state, speed, and what its source says of itself."""
    return call.lake.ingest(f"{project}/{repo}")


@routes.POST(f"{INGEST}/events", WRITE_REPO, response_class=JSONResponse)
async def send_rows(request: Request, call: Caller, project: str, repo: str) -> Response:
    """Rows for an ingest whose source is http: JSON, NDJSON or Arrow, also gzipped.

    The answer comes when they are durable: {"commit", "rows", "malformed"}.
    """
    name, lake = RepoName(project, repo), call.lake
    listener = await looked(request, lambda: listener_of(lake, name))
    return await forwarded(request, name, listener)


def _lake(call: Call, project: str | None) -> Lake:
    if project is None:
        return call.lake
    call.require_project_seen(project)
    return call.lake.bound(project=project)


def _name(one: FlowStatus) -> RepoName:
    return one.name


def _key(one: FlowStatus) -> str:
    return f"{one.name.project}\0{one.name.repo}"


def _newest(one: Batch) -> str:
    return f"{(1 << 62) - one.epoch:020d}{(1 << 62) - one.number:020d}"
