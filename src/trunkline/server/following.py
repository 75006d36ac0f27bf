"""What is waited for: jobs until they change, and lines of a log as they come.

A request that waits holds no thread. It sleeps, and looks now and then with a thread of a pool of
its own: however many wait, other requests have theirs.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from typing import TypeVar

import anyio
import anyio.to_thread
from blake3 import blake3
from fastapi import Request
from sse_starlette import EventSourceResponse, ServerSentEvent

from trunkline.errors import TrunklineError, Usage
from trunkline.jobs.logs import LOOK_SECONDS, Position, Tail
from trunkline.model.backoff import Backoff
from trunkline.model.jobs import Job, LogLine
from trunkline.sdk.lake import Lake
from trunkline.sdk.wire.jobs import Waited
from trunkline.sdk.wire.values import adapter
from trunkline.server.auth.standing import Standing
from trunkline.server.failures import as_seen
from trunkline.server.service import Service
from trunkline.storage.catalog.bell import bell_of

T = TypeVar("T")

THREADS = 8
LOOKS = Backoff(0.1, 1.0)
"""Seconds between looks at jobs: more and more while nothing changes."""
_BELL_SECONDS = 0.05
_LONGEST_ID = 8000


async def looked(request: Request, look: Callable[[], T]) -> T:
    """Call something in a thread of those that are for waiting."""
    state = request.app.state
    if not hasattr(state, "looking"):
        state.looking = anyio.CapacityLimiter(THREADS)
    return await anyio.to_thread.run_sync(look, limiter=state.looking)


async def until_changed(
    request: Request, lake: Lake, look: Callable[[], list[Job]], seen: str, seconds: float
) -> Waited:
    """The jobs, once they are others than those `seen`, or all over, or the time is up."""
    bell = bell_of(lake._core.database.url)
    until, pauses = time.monotonic() + seconds, iter(LOOKS)
    standing = Standing(request.app.state.service, request.state.call.who)
    while True:
        rings = bell.count()
        found = await looked(request, look)
        await standing.check()
        state = blake3(repr(found).encode()).hexdigest(16)
        left = until - time.monotonic()
        over = all(one.state.is_over for one in found)
        if state != seen or over or left <= 0 or _stopping(request):
            return Waited(found, state)
        if await request.is_disconnected():
            return Waited(found, state)
        end = time.monotonic() + min(next(pauses), left)
        while bell.count() == rings and time.monotonic() < end:
            await asyncio.sleep(_BELL_SECONDS)


def followed(request: Request, tail: Tail, follow: bool) -> EventSourceResponse:
    """The lines of a log as events, until the job is over.

    After those that were found together comes a `seen`, whose id is the position to go on from;
    `end` is the last of all.
    """
    return EventSourceResponse(_events(request, tail, follow), ping=15, send_timeout=60)


async def _events(request: Request, tail: Tail, follow: bool) -> AsyncIterator[ServerSentEvent]:
    writer = adapter(LogLine)
    while True:
        try:
            found, over = await looked(request, tail.look)
        except TrunklineError as error:
            told = as_seen(request.state.call, error)
            yield ServerSentEvent(json.dumps(told.to_dict()), event="error")
            return
        for line in found:
            yield ServerSentEvent(writer.dump_json(line).decode(), event="line")
        if found:
            yield ServerSentEvent("", event="seen", id=_id_of(tail.position))
        if over or not follow:
            yield ServerSentEvent("", event="end")
            return
        if _stopping(request):
            return  # without an end: another server goes on from the position
        await asyncio.sleep(LOOK_SECONDS)


def _stopping(request: Request) -> bool:
    service: Service = request.app.state.service
    return service.stopping


def _id_of(position: Position) -> str | None:
    """As the id of an event; None if it would be too long to be sent back."""
    text = ",".join(f"{writer}:{number:x}" for writer, number in position.items())
    return text if len(text) <= _LONGEST_ID else None


def position_of(text: str | None) -> Position:
    """The position that an event's id stands for."""
    try:
        parts = (part.split(":") for part in (text or "").split(",") if part)
        return {writer: int(number, 16) for writer, number in parts}
    except ValueError:
        raise Usage(
            "This is not the id of an event of this server.", hint="Leave it out to start anew."
        ) from None
