"""The door itself: what comes to /iceberg is answered here, in the protocol's own shapes."""

from __future__ import annotations

from http import HTTPStatus
from importlib.util import find_spec
from math import ceil
from urllib.parse import unquote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from trunkline.errors import (
    NotAuthenticated,
    NotFound,
    ReadOnly,
    TooManyRequests,
    TrunklineError,
    Usage,
)
from trunkline.server.calls import Call, current
from trunkline.server.failures import as_seen, unforeseen
from trunkline.server.iceberg.credentials import exchanged
from trunkline.server.iceberg.metadata import Json
from trunkline.server.iceberg.operations import OPERATIONS, Operation, Visit, kind_of
from trunkline.server.service import Service

PREFIX = "/iceberg"
TOKENS = Operation("POST", f"{PREFIX}/v1/oauth/tokens", lambda visit: None)
_PRIVATE = {"Cache-Control": "no-store"}


class IcebergDoor:
    """A middleware, so that hosts, origins, the audit log and the metrics are as everywhere."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _is_ours(scope["path"]):
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        answer = await self._answer(request, scope)
        await answer(scope, receive, send)

    async def _answer(self, request: Request, scope: Scope) -> Response:
        service: Service = request.app.state.service
        operation: Operation | None = None
        call: Call | None = None
        try:
            parts = _parts(scope)
            if TOKENS.match(request.method, parts) is not None:
                scope["route"] = TOKENS
                return await _exchange(service, request)
            call = await current(request)
            if call.principal is None:
                raise NotAuthenticated(
                    "This server does not know who you are.",
                    hint="Give a token of the lake to your catalog's client.",
                )
            operation, values = _operation(request.method, parts)
            scope["route"] = operation
            require_library()
            visit = Visit(service.iceberg, call, request, values)
            return _said(await run_in_threadpool(operation.act, visit))
        except TrunklineError as error:
            return _refused(request, as_seen(call, error), kind_of(error, operation))
        except Exception as error:
            said = unforeseen(error, f"{request.method} {scope['path']}")
            return _refused(request, said, kind_of(said, operation))


class NotBuiltIn(TrunklineError):
    """A part of the server that is not installed."""

    http_status = HTTPStatus.NOT_IMPLEMENTED


def require_library() -> None:
    if find_spec("pyiceberg") is None:
        raise NotBuiltIn(
            "This server cannot speak Iceberg: pyiceberg is missing.",
            hint="pip install 'trunkline[iceberg]'",
        )


def _is_ours(path: str) -> bool:
    return path == PREFIX or path.startswith(f"{PREFIX}/")


def _parts(scope: Scope) -> list[str]:
    """The path below /iceberg. A slash that is part of a name is written %2F."""
    raw = scope.get("raw_path") or scope["path"].encode()
    try:
        texts = raw.decode("ascii").partition("?")[0].split("/")
        return [unquote(one, errors="strict") for one in texts[2:]]
    except UnicodeDecodeError:
        raise Usage("The address is not UTF-8.") from None


def _operation(method: str, parts: list[str]) -> tuple[Operation, dict[str, str]]:
    for one in OPERATIONS:
        values = one.match(method, parts)
        if values is not None:
            return one, values
    if method not in ("GET", "HEAD"):
        raise ReadOnly(
            "This catalog is read-only.", hint="Write with lake.write_table or a pipeline."
        )
    raise NotFound(f"There is no /{'/'.join(('iceberg', *parts))[:200]} here.")


async def _exchange(service: Service, request: Request) -> Response:
    """Errors of this one have a shape of their own."""
    try:
        return JSONResponse(await exchanged(service, request), headers=_PRIVATE)
    except (NotAuthenticated, Usage) as error:
        kind = "invalid_request" if isinstance(error, Usage) else "invalid_client"
        body = {"error": kind, "error_description": _words(error)}
        return JSONResponse(body, error.http_status, _PRIVATE)


def _said(answer: Json | None) -> Response:
    return Response(status_code=204) if answer is None else JSONResponse(answer)


def _refused(request: Request, error: TrunklineError, kind: str) -> Response:
    headers = dict(_PRIVATE)
    if isinstance(error, NotAuthenticated):
        headers["WWW-Authenticate"] = 'Bearer realm="trunkline"'
    if isinstance(error, TooManyRequests):
        headers["Retry-After"] = str(ceil(error.retry_after))
    # The protocol does not know this one, and some clients take it for a reason to try again.
    status = 400 if error.http_status == HTTPStatus.PRECONDITION_FAILED else error.http_status
    if request.method == "HEAD":
        return Response(status_code=status, headers=headers)
    body = {"error": {"message": _words(error), "type": kind, "code": int(status)}}
    return JSONResponse(body, int(status), headers)


def _words(error: TrunklineError) -> str:
    return f"{error.message} {error.hint}".strip()
