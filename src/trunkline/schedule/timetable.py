"""A schedule as it is kept, made ready to be asked what is due."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache

from trunkline.errors import InvalidSchedule
from trunkline.model.suggest import shown
from trunkline.pipelines.cron import (
    SECOND,
    CatchUp,
    Slots,
    due_slots,
    in_words,
    parse_catch_up,
    parse_cron,
)
from trunkline.storage.catalog.timing import CronRow


@dataclass(frozen=True, slots=True)
class Timetable:
    """Slots from `start` on. `last` is always the newest slot that is dealt with."""

    slots: Slots
    start: int
    catch_up: CatchUp

    def due(self, last: int | None, now: int) -> list[int]:
        """The slots to fire, oldest first."""
        return due_slots(self.slots, last, self.start, now, self.catch_up)

    def dropped(self, last: int | None, now: int) -> int | None:
        """The newest slot that passed, for when the policy leaves nothing to fire."""
        coming = self.next(last)
        if coming is None or coming > now:
            return None
        return self.slots.newest(coming - 1, now, 1)[-1]

    def next(self, last: int | None) -> int | None:
        """The first slot that is not dealt with: in the past, if it is due."""
        return self.slots.after(self._since(last))

    def coming(self, last: int | None, now: int) -> Iterator[int]:
        """The slots of the future."""
        return self.slots.following(max(now, self._since(last)))

    @property
    def words(self) -> str:
        return in_words(self.slots)

    def _since(self, last: int | None) -> int:
        return self.start - 1 if last is None else max(last, self.start - 1)


def timetable(row: CronRow) -> Timetable:
    """`InvalidSchedule` if it cannot be read any more, such as in a zone that was abolished."""
    ticks = row.ticks
    return _timetable(ticks.cron, ticks.timezone, ticks.start, ticks.catch_up, row.started)


@lru_cache(maxsize=4096)
def _timetable(
    cron: str, timezone: str, start: str | None, catch_up: str, declared: int
) -> Timetable:
    first = None if start is None else _micros(start)
    slots = parse_cron(cron, timezone, first)
    return Timetable(slots, declared if first is None else first, parse_catch_up(catch_up))


def _micros(text: str) -> int:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidSchedule(
            f"A schedule cannot start at {shown(text)}, which is not a time.",
            hint="Such as 2026-01-01T06:00:00Z.",
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return int(moment.timestamp()) * SECOND
