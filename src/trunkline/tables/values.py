"""What a value is to those who skip files: how a bound is written, read, and compared.

`Values.java` says the same for Spark; `tests/tables/values.json` holds both to it. A bound is JSON
in `{"column": [least, greatest, nulls]}`; null says nothing, and then the file is read. Days are
ISO text, moments microseconds since 1970, decimals their digits, floats the shortest digits that
give them back. Texts are in the order of their UTF-8, as Parquet, Spark and DuckDB have it, which
is that of their code points. NaN is equal to itself and above all other numbers, -0.0 is 0.0.
"""

from __future__ import annotations

import json
import re
import struct
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import ROUND_FLOOR, Context, Decimal, InvalidOperation
from math import inf, isfinite, isnan
from typing import Any

from trunkline.model.types import INTEGERS, DataType

LONGEST_TEXT = 64
MICROS_OF_DAY = 86_400_000_000
MOMENTS = ("timestamp", "timestamp_ntz")
ORDERED = ("boolean", *INTEGERS, "float", "double", "decimal", "string", "date", *MOMENTS)
"""The types that have bounds. Of strings only those without a collation."""

_EXACT = Context(prec=400, Emax=10**6, Emin=-(10**6))
_DATE = re.compile(r"([+-]?\d{4,7})-(\d\d)-(\d\d)")
_TIME = re.compile(r"[ T](\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?)?\s*(Z|UTC|[+-]\d\d(?::?\d\d)?)?")
_UNKNOWN = "\ufffd"


# -- bounds --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Bounds:
    """Of one column of a file. None says nothing; days and moments are whole numbers."""

    least: Any = None
    greatest: Any = None
    nulls: int | None = None


def write_bounds(kind: str, least: Any, greatest: Any, nulls: int) -> str:
    """The bounds of a column as JSON, from values as `read_bounds` gives them."""
    return f"[{_written(kind, least, False)},{_written(kind, greatest, True)},{nulls}]"


def parse_stats(stats: str) -> dict[str, Any]:
    """The bounds of a file by the folded names of its columns, as they are written."""
    found = json.loads(stats, parse_float=Decimal) if stats else {}
    return {name.casefold(): bounds for name, bounds in found.items()}


def read_bounds(kind: DataType, found: Any) -> Bounds:
    """What `parse_stats` found of a column, in the column's type."""
    if not isinstance(found, list) or len(found) < 3:
        return Bounds()
    nulls = found[2] if isinstance(found[2], int) else None
    return Bounds(_read(kind, found[0]), _read(kind, found[1]), nulls)


def _written(kind: str, value: Any, upper: bool) -> str:
    if value is None or (isinstance(value, float) and not isfinite(value)):
        return "null"
    if kind == "date":
        return f'"{day_text(value)}"'
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, str):
        # A beginning is less than the whole, so it only does as the lower bound.
        if _UNKNOWN in value or (upper and len(value) > LONGEST_TEXT):
            return "null"
        value = value[:LONGEST_TEXT]
    return json.dumps(value, ensure_ascii=False)


def _read(kind: DataType, bound: Any) -> Any:
    """A bound in the type of its column; None if it is of another, or may not be what it was."""
    name = kind.name
    if name == "boolean":
        return bound if isinstance(bound, bool) else None
    if name == "string":
        # Once, bytes that are no text were replaced by this, which has another place.
        return bound if isinstance(bound, str) and _UNKNOWN not in bound else None
    if name == "date":
        return days_of(bound) if isinstance(bound, str) else None
    if isinstance(bound, bool) or not isinstance(bound, int | Decimal):
        return None
    if name in INTEGERS or name in MOMENTS:
        return bound if isinstance(bound, int) else None
    if name in ("float", "double"):
        return _float(bound, name)
    return Decimal(bound) if name == "decimal" else None


# -- comparing -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Point:
    """Where a value is among those of a type: at `value`, else just above it; None is below all."""

    value: Any
    exact: bool = True


ALWAYS, NEVER = "always", "never"


