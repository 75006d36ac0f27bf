"""Puts into the audit log what requests changed, and what they were refused."""

from __future__ import annotations

from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from trunkline.model.access import AuditEntry
from trunkline.model.time import now_micros
from trunkline.sdk.wire.values import API
from trunkline.server.metrics import route_of
from trunkline.server.service import Service

QUIET = frozenset(("GET", "HEAD", "OPTIONS"))
LONGEST = 500


class Audited:
    """Neither bodies nor queries are looked at, so that no secret gets into the log."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._journal = service.journal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(scope, receive, send)
            return
        # What comes over a unix socket was sent on by another process, which has recorded it.
        if scope["type"] != "http" or (scope.get("server") or ("", None))[1] is None:
            await self._app(scope, receive, send)
            return
        status = 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, sending)
        finally:
            notes: dict[str, Any] = scope.get("state", {})
            refused = status in (401, 403, 429) or bool(notes.get("refused"))
            if refused or scope["method"] not in QUIET or notes.get("changes"):
                self._journal.add(_entry(scope, notes, status, refused))

    async def _live(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sending(message: Message) -> None:
            if message["type"].startswith("lifespan.shutdown."):
                self._journal.close()
            await send(message)

        await self._app(scope, receive, sending)


def _entry(scope: Scope, notes: dict[str, Any], status: int, refused: bool) -> AuditEntry:
    path = scope["path"].removeprefix(API)
    call = notes.get("call")
    known = call.principal.name if call is not None and call.principal is not None else ""
    client = scope.get("client")
    outcome = "refused" if refused else "ok" if 0 < status < 400 else "failed"
    detail = " ".join(filter(None, (str(status or "cut off"), str(notes.get("detail", "")))))
    return AuditEntry(
        0,
        now_micros(),
        str(notes.get("who") or known),
        f"{scope['method']} {route_of(scope).removeprefix(API)}",
        _short(str(notes.get("target") or _changed(notes, path))),
        outcome,
        client[0] if client else "",
        str(notes.get("request_id", "")),
        _short(detail),
    )


def _changed(notes: dict[str, Any], path: str) -> str:
    """The repos that were changed, where the path does not name them itself."""
    repos = list(notes.get("changed", ()))
    return ", ".join(repos) if repos and not path.startswith("/repos/") else path


def _short(text: str) -> str:
    """One line of it: what callers name may be anything."""
    plain = "".join(one if one.isprintable() else "?" for one in text[:LONGEST])
    return plain + ("…" if len(text) > LONGEST else "")
