"""Types with their edge values, and those values in Arrow and as SQL.

A day is the number of days since 1970, a time that of microseconds: so years that Python's own
dates do not have are values like others. A struct is a tuple, an array a list, a map a list of
pairs.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal
from random import Random
from typing import Any

import pyarrow as pa

Value = Any
LONG_TEXT = "x" * 70  # longer than bounds are kept
DAY = 86_400_000_000
EPOCH = date(1970, 1, 1)
FIRST_DAY, LAST_DAY = (date.min - EPOCH).days, (date.max - EPOCH).days


@dataclass(frozen=True, repr=False)
class Kind:
    """A type. `parts` are a struct's fields, an array's element, or a map's key and value."""

    name: str
    precision: int = 0
    scale: int = 0
    parts: tuple[tuple[str, Kind], ...] = ()
    edges: tuple[Value, ...] = field(default=(), compare=False, repr=False)

    @property
    def is_nested(self) -> bool:
        return bool(self.parts)

    @property
    def ddl(self) -> str:
        """As Spark's SQL has it."""
        inner = [kind.ddl for _, kind in self.parts]
        match self.name:
            case "decimal":
                return f"decimal({self.precision},{self.scale})"
            case "struct":
                names = ["`" + name.replace("`", "``") + "`" for name, _ in self.parts]
                return f"struct<{','.join(map(':'.join, zip(names, inner, strict=True)))}>"
            case "array" | "map":
                return f"{self.name}<{','.join(inner)}>"
        return self.name

    @property
    def arrow(self) -> pa.DataType:
        match self.name:
            case "decimal":
                return pa.decimal128(self.precision, self.scale)
            case "struct":
                return pa.struct([(name, kind.arrow) for name, kind in self.parts])
            case "array":
                return pa.list_(self.parts[0][1].arrow)
            case "map":
                return pa.map_(self.parts[0][1].arrow, self.parts[1][1].arrow)
        return _ARROW[self.name]

    def __str__(self) -> str:
        return self.ddl

    def __repr__(self) -> str:
        numbers = f", {self.precision}, {self.scale}" if self.precision else ""
        parts = f", parts={self.parts!r}" if self.parts else ""
        return f"Kind({self.name!r}{numbers}{parts})"


_ARROW = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}


def days(text: str) -> int:
    return (date.fromisoformat(text) - EPOCH).days


def micros(text: str) -> int:
    return (datetime.fromisoformat(text) - datetime(1970, 1, 1)) // timedelta(microseconds=1)


def _within(values: tuple[float, ...]) -> list[float]:
    """Those that a float of 32 bits can hold at all."""
    return [one for one in values if not math.isfinite(one) or abs(one) < 3.4e38]


def single(value: float) -> float:
    """As a float of 32 bits has it."""
    if not math.isfinite(value):
        return value
    return float(struct.unpack("f", struct.pack("f", value))[0])


_DOUBLES = (
    0.1, 0.3, 0.1 + 0.2, -0.0, 0.0, 1.0, -1.5, math.nan, math.inf, -math.inf, 2.0**53, 2.0**53 + 2,
    123456789012345.0, 123456789012346.0, 5e-324, -5e-324, 2.2250738585072014e-308, 1e308,
    -1.7976931348623157e308, math.nextafter(0.1, 1), math.nextafter(1, 2), 1e22, 1e23, 16777217.0,
)  # fmt: skip
_TEXTS = (
    "", " ", "a", "a ", "a  b", "A", "ä", "a\u0308", "z", "\uffff", "\U00010000", "\U0001f600",
    "\ud7ff", "\ue000", "null", "NULL", "NaN", "\\N", "'", '"', "it's", 'say "x"', "a\nb", "a\r\nb",
    "a\tb", "a,b", "\0", "a\0b", "%", "a%", "a_b", "\\", "1", "01", "1.0", "true", "2026-01-01",
    LONG_TEXT, LONG_TEXT + "a", LONG_TEXT + "z", "x" * 63 + "\U00010000", "x" * 31 + "é" * 20,
    "ß", "SS", "\x7f", "__HIVE_DEFAULT_PARTITION__", "a=b", "a/b", "..", "-", "é" * 40,
)  # fmt: skip
_DAYS = tuple(
    days(text)
    for text in (
        "0001-01-01", "0001-01-02", "1582-10-04", "1582-10-05", "1582-10-15", "1600-02-29",
        "1899-12-31", "1969-12-31", "1970-01-01", "1970-01-02", "2000-02-29", "2026-01-01",
        "9999-12-30", "9999-12-31",
    )
)  # fmt: skip
_TIMES = tuple(
    micros(text)
    for text in (
        "0001-01-01", "0001-01-01 00:00:00.000001", "1582-10-04 23:59:59.999999", "1582-10-15",
        "1677-09-21 00:12:43.145224", "1677-09-21 00:12:43.145225", "1883-11-18 12:03:57",
        "1969-12-31 23:59:59.999999", "1969-12-31 23:59:59.000001", "1970-01-01", "1970-01-02",
        "1970-01-01 00:00:00.000001",
        "2026-01-01", "2026-01-01 00:00:00.001", "2026-01-01 00:00:00.000999",
        "2026-03-29 02:30:00", "2026-10-25 02:30:00", "2262-04-11 23:47:16.854775",
        "2262-04-11 23:47:16.854776", "9999-12-31", "9999-12-31 23:59:59.999999",
    )
)  # fmt: skip


