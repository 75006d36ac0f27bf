"""Threads of their own for what strangers can ask for: however many come, others have theirs."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from typing import TypeVar

from trunkline.errors import TooManyRequests, Unavailable

T = TypeVar("T")

STEP_BACK = 10
"""How much nicer these threads are: a password takes a processor for a tenth of a second."""


class Places:
    """So many threads, and so many who may wait for one; more are refused at once."""

    def __init__(self, name: str, *, threads: int, waiting: int) -> None:
        self._most = threads + waiting
        self._inside = 0
        self._is_closed = False
        self._pool = ThreadPoolExecutor(threads, name, initializer=_step_back)

    async def run(self, work: Callable[[], T]) -> T:
        if self._inside >= self._most:
            raise TooManyRequests(
                "Too many passwords and log-ins are being checked just now.",
                hint="Try again in a moment.",
            )
        self._inside += 1
        try:
            loop = asyncio.get_running_loop()
            if self._is_closed:
                raise Unavailable("The server is stopping.", hint="Ask again.")
            return await loop.run_in_executor(self._pool, copy_context().run, work)
        finally:
            self._inside -= 1

    def close(self) -> None:
        """Whoever waits is not waited for."""
        self._is_closed = True
        self._pool.shutdown(wait=False, cancel_futures=True)


def _step_back() -> None:
    if sys.platform == "linux":  # elsewhere it would be the whole process
        with suppress(OSError):
            usual = os.getpriority(os.PRIO_PROCESS, 0)
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), usual + STEP_BACK)
