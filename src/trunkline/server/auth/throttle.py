"""Logins that fail: the more of them, the longer the next must wait."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from trunkline.errors import TooManyRequests

FORGET_SECONDS = 3600.0
MOST = 20_000
LONGEST_NAME = 128


@dataclass(frozen=True, slots=True)
class Rule:
    """So many may fail freely; then each wait is twice the last, up to the longest."""

    free: int
    longest: float


# Who guesses at one name from one place waits soonest. The rules for a name from everywhere, and
# for a place that may be many people's, are mild: else anybody could lock others out.
PAIR = Rule(5, 900.0)
ADDRESS = Rule(20, 60.0)
NAME = Rule(50, 30.0)


@dataclass(slots=True)
class _Failures:
    count: int = 0
    last: float = 0.0
    until: float = 0.0


class Throttle:
    """Counts failures for each name and address. `clock` is in seconds; `most` are remembered."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, most: int = MOST) -> None:
        self._clock = clock
        self._most = most
        self._failures: dict[tuple[str, str], _Failures] = {}
        self._lock = threading.Lock()

    def check(self, name: str, address: str) -> None:
        """`TooManyRequests` while one must wait."""
        now = self._clock()
        with self._lock:
            waits = [
                found.until - now
                for key in _rules(name, address)
                if (found := self._failures.get(key)) is not None
            ]
        longest = max(waits, default=0.0)
        if longest > 0:
            raise TooManyRequests(
                f"Too many logins failed: wait {longest:.0f} s.", retry_after=max(longest, 1.0)
            )

    def failed(self, name: str, address: str) -> None:
        now = self._clock()
        with self._lock:
            self._forget_old(now)
            for key, rule in _rules(name, address).items():
                found = self._failures.get(key)
                if found is None or now - max(found.last, found.until) > FORGET_SECONDS:
                    found = self._failures[key] = _Failures()
                found.count += 1
                found.last = now
                beyond = found.count - rule.free
                if beyond >= 0:
                    found.until = now + min(2.0 ** min(beyond, 30), rule.longest)

    def succeeded(self, name: str, address: str) -> None:
        """Forget the failures of this name from this place."""
        with self._lock:
            self._failures.pop((name[:LONGEST_NAME], address), None)

    def _forget_old(self, now: float) -> None:
        if len(self._failures) < self._most:
            return
        by_age = sorted(self._failures, key=lambda key: self._failures[key].last)
        old = [key for key in by_age if now - self._failures[key].last > FORGET_SECONDS]
        for key in old or by_age[: self._most // 4]:
            del self._failures[key]


def _rules(name: str, address: str) -> dict[tuple[str, str], Rule]:
    name = name[:LONGEST_NAME]
    return {(name, address): PAIR, ("", address): ADDRESS, (name, ""): NAME}
