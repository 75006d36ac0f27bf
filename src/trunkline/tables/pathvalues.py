"""Values of columns as the names of folders have them: `day=2026-01-01`.

One text for each value of a type, as Spark writes it, and the value that a text stands for. The
layout is Hive's: null has a name of its own, and an empty text has none, so it is refused.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from datetime import date
from decimal import Decimal, InvalidOperation, localcontext
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import quote

from trunkline.errors import Precondition
from trunkline.model.suggest import shown
from trunkline.model.tables import Schema
from trunkline.model.types import parse_type
from trunkline.tables.layout import NULL_VALUE, hive_values
from trunkline.tables.types import to_arrow_type

if TYPE_CHECKING:
    import pyarrow as pa

Values = tuple[str | None, ...]

_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_TIMES = ("timestamp", "timestamp_ntz")

# As Spark escapes them; what no path of a lake may have goes as UTF-8, and so does all of a text
# that a path would bring to another form of Unicode.
_ESCAPED = frozenset("\"#%'*/:=?\\{[]^") | {chr(code) for code in (*range(32), 127)}
_FORBIDDEN = re.compile("[\x80-\x9f\u2028\u2029]").search

_day = re.compile(r"([+-]?)(\d{4,7})-(\d{1,2})-(\d{1,2})").fullmatch
_moment = re.compile(
    r"([+-]?\d{4,7}-\d{1,2}-\d{1,2})"
    r"(?:[ T](\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,6})\d*)?)?Z?)?"
).fullmatch
_ERA = 146_097  # days in 400 years


class NotAValue(Precondition, ValueError):
    """The name of a folder that is no value of its column's type."""


def hive_folder(columns: Sequence[str], values: Sequence[str | None]) -> str:
    """`day=2026-01-01/shop=3`, or nothing for a table without partitions."""
    parts = []
    for name, value in zip(columns, values, strict=True):
        if value in ("", NULL_VALUE):
            what = "an empty text" if not value else f"the text {NULL_VALUE}"
            raise Precondition(
                f'A row has {what} in "{name}", which its table is partitioned by: '
                "the name of a folder cannot tell it from null.",
                hint=f"Put null or another text there, or leave {name} out of partition_by.",
            )
        if escape(name) != name or name.startswith(("_", ".")):
            why = (
                f"would take the name of its folders as it is written there, {escape(name)}"
                if escape(name) != name
                else f"leave out folders that begin with {name[0]}"
            )
            raise Precondition(
                f'A table cannot be partitioned by "{name}": some readers {why}.',
                hint="Give the column another name, or leave it out of partition_by.",
            )
        parts.append(f"{name}={NULL_VALUE if value is None else escape(value)}")
    return "/".join(parts)


def escape(value: str) -> str:
    """A value as part of a folder's name."""
    if not value.isascii() and (_FORBIDDEN(value) or unicodedata.normalize("NFC", value) != value):
        return quote(value, safe=" ")
    return "".join(f"%{ord(one):02X}" if one in _ESCAPED else one for one in value)


def folder_of(rest: str, columns: Schema) -> Values:
    """The partition that a file is in, by values: `month=01` and `month=1` may be the same."""
    found = {name.casefold(): value for name, value in hive_values(rest).items()}
    return tuple(canonical(found.get(one.name.casefold()), one.type) for one in columns)


def canonical(text: str | None, type_: str) -> str | None:
    """The one text for what a text stands for; the text itself if it stands for nothing."""
    if text is None or type_ == "string":
        return text
    try:
        return _text(text, type_)
    except (ValueError, ArithmeticError):
        return text


def texts_of(values: pa.Array, type_: str) -> list[str | None]:
    """The text of each value."""
    import pyarrow as pa

    if parse_type(type_).name in _TIMES:
        values = values.cast(pa.int64())
    elif type_ == "date":
        values = values.cast(pa.int32())
    return [None if one is None else _said(one, type_) for one in values.to_pylist()]


@lru_cache(maxsize=1 << 16)
def scalar_of(text: str | None, type_: str) -> pa.Scalar:
    """The value that a folder's name stands for. NotAValue if it is none of the type."""
    import pyarrow as pa

    wanted = to_arrow_type(type_)
    if text is None or type_ == "string":
        return pa.scalar(text, wanted)
    try:
        value = _value(text, type_)
        if parse_type(type_).name in _TIMES:
            return pa.scalar(value, pa.int64()).cast(wanted)
        if type_ == "date":
            return pa.scalar(value, pa.int32()).cast(wanted)
        return pa.scalar(value, wanted)
    except (pa.ArrowException, ValueError, ArithmeticError):
        raise NotAValue(
            f"A folder's name has {shown(text)}, which is no {type_}.",
            hint="Move its files to another folder, or record the column as string: "
            "trunkline table set.",
        ) from None


