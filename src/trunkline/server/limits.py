"""How much of a request is taken in: bodies that are held as a whole, heads, and for how long.

Bytes of files and rows have no such limits: they go to disk as they come (`uploads.bodies`).
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import re
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from itertools import islice

from fastapi import Request
from fastapi.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from trunkline.errors import TimedOut, TooLarge, Unavailable, Usage

LARGEST_JSON = 16 << 20
LARGEST_MANY = 256 << 20
"""For JSON that lists what a whole transaction or many pipelines are made of."""
LARGEST_PUBLIC = 16 << 10
"""For what strangers may send: a name and a password. For who is known and has no role too."""
MOST_ELEMENTS = 2_000_000
"""Values in the lists and objects of a body, whatever it is for."""
ELEMENT_BYTES = 128
"""What one of them takes once it is read: in the body it may have two bytes."""
HELD_AT_ONCE = 512 << 20
"""Bytes of all bodies together that are held as a whole, with what their elements take."""
IDLE_SECONDS = 30.0
SLOWEST = 8 << 10
"""Bytes a second, beyond the first seconds: who sends less holds on to what others need."""
_RETURNED = 64 << 20
_half = re.compile(rb"\\u[dD][89a-fA-F]").search
_STARTS = (b",", b"[", b"{")
"""Each element has at most one before it."""
_FEW = 10_000
"""So many commas and brackets are not looked at more closely: they may be those of a text."""
# Each place is looked at once, also in what is no JSON.
_text_or_start = re.compile(rb'[^",\[{]*+(?:"(?:[^"\\]++|\\.)*+"?|([,\[{])|\Z)', re.DOTALL).finditer


class Budget:
    """Bytes that may be held in memory at once, by all requests of a server together."""

    def __init__(self) -> None:
        self._most = HELD_AT_ONCE
        self._held = self._peak = 0
        self._lock = threading.Lock()

    @property
    def held(self) -> int:
        return self._held

    def take(self, size: int) -> bool:
        """Whether so many more may be held; they are given back with `free`."""
        with self._lock:
            if self._held + size > self._most:
                return False
            self._held += size
            self._peak = max(self._peak, self._held)
            return True

    def free(self, size: int) -> None:
        with self._lock:
            self._held -= size
            if self._held or self._peak < _RETURNED:
                return
            self._peak = 0
        _return_memory()


def is_small(request: Request) -> bool:
    """Whether a body, by what its head says, may be read of whoever is known."""
    length = request.headers.get("content-length", "0")
    told = "transfer-encoding" not in request.headers and length.isdecimal()
    return told and int(length) <= LARGEST_PUBLIC


@asynccontextmanager
async def held_body(request: Request, largest: int) -> AsyncIterator[bytes]:
    """The body, held while this is open.

    It is refused as soon as it is known to be too large, when it comes too slowly, when it has
    too many elements, and when the server holds as much as it can of others.
    """
    told = request.headers.get("content-length", "0")
    if not told.isdecimal():
        raise Usage("Content-Length is no number.")
    if int(told) > largest:
        raise _too_large(largest)
    budget: Budget = request.app.state.service.bodies
    held = _Held(budget)
    try:
        body = await held.gather(request, largest)
        held.take(ELEMENT_BYTES * await _elements(body))
        yield _unicode(body)
    finally:
        budget.free(held.size)


class _Held:
    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self.size = 0

    async def gather(self, request: Request, largest: int) -> bytes:
        loop = asyncio.get_running_loop()
        began, parts = loop.time(), list[bytes]()
        try:
            async with asyncio.timeout(IDLE_SECONDS) as patience:
                async for part in request.stream():
                    if self.size + len(part) > largest:
                        raise _too_large(largest)
                    self.take(len(part))
                    parts.append(part)
                    last = began + 2 * IDLE_SECONDS + self.size / SLOWEST
                    patience.reschedule(min(loop.time() + IDLE_SECONDS, last))
        except ClientDisconnect:
            raise Unavailable("The client went away before all was sent.") from None
        except TimeoutError:
            raise TimedOut(
                f"Too little was received for {IDLE_SECONDS:.0f} s.", hint="Send it again."
            ) from None
        return b"".join(parts)

    def take(self, size: int) -> None:
        if not self._budget.take(size):
            raise Unavailable("The server holds too much of other requests.", hint="Try again.")
        self.size += size


async def _elements(body: bytes) -> int:
    """About how many elements it has; it is refused if they are too many."""
    if not json.detect_encoding(body).startswith("utf-8"):
        raise Usage("The body is not UTF-8.")
    starts = sum(map(body.count, _STARTS))
    if starts <= _FEW:
        return starts
    # Seldom, and in a thread: others are answered meanwhile.
    starts = await run_in_threadpool(_starts, body)
    if starts > MOST_ELEMENTS:
        raise TooLarge(
            f"This takes a body of at most {MOST_ELEMENTS:,} elements.", hint="Send less at once."
        )
    return starts


def _starts(body: bytes) -> int:
    found = (one for one in _text_or_start(body) if one[1] is not None)
    return sum(1 for _ in islice(found, MOST_ELEMENTS + 1))


def _return_memory() -> None:
    """What was freed in small pieces stays with the process until it is asked for."""
    with suppress(AttributeError, OSError):  # not every libc has it
        ctypes.CDLL(None).malloc_trim(0)


def _unicode(body: bytes) -> bytes:
    """The body itself. JSON can name halves of characters, which nothing can write down again."""
    if _half(body) is not None:
        with suppress(ValueError, RecursionError):
            try:
                json.dumps(json.loads(body), ensure_ascii=False).encode()
            except UnicodeEncodeError:
                raise Usage("A text of this request is not Unicode.") from None
    return body


def _too_large(largest: int) -> TooLarge:
    return TooLarge(f"This takes a body of at most {largest:,} bytes.")
