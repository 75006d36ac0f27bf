"""A thread that fires what is due, when it is due."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

from trunkline.errors import Unavailable
from trunkline.lake.core import Core
from trunkline.model.backoff import Backoff
from trunkline.pipelines.cron import SECOND
from trunkline.schedule.ticker import Ticker

log = logging.getLogger(__name__)

# How long it sleeps at most: so soon it sees a clock that jumped, or what others scheduled.
LOOK_SECONDS = 1.0
_SHORTEST = 0.001
_BACKOFF = Backoff(0.5, 30.0)


class Scheduler:
    """Keeps the schedules of a lake, from `start` until `stop`.

    `on_fired` is called in its thread whenever it has committed something. A database that does
    not answer is tried again, with longer and longer pauses; what became due meanwhile is
    caught up with as each schedule says.
    """

    def __init__(
        self, core: Core, author: str = "schedule", on_fired: Callable[[], None] | None = None
    ) -> None:
        self.ticker = Ticker(core, author)
        self._on_fired = on_fired
        self._stopping = threading.Event()
        self._woken = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> None:
        if self._thread is None:
            self._stopping.clear()
            self._thread = threading.Thread(target=self._run, name="trunkline-clock", daemon=True)
            self._thread.start()

    def stop(self, timeout: float = 10.0) -> None:
        """End after the slot that is being fired. Stop before the lake is closed."""
        self._stopping.set()
        self._woken.set()
        if self._thread is not None:
            self._thread.join(timeout)
            self._thread = None

    def wake(self) -> None:
        """Look now: a schedule was made or changed."""
        self._woken.set()

    def _run(self) -> None:
        failures = 0
        while not self._stopping.is_set():
            self._woken.clear()
            try:
                delay = self._round()
            except Exception as error:
                failures += 1
                pause = _BACKOFF.jittered(failures)
                self._complain(error, pause)
                self._stopping.wait(pause)
                continue
            if failures:
                log.warning("The schedule goes on.")
            failures = 0
            if not self._stopping.is_set():
                self._woken.wait(delay)

    def _round(self) -> float:
        """Fire what is due; how long to sleep until the next, by the database's clock."""
        before = self.ticker.fired
        try:
            coming = self.ticker.fire_due(self._stopping)
        finally:
            if self._on_fired is not None and self.ticker.fired > before:
                self._on_fired()
        if coming is None:
            return LOOK_SECONDS
        left = (coming - self.ticker.now()) / SECOND
        return min(max(left, _SHORTEST), LOOK_SECONDS)

    def _complain(self, error: Exception, pause: float) -> None:
        text = "The schedule waits %.1f s: %s"
        if isinstance(error, Unavailable):
            log.warning(text, pause, error)
        else:
            # A fault of ours must not end all schedules without a word.
            log.exception(text, pause, error)