@lru_cache(maxsize=1 << 16)
def _text(text: str, type_: str) -> str:
    return _said(_value(text, type_), type_)


def _value(text: str, type_: str) -> object:
    """As Python has it; days and microseconds are counted from 1970."""
    kind = parse_type(type_)
    if kind.name in _INTEGERS or kind.name in ("float", "double"):
        if "_" in text:
            raise ValueError(f"{text} is no number")
        return int(text) if kind.name in _INTEGERS else float(text)
    if kind.name == "boolean":
        if text.casefold() not in ("true", "false"):
            raise ValueError(f"{text} is no boolean")
        return text.casefold() == "true"
    if kind.name == "decimal":
        return _decimal(text, kind.scale)
    if kind.name == "date":
        return _days(text)
    if kind.name in _TIMES:
        return _micros(text)
    if kind.name == "binary":
        return text.encode()
    raise ValueError(f"{text} is no {type_}")


def _said(value: object, type_: str) -> str:
    kind = parse_type(type_)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, float):
        return _java(value, kind.name)
    if isinstance(value, int) and kind.name == "date":
        return _day_text(value)
    if isinstance(value, int) and kind.name in _TIMES:
        days, micros = divmod(value, 86_400_000_000)
        seconds, micros = divmod(micros, 1_000_000)
        clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        part = f".{micros:06}".rstrip("0") if micros else ""
        return f"{_day_text(days)} {clock}{part}"
    return str(value)


def _decimal(text: str, scale: int) -> Decimal:
    with localcontext(prec=80):
        try:
            value = Decimal(text)
            exact = value.quantize(Decimal(1).scaleb(-scale))
        except InvalidOperation:
            raise ValueError(f"{text} is no number") from None
    if exact != value:
        raise ValueError(f"{text} has too many digits")
    return exact


def _java(value: float, kind: str) -> str:
    """A double as Java writes it, with as many digits as tell it from its neighbours."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if kind == "float":
        import numpy

        written = numpy.format_float_scientific(numpy.float32(value), unique=True, trim="-")
    else:
        written = repr(value)
    sign, digits, exponent = Decimal(written).as_tuple()
    if not any(digits):
        return "-0.0" if sign else "0.0"
    text = "".join(map(str, digits)).rstrip("0")
    place = len(digits) + int(exponent)  # how many digits stand before the point
    minus = "-" if sign else ""
    if -3 < place <= 7:
        if place <= 0:
            return f"{minus}0.{'0' * -place}{text}"
        return f"{minus}{text[:place].ljust(place, '0')}.{text[place:] or '0'}"
    return f"{minus}{text[0]}.{text[1:] or '0'}E{place - 1}"


def _days(text: str) -> int:
    found = _day(text)
    if found is None:
        raise ValueError(f"{text} is no date")
    sign, year, month, day = found[1], int(found[2]), int(found[3]), int(found[4])
    if sign == "-":
        year = -year
    # The calendar repeats itself every 400 years; Python knows the years from 1 to 9999.
    eras, inside = divmod(year - 2000, 400)
    return (date(2000 + inside, month, day) - date(1970, 1, 1)).days + eras * _ERA


def _day_text(days: int) -> str:
    eras, inside = divmod(days - (date(2000, 1, 1) - date(1970, 1, 1)).days, _ERA)
    found = date.fromordinal(date(2000, 1, 1).toordinal() + inside)
    year = found.year + 400 * eras
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04}-{found.month:02}-{found.day:02}"


def _micros(text: str) -> int:
    found = _moment(text)
    if found is None:
        raise ValueError(f"{text} is no moment")
    hours, minutes, seconds = (int(one or 0) for one in found.group(2, 3, 4))
    if hours > 23 or minutes > 59 or seconds > 59:
        raise ValueError(f"{text} is no moment")
    since = (hours * 60 + minutes) * 60 + seconds
    return (_days(found[1]) * 86_400 + since) * 1_000_000 + int((found[5] or "").ljust(6, "0"))
