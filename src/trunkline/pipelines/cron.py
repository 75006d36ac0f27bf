"""Schedules: the moments at which something is due, as pure functions of the time.

    0 6 * * MON-FRI       minute, hour, day of month, month, day of week
    */10 * * * *          steps; lists `1,15`; ranges `9-17`; names JAN, MON; `?` for `*` in days
    0 0 L * *             the last day; `LW` the last working day; `5L` the last Friday;
                          `MON#2` the second Monday
    @hourly @daily @midnight @weekly @monthly @yearly @annually
    @every 1h30m          counted from `start`, else from 1970, whatever the clock on the wall does
    @never                only by hand
    CRON_TZ=Asia/Tokyo 0 6 * * *

If either of the two day fields starts with `*`, a day must match both; else one is enough.

When the clock on the wall jumps:
* A schedule for certain hours follows the wall. Slots in an hour that is jumped over fire once,
  together, at the jump; slots in an hour that comes twice fire the first time only.
* A schedule for every hour (`30 * * * *`, `*/10 * * * *`) follows the time that really passes:
  nothing for the hour jumped over, and both times for the one that comes twice.

Slots are whole seconds between the years 1900 and 9900, in microseconds since 1970 like all
moments. `after(a) <= after(b)` whenever `a <= b`.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING

from trunkline.errors import InvalidSchedule
from trunkline.model.suggest import did_you_mean, shown
from trunkline.pipelines import cronwords
from trunkline.pipelines.walltime import Zone, zone
from trunkline.settings import parse_duration

if TYPE_CHECKING:
    from cronsim import CronSim

SECOND = 1_000_000
BY_HAND = "only by hand"
# With the policy `none`, a slot older than this was missed.
MISSED_AFTER = 60 * SECOND
# `all` gives the oldest so many; the next call, with a newer `last`, gives the next.
MOST_AT_ONCE = 1_000

_FIRST = int(datetime(1900, 1, 1, tzinfo=UTC).timestamp())
_LAST = int(datetime(9900, 1, 1, tzinfo=UTC).timestamp())
_LONGEST_TEXT = 200
_LONGEST_PERIOD = 100 * 366 * 86_400
_EXAMPLE = "Such as 0 6 * * * (every day at 06:00), */10 * * * *, @daily or @every 1h30m."

_NAMED = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
# As cronsim names them in its errors, with how many values each has.
_FIELDS = {
    "minute": (60, "0 to 59"),
    "hour": (24, "0 to 23"),
    "day-of-month": (31, "1 to 31, or L for the last"),
    "month": (12, "1 to 12, or JAN to DEC"),
    "day-of-week": (7, "0 to 7 (0 and 7 are Sunday), or SUN to SAT"),
}


class Slots(ABC):
    """The moments of a schedule. `text` is what the user wrote."""

    text: str
    timezone: str

    @abstractmethod
    def after(self, moment: int) -> int | None:
        """The first slot strictly after the moment. None: there is none, ever."""

    def following(self, moment: int) -> Iterator[int]:
        """All slots strictly after the moment: increasing, and without end."""
        slot = self.after(moment)
        while slot is not None:
            yield slot
            slot = self.after(slot)

    def between(self, start: int, end: int, limit: int | None = None) -> list[int]:
        """The slots in (start, end], the oldest `limit` of them."""
        return list(islice(self._until(start, end), limit))

    def newest(self, start: int, end: int, limit: int) -> list[int]:
        """The slots in (start, end], the newest `limit` of them, oldest first.

        Looks back from `end` step by step: the time it takes does not grow with `end - start`.
        """
        reach = MISSED_AFTER
        while True:
            since = max(start, end - reach)
            found = deque(self._until(since, end), maxlen=limit)
            if len(found) == limit or since == start:
                return list(found)
            reach *= 4

    def _until(self, start: int, end: int) -> Iterator[int]:
        for slot in self.following(start):
            if slot > end:
                return
            yield slot


@dataclass(frozen=True)
class Never(Slots):
    """No slots at all: ticks come by hand."""

    text: str = "@never"
    timezone: str = "UTC"

    def after(self, moment: int) -> int | None:
        return None


@dataclass(frozen=True)
class Every(Slots):
    """A fixed number of seconds apart, counted both ways from the second `origin`."""

    text: str
    period: int
    origin: int = 0
    timezone: str = "UTC"

    def after(self, moment: int) -> int | None:
        second = max(moment // SECOND, _FIRST)
        if second >= _LAST:
            return None
        return (second + self.period - (second - self.origin) % self.period) * SECOND


@dataclass(frozen=True)
class Fields(Slots):
    """Five cron fields, read on the wall clock of a zone."""

    text: str
    timezone: str
    _sim: CronSim = field(compare=False, repr=False)
    _zone: Zone = field(compare=False, repr=False)

    def after(self, moment: int) -> int | None:
        second = max(moment // SECOND, _FIRST)
        if second >= _LAST:
            return None
        every_hour = len(self._sim.hours) == 24
        found = self._by_time_passed(second) if every_hour else self._by_the_wall(second)
        return found * SECOND

    def _by_the_wall(self, second: int) -> int:
        wall = self._zone.wall(second)
        while True:
            wall = self._next_on_wall(wall)
            # Where an hour comes twice, the wall may show a slot that fired the first time.
            if (found := self._zone.instant(wall)) > second:
                return found

    def _by_time_passed(self, second: int) -> int:
        offset = self._zone.offset(second)
        wall = second + offset
        while True:
            wall = self._next_on_wall(wall)
            change = self._zone.change(second, wall - offset)
            if change is None:
                return wall - offset
            # The clock jumps on the way there: look again from what it shows then.
            second, offset = change, self._zone.offset(change)
            wall = second + offset - 1

    def _next_on_wall(self, wall: int) -> int:
        # cronsim's own handling of zones can step over a slot or go back in time, depending on
        # where it starts. In UTC it has nothing to handle.
        sim = copy(self._sim)
        sim.dt = datetime.fromtimestamp(wall, UTC)
        return int(next(sim).timestamp())

    @property
    def shape(self) -> cronwords.Shape:
        sim = self._sim
        return cronwords.Shape(
            frozenset(sim.minutes),
            frozenset(sim.hours),
            frozenset(sim.days),
            frozenset(sim.months),
            frozenset(day % 7 if isinstance(day, int) else day for day in sim.weekdays),
            sim.day_and,
        )


# Reading ----------------------------------------------------------------------------------


def parse_cron(text: str, timezone: str = "UTC", start: int | None = None) -> Slots:
    """The slots of a schedule; `start` is what `@every` counts from. Else `InvalidSchedule`."""
    if len(text) > _LONGEST_TEXT:
        raise _refused(text, f"is longer than {_LONGEST_TEXT} characters")
    written = " ".join(text.split())
    expression, timezone = _take_zone(written, timezone)
    where = zone(timezone)
    word, _, rest = expression.partition(" ")
    match word.lower():
        case "@every":
            origin = 0 if start is None else start // SECOND
            return Every(written, _period(text, rest), origin, timezone)
        case "@never" if not rest:
            return Never(written, timezone)
        case name if name.startswith("@"):
            if name not in _NAMED or rest:
                near = did_you_mean(expression, [*_NAMED, "@every 10m", "@never"])
                raise _refused(text, f"is not a schedule we know.{near}".removesuffix("."))
            expression = _NAMED[name]
    return Fields(written, timezone, _read_fields(text, expression), where)


def _take_zone(expression: str, timezone: str) -> tuple[str, str]:
    found = re.match(r"(?:CRON_)?TZ=(\S*) ?", expression)
    if found is None:
        return expression, timezone
    if timezone not in ("UTC", found[1]):
        raise _refused(expression, f"names a time zone, and so does timezone: {timezone}")
    return expression[found.end() :], found[1]


def _period(text: str, duration: str) -> int:
    try:
        seconds = parse_duration(duration)
    except ValueError:
        seconds = -1.0
    if seconds < 0 or duration.replace(".", "").isdigit():
        raise _refused(text, "needs a time and its unit after @every: 30s, 10m, 1h30m or 1d")
    if not 1 <= seconds <= _LONGEST_PERIOD or seconds != int(seconds):
        raise _refused(text, "must be a whole number of seconds apart, up to a hundred years")
    return int(seconds)


def _read_fields(text: str, expression: str) -> CronSim:
    from cronsim import CronSim, CronSimError

    fields = expression.split()
    if len(fields) != 5:
        seconds = "; for seconds there is @every 30s" if len(fields) == 6 else ""
        raise _refused(text, f"has {len(fields)} fields where five are needed{seconds}")
    for place in (2, 4):
        fields[place] = "*" if fields[place] == "?" else fields[place]
    for (name, (size, _)), part in zip(_FIELDS.items(), fields, strict=True):
        for step in re.findall(r"/([0-9]+)", part):
            if int(step) > size:
                raise _refused(text, f"steps by {step} in the {_plain(name)}, which has {size}")
    begin = datetime(2000, 1, 1, tzinfo=UTC)  # every kind of year comes in the next 28
    try:
        sim = CronSim(" ".join(fields), begin)
        next(copy(sim))
    except CronSimError as error:
        name = str(error).removeprefix("Bad ")
        part = fields[[*_FIELDS].index(name)]
        if name == "day-of-month" and _is_day(part):
            raise _never_comes(text) from None
        raise _refused(
            text, f"has {shown(part)} as the {_plain(name)}, which goes from {_FIELDS[name][1]}"
        ) from None
    except StopIteration:
        raise _never_comes(text) from None
    return sim


def _is_day(part: str) -> bool:
    """Whether the day is right by itself, so that it is the month which has no such day."""
    from cronsim import CronSim, CronSimError

    try:
        CronSim(f"0 0 {part} * *", datetime(2000, 1, 1, tzinfo=UTC))
    except CronSimError:
        return False
    return True


def _plain(name: str) -> str:
    return name.replace("-", " ")


def _never_comes(text: str) -> InvalidSchedule:
    return _refused(text, "is a day that never comes")


def _refused(text: str, flaw: str) -> InvalidSchedule:
    end = "" if flaw.endswith("?") else "."
    return InvalidSchedule(f"The schedule {shown(text)} {flaw}{end}", hint=_EXAMPLE)


# Catching up ------------------------------------------------------------------------------


class Policy(StrEnum):
    """What becomes of slots that passed while nobody was there to act on them."""

    NONE = "none"
    LATEST = "latest"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class CatchUp:
    """A policy; `most` limits `all` to the newest so many."""

    policy: Policy
    most: int | None = None

    def __str__(self) -> str:
        return self.policy if self.most is None else f"{self.policy}({self.most})"


def parse_catch_up(text: str) -> CatchUp:
    """`none`, `latest`, `all` or `all(5)`."""
    found = re.fullmatch(r"(none|latest|all)|all\s*\(\s*([0-9]{1,6})\s*\)", text.strip().lower())
    if found is None or (found[2] and not int(found[2])):
        raise InvalidSchedule(
            f"The catch-up policy {shown(text)} is none of none, latest, all and all(n).",
            hint="Such as all(5): of the slots that were missed, the newest five.",
        )
    return CatchUp(Policy(found[1])) if found[1] else CatchUp(Policy.ALL, int(found[2]))


def due_slots(
    schedule: Slots, last: int | None, start: int, now: int, catch_up: CatchUp | str
) -> list[int]:
    """The slots to act on now, oldest first: at `start` or later, after `last`, up to `now`.

    `last` is the newest slot acted on. Record each slot as `last` in the transaction that acts on
    it, and none is acted on twice, even if the clock goes back.

        none     what lies in the last minute; the rest was missed, and is dropped
        latest   the newest
        all      all, at most `MOST_AT_ONCE` in a call
        all(n)   the newest n
    """
    if isinstance(catch_up, str):
        catch_up = parse_catch_up(catch_up)
    since = start - 1 if last is None else max(last, start - 1)
    if since >= now:
        return []
    match catch_up.policy:
        case Policy.NONE:
            return schedule.between(max(since, now - MISSED_AFTER), now)
        case Policy.LATEST:
            return schedule.newest(since, now, 1)
        case Policy.ALL if catch_up.most is None:
            return schedule.between(since, now, MOST_AT_ONCE)
        case Policy.ALL:
            return schedule.newest(since, now, catch_up.most)


# Telling ----------------------------------------------------------------------------------


def slot_name(slot: int) -> str:
    """The file name of a tick: `2026-01-01T06:00:00Z`."""
    return datetime.fromtimestamp(slot // SECOND, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def in_words(cron: str | Slots, timezone: str = "UTC") -> str:
    """`every day at 06:00 (Europe/Berlin)`; the text itself where no short phrase says it."""
    slots = parse_cron(cron, timezone) if isinstance(cron, str) else cron
    match slots:
        case Never():
            return BY_HAND
        case Every():
            return cronwords.every(slots.period)
        case Fields():
            return cronwords.phrase(slots.shape, slots.timezone) or (
                slots.text
                if slots.timezone == "UTC" or slots.timezone in slots.text
                else f"{slots.text} ({slots.timezone})"
            )
    return slots.text