def comparison(sign: str, point: Point) -> tuple[str, Any]:
    """The same comparison with a value of the type itself, or one that all or none fulfil."""
    if point.exact:
        return sign, point.value
    if sign == "=":
        return NEVER, None
    if sign == "!=":
        return ALWAYS, None
    if point.value is None:
        return (ALWAYS if sign[0] == ">" else NEVER), None
    return ("<=" if sign[0] == "<" else ">"), point.value


def may(sign: str, value: Any, bounds: Bounds) -> bool:
    """Whether values within the bounds may compare so. True when in doubt."""
    if sign == NEVER:
        return False
    if sign == ALWAYS or value is None:
        return sign == ALWAYS
    least, greatest, own = map(order, (bounds.least, bounds.greatest, value))
    match sign:
        case "=":
            return (least is None or least <= own) and (greatest is None or own <= greatest)
        case "!=":
            return least is None or greatest is None or not least == own == greatest
        case "<":
            return least is None or bool(least < own)
        case "<=":
            return least is None or bool(least <= own)
        case ">":
            return greatest is None or bool(greatest > own)
    return greatest is None or bool(greatest >= own)


def order(value: Any) -> Any:
    """What a value is sorted by."""
    if isinstance(value, float):
        return (1, 0.0) if isnan(value) else (0, value)
    return value


def point(value: Any, kind: DataType) -> Point:
    """A value that somebody wrote, or its text, among those of a type. Raises ValueError.

    Numbers keep their value: 2.5 is between 2 and 3. A float stands for the decimal that it is
    shown as, and is rounded where the column holds floats, as engines do. Times without a zone
    are in UTC, and a day is its midnight.
    """
    value = _plain(value)
    name = kind.name
    if value is None:
        return Point(None)
    if name in INTEGERS:
        most = (1 << ((8, 16, 32, 64)[INTEGERS.index(name)] - 1)) - 1
        return _within(value, 0, Decimal(-most - 1), Decimal(most), int)
    if name == "decimal":
        most_ = Decimal(10**kind.precision - 1).scaleb(-kind.scale, _EXACT)
        return _within(value, kind.scale, -most_, most_, Decimal)
    if name in ("float", "double"):
        return Point(_float(_number(value), name))
    if name == "date":
        return _floored(_micros(value), MICROS_OF_DAY)
    if name in MOMENTS:
        if isinstance(value, int) and not isinstance(value, bool):
            return Point(value)
        return _floored(_micros(value), 1)
    if name == "boolean":
        return Point(_boolean(value))
    if name == "string" and isinstance(value, str):
        return Point(value)
    raise ValueError(f"{value!r} is no {name}")


def _plain(value: Any) -> Any:
    """Scalars of Arrow and numpy as Python has them."""
    if isinstance(value, bool | int | float | str | Decimal | date | None):
        return value
    if hasattr(value, "as_py"):
        return value.as_py()
    if hasattr(value, "dtype"):
        import pyarrow as pa

        return pa.scalar(value).as_py()
    return value


def _number(value: Any) -> Decimal | float:
    """Exact, or a float that is no number."""
    if isinstance(value, float):
        return Decimal(repr(value)) if isfinite(value) else value
    if isinstance(value, str):
        try:
            value = Decimal(value.strip())
        except InvalidOperation:
            raise ValueError(f"{value!r} is no number") from None
    if isinstance(value, Decimal):
        return value if value.is_finite() else float(value)
    if isinstance(value, int):
        return Decimal(value)
    raise ValueError(f"{value!r} is no number")


def _within(value: Any, scale: int, least: Decimal, most: Decimal, make: type) -> Point:
    number = _number(value)
    if isinstance(number, float):
        return Point(None, False) if number == -inf else Point(make(most), False)
    if number < least:
        return Point(None, False)
    if number > most:
        return Point(make(most), False)
    floor = number.quantize(Decimal(1).scaleb(-scale), ROUND_FLOOR, _EXACT)
    return Point(make(floor), floor == number)


