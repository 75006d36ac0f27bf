"""A thread that looks after the log and the deadline while a function runs."""

from __future__ import annotations

import faulthandler
import os
import threading
import time
from contextlib import suppress

from trunkline.engine.runner.failure import timeout_error
from trunkline.engine.runner.sink import Sink
from trunkline.engine.runner.task import DatumResult

STUCK = 75
"""The exit code of a worker that could not interrupt its function."""

# How long after its deadline a function that does not listen is waited for.
_GRACE = 2.0
_LOCK_PATIENCE = 10.0


class Ticker:
    """Writes logs as they grow. Ends this process when a function cannot be interrupted.

    Then the datum's failure is on record, and the next attempt at the set goes on after it.
    """

    def __init__(self, sink: Sink, heartbeat: float, timeout: float | None) -> None:
        self._sink = sink
        self._timeout = timeout
        self._pause = min(heartbeat, 1.0)
        self._running: tuple[DatumResult, float] | None = None
        self._is_over = threading.Event()
        self._arm()
        self._thread = threading.Thread(target=self._run, name="trunkline-ticker", daemon=True)
        self._thread.start()

    def begin(self, result: DatumResult) -> None:
        if self._timeout is not None:
            self._running = (result, time.monotonic() + self._timeout + _GRACE)

    def end(self) -> None:
        self._running = None

    def close(self) -> None:
        self._is_over.set()
        self._thread.join()
        if self._timeout is not None:
            faulthandler.cancel_dump_traceback_later()

    def _run(self) -> None:
        while not self._is_over.wait(self._pause):
            self._arm()
            running = self._running
            if running is not None and time.monotonic() > running[1]:
                self._give_up(running[0])
            try:
                self._sink.tick()
            except Exception as error:
                self._sink.error = error
                return

    def _arm(self) -> None:
        """Have the process end if this thread does not get here again.

        Code that does not let other threads run stops this one too. What is armed here needs
        no Python: nothing is recorded then, but the worker ends.
        """
        if self._timeout is not None:
            limit = self._timeout + 2 * _GRACE + self._pause
            faulthandler.dump_traceback_later(limit, exit=True, file=2)

    def _give_up(self, result: DatumResult) -> None:
        if self._sink.lock.acquire(timeout=_LOCK_PATIENCE):
            with suppress(Exception):
                result.state = "failed"
                result.error = timeout_error(self._timeout or 0)
                result.outputs, result.bytes_out = [], 0
                self._sink.add(result)
                self._sink.close()
        os._exit(STUCK)
