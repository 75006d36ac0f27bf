"""Logins that fail: the more of them, the longer the next must wait."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

from trunkline.errors import NotAllowed, NotAuthenticated, TooManyRequests
from trunkline.model.backoff import Backoff

FORGET_SECONDS = 3600.0
MOST = 20_000
LONGEST_NAME = 128


@dataclass(frozen=True, slots=True)
class Rule:
    """So many may fail freely; then each wait is twice the last, up to the longest."""

    free: int
    longest: float

    def until(self, failures: _Failures) -> float:
        beyond = failures.count - self.free
        if beyond < 0:
            return 0.0
        return failures.last + Backoff(1.0, self.longest).pause(beyond + 1)


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


class _Begun(NamedTuple):
    """A try that was counted, and when the one before it was."""

    failures: _Failures
    rule: Rule
    before: float
    now: float


class Throttle:
    """Counts tries that fail by name and address. `clock` is in seconds; `most` are remembered."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, most: int = MOST) -> None:
        self._clock = clock
        self._most = most
        self._failures: dict[tuple[str, str], _Failures] = {}
        self._lock = threading.Lock()

    @contextmanager
    def attempt(self, name: str, address: str) -> Iterator[None]:
        """Around one try, which is counted before it is made; `TooManyRequests` if one must wait.

        Left without an error it was right, with `NotAuthenticated` or `NotAllowed` it was wrong.
        Any other error means that it was not made, and it is not counted.
        """
        begun = self._begin(name, address)
        try:
            yield
        except (NotAuthenticated, NotAllowed):
            self._failed(begun)
            raise
        except BaseException:
            self._take_back(begun)
            raise
        self._take_back(begun)
        with self._lock:
            self._failures.pop((name[:LONGEST_NAME], address), None)

    def _begin(self, name: str, address: str) -> list[_Begun]:
        now = self._clock()
        with self._lock:
            rules = _rules(name, address)
            untils = [one.until for key in rules if (one := self._failures.get(key)) is not None]
            wait = max(untils, default=now) - now
            if wait > 0:
                raise TooManyRequests(
                    f"Too many logins failed: wait {wait:.0f} s.", retry_after=max(wait, 1.0)
                )
            self._forget_old(now)
            begun = []
            for key, rule in rules.items():
                found = self._failures.get(key)
                if found is None or now - max(found.last, found.until) > FORGET_SECONDS:
                    found = self._failures[key] = _Failures()
                begun.append(_Begun(found, rule, found.last, now))
                found.count += 1
                found.last = now
                found.until = rule.until(found)
        return begun

    def _failed(self, begun: list[_Begun]) -> None:
        """The wait is from now on, however long the try took."""
        now = self._clock()
        with self._lock:
            for failures, rule, _, _ in begun:
                failures.last = now
                failures.until = rule.until(failures)

    def _take_back(self, begun: list[_Begun]) -> None:
        with self._lock:
            for failures, rule, before, now in begun:
                failures.count -= 1
                if failures.last == now:
                    failures.last = before
                failures.until = rule.until(failures)

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
