"""Idempotency keys: a change that is sent again is answered again, not made again.

A request is noted before it is answered, and its answer after. Neither is made durable. Should
the server die in between, the answer is not known: the request, when it comes again, is done
again, and finds what the first one made, as any second request would. Commits have keys of their
own, which are kept with them. What is stored tells nothing of secrets: the key is stored as its
hash and is itself what the body's digest is made with, and answers with tokens are not stored.
"""

from __future__ import annotations

import asyncio
import re
import time
from contextlib import suppress
from hashlib import blake2b
from math import inf

from anyio import CancelScope
from anyio.to_thread import run_sync
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from trunkline.errors import Conflict, TrunklineError, Usage
from trunkline.model.access import Permission
from trunkline.sdk.wire.values import API, IDEMPOTENCY
from trunkline.server.calls import Call, current
from trunkline.server.failures import answer
from trunkline.server.limits import held_body, is_small
from trunkline.server.service import Service
from trunkline.storage.catalog import requests
from trunkline.storage.catalog.open import is_file_url
from trunkline.storage.catalog.requests import Kept

LARGEST = 4 << 20
"""Longer bodies and answers are not looked at."""
REPLAYED = "Idempotency-Replayed"
OTHERS_SECONDS = 90.0
"""So long after it was last heard of, a request may still be in another server's hands."""
BEAT_SECONDS = 5.0
_METHODS = frozenset(("POST", "PUT", "PATCH", "DELETE"))
_NOT_KEPT = frozenset((401, 408, 429))
_key = re.compile(r"[\x21-\x7e]{1,255}\Z")
_secret = re.compile(rb"\btl_[A-Za-z0-9]+_|s3_secret")


