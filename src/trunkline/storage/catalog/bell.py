"""Rung when something was committed in this process, so that who waits for it need not poll."""

from __future__ import annotations

import threading

_bells: dict[str, Bell] = {}
_lock = threading.Lock()


class Bell:
    """Wakes everybody who waits. A ring between two waits is not lost."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._rings = 0

    def ring(self) -> None:
        with self._condition:
            self._rings += 1
            self._condition.notify_all()

    def count(self) -> int:
        """How often it rang: to be given to `wait`."""
        return self._rings

    def wait(self, seen: int, timeout: float) -> bool:
        """Wait for a ring after `seen`; whether there was one."""
        with self._condition:
            return self._condition.wait_for(lambda: self._rings != seen, timeout)


def bell_of(database_url: str) -> Bell:
    """The bell of a lake, whoever opened it in this process."""
    with _lock:
        return _bells.setdefault(database_url, Bell())