def _float(value: Decimal | float | int, name: str) -> float:
    try:
        found = float(value)
    except OverflowError:
        found = inf if value > 0 else -inf
    if name == "double" or not isfinite(found):
        return found
    try:
        return float(struct.unpack("f", struct.pack("f", found))[0])
    except OverflowError:
        return inf if found > 0 else -inf


def _boolean(value: Any) -> bool:
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    if value in (0, 1):
        return bool(value)
    raise ValueError(f"{value!r} is neither true nor false")


# -- days and moments ----------------------------------------------------------------------------


def _floored(given: tuple[int, bool], unit: int) -> Point:
    micros, exact = given
    whole, rest = divmod(micros, unit)
    return Point(whole, exact and not rest)


def _micros(value: Any) -> tuple[int, bool]:
    """A moment in microseconds, and whether nothing was cut off."""
    if isinstance(value, str):
        return _micros_of_text(value.strip())
    if isinstance(value, datetime):
        moment = value if value.tzinfo else value.replace(tzinfo=UTC)
        since = moment.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)
        whole = (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
        return whole, not getattr(value, "nanosecond", 0)  # pandas has these
    if isinstance(value, date):
        return (value.toordinal() - _EPOCH) * MICROS_OF_DAY, True
    raise ValueError(f"{value!r} is no time")


def _micros_of_text(text: str) -> tuple[int, bool]:
    day = _DATE.match(text)
    days = days_of(day[0]) if day else None
    if day is None or days is None:
        raise ValueError(f"{text!r} is no time")
    rest = text[day.end() :]
    if not rest:
        return days * MICROS_OF_DAY, True
    time = _TIME.fullmatch(rest)
    if time is None:
        raise ValueError(f"{text!r} is no time")
    hour, minute, second = (int(time[n] or 0) for n in (1, 2, 3))
    if hour > 23 or minute > 59 or second > 59:
        raise ValueError(f"{text!r} is no time")
    digits = (time[4] or "").ljust(6, "0")
    seconds = hour * 3600 + minute * 60 + second - _offset(time[5] or "Z")
    whole = days * MICROS_OF_DAY + seconds * 1_000_000 + int(digits[:6])
    return whole, not digits[6:].strip("0")


def _offset(zone: str) -> int:
    if zone in ("Z", "UTC"):
        return 0
    digits = zone[1:].replace(":", "").ljust(4, "0")
    seconds = int(digits[:2]) * 3600 + int(digits[2:]) * 60
    return -seconds if zone[0] == "-" else seconds


_EPOCH = date(1970, 1, 1).toordinal()
_CYCLE, _DAYS_OF_CYCLE = 400, 146_097


def days_of(text: str) -> int | None:
    """ISO text of a day, of any year, as days since 1970; None if it is no day."""
    found = _DATE.fullmatch(text)
    if found is None or (len(found[1]) > 4 and found[1][0] not in "+-"):
        return None
    # The calendar repeats itself after 400 years, and Python's ends with 9999.
    cycles, year = divmod(int(found[1]), _CYCLE)
    try:
        near = date(year + _CYCLE, int(found[2]), int(found[3]))
    except ValueError:
        return None
    return near.toordinal() - _EPOCH + (cycles - 1) * _DAYS_OF_CYCLE


def day_text(days: int) -> str:
    """The inverse: 2026-01-31, and +10000-01-01 where four digits do not do."""
    cycles, rest = divmod(days + _EPOCH - 1, _DAYS_OF_CYCLE)
    near = date.fromordinal(rest + 1)
    year = near.year + cycles * _CYCLE
    shown = f"{year:04}" if 0 <= year <= 9999 else f"{year:+05}"
    return f"{shown}-{near.month:02}-{near.day:02}"


def moment_of(bound: Any) -> int | None:
    """The bound of a day or a moment, as `parse_stats` found it, in microseconds; or its text."""
    if isinstance(bound, str):
        try:
            return _micros_of_text(bound)[0]
        except ValueError:
            return None
    return bound if isinstance(bound, int) and not isinstance(bound, bool) else None
