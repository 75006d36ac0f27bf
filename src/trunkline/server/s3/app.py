"""The application of the S3 door: a request in, an operation's answer or an error in XML out."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from functools import partial
from http import HTTPStatus
from typing import TypeVar

import anyio
import anyio.from_thread
import anyio.to_thread
from starlette.types import ASGIApp, Receive, Scope, Send

from trunkline.errors import DiskFull, TrunklineError
from trunkline.model.access import AuditEntry
from trunkline.model.time import now_micros
from trunkline.server.auth.standing import Standing
from trunkline.server.calls import Call
from trunkline.server.failures import as_seen, unforeseen
from trunkline.server.logs import RequestIds
from trunkline.server.s3.asked import Asked, asked
from trunkline.server.s3.bodies import checked
from trunkline.server.s3.documents import error_document
from trunkline.server.s3.failures import S3Error, translated
from trunkline.server.s3.names import readings
from trunkline.server.s3.operations import Level, Operation, operation_of
from trunkline.server.s3.patience import may_take_long, patiently
from trunkline.server.s3.signature import Chain
from trunkline.server.s3.signing import hosts_of, identify
from trunkline.server.s3.visits import XML, Answer, Door, Visit, no_bucket, require
from trunkline.server.service import Service

log = logging.getLogger("trunkline.server")

PIECE = 1 << 20
IDLE_SECONDS = 60.0
"""A body of which nothing comes for so long is given up."""
MOST_UNREAD = 8 << 20
_CHANGES = frozenset(("PUT", "POST", "DELETE"))
_END = object()
T = TypeVar("T")


def create_s3_app(service: Service) -> ASGIApp:
    """The door of a served lake. Its threads are its own: slow uploads do not hold up the API."""
    return RequestIds(S3App(service))


class S3App:
    def __init__(self, service: Service) -> None:
        self._service = service
        self._door = Door(service)
        self._hosts = hosts_of(service)
        self._threads: anyio.CapacityLimiter | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _live(receive, send)
            return
        if scope["type"] != "http":
            return
        request_id: str = scope["state"]["request_id"]
        body = Body(receive)
        work = partial(self._run, partial(self._answer, scope, body, request_id))
        answer = await (patiently(work, request_id, send) if may_take_long(scope) else work())
        if answer is None:
            return
        if not await body.left_behind(scope):
            answer.headers["Connection"] = "close"
        try:
            call: Call | None = scope["state"].get("call")
            who = call.principal if call is not None else None
            standing = Standing(self._service, who) if who is not None else None
            await self._send(answer, request_id, scope["method"], send, standing)
        except TrunklineError as error:
            # The answer has begun: to end the connection in the middle is all that is left.
            log.error("S3 request %s was cut off: %s", request_id, error)

    async def _run(self, work: Callable[[], T]) -> T:
        if self._threads is None:
            most = self._service.settings.number("server.threads")
            self._threads = anyio.CapacityLimiter(max(most, 1))
        return await anyio.to_thread.run_sync(work, limiter=self._threads)

    # -- in a thread -------------------------------------------------------------------------

    def _answer(self, scope: Scope, body: Body, request_id: str) -> Answer:
        call = Call(self._service, None, request_id)
        doing: Operation | None = None
        try:
            request = asked(
                scope["method"],
                scope.get("raw_path") or scope["path"].encode(),
                scope["query_string"],
                scope["headers"],
                self._hosts,
                request_id,
            )
            principal, chain = identify(self._service, request)
            call = scope["state"]["call"] = Call(self._service, principal, request_id)
            doing = scope["route"] = operation_of(request)
            visit = self._visit(doing, call, request, partial(body.checked, request, chain))
            answer = doing.act(visit)
        except S3Error as error:
            answer = _refused(error, scope, request_id)
        except TrunklineError as error:
            answer = _refused(translated(as_seen(call, error)), scope, request_id)
            if answer.status >= 500:
                log.warning("S3 request %s: %s", request_id, error)
        except RecursionError:
            too_deep = S3Error("InvalidRequest", "This request is nested too deeply.")
            answer = _refused(too_deep, scope, request_id)
        except Exception as error:
            said = unforeseen(error, f"{scope['method']} {scope['path']}")
            full = isinstance(said, DiskFull)
            shown = translated(said) if full else S3Error("InternalError", said.message)
            answer = _refused(shown, scope, request_id)
        self._record(scope, call, doing, answer)
        return answer

    def _visit(
        self, doing: Operation, call: Call, request: Asked, pieces: Callable[[], Iterator[bytes]]
    ) -> Visit:
        if doing.needs is not None:
            repo = require(self._door, call, request.bucket, doing.needs)
        elif doing.level is Level.SERVICE:
            repo = next(readings("any"))
        else:
            first = next(readings(request.bucket), None)
            if first is None:
                raise no_bucket(request.bucket)
            repo = first
        return Visit(self._door, call, request, repo, pieces)

    def _record(self, scope: Scope, call: Call, doing: Operation | None, answer: Answer) -> None:
        """What changes something, and what is refused, is in the audit log."""
        refused = answer.status in (401, 403) or bool(call.notes.get("refused"))
        if not refused and scope["method"] not in _CHANGES:
            return
        client = scope.get("client")
        target = "".join(one if one.isprintable() else "?" for one in scope["path"][:500])
        self._service.journal.add(
            AuditEntry(
                0,
                now_micros(),
                call.principal.name if call.principal else "",
                f"s3 {doing.name if doing else scope['method']}",
                target,
                "refused" if refused else "ok" if answer.status < 400 else "failed",
                client[0] if client else "",
                call.request_id,
                str(answer.status),
            )
        )

    # -- on the way out ----------------------------------------------------------------------

    async def _send(
        self,
        answer: Answer,
        request_id: str,
        method: str,
        send: Send,
        standing: Standing | None,
    ) -> None:
        headers = {"x-amz-request-id": request_id, **answer.headers}
        whole = answer.body if isinstance(answer.body, bytes) else None
        if whole is not None and answer.status not in (204, 304):
            headers.setdefault("Content-Length", str(len(whole)))
        raw = [(name.lower().encode(), _latin(value)) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": answer.status, "headers": raw})
        if whole is not None or method == "HEAD":
            await send({"type": "http.response.body", "body": whole or b""})
            return
        assert not isinstance(answer.body, bytes)
        held = b""
        # A piece is sent when the next one is there: the last only after the hash was compared.
        while (piece := await self._run(partial(next, answer.body, _END))) is not _END:
            if standing is not None:
                await standing.check()
            if held:
                await send({"type": "http.response.body", "body": held, "more_body": True})
            held = piece
        await send({"type": "http.response.body", "body": held})


class Body:
    """The body of a request, for a thread to read."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._begun = self._ended = False

    def checked(self, request: Asked, chain: Chain | None) -> Iterator[bytes]:
        return checked(request, self._pieces(), chain)

    def _pieces(self) -> Iterator[bytes]:
        while piece := anyio.from_thread.run(self._next):
            yield piece

    async def left_behind(self, scope: Scope) -> bool:
        """Get rid of what nobody read; whether the connection is fit for another request.

        Who waits to be told to send a body and is told of an error instead never sends it.
        """
        headers = dict(scope["headers"])
        length = headers.get(b"content-length", b"0")
        if self._ended or (length == b"0" and b"transfer-encoding" not in headers):
            return True
        if b"expect" in headers and not self._begun:
            return False
        left = MOST_UNREAD
        try:
            while left > 0 and (piece := await self._next()):
                left -= len(piece)
        except S3Error:
            return False
        return left > 0

    async def _next(self) -> bytes:
        """About a piece, or what was left of the body."""
        parts: list[bytes] = []
        size = 0
        self._begun = True
        while not self._ended and size < PIECE:
            with anyio.move_on_after(IDLE_SECONDS) as waiting:
                message = await self._receive()
            if waiting.cancelled_caught:
                raise S3Error("RequestTimeout", "Nothing came of the body for too long.")
            if message["type"] == "http.disconnect":
                raise S3Error("IncompleteBody", "The connection ended within the body.")
            self._ended = not message.get("more_body", False)
            if part := message.get("body", b""):
                parts.append(part)
                size += len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)


def _refused(error: S3Error, scope: Scope, request_id: str) -> Answer:
    headers = dict(error.headers)
    if scope["method"] == "HEAD" or error.status == HTTPStatus.NOT_MODIFIED:
        return Answer(error.status, b"", headers)
    resource = scope["path"][:2000]
    headers["Content-Type"] = XML
    body = error_document(error.code, error.message, resource, request_id)
    return Answer(error.status, body, headers)


def _latin(value: str) -> bytes:
    return value.encode("latin-1", "replace")


async def _live(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
