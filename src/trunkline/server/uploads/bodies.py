"""Bodies of requests, read by the event loop and written by threads, a block at a time.

No thread waits for a client: a slow one holds a connection and a block of memory, no more.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import BinaryIO, cast

from anyio import CancelScope
from fastapi import Request
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from trunkline.errors import DiskFull, TimedOut, TooLarge, Unavailable, Usage

BLOCK = 1 << 20
LARGEST = 1 << 42
IN_MEMORY = 16 << 20
IDLE_SECONDS = 120.0
RENEW_SECONDS = 60.0

Keep = Callable[[], Awaitable[object]]


def check_length(request: Request, folder: Path, largest: int = LARGEST) -> int | None:
    """The length that a body says it has, refused before a byte of it is read if it is too much."""
    told = request.headers.get("content-length")
    if told is None:
        return None
    if not told.isdigit():
        raise Usage("Content-Length is no number.")
    if int(told) > largest:
        raise TooLarge(f"A body of {int(told):,} bytes is too large.", hint=f"Most: {largest:,}.")
    if int(told) > BLOCK and int(told) > shutil.disk_usage(_existing(folder)).free:
        raise DiskFull("The server has no space left for this.", hint="Free some, then try again.")
    return int(told)


async def pour(
    request: Request,
    write: Callable[[bytes], object],
    keep: Keep | None = None,
    largest: int = LARGEST,
) -> int:
    """Give the body to `write` in blocks, each while the next one is received; its size.

    `keep` is called about every minute, to renew a lease. When this returns or raises, no `write`
    is under way any more.
    """
    loop = asyncio.get_running_loop()
    parts: list[bytes] = []
    size = total = 0
    writing: asyncio.Future[None] | None = None
    renew_at = loop.time() + RENEW_SECONDS
    try:
        async with asyncio.timeout(IDLE_SECONDS) as patience:
            async for chunk in request.stream():
                now = loop.time()
                patience.reschedule(now + IDLE_SECONDS)
                if keep is not None and now > renew_at:
                    renew_at = now + RENEW_SECONDS
                    await keep()
                parts.append(chunk)
                size += len(chunk)
                if size < BLOCK:
                    continue
                total += size
                if total > largest:
                    raise TooLarge(f"This takes at most {largest:,} bytes.")
                if writing is not None:
                    await writing
                writing = asyncio.ensure_future(run_in_threadpool(_joined, write, parts))
                parts, size = [], 0
        total += size
        if total > largest:
            raise TooLarge(f"This takes at most {largest:,} bytes.")
        if writing is not None:
            last, writing = writing, None
            await last
        if size:
            await run_in_threadpool(_joined, write, parts)
    except ClientDisconnect:
        raise Unavailable("The client went away before all was sent.") from None
    except TimeoutError:
        raise TimedOut(f"Nothing was received for {IDLE_SECONDS:.0f} s.") from None
    finally:
        if writing is not None:
            with CancelScope(shield=True):
                await asyncio.wait((writing,))
            writing.exception() if not writing.cancelled() else None
    return total


@asynccontextmanager
async def spooled(
    request: Request, folder: Path, keep: Keep | None = None
) -> AsyncIterator[BinaryIO]:
    """The whole body as a file to read from: in memory, or without a name on disk."""
    check_length(request, folder)
    place = await run_in_threadpool(_made, folder)
    budget = request.app.state.service.bodies
    room = IN_MEMORY if budget.take(IN_MEMORY) else 0
    try:
        # Where there is no room in memory it goes to disk from its first byte on.
        with tempfile.SpooledTemporaryFile(room or 1, dir=str(place)) as file:
            try:
                await pour(request, file.write, keep)
            except OSError as error:
                raise DiskFull(f"The server cannot take this: {error.strerror}.") from None
            file.seek(0)
            yield cast("BinaryIO", file)
    finally:
        budget.free(room)


def _joined(write: Callable[[bytes], object], parts: list[bytes]) -> None:
    write(b"".join(parts))


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _existing(folder: Path) -> Path:
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder
