"""Blocks of an iterator, read in threads while those before them are sent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Generator, Iterator

from anyio import CancelScope
from starlette.concurrency import run_in_threadpool


def first_two(blocks: Iterator[bytes]) -> list[bytes]:
    """What a small file is: errors show before anything is sent."""
    return [block for block in (next(blocks, None), next(blocks, None)) if block is not None]


async def sent(held: list[bytes], blocks: Iterator[bytes]) -> AsyncIterator[bytes]:
    """The blocks that were read already, and all others; each after the next has been read."""
    reading: asyncio.Future[bytes | None] | None = None
    waiting = list(held)
    try:
        while waiting:
            if len(waiting) > 1:
                reading = asyncio.ensure_future(run_in_threadpool(next, blocks, None))
            yield waiting.pop(0)
            if reading is not None:
                following = await reading
                reading = None
                if following is not None:
                    waiting.append(following)
    finally:
        with CancelScope(shield=True):
            if reading is not None:
                await asyncio.wait((reading,))
                reading.exception() if not reading.cancelled() else None
            if isinstance(blocks, Generator):
                await run_in_threadpool(blocks.close)