def _integer(bits: int) -> tuple[int, ...]:
    top = 2 ** (bits - 1)
    return (0, 1, -1, 2, 10, 100, top - 1, top - 2, -top, 1 - top) + (
        (2**53, 2**53 + 1, 2**53 - 1, -(2**53) - 1, 10**16 + 1) if bits == 64 else ()
    )


def unscaled(number: int, scale: int) -> Decimal:
    """A decimal from its digits: exact, whatever the precision of Python's arithmetic."""
    digits = tuple(map(int, str(abs(number)).rjust(scale + 1, "0")))
    return Decimal((number < 0, digits, -scale))


def decimal(precision: int, scale: int) -> Kind:
    top, one = 10**precision - 1, 10**scale
    numbers = [0, 1, -1, top, -top, top - 1, one // 2, 15 * one // 10]
    if precision >= 20:
        numbers += [1234567890123456789 * one // 100, 1234567890123456788 * one // 100]
        numbers += [(2**53 + 1) * one, 10**17 * one + 1]
    fits = [number for number in numbers if abs(number) <= top]
    return Kind("decimal", precision, scale, edges=tuple(unscaled(n, scale) for n in fits))


DOUBLE = Kind("double", edges=_DOUBLES)
FLOAT = Kind("float", edges=tuple(dict.fromkeys(map(single, _within(_DOUBLES)))))
TEXT = Kind("string", edges=_TEXTS)
BIGINT = Kind("bigint", edges=_integer(64))
DATE = Kind("date", edges=_DAYS)
TIMESTAMP = Kind("timestamp", edges=_TIMES)
SCALARS = (
    Kind("boolean", edges=(True, False)),
    Kind("tinyint", edges=_integer(8)),
    Kind("smallint", edges=_integer(16)),
    Kind("int", edges=_integer(32)),
    BIGINT,
    FLOAT,
    DOUBLE,
    decimal(8, 2),
    decimal(18, 6),
    decimal(20, 2),
    decimal(38, 18),
    decimal(38, 0),
    TEXT,
    Kind(
        "binary",
        edges=(b"", b"\0", b"a", b"\xff", b"\xff\xfe", b"\x80", b"x" * 70, b"x" * 69 + b"y"),
    ),
    DATE,
    TIMESTAMP,
    Kind("timestamp_ntz", edges=_TIMES),
)
FIELD_NAMES = (
    "a",
    "b",
    "user-id",
    "first name",
    "2024",
    "größe",
    "Name",
    "x.y",
    "select",
    "at",
    "名",
)


def struct_of(*parts: tuple[str, Kind]) -> Kind:
    return Kind("struct", parts=parts)


def array_of(element: Kind) -> Kind:
    return Kind("array", parts=(("", element),))


def map_of(key: Kind, value: Kind) -> Kind:
    return Kind("map", parts=(("", key), ("", value)))


def any_kind(chance: Random, depth: int = 3) -> Kind:
    """A type, one in three nested, at most `depth` deep."""
    if depth == 0 or chance.random() < 0.67:
        return chance.choice(SCALARS)
    match chance.choice(("struct", "struct", "array", "map")):
        case "struct":
            names = chance.sample(FIELD_NAMES, chance.randint(1, 3))
            return struct_of(*((name, any_kind(chance, depth - 1)) for name in names))
        case "array":
            return array_of(any_kind(chance, depth - 1))
    return map_of(chance.choice((TEXT, BIGINT, DATE)), any_kind(chance, depth - 1))


def any_value(chance: Random, kind: Kind, nulls: float = 0.15) -> Value:
    """An edge value, something near one, or null."""
    if chance.random() < nulls:
        return None
    inner = [part for _, part in kind.parts]
    match kind.name:
        case "struct":
            return tuple(any_value(chance, part, nulls) for part in inner)
        case "array":
            return [any_value(chance, inner[0], nulls) for _ in range(chance.choice((0, 1, 2, 3)))]
        case "map":
            keys = {any_value(chance, inner[0], 0) for _ in range(chance.choice((0, 1, 2)))}
            return [(key, any_value(chance, inner[1], nulls)) for key in sorted(keys)]
    value = chance.choice(kind.edges)
    return near(chance, kind, value) if chance.random() < 0.3 else value


def near(chance: Random, kind: Kind, value: Value) -> Value:
    """The next value of its type in one direction: what a rounding or a cut bound would miss."""
    up = chance.random() < 0.5
    step = 1 if up else -1
    match kind.name:
        case "boolean":
            return not value
        case "tinyint" | "smallint" | "int" | "bigint":
            top = 2 ** (kind.arrow.bit_width - 1)
            return min(max(value + step, -top), top - 1)
        case "double":
            return math.nextafter(value, math.inf if up else -math.inf)
        case "float":
            return _next_single(value, up)
        case "decimal":
            top = 10**kind.precision - 1
            number = int(value.scaleb(kind.scale, _WIDE)) + step
            return unscaled(min(max(number, -top), top), kind.scale)
        case "string":
            return value + chance.choice((" ", "a", "\U00010000", "\0")) if up else value[:-1]
        case "binary":
            return value + bytes([chance.choice((0, 97, 255))]) if up else value[:-1]
        case "date":
            return min(max(value + step, FIRST_DAY), LAST_DAY)
        case "timestamp" | "timestamp_ntz":
            return min(max(value + step, FIRST_DAY * DAY), (LAST_DAY + 1) * DAY - 1)
    raise ValueError(kind)


# -- in Arrow --------------------------------------------------------------------------------------


def to_arrow(kind: Kind, values: list[Value]) -> pa.Array:
    if kind.name == "struct":
        columns = [
            to_arrow(part, [None if one is None else one[place] for one in values])
            for place, (_, part) in enumerate(kind.parts)
        ]
        mask = pa.array([one is None for one in values], pa.bool_())
        return pa.StructArray.from_arrays(columns, fields=list(kind.arrow), mask=mask)
    if kind.name in ("array", "map"):
        offsets: list[int | None] = []
        flat: list[Value] = []
        for one in values:
            offsets.append(len(flat) if one is not None else None)
            flat += one or []
        places = pa.array([*offsets, len(flat)], pa.int32())
        if kind.name == "array":
            return pa.ListArray.from_arrays(places, to_arrow(kind.parts[0][1], flat), kind.arrow)
        keys, items = (to_arrow(kind.parts[n][1], [one[n] for one in flat]) for n in (0, 1))
        return pa.MapArray.from_arrays(places, keys, items, kind.arrow)
    if stored := _STORED.get(kind.name):
        return pa.array(values, stored).cast(kind.arrow)
    return pa.array(values, kind.arrow)


def from_arrow(kind: Kind, array: Any) -> list[Value]:
    """What an engine gave for a column of this kind, whatever spelling of the type it chose."""
    if isinstance(array, pa.ChunkedArray):
        return [value for chunk in array.chunks for value in from_arrow(kind, chunk)]
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if isinstance(array, pa.DictionaryArray):
        array = array.dictionary_decode()
    given = array.is_valid().to_pylist()
    if kind.name == "struct":
        names = [one.name for one in array.type]
        columns = [from_arrow(part, array.field(names.index(name))) for name, part in kind.parts]
        assert len(columns) == len(names), f"{array.type} for {kind}"
        rows = zip(*columns, strict=True) if columns else [()] * len(array)
        return [row if there else None for row, there in zip(rows, given, strict=True)]
    if kind.name == "array":
        flat = from_arrow(kind.parts[0][1], array.values)
        spans = zip(array.offsets.to_pylist(), array.offsets.to_pylist()[1:], strict=False)
        return [flat[a:b] if there else None for (a, b), there in zip(spans, given, strict=True)]
    if kind.name == "map":
        if not isinstance(array, pa.MapArray):  # a list of structs, as polars has it
            entries = array.values
            keys, items = entries.field(0), entries.field(1)
        else:
            keys, items = array.keys, array.items
        pairs = list(
            zip(
                from_arrow(kind.parts[0][1], keys), from_arrow(kind.parts[1][1], items), strict=True
            )
        )
        spans = zip(array.offsets.to_pylist(), array.offsets.to_pylist()[1:], strict=False)
        return [pairs[a:b] if there else None for (a, b), there in zip(spans, given, strict=True)]
    if stored := _STORED.get(kind.name):
        return list(array.cast(kind.arrow).cast(stored).to_pylist())
    return list(array.cast(kind.arrow).to_pylist())


_STORED = {"date": pa.int32(), "timestamp": pa.int64(), "timestamp_ntz": pa.int64()}


def exact(kind: Kind, value: Value) -> Value:
    """What equal cells have in common and no others: the bits of floats, the digits of decimals."""
    if value is None:
        return None
    inner = [part for _, part in kind.parts]
    match kind.name:
        case "float" | "double":
            return "NaN" if math.isnan(value) else float(value).hex()
        case "struct":
            return tuple(exact(part, one) for part, one in zip(inner, value, strict=True))
        case "array":
            return ("array", *(exact(inner[0], one) for one in value))
        case "map":
            pairs = [(exact(inner[0], key), exact(inner[1], one)) for key, one in value]
            return ("map", *sorted(pairs, key=repr))
        case "string":
            return value.encode()
        case "boolean":
            return bool(value)
    return value


def order(kind: Kind, value: Value) -> Any:
    """What values of a scalar type are compared by: NaN is the greatest, texts go by bytes."""
    if kind.name in ("float", "double"):
        return (1, 0.0) if math.isnan(value) else (0, value)
    return value.encode() if kind.name == "string" else value


# -- as SQL ----------------------------------------------------------------------------------------


def spark_literal(kind: Kind, value: Value) -> str:
    match kind.name:
        case "boolean":
            return str(value).upper()
        case "string":
            return f"CAST(X'{value.encode().hex()}' AS STRING)"
        case "binary":
            return f"X'{value.hex()}'"
        case "date":
            return f"DATE '{shown_day(value)}'"
        case "timestamp":
            return f"TIMESTAMP '{shown_time(value)}Z'"
        case "timestamp_ntz":
            return f"TIMESTAMP_NTZ '{shown_time(value)}'"
    return f"CAST('{number_text(value)}' AS {kind.ddl})"


def duckdb_literal(kind: Kind, value: Value, plain: bool = False) -> str:
    """`plain` as people write it, where that says the same."""
    match kind.name:
        case "boolean":
            return str(value).upper()
        case "string":
            if "\0" in value:
                return f"decode(unhex('{value.encode().hex()}'))"
            text = str(value).replace("'", "''")
            return f"'{text}'"
        case "binary":
            return f"unhex('{value.hex()}')"
        case "date":
            return f"DATE '{shown_day(value)}'"
        case "timestamp":
            return f"TIMESTAMPTZ '{shown_time(value)}+00'"
        case "timestamp_ntz":
            return f"TIMESTAMP '{shown_time(value)}'"
        case "tinyint" | "smallint" | "int" | "bigint" if plain:
            return str(value)
        case "decimal" if plain:
            return number_text(value)
        case "double" if plain and math.isfinite(value):
            return f"{value!r}" if "e" in repr(value) else f"{value!r}e0"
    wide = {"float": "REAL", "string": "VARCHAR"}.get(kind.name, kind.ddl)
    return f"CAST('{number_text(value)}' AS {wide})"


def number_text(value: Value) -> str:
    if isinstance(value, float):
        return repr(value)
    return format(value, "f") if isinstance(value, Decimal) else str(value)


def shown_day(value: int) -> str:
    return (EPOCH + timedelta(days=value)).isoformat()


def shown_time(value: int) -> str:
    found = datetime(1970, 1, 1) + timedelta(microseconds=value)
    return found.isoformat(" ", "microseconds")


def to_python(kind: Kind, value: Value) -> Any:
    """As people pass it to Python: dates and datetimes."""
    if value is None or kind.is_nested:
        return value
    match kind.name:
        case "date":
            return EPOCH + timedelta(days=value)
        case "timestamp":
            return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=value)
        case "timestamp_ntz":
            return datetime(1970, 1, 1) + timedelta(microseconds=value)
    return value


_WIDE = Context(prec=60)


def _next_single(value: float, up: bool) -> float:
    import numpy as np

    return float(np.nextafter(np.float32(value), np.float32(math.inf if up else -math.inf)))
