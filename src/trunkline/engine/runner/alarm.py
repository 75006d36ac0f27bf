"""The deadline of a function that runs in this process."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

# Whoever catches everything is told again.
_AGAIN = 0.5


class TimedOut(BaseException):
    """Raised inside of the function. Not an Exception, so that few catch it."""


class Alarm:
    """Interrupts the main thread when time is up, but not while it is in our own code."""

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds
        self._held = 1
        self._is_due = False
        self._before: object = None
        self.is_on = seconds is not None and threading.current_thread() is threading.main_thread()
        if self.is_on:
            self._before = signal.signal(signal.SIGALRM, self._ring)

    def close(self) -> None:
        if self.is_on:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, self._before or signal.SIG_DFL)  # type: ignore[arg-type]

    def start(self) -> None:
        if self.is_on:
            self._is_due = False
            self._held = 0
            signal.setitimer(signal.ITIMER_REAL, self._seconds or 0, _AGAIN)

    def stop(self) -> None:
        if self.is_on:
            self._held = 1
            signal.setitimer(signal.ITIMER_REAL, 0)

    @contextmanager
    def held_back(self) -> Iterator[None]:
        """What must not be done by half is done in here."""
        if not self.is_on or threading.current_thread() is not threading.main_thread():
            yield
            return
        self._held += 1
        try:
            yield
        finally:
            self._held -= 1
        if self._is_due and not self._held:
            raise TimedOut

    def _ring(self, number: int, frame: FrameType | None) -> None:
        if self._held:
            self._is_due = True
        else:
            raise TimedOut
