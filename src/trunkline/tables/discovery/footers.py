"""What Parquet and ORC files say of themselves: columns, rows, and the bounds of columns."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import isfinite
from typing import TYPE_CHECKING, Any

from trunkline.lake.core import Core
from trunkline.model.entries import Entry
from trunkline.model.tables import Column, Format, Schema
from trunkline.tables.discovery.facts import Fact, Shape
from trunkline.tables.reading.opening import (
    arrow_source,
    kind_of,
    open_parquet,
    parquet_schema,
    unreadable,
)
from trunkline.tables.types import from_arrow, unsupported
from trunkline.tables.unite import refuse_twins

if TYPE_CHECKING:
    import pyarrow as pa

LONGEST_TEXT = 64
MOST_BOUNDS = 200
"""Of wider tables only so many columns have bounds: each costs time in every plan."""

NANOSECONDS = "nanoseconds"
_THREADS = 8
_annotated = re.compile(r".* field_id=-?\d+ (.*) \((Variant|Geometry|Geography)\b").match


def examine(core: Core, entries: Sequence[Entry], format_: Format, where: str) -> list[Fact]:
    """A fact for each file, in order. An error names the file that cannot be read."""
    read = _parquet if format_ is Format.PARQUET else _orc
    known: dict[object, Shape] = {}

    def one(entry: Entry) -> Fact:
        try:
            return read(core, entry, known)
        except Exception as error:
            raise unreadable(core, entry, where, kind_of(format_), error) from error

    if len(entries) < 4:
        return [one(entry) for entry in entries]
    with ThreadPoolExecutor(_THREADS) as pool:
        return list(pool.map(one, entries))


def _parquet(core: Core, entry: Entry, known: dict[object, Shape]) -> Fact:
    with open_parquet(arrow_source(core, entry)) as file:
        metadata, schema = file.metadata, parquet_schema(file)
    if "binary" in str(schema):
        _refuse_annotated(metadata.schema, entry.path)
    shape = known.get(schema)
    if shape is None:
        found = from_arrow(schema, entry.path)
        shape = known[schema] = _shape(list(found), entry, _nanoseconds(schema))
    return Fact(shape, metadata.num_rows, bounds(metadata, schema))


def _refuse_annotated(schema: Any, where: str) -> None:
    """Arrow shows these as what they are stored as, other readers as what they are."""
    for line in str(schema).splitlines():
        if found := _annotated(line):
            raise unsupported(found[1], found[2].lower(), where)


def _orc(core: Core, entry: Entry, known: dict[object, Shape]) -> Fact:
    from pyarrow import orc

    file = orc.ORCFile(arrow_source(core, entry))
    schema: pa.Schema = file.schema.remove_metadata()
    shape = known.get(schema)
    if shape is None:
        found = from_arrow(schema, entry.path)
        # As Spark has it: it writes moments as ORC's timestamp, which has no zone.
        columns = [Column(c.name, c.type.replace("timestamp_ntz", "timestamp")) for c in found]
        shape = known[schema] = _shape(columns, entry)
    return Fact(shape, file.nrows)


def _shape(columns: list[Column], entry: Entry, options: tuple[tuple[str, str], ...] = ()) -> Shape:
    schema = Schema(tuple(columns))
    refuse_twins(schema.names, entry.path)
    return Shape(schema, options)


def _nanoseconds(schema: pa.Schema) -> tuple[tuple[str, str], ...]:
    """Where there are values that Spark takes for whole numbers only, as pandas writes them."""
    paths = [
        (field.name.casefold(), *path) for field in schema for path in _with_nanoseconds(field.type)
    ]
    return ((NANOSECONDS, json.dumps(paths)),) if paths else ()


def _with_nanoseconds(type_: pa.DataType) -> Iterator[tuple[str, ...]]:
    """The ways to them inside a value: names of fields, `key` and `value` of maps, `` of arrays."""
    import pyarrow.types as kinds

    if kinds.is_timestamp(type_) and type_.unit == "ns":
        yield ()
    elif kinds.is_struct(type_):
        for field in type_:
            yield from ((field.name.casefold(), *path) for path in _with_nanoseconds(field.type))
    elif kinds.is_map(type_):
        for name, inner in (("key", type_.key_type), ("value", type_.item_type)):
            yield from ((name, *path) for path in _with_nanoseconds(inner))
    elif kinds.is_nested(type_):
        yield from (("", *path) for path in _with_nanoseconds(type_.value_type))


def bounds(metadata: Any, schema: pa.Schema) -> str:
    """The statistics of an entry from a Parquet footer: {"column":[least,greatest,nulls]}."""
    import pyarrow.types as kinds

    parts = []
    for index in range(min(metadata.num_columns, MOST_BOUNDS)):
        leaf = metadata.schema.column(index)
        place = schema.get_field_index(leaf.path)
        if place < 0 or leaf.max_repetition_level or kinds.is_nested(schema.field(place).type):
            continue
        type_ = schema.field(place).type
        found = [
            metadata.row_group(group).column(index).statistics
            for group in range(metadata.num_row_groups)
        ]
        if not found or any(one is None or not one.has_null_count for one in found):
            continue
        nulls = sum(one.null_count for one in found)
        least, greatest = _range(found, type_)
        parts.append(f"{json.dumps(leaf.path, ensure_ascii=False)}:[{least},{greatest},{nulls}]")
    return "{" + ",".join(parts) + "}" if parts else ""


def _range(found: Sequence[Any], type_: pa.DataType) -> tuple[str, str]:
    """The bounds over all row groups, as JSON; null if one of them is unknown."""
    import pyarrow.types as kinds

    valued = [one for one in found if one.has_min_max]
    if len(valued) < sum(one.num_values > 0 for one in found) or not valued:
        return "null", "null"
    try:
        if kinds.is_timestamp(type_):
            least, greatest = (
                min(one.min_raw for one in valued),
                max(one.max_raw for one in valued),
            )
            return _micros(least, type_.unit, 0), _micros(greatest, type_.unit, 1)
        least, greatest = min(one.min for one in valued), max(one.max for one in valued)
    except (OverflowError, ValueError, TypeError):
        return "null", "null"
    if kinds.is_string(type_) or kinds.is_large_string(type_):
        # A beginning is less than the whole, so it only does as the lower bound.
        high = json.dumps(greatest, ensure_ascii=False) if len(greatest) <= LONGEST_TEXT else "null"
        return json.dumps(least[:LONGEST_TEXT], ensure_ascii=False), high
    if kinds.is_floating(type_):
        # Writers leave NaN out of the bounds, but to Spark it is the greatest of all numbers.
        return (repr(float(least)) if isfinite(least) else "null"), "null"
    if kinds.is_integer(type_):
        return str(int(least)), str(int(greatest))
    if kinds.is_decimal(type_):
        return format(least, "f"), format(greatest, "f")
    if kinds.is_date(type_):
        return f'"{least.isoformat()}"', f'"{greatest.isoformat()}"'
    return "null", "null"


def _micros(value: int, unit: str, up: int) -> str:
    if unit == "ns":
        return str(-(-value // 1000) if up else value // 1000)
    return str(value * {"us": 1, "ms": 1000, "s": 1_000_000}[unit])
