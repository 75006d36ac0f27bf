"""What was asked for lately, and no more of it than fits."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Recent(Generic[K, V]):
    """A mapping that forgets what was not asked for lately: above so many, or so heavy.

    Threads may share it. Two that miss the same key at once both make its value.
    """

    def __init__(
        self, most: int, heaviest: int = 0, weight: Callable[[V], int] = lambda _: 0
    ) -> None:
        self._most, self._heaviest, self._weight = most, heaviest, weight
        self._held: OrderedDict[K, V] = OrderedDict()
        self._heavy = 0
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._held)

    def get(self, key: K, make: Callable[[], V]) -> V:
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
                return self._held[key]
        made = make()
        self.put(key, made)
        return made

    def find(self, key: K) -> V | None:
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
            return self._held.get(key)

    def put(self, key: K, value: V) -> None:
        with self._lock:
            self._take(key)
            self._held[key] = value
            self._heavy += self._weight(value)
            while len(self._held) > self._most or self._heavy > self._heaviest:
                self._heavy -= self._weight(self._held.popitem(last=False)[1])

    def pop(self, key: K) -> V | None:
        with self._lock:
            return self._take(key)

    def _take(self, key: K) -> V | None:
        if key not in self._held:
            return None
        self._heavy -= self._weight(self._held[key])
        return self._held.pop(key)
