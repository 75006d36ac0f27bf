"""Long answers end when who gets them may no longer: what was revoked hears nothing more.

Rights are checked before an answer begins. One that goes on (events, logs, downloads, rows) is
checked again before each piece that is sent after rights changed in this process, and every few
seconds for what others change.
"""

from __future__ import annotations

import logging
import time

from fastapi.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from trunkline.errors import NotAuthenticated, TrunklineError
from trunkline.lake.rights import rights_bell
from trunkline.model.access import Principal
from trunkline.server.auth.identity import FRESH_SECONDS
from trunkline.server.calls import Call
from trunkline.server.service import Service

EVENTS = "text/event-stream"

log = logging.getLogger("trunkline.server")


class Standing:
    """Whether who began to get an answer may still get the rest of it."""

    def __init__(self, service: Service, who: Principal) -> None:
        self._service = service
        self._who = who
        self._bell = rights_bell(service.lake._core)
        # Not since when it was asked: rights may have changed before the answer began.
        self._rings = -1
        self._until = 0.0

    async def check(self) -> None:
        """`NotAuthenticated` if any of the rights that the answer began with are gone."""
        if self._rings == self._bell.count() and time.monotonic() < self._until:
            return
        rings = self._bell.count()
        if self._who.token:  # the owner of the lake has none in the catalog
            of_id = self._service.identity.of_id
            now = await run_in_threadpool(of_id, self._who.token, (self._who.kind,))
            if now is None or not now.covers(self._who):
                raise NotAuthenticated(
                    "What this was asked with is no longer good, or its rights were taken.",
                    hint="Ask again with a token that may.",
                )
        self._rings, self._until = rings, time.monotonic() + FRESH_SECONDS


class _CutOff(Exception):
    """Nobody answers this: the answer has begun."""


class StillAllowed:
    """Ends answers that go on when their reader may no longer read them."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        standing: Standing | None = None
        is_events = False

        async def sending(message: Message) -> None:
            nonlocal standing, is_events
            if message["type"] == "http.response.start":
                kind = Headers(raw=message["headers"]).get("content-type", "")
                is_events = kind.startswith(EVENTS)
            elif message["type"] == "http.response.body" and message.get("more_body"):
                call: Call | None = scope.get("state", {}).get("call")
                if call is not None and call.principal is not None:
                    standing = standing or Standing(call.service, call.principal)
                    try:
                        await standing.check()
                    except TrunklineError as error:
                        raise _CutOff(str(error)) from None
            await send(message)

        try:
            await self._app(scope, receive, sending)
        except* _CutOff:
            log.info("an answer was cut off: its reader may no longer read it")
            if is_events:  # who listens comes again, and is told why; files must not look whole
                await send({"type": "http.response.body", "body": b"", "more_body": False})