class IdempotencyKeys:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._here: set[tuple[str, str]] = set()
        self._let_go: dict[tuple[str, str], float] = {}
        """Noted by us as in hand, and no longer so: the database was gone when they ended."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _is_kept(scope):
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        try:
            call = await current(request)
            who = call.principal
            # Of a large body its route asks first who may send it.
            if who is None or not (is_small(request) or who.may_somewhere(Permission.READ)):
                await self._app(scope, receive, send)
                return
            async with held_body(request, LARGEST) as body:
                await self._answer(call, who.identity, request, body, send)
        except TrunklineError as error:
            await answer(request, error)(scope, receive, send)

    async def _answer(
        self, call: Call, owner: str, request: Request, body: bytes, send: Send
    ) -> None:
        again = _again(body, request.receive)
        key = request.headers[IDEMPOTENCY]
        if not _key.match(key):
            told = Usage(f"{IDEMPOTENCY}: 1 to 255 visible characters.")
            await answer(request, told)(request.scope, again, send)
        else:
            once = _Once(call.service, owner, key, _digest(request, key, body))
            await self._once(once, request, again, send)

    async def _once(self, once: _Once, request: Request, receive: Receive, send: Send) -> None:
        scope, place = request.scope, (once.owner, once.key)
        try:
            if place in self._here:
                raise _in_flight()
            self._here.add(place)
        except Conflict as error:
            await _refuse(request, error, receive, send)
            return
        try:
            try:
                known = await run_sync(once.begin, self._is_let_go(place))
                self._let_go.pop(place, None)
                if known is not None:
                    await once.replay(known)(scope, receive, send)
                    return
            except TrunklineError as error:
                await _refuse(request, error, receive, send)
                return
            heard = _Heard(send)
            beating = asyncio.ensure_future(once.beat())
            is_cut_off = False
            try:
                await self._app(scope, receive, heard)
            except asyncio.CancelledError:
                # The server stops, and a thread may go on: what comes of it is not known.
                is_cut_off = True
                raise
            finally:
                beating.cancel()
                if not is_cut_off:
                    with CancelScope(shield=True):
                        if not await run_sync(once.end, heard.status, heard.body):
                            self._let_go[place] = time.monotonic()
            await heard.rest()
        finally:
            self._here.discard(place)

    def _is_let_go(self, place: tuple[str, str]) -> bool:
        """Whether we had it, and so short a time ago that no other server can have taken it."""
        return time.monotonic() - self._let_go.get(place, -inf) < OTHERS_SECONDS / 2


class _Once:
    """One request with a key."""

    def __init__(self, service: Service, owner: str, key: str, digest: str) -> None:
        self._database = service.lake._core.database
        self.owner = owner
        self.key = blake2b(key.encode(), digest_size=16).hexdigest()
        self._digest = digest
        # A lake in a folder has one server.
        self._is_alone = is_file_url(self._database.url)

    def begin(self, let_go: bool = False) -> Kept | None:
        """The answer that was given; None if there was none, and the request is ours now.

        With `let_go` it was in our hands, and is in nobody's.
        """
        with self._database.write(durable=False) as session:
            known = requests.begin(session, self.owner, self.key, self._digest)
            if known is None:
                return None
            if known.digest != self._digest:
                raise Usage(
                    f"This {IDEMPOTENCY} came with another request before.",
                    hint="Give every request a key of its own.",
                )
            if known.status is not None:
                return known
            # Where nobody else is, whoever noted it died over it: this is another run.
            nobody = self._is_alone or let_go
            if not nobody and known.age_micros < OTHERS_SECONDS * 1_000_000:
                raise _in_flight()
            requests.touch(session, self.owner, self.key)
        return None

    async def beat(self) -> None:
        """Say now and then that the request is in hand, until this is cancelled."""
        while not self._is_alone:
            await asyncio.sleep(BEAT_SECONDS)
            with suppress(TrunklineError):
                await run_sync(self._touch)

    def _touch(self) -> None:
        with self._database.write(durable=False) as session:
            requests.touch(session, self.owner, self.key)

    def end(self, status: int, body: bytes | None) -> bool:
        """Keep the answer; whether that, or that there is none, could be written down."""
        kept = 200 <= status < 500 and status not in _NOT_KEPT and body is not None
        try:
            with self._database.write(durable=False) as session:
                if kept and body is not None and not _secret.search(body):
                    requests.finish(session, self.owner, self.key, status, body.decode())
                else:
                    requests.forget(session, self.owner, self.key)
        except TrunklineError:
            return False  # the answer is out already; it is just not remembered
        return True

    def replay(self, known: Kept) -> Response:
        headers = {REPLAYED: "true", "Cache-Control": "no-store"}
        kind = "application/json" if known.body else None
        return Response(known.body, known.status or 200, headers, kind)


class _Heard:
    """Passes an answer on and keeps a copy, unless it is long or no JSON.

    What it keeps is held back until `rest`: who has the answer may rely on it being kept.
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self._held: list[Message] | None = []
        self._size = 0
        self.status = 0
        self.body: bytes | None = None

    async def rest(self) -> None:
        held, self._held = self._held or (), None
        for message in held:
            await self._send(message)

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            kind = Headers(raw=message["headers"]).get("content-type", "application/json")
            if not kind.startswith("application/json"):
                self._held = None
        if self._held is None:
            await self._send(message)
            return
        self._held.append(message)
        self._size += len(message.get("body", b""))
        if self._size > LARGEST:
            await self.rest()
        elif message["type"] == "http.response.body" and not message.get("more_body"):
            self.body = b"".join(one.get("body", b"") for one in self._held)


def _is_kept(scope: Scope) -> bool:
    """Whether a request has a key, and a body that can be told by its bytes."""
    if scope["method"] not in _METHODS or not scope["path"].startswith(API):
        return False
    if scope["path"] == f"{API}/sql/run":
        return False  # it changes nothing, and its answer is rows
    headers = Headers(scope=scope)
    if IDEMPOTENCY not in headers or getattr(scope["app"].state.service, "engine", "") == "here":
        return False
    length = headers.get("content-length", "0")
    if "transfer-encoding" in headers or not length.isdigit() or int(length) > LARGEST:
        return False
    return length == "0" or headers.get("content-type", "").startswith("application/json")


def _again(body: bytes, receive: Receive) -> Receive:
    """The body once more for the route, then whatever comes."""
    given = False

    async def receiving() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receiving


def _digest(request: Request, key: str, body: bytes) -> str:
    made = blake2b(key=blake2b(key.encode()).digest(), digest_size=16)
    for part in (request.method, request.url.path, request.url.query):
        made.update(part.encode() + b"\n")
    made.update(body)
    return made.hexdigest()


def _in_flight() -> Conflict:
    return Conflict("A request with this key is being answered.", hint="Try again in a moment.")


async def _refuse(request: Request, error: TrunklineError, receive: Receive, send: Send) -> None:
    shown = answer(request, error, 422 if isinstance(error, Usage) else None)
    if isinstance(error, Conflict):
        shown.headers["Retry-After"] = "1"
    await shown(request.scope, receive, send)
