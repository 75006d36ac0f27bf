"""What Parquet and ORC files say of themselves: columns, rows, and the bounds of columns."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from trunkline.lake.core import Core
from trunkline.model.entries import Entry
from trunkline.model.tables import Column, Format, Schema
from trunkline.tables.discovery.calendars import refuse_old_days
from trunkline.tables.discovery.facts import Fact, Shape
from trunkline.tables.reading.opening import (
    arrow_source,
    kind_of,
    open_parquet,
    parquet_schema,
    unreadable,
)
from trunkline.tables.types import from_arrow, from_arrow_type, unsupported
from trunkline.tables.unite import refuse_twins
from trunkline.tables.values import MOMENTS, ORDERED, write_bounds

if TYPE_CHECKING:
    import pyarrow as pa

MOST_BOUNDS = 200
"""Of wider tables only so many columns have bounds: each costs time in every plan."""

NANOSECONDS = "nanoseconds"
INT96 = "int96"
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
        refuse_old_days(file, entry.path)
    shown = str(schema)
    if "binary" in shown:
        _refuse_annotated(metadata.schema, entry.path)
    options = (*_nanoseconds(schema), *_int96(metadata.schema)) if "timestamp" in shown else ()
    shape = known.get((schema, options))
    if shape is None:
        found = from_arrow(schema, entry.path)
        shape = known[schema, options] = _shape(list(found), entry, options)
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


def _int96(schema: Any) -> tuple[tuple[str, str], ...]:
    """Whether there are moments as 96 bits, which not every reader has."""
    leaves = (schema.column(index) for index in range(len(schema)))
    return ((INT96, "true"),) if any(one.physical_type == "INT96" for one in leaves) else ()


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
    parts = []
    for index in range(min(metadata.num_columns, MOST_BOUNDS)):
        leaf = metadata.schema.column(index)
        # The field `b` of the struct `a` has the path of a column `a.b`, but no name of its own.
        place = schema.get_field_index(leaf.path) if leaf.name == leaf.path else -1
        if place < 0 or leaf.max_repetition_level:
            continue
        try:
            kind = from_arrow_type(schema.field(place).type).name
        except ValueError:
            continue
        found = [
            metadata.row_group(group).column(index).statistics
            for group in range(metadata.num_row_groups)
        ]
        if not found or any(one is None or not one.has_null_count for one in found):
            continue
        nulls = sum(one.null_count for one in found)
        least, greatest = None, None
        if kind in ORDERED:
            least, greatest = _range(found, kind, leaf)
        shown = write_bounds(kind, least, greatest, nulls)
        parts.append(f"{json.dumps(leaf.path, ensure_ascii=False)}:{shown}")
    return "{" + ",".join(parts) + "}" if parts else ""


def _range(found: Sequence[Any], kind: str, leaf: Any) -> tuple[Any, Any]:
    """The bounds over all row groups; None if one of them is unknown."""
    valued = [one for one in found if one.has_min_max]
    if len(valued) < sum(one.num_values > 0 for one in found) or not valued:
        return None, None
    if leaf.physical_type == "INT96":
        return None, None
    raw = kind in ("date", *MOMENTS)
    try:
        least = min(one.min_raw if raw else one.min for one in valued)
        greatest = max(one.max_raw if raw else one.max for one in valued)
    except (OverflowError, ValueError, TypeError):
        return None, None
    if isinstance(least, bytes) or isinstance(greatest, bytes):
        return None, None  # half floats
    if kind in ("float", "double"):
        # Writers leave NaN out of the bounds, but it is the greatest of all numbers.
        return float(least), None
    if kind in MOMENTS:
        unit = json.loads(leaf.logical_type.to_json())["timeUnit"]
        return _micros(least, unit, 0), _micros(greatest, unit, 1)
    return least, greatest


def _micros(value: int, unit: str, up: int) -> int:
    if unit == "nanoseconds":
        return -(-value // 1000) if up else value // 1000
    return value * {"microseconds": 1, "milliseconds": 1000}[unit]
