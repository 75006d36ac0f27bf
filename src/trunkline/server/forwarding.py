"""Rows that are sent to an ingest, handed on to the worker that listens for them.

Senders need know one address, the server's, and show the server's token; the ingest's own token
and its port stay between server and worker. What the worker answers is the answer.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

import httpx2
from fastapi import Request
from fastapi.responses import JSONResponse, Response

from trunkline.errors import (
    Conflict,
    Failed,
    NotFound,
    Precondition,
    TooLarge,
    TrunklineError,
    Unavailable,
    Usage,
)
from trunkline.model.commits import RepoName
from trunkline.pipelines.spec.codec import view_of
from trunkline.sdk.lake import Lake
from trunkline.sdk.secrets import secret_reader

SECONDS = 120.0
_HANDED_ON = ("content-type", "content-encoding", "idempotency-key")
_ANSWER = ("commit", "rows", "malformed")
_KINDS: dict[int, type[TrunklineError]] = {
    400: Usage,
    404: NotFound,
    408: Usage,
    409: Conflict,
    413: TooLarge,
    415: Usage,
    503: Unavailable,
}


@dataclass(frozen=True, slots=True)
class Listener:
    """Where the rows of an ingest are taken in."""

    url: str
    token: str


def listener_of(lake: Lake, name: RepoName) -> Listener:
    """The worker's end of an ingest that is sent rows."""
    text = f"{name.project}/{name.repo}"
    status = lake.ingest(text)
    source = view_of(lake.pipeline(text).spec).source
    assert source is not None
    if source.kind != "http":
        raise Precondition(
            f"{name} is not sent rows: its source is {source.kind}.",
            hint="An ingest whose source is http is.",
        )
    secret = dict(source.secrets).get("token")
    token = secret_reader(lake._folder)(secret) if secret else None
    host, port = str(source.options.get("host", "127.0.0.1")), source.options.get("port", 8480)
    if not _is_here(host):
        # On another address only what a worker says of itself is believed.
        told = str(status.facts.get("listening", ""))
        if not told:
            raise _nobody(name)
        host, _, port = told.rpartition(":")
    shown = _reachable(host)
    return Listener(f"http://{shown}:{port}/v1/ingest/{name}", token or "")


async def forwarded(request: Request, name: RepoName, to: Listener) -> Response:
    """Hand the body on as it comes; it is never held here as a whole."""
    headers = {key: request.headers[key] for key in _HANDED_ON if key in request.headers}
    if to.token:
        headers["authorization"] = f"Bearer {to.token}"
    try:
        async with httpx2.AsyncClient(verify=False, trust_env=False, timeout=SECONDS) as client:
            answer = await client.post(to.url, content=request.stream(), headers=headers)
            told = answer.json()
            if not isinstance(told, dict):
                raise ValueError("who listens there is no ingest")
    except httpx2.ConnectError:
        raise _nobody(name) from None
    except (httpx2.TransportError, ValueError) as error:
        raise Unavailable(
            f"{name} did not answer: {str(error) or type(error).__name__}.",
            hint="Send it again, with an Idempotency-Key so that it cannot be in twice.",
        ) from None
    if answer.status_code == 200:
        # Where it is, is told by who may maintain it: nothing but what an ingest says comes back.
        return JSONResponse({key: told.get(key) for key in _ANSWER})
    kind = _KINDS.get(answer.status_code, Failed)
    raise kind(str(told.get("error", "")), hint=str(told.get("hint", "")))


def _nobody(name: RepoName) -> Unavailable:
    return Unavailable(
        f"Nobody listens for {name}.", hint="Does a worker run? trunkline ingest status tells."
    )


def _is_here(host: str) -> bool:
    try:
        address = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def _reachable(host: str) -> str:
    """Who listens on every address is reached at this computer's own."""
    if host in ("0.0.0.0", "::"):
        return "127.0.0.1" if host == "0.0.0.0" else "[::1]"
    return f"[{host}]" if ":" in host else host
