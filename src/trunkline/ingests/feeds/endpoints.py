"""Ports that ingests listen at. Several ingests share one port: the path names the ingest."""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import socket
import threading
import zlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, Protocol

from trunkline.errors import Precondition, TrunklineError

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

IDLE_SECONDS = 30.0
"""A sender that is silent for so long in the middle of a body is given up."""


class Refusal(Exception):
    """A request that is not taken: its status, one line, and what to do."""

    def __init__(self, status: int, error: str, hint: str = "", retry: int | None = None) -> None:
        super().__init__(error)
        self.status, self.error, self.hint, self.retry = status, error, hint, retry


class Receiver(Protocol):
    """An ingest that is sent requests."""

    token: str
    most: int

    async def receive(self, kind: str, body: bytes, key: str) -> dict[str, Any]:
        """Take a body in; what to answer, when it is durable. Raises Refusal."""

    def make_room(self, size: int) -> bool:
        """Whether so many bytes more may be held; they are given back with `free`."""

    def free(self, size: int) -> None: ...


class Endpoints:
    """The ports of one keeper, opened when the first ingest wants them."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, int], Endpoint] = {}
        self._lock = threading.Lock()

    def listen(self, host: str, port: int, name: str, receiver: Receiver) -> Endpoint:
        if not receiver.token and not _is_loopback(host):
            raise Precondition(
                f"{name} would listen on {host} without a token, for anybody to write to it.",
                hint="Give it a token, or let it listen on 127.0.0.1.",
            )
        with self._lock:
            found = self._open.get((host, port))
            if found is None:
                found = self._open[host, port] = Endpoint(host, port, {name: receiver})
            found.receivers[name] = receiver
            return found

    def leave(self, endpoint: Endpoint, name: str) -> None:
        """The last one closes the port. What is being answered is answered first."""
        with self._lock:
            endpoint.receivers.pop(name, None)
            if endpoint.receivers:
                return
            self._open = {key: one for key, one in self._open.items() if one is not endpoint}
        endpoint.close()

    def close(self) -> None:
        with self._lock:
            left, self._open = list(self._open.values()), {}
        for endpoint in left:
            endpoint.close()


class Endpoint:
    """A server in a thread of its own."""

    def __init__(self, host: str, port: int, receivers: dict[str, Receiver]) -> None:
        import uvicorn
        from starlette.applications import Starlette
        from starlette.routing import Route

        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            self._socket = socket.create_server((host, port), family=family)
        except OSError as error:
            raise Precondition(
                f"Cannot listen on {host}:{port}: {error.strerror or error}.",
                hint="Choose another port, or stop what has it.",
            ) from None
        self.host = host
        self.port = int(self._socket.getsockname()[1])
        # Known before anybody is answered: who comes first must not be told that there is none.
        self.receivers = receivers
        methods = ["GET", "POST", "PUT", "DELETE", "PATCH"]
        routes = [
            Route(path, self._serve, methods=methods)
            for path in ("/v1/ingest/{name:path}", "/ingest/{name:path}")
        ]
        config = uvicorn.Config(
            Starlette(routes=routes),
            log_config=None,
            access_log=False,
            lifespan="off",
            timeout_graceful_shutdown=10,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run,
            kwargs={"sockets": [self._socket]},
            name=f"ingest-port-{self.port}",
            daemon=True,
        )
        self._thread.start()

    def close(self) -> None:
        self._server.should_exit = True
        self._thread.join(15)
        self._socket.close()

    async def _serve(self, request: Request) -> Response:
        from starlette.responses import JSONResponse

        try:
            return JSONResponse(await self._answer(request))
        except Refusal as refused:
            told = {"error": refused.error, "hint": refused.hint}
            headers = {} if refused.retry is None else {"Retry-After": str(refused.retry)}
            return JSONResponse(told, refused.status, headers)
        except TrunklineError as error:
            told = {"error": error.message, "hint": error.hint}
            return JSONResponse(told, error.http_status)

    async def _answer(self, request: Request) -> dict[str, Any]:
        name = request.path_params["name"]
        receiver = self.receivers.get(name)
        if receiver is None:
            raise Refusal(404, f'There is no ingest "{name}" here.')
        if receiver.token and not _knows(receiver.token, request.headers.get("authorization", "")):
            raise Refusal(
                401, "The token is missing or wrong.", "Send Authorization: Bearer TOKEN."
            )
        if request.method != "POST":
            raise Refusal(405, f"{request.method} is not for ingests.", "Send rows by POST.")
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        key = request.headers.get("idempotency-key", "")
        if len(key) > 255:
            raise Refusal(400, "The Idempotency-Key is longer than 255 characters.")
        held = 0
        body = bytearray()
        try:
            async for chunk in _inflated(request, receiver.most):
                if not receiver.make_room(len(chunk)):
                    raise Refusal(503, "Too much is waiting to be committed.", "Try again.", 1)
                held += len(chunk)
                body += chunk
            return await receiver.receive(kind, bytes(body), key)
        finally:
            receiver.free(held)


async def _inflated(request: Request, most: int) -> AsyncIterator[bytes]:
    """The body piece by piece, unpacked, no more than `most` bytes of it."""
    coding = request.headers.get("content-encoding", "identity").strip().lower()
    if coding not in ("identity", "gzip", ""):
        raise Refusal(415, f'The encoding "{coding}" is not understood.', "Send gzip, or none.")
    if int(request.headers.get("content-length") or 0) > most:
        raise _too_large(most)
    unpack = zlib.decompressobj(wbits=31) if coding == "gzip" else None
    size = 0
    chunks = request.stream().__aiter__()
    while True:
        try:
            chunk = await asyncio.wait_for(anext(chunks), IDLE_SECONDS)
        except StopAsyncIteration:
            break
        except TimeoutError:
            raise Refusal(408, f"Nothing came for {IDLE_SECONDS:g} s.") from None
        if unpack is not None:
            try:
                chunk = unpack.decompress(chunk, most + 1 - size)
            except zlib.error:
                raise Refusal(400, "The body is not gzip.") from None
        size += len(chunk)
        if size > most or (unpack is not None and unpack.unconsumed_tail):
            raise _too_large(most)
        if chunk:
            yield chunk
    if unpack is not None and not unpack.eof:
        raise Refusal(400, "The gzip body breaks off.")


def _too_large(most: int) -> Refusal:
    return Refusal(413, f"The body is larger than {most:,} bytes.", "Send it in several requests.")


def _knows(token: str, header: str) -> bool:
    scheme, _, given = header.partition(" ")
    same = hmac.compare_digest(given.strip().encode(), token.encode())
    return same and scheme.lower() == "bearer"


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
