"""How much of a request is taken in: bodies that are held as a whole, heads, and for how long.

Bytes of files and rows have no such limits: they go to disk as they come (`uploads.bodies`).
"""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import suppress

from fastapi import Request
from starlette.requests import ClientDisconnect

from trunkline.errors import TimedOut, TooLarge, Unavailable, Usage

LARGEST_JSON = 16 << 20
LARGEST_MANY = 256 << 20
"""For JSON that lists what a whole transaction or many pipelines are made of."""
IDLE_SECONDS = 30.0
_half = re.compile(rb"\\u[dD][89a-fA-F]").search


async def whole_body(request: Request, largest: int) -> bytes:
    """The body, refused as soon as it is known to be too large, or when nothing more comes."""
    told = request.headers.get("content-length", "0")
    if not told.isdecimal():
        raise Usage("Content-Length is no number.")
    if int(told) > largest:
        raise _too_large(largest)
    parts, size = [], 0
    try:
        async with asyncio.timeout(IDLE_SECONDS) as patience:
            async for part in request.stream():
                patience.reschedule(asyncio.get_running_loop().time() + IDLE_SECONDS)
                size += len(part)
                if size > largest:
                    raise _too_large(largest)
                parts.append(part)
    except ClientDisconnect:
        raise Unavailable("The client went away before all was sent.") from None
    except TimeoutError:
        raise TimedOut(f"Nothing was received for {IDLE_SECONDS:.0f} s.") from None
    return _unicode(b"".join(parts))


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
