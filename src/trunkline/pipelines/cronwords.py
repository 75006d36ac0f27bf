"""Short English for the common shapes of a schedule."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

_WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July",
    "August", "September", "October", "November", "December",
)  # fmt: skip
_WORKING_DAYS = frozenset(range(1, 6))
_LAST_DAY, _LAST_WORKING_DAY = -1000, -1001  # as cronsim has them
_UNITS = (("week", 604_800), ("day", 86_400), ("hour", 3600), ("minute", 60), ("second", 1))
_MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class Shape:
    """Which values the five fields allow; `both` if a day must match both of its fields."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[object]
    both: bool

    @property
    def any_day(self) -> bool:
        return self.days.issuperset(range(1, 32))

    @property
    def any_weekday(self) -> bool:
        return self.weekdays.issuperset(range(7))

    @property
    def any_month(self) -> bool:
        return len(self.months) == 12

    @property
    def all_year(self) -> bool:
        either = self.any_day or self.any_weekday
        return self.any_month and (
            (self.any_day and self.any_weekday) or (either and not self.both)
        )


def every(seconds: int) -> str:
    """`every 10 minutes`, `every hour and 30 minutes`, `every day`."""
    parts = []
    for unit, size in _UNITS:
        number, seconds = divmod(seconds, size)
        if number:
            parts.append(_counted(number, unit))
    return "every " + (parts[0].removeprefix("1 ") if len(parts) == 1 else _listed(parts))


def phrase(shape: Shape, timezone: str) -> str:
    """What the schedule says, or '' if that would be longer than the schedule itself."""
    if len(shape.hours) == 24:
        return _through_the_day(shape.minutes) if shape.all_year else ""
    when = _times(shape)
    days = _days(shape) if when else ""
    if not days:
        return ""
    step = _step(shape.hours, 24)
    if len(shape.hours) > _MOST_NAMED:
        if not (step and days == "every day"):
            return ""
        past = min(shape.minutes)
        text = every(step * 3600) + (f" at {_counted(past, 'minute')} past" if past else "")
    else:
        text = f"{days} at {when}"
    return f"{text} ({timezone})"


def _through_the_day(minutes: frozenset[int]) -> str:
    if len(minutes) == 1:
        past = min(minutes)
        return f"every hour at {_counted(past, 'minute')} past" if past else "every hour"
    step = _step(minutes, 60)
    return every(step * 60) if step else ""


def _times(shape: Shape) -> str:
    if len(shape.minutes) != 1:
        return ""
    return _listed(f"{hour:02}:{min(shape.minutes):02}" for hour in sorted(shape.hours))


def _days(shape: Shape) -> str:
    if shape.all_year:
        return "every day"
    if shape.any_day and shape.any_month and shape.both:
        return _week(shape.weekdays)
    if not (shape.any_weekday and shape.both):
        return ""
    if shape.any_month and len(shape.days) == 1:
        return f"on {_day(min(shape.days))} of every month"
    if len(shape.days) == len(shape.months) == 1 and min(shape.days) > 0:
        return f"every year on {min(shape.days)} {_MONTHS[min(shape.months) - 1]}"
    return ""


def _week(weekdays: frozenset[object]) -> str:
    numbers = sorted(day for day in weekdays if isinstance(day, int))
    if len(numbers) < len(weekdays):  # the second Monday, the last Friday
        return ""
    if weekdays == _WORKING_DAYS:
        return "Monday to Friday"
    names = [_WEEKDAYS[day] for day in sorted(numbers, key=lambda day: (day - 1) % 7)]
    return "every " + _listed(names) if len(names) <= _MOST_NAMED else ""


def _day(day: int) -> str:
    named = {_LAST_DAY: "the last day", _LAST_WORKING_DAY: "the last working day"}
    return named.get(day, f"day {day}")


def _step(values: frozenset[int], size: int) -> int:
    """The step that divides the whole evenly, or 0."""
    step = size // len(values)
    return step if values == frozenset(range(0, size, step)) and size % step == 0 else 0


def _counted(number: int, unit: str) -> str:
    return f"{number} {unit}" if number == 1 else f"{number} {unit}s"


def _listed(parts: Iterable[str]) -> str:
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last
