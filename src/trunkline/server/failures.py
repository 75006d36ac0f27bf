"""One shape for every error: {"error": {"code", "message", "hint", "request_id", …}}."""

from __future__ import annotations

import logging
from math import ceil
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from trunkline.errors import (
    DiskFull,
    Failed,
    InUse,
    NotAuthenticated,
    NotFound,
    TimedOut,
    TooLarge,
    TooManyRequests,
    TrunklineError,
    Unavailable,
    Usage,
)
from trunkline.model.access import LAKE, Permission
from trunkline.model.told import Place
from trunkline.storage.disk import is_full

log = logging.getLogger("trunkline.server")
RETRY_SECONDS = 1
LONGEST_FLAW = 500


def answer(request: Request, error: TrunklineError, status: int | None = None) -> JSONResponse:
    """The response to an error, with what a client needs to try again or report it."""
    request_id = getattr(request.state, "request_id", "")
    headers = {"Cache-Control": "no-store"}
    if isinstance(error, NotAuthenticated):
        headers["WWW-Authenticate"] = 'Bearer realm="trunkline"'
    if isinstance(error, TooManyRequests):
        headers["Retry-After"] = str(ceil(error.retry_after))
    elif isinstance(error, Unavailable):
        headers["Retry-After"] = str(RETRY_SECONDS)
    if isinstance(error, TooLarge | TimedOut):
        headers["Connection"] = "close"  # what is left of the body is not waited for
    body = {"error": {**error.to_dict(), "request_id": request_id}}
    return JSONResponse(body, status or error.http_status, headers)


def install(app: FastAPI) -> None:
    """Have every way out of the app answer in this shape."""

    @app.exception_handler(TrunklineError)
    async def ours(request: Request, error: TrunklineError) -> JSONResponse:
        return answer(request, await run_in_threadpool(_seen, request, error))

    @app.exception_handler(OverflowError)
    async def beyond(request: Request, error: OverflowError) -> JSONResponse:
        return answer(request, Usage("A number of this request is too large."))

    @app.exception_handler(RecursionError)
    async def deep(request: Request, error: RecursionError) -> JSONResponse:
        log.info("too deep: %s %s", request.method, request.url.path)
        return answer(request, Usage("This request is nested too deeply.", hint="Make it flatter."))

    @app.exception_handler(UnicodeEncodeError)
    async def garbled(request: Request, error: UnicodeEncodeError) -> JSONResponse:
        return answer(request, Usage("A text of this request is not Unicode."))

    @app.exception_handler(RequestValidationError)
    async def malformed(request: Request, error: RequestValidationError) -> JSONResponse:
        return answer(request, Usage(_first(error), hint="See /api/v1/docs."), 422)

    @app.exception_handler(HTTPException)
    async def framework(request: Request, error: HTTPException) -> JSONResponse:
        kind: type[TrunklineError] = NotFound if error.status_code == 404 else Usage
        where = f"{request.method} {request.url.path}"
        said = kind(f"{where}: {error.detail}.", hint="See /api/v1/docs.")
        shown = answer(request, said, error.status_code)
        shown.headers.update(error.headers or {})
        return shown

    @app.exception_handler(Exception)
    async def bug(request: Request, error: Exception) -> JSONResponse:
        return answer(request, unforeseen(error, f"{request.method} {request.url.path}"))


def unforeseen(error: Exception, where: str) -> TrunklineError:
    """What to say of an error that is none of ours: a disk is full, or this is a bug."""
    if is_full(error):
        return DiskFull("The server has no space left.", hint="Free some, then try again.")
    log.exception("bug in %s", where, exc_info=error)
    said = f"{type(error).__name__} (this is a bug; the server's log has more)"
    return Failed(said, hint="Report it with the request id.")


def _seen(request: Request, error: TrunklineError) -> TrunklineError:
    """The error without the names of what its reader may not see."""
    call = getattr(request.state, "call", None)
    if call is None or call.principal is None or call.who.may(Permission.READ, LAKE):
        return error
    if isinstance(error, InUse):
        return error.as_seen(
            lambda one: call.may(Permission.READ, one.repo if isinstance(one, Place) else one)
        )
    if isinstance(error, NotFound):
        return error.as_seen(
            lambda project: project is not None and call.who.may(Permission.READ, project)
        )
    return error


def _first(error: RequestValidationError) -> str:
    """The first flaw, with where it is: `body.name: String should have …`."""
    flaw: dict[str, Any] = dict(error.errors()[0])
    where = ".".join(str(part)[:LONGEST_FLAW] for part in flaw.get("loc", ()))
    return f"{where}: {flaw.get('msg', 'is not as it should be')}"[:LONGEST_FLAW] + "."
