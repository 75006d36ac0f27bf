"""One shape for every error: {"error": {"code", "message", "hint", "request_id", …}}."""

from __future__ import annotations

import logging
from math import ceil
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from trunkline.errors import (
    DiskFull,
    Failed,
    NotAuthenticated,
    NotFound,
    TimedOut,
    TooLarge,
    TooManyRequests,
    TrunklineError,
    Unavailable,
    Usage,
)
from trunkline.model.access import LAKE, Permission, scope_of
from trunkline.model.commits import RepoName
from trunkline.model.told import Place
from trunkline.storage.disk import is_full

if TYPE_CHECKING:
    from trunkline.server.calls import Call

log = logging.getLogger("trunkline.server")
RETRY_SECONDS = 1
LONGEST_FLAW = 500


def answer(request: Request, error: TrunklineError, status: int | None = None) -> JSONResponse:
    """The response to an error, with what a client needs to try again or report it."""
    error = as_seen(getattr(request.state, "call", None), error)
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
        return answer(request, error)

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


def as_seen(call: Call | None, error: TrunklineError) -> TrunklineError:
    """The error without the names of what its reader may not see: every way out goes by here."""
    who = call.principal if call is not None else None
    if who is None or who.may(Permission.READ, LAKE):
        return error

    def sees(one: RepoName | Place | str | None) -> bool:
        if one is None:
            return False
        repo = one.repo if isinstance(one, Place) else one
        return who.may(Permission.READ, repo if isinstance(repo, str) else scope_of(repo))

    return error.as_seen(sees)


def _first(error: RequestValidationError) -> str:
    """The first flaw, with where it is: `body.name: String should have …`."""
    flaw: dict[str, Any] = dict(error.errors()[0])
    where = ".".join(str(part)[:LONGEST_FLAW] for part in flaw.get("loc", ()))
    return f"{where}: {flaw.get('msg', 'is not as it should be')}"[:LONGEST_FLAW] + "."
