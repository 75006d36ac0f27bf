"""What happens, as it happens, and what happened."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass
from time import monotonic
from typing import Annotated

from anyio.to_thread import run_sync
from fastapi import Header, Query, Request
from sse_starlette.sse import EventSourceResponse, SendTimeoutError
from starlette.types import Receive, Scope, Send

from trunkline.errors import NotAuthenticated, TrunklineError, Usage
from trunkline.model.access import Permission, Principal
from trunkline.model.events import Event
from trunkline.sdk.wire.values import Page
from trunkline.server.calls import ANYBODY, Call, Caller, Routes
from trunkline.server.hub import chunk
from trunkline.server.paging import MOST_DIGITS, Cursor, Limit, encoded, row_of
from trunkline.storage.catalog import events

routes = Routes(tags=["events"])

BEAT_SECONDS = 15
SEND_SECONDS = 30.0
"""A client that takes nothing for so long is cut off."""
KNOWN_SECONDS = 30.0
"""So often it is asked again whether the listener may still listen."""
_PAGE = 1000

log = logging.getLogger("trunkline.server")
Kinds = Annotated[str | None, Query(description="Only these kinds, by commas.")]
Since = Annotated[int | None, Query(ge=0, description="Begin after this position.")]


@dataclass(frozen=True, slots=True)
class _Wanted:
    kinds: frozenset[str]
    project: str | None
    repo: str | None

    @classmethod
    def of(cls, kinds: str | None, project: str | None, repo: str | None) -> _Wanted:
        found = frozenset(one.strip() for one in (kinds or "").split(",") if one.strip())
        return cls(found, project, repo)

    def takes(self, event: Event, who: Principal) -> bool:
        return (
            (not self.kinds or event.kind in self.kinds)
            and self.project in (None, event.repo.project)
            and self.repo in (None, event.repo.repo)
            and who.may_repo(Permission.READ, event.repo)
        )


@routes.GET("/events", ANYBODY, response_class=EventSourceResponse)
async def follow_events(
    request: Request,
    call: Caller,
    since: Since = None,
    kinds: Kinds = None,
    project: str | None = None,
    repo: str | None = None,
    last_event_id: Annotated[str | None, Header()] = None,
) -> EventSourceResponse:
    """Events of what the caller may read, without end.

    Begins with what is new now, or after `since`, or after the position in Last-Event-ID.
    """
    after = since
    if last_event_id:
        if not last_event_id.isdecimal() or len(last_event_id) > MOST_DIGITS:
            raise Usage("Last-Event-ID is the position of an event.")
        after = int(last_event_id)
    told = _told(request, call, after, _Wanted.of(kinds, project, repo))
    return _Stream(told, ping=BEAT_SECONDS, send_timeout=SEND_SECONDS, sep="\n")


@routes.GET("/events/history", ANYBODY)
def list_events(
    call: Caller,
    since: int = Query(0, ge=0, description="Begin after this position."),
    kinds: Kinds = None,
    project: str | None = None,
    repo: str | None = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Page[Event]:
    """The events that are kept, oldest first."""
    wanted = _Wanted.of(kinds, project, repo)
    after = since if cursor is None else row_of(cursor)
    shown: list[Event] = []
    while True:
        some = _read(call, after, None, wanted)
        for one in some:
            if len(shown) == limit:
                return Page(shown, encoded(str(shown[-1].position)))
            if wanted.takes(one, call.who):
                shown.append(one)
        if len(some) < _PAGE:
            return Page(shown)
        after = some[-1].position


class _Stream(EventSourceResponse):
    """Ends where the client takes nothing any more: it may come again, and nothing is lost."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        except SendTimeoutError:
            log.info("a listener took nothing for %g s and was cut off", SEND_SECONDS)


async def _told(
    request: Request, call: Call, after: int | None, wanted: _Wanted
) -> AsyncIterator[bytes]:
    hub, who = call.service.hub, call.who
    await run_sync(hub.start)
    listening = hub.listen()
    try:
        # The hub may be a moment behind: what is before this was told, or is not new.
        newest = await run_sync(_newest, call)
        position = floor = newest if after is None else min(after, newest)
        # A comment, so that the client knows at once that it is heard, and from where on.
        yield b": listening after %d\n\n" % position
        while position < listening.start:
            some = await run_sync(_read, call, position, listening.start, wanted)
            if told := b"".join(chunk(one) for one in some if wanted.takes(one, who)):
                yield told
            position = some[-1].position if len(some) == _PAGE else listening.start
        asked = monotonic()
        while (new := await listening.next(KNOWN_SECONDS)) is not None:
            if monotonic() - asked > KNOWN_SECONDS:
                who, asked = await _still(request, call), monotonic()
            fresh = (one for one in new if one.event.position > floor)
            if told := b"".join(one.chunk for one in fresh if wanted.takes(one.event, who)):
                yield told
    except TrunklineError as error:
        # The answer has begun, so this is how it ends; who comes again is told more.
        log.info("listening ended: %s", error)
    finally:
        hub.leave(listening)


async def _still(request: Request, call: Call) -> Principal:
    """Who listens, with the rights they have by now."""
    who = await call.service.identify(request)
    if who is None:
        raise NotAuthenticated("This server no longer knows who you are.")
    return who


def _newest(call: Call) -> int:
    with call.service.lake._core.database.read() as session:
        return events.last(session)


def _read(call: Call, after: int, until: int | None, wanted: _Wanted) -> list[Event]:
    with call.service.lake._core.database.read() as session:
        return events.listed(
            session,
            after,
            until,
            kinds=wanted.kinds,
            project=wanted.project,
            repo=wanted.repo,
            limit=_PAGE,
        )
