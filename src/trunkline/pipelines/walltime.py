"""Time zones in whole seconds: instants since 1970, and what a clock on the wall shows.

A wall time is the number of seconds that the same reading would be in UTC.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

from trunkline.errors import InvalidSchedule
from trunkline.model.suggest import did_you_mean, shown

_DAY = 86_400


@dataclass(frozen=True, slots=True)
class Zone:
    """A time zone by its name, such as Europe/Berlin."""

    name: str
    rules: tzinfo

    def offset(self, instant: int) -> int:
        """How far the wall clock is ahead of UTC."""
        ahead = datetime.fromtimestamp(instant, self.rules).utcoffset()
        return 0 if ahead is None else ahead.days * _DAY + ahead.seconds

    def wall(self, instant: int) -> int:
        return instant + self.offset(instant)

    def instant(self, wall: int) -> int:
        """When the clock first shows this; for a time it jumps over, the moment of the jump."""
        reading = datetime.fromtimestamp(wall, UTC).replace(tzinfo=self.rules)
        found = int(reading.timestamp())
        if self.wall(found) == wall:
            return found
        return self._change(int(reading.replace(fold=1).timestamp()), found)

    def change(self, start: int, end: int) -> int | None:
        """The moment in (start, end] at which the clock jumps, or None if it ends up as it was.

        A jump and its opposite go unseen, unless the first falls in the day after `start`.
        """
        before = self.offset(start)
        for until in (min(end, start + _DAY), end):
            if self.offset(until) != before:
                return self._change(start, until)
        return None

    def _change(self, start: int, end: int) -> int:
        before = self.offset(start)
        while end - start > 1:
            middle = (start + end) // 2
            if self.offset(middle) == before:
                start = middle
            else:
                end = middle
        return end


def zone(name: str) -> Zone:
    """The zone of that name, or `InvalidSchedule` with the near miss."""
    if name == "UTC":
        return Zone(name, UTC)
    from zoneinfo import ZoneInfo, available_timezones

    try:
        return Zone(name, ZoneInfo(name))
    except (KeyError, ValueError, OSError):  # not there; not a name; a folder of zones
        raise InvalidSchedule(
            f"There is no time zone {shown(name)}.{did_you_mean(name, available_timezones())}",
            hint="Zones have names such as UTC, Europe/Berlin or America/New_York.",
        ) from None
