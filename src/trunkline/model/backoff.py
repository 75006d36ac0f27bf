"""How long to wait before what has failed is tried again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count


@dataclass(frozen=True, slots=True)
class Backoff:
    """Pauses in seconds, each `factor` times the one before, up to the longest."""

    first: float
    longest: float
    factor: float = 2.0

    def pause(self, failures: int) -> float:
        """The pause after so many failures in a row, from 1."""
        try:
            return min(self.first * self.factor ** (failures - 1), self.longest)
        except OverflowError:
            return self.longest

    def jittered(self, failures: int) -> float:
        """As `pause`, or up to half of it less: not the same for all who wait for one thing."""
        import random

        return self.pause(failures) * random.uniform(0.5, 1)

    def __iter__(self) -> Iterator[float]:
        return map(self.pause, count(1))
