"""The log of a server or a worker: a line for each request and job, text or JSON, no secrets.

Everything goes through the standard library's logging, ours and others', and comes out of one
handler in one shape. Its last step masks what must not be seen, tracebacks included.
"""

from __future__ import annotations

import json
import logging
import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from time import monotonic
from typing import Any, TextIO
from uuid import uuid4

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.contextvars import bound_contextvars

from trunkline.engine.runner.masking import MASK, masker
from trunkline.sdk.secrets import FILE as SECRETS
from trunkline.sdk.wire.values import REQUEST_ID
from trunkline.server.metrics import route_of

access = logging.getLogger("trunkline.access")

_request_id = re.compile(r"[A-Za-z0-9._-]{1,64}\Z")
_QUIET = frozenset(("/healthz", "/readyz", "/metrics"))
_VARIABLE = "TRUNKLINE_SECRET_"
_masked = re.compile(
    r"(tl_[A-Za-z0-9]{1,64}_)[A-Za-z0-9_-]+"
    r"|((?:authorization|cookie|set-cookie|x-amz-security-token)[\"']?\s*[:=]\s*[\"']?)"
    r"(?:(?:bearer|basic)\s+)?[^\s\"',;]+"
    r"|([?&](?:token|access_token|code|state|x-amz-signature|x-amz-credential|signature|sig)=)"
    r"[^&\s\"']+"
    r"|(\b[a-z][a-z0-9+.-]*://[^/\s:@]+:)[^/\s@]+(?=@)",
    re.IGNORECASE,
)


def configure(
    style: str,
    folder: Path | None = None,
    *,
    stream: TextIO | None = None,
    level: int = logging.INFO,
) -> None:
    """Have this process log to `stream`, as "text" or "json".

    `folder` is the lake's: the values of its secrets are masked.
    """
    out = stream or sys.stderr
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(),
        _without_colours,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if style == "json":
        last = [
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(default=str),
        ]
    else:
        # Not the pretty ones: they show the values of variables.
        plain = structlog.dev.plain_traceback
        last = [structlog.dev.ConsoleRenderer(colors=out.isatty(), exception_formatter=plain)]
    handler = logging.StreamHandler(out)
    remove = structlog.stdlib.ProcessorFormatter.remove_processors_meta
    handler.setFormatter(_Masked(Masks(folder), [remove, *last], shared))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("trunkline").setLevel(level)
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        theirs = logging.getLogger(name)
        theirs.handlers.clear()
        theirs.propagate = True
        # Its line for each request would be the second.
        theirs.setLevel(logging.WARNING if name == "uvicorn.access" else logging.INFO)
    structlog.configure(
        processors=[*shared[:3], structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
    )


def _without_colours(logger: Any, method: str, event: Any) -> Any:
    """uvicorn gives each of its lines twice, the second time with colours."""
    event.pop("color_message", None)
    return event


class _Masked(structlog.stdlib.ProcessorFormatter):
    def __init__(self, masks: Masks, processors: list[Any], foreign: list[Any]) -> None:
        super().__init__(processors=processors, foreign_pre_chain=foreign)
        self._masks = masks

    def format(self, record: logging.LogRecord) -> str:
        return self._masks(super().format(record))


class Masks:
    """Takes out of text what looks like a secret, and what is one of the lake's."""

    def __init__(self, folder: Path | None = None) -> None:
        self._file = folder / SECRETS if folder is not None else None
        self._seen: object = None
        self._known: Callable[[str], str] = str

    def __call__(self, text: str) -> str:
        self._look()
        return _masked.sub(_stars, self._known(text))

    def _look(self) -> None:
        """Read the secrets again when their file is another."""
        values = {name: text for name, text in os.environ.items() if name.startswith(_VARIABLE)}
        stamp: object = None
        if self._file is not None:
            try:
                found = self._file.stat()
                stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
            except OSError:
                stamp = None
        seen = (stamp, tuple(sorted(values.items())))
        if seen == self._seen:
            return
        if stamp is not None and self._file is not None:
            values.update(_values(self._file))
        self._known = masker(values)
        self._seen = seen


def _values(file: Path) -> Mapping[str, str]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {str(name): str(value) for name, value in found.items()}


def _stars(found: re.Match[str]) -> str:
    return next((kept for kept in found.groups() if kept), "") + MASK


class RequestIds:
    """Gives every request an id, or keeps the one it came with, says it in the answer and in
    every line of the log that is about it.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).get(REQUEST_ID, "")
        request_id = given if _request_id.match(given) else uuid4().hex
        scope.setdefault("state", {})["request_id"] = request_id
        line = _Line(scope)

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[REQUEST_ID] = request_id
                line.status = message["status"]
            line.size += len(message.get("body", b""))
            await send(message)

        with bound_contextvars(request_id=request_id):
            try:
                await self._app(scope, receive, sending)
            finally:
                line.write()


class _Line:
    """What the log says of a request. Not its query: that may hold more than it should."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._began = monotonic()
        self.status = 500
        self.size = 0

    def write(self) -> None:
        level = logging.DEBUG if self._scope["path"] in _QUIET else logging.INFO
        if not access.isEnabledFor(level):
            return
        call = self._scope.get("state", {}).get("call")
        who = call.principal.name if call is not None and call.principal is not None else "-"
        told = {
            "method": self._scope["method"],
            "path": self._scope["path"],
            "route": route_of(self._scope),
            "status": self.status,
            "ms": round((monotonic() - self._began) * 1000, 1),
            "bytes": self.size,
            "who": who,
        }
        access.log(level, "request", extra=told)
