"""The least and greatest value of each column of a file, as its entry has them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date, timedelta
from decimal import Decimal
from math import isfinite
from typing import TYPE_CHECKING, Any

from trunkline.model.tables import Schema
from trunkline.tables.pathcolumns import IN_FOLDERS
from trunkline.tables.pathvalues import scalar_of

if TYPE_CHECKING:
    import pyarrow as pa

MOST_COLUMNS = 64
LONGEST_TEXT = 64

_EPOCH = date(1970, 1, 1)
_LAST_DAY = (date.max - _EPOCH).days
_FIRST_DAY = (date.min - _EPOCH).days


class Bounds:
    """Gathered from row group to row group. A column is left out once one is not known."""

    def __init__(self, schema: pa.Schema) -> None:
        fields = [field for field in schema if _is_ordered(field.type)]
        self._columns: dict[str, _Column] = {
            field.name: _Column() for field in fields[:MOST_COLUMNS]
        }

    def add(self, table: pa.Table) -> None:
        for name, column in self._columns.items():
            column.add(table.column(name))

    def encode(self) -> str:
        shown = [f"{json.dumps(name, ensure_ascii=False)}:{column.encode()}"
                 for name, column in self._columns.items()]  # fmt: skip
        return "{" + ",".join(shown) + "}" if shown else ""


def with_folder(stats: str, columns: Schema, values: Sequence[str | None], rows: int) -> str:
    """Statistics of a file with those of its folders: one value each, for all of its rows."""
    import pyarrow as pa

    parts = [IN_FOLDERS]
    for text, one in zip(values, columns, strict=True):
        if text is None:
            parts.append(f"{json.dumps(one.name, ensure_ascii=False)}:[null,null,{rows}]")
            continue
        given = pa.table({one.name: pa.repeat(scalar_of(text, one.type), 1)})
        bounds = Bounds(given.schema)
        bounds.add(given)
        parts.append(bounds.encode()[1:-1])
    return "{" + ",".join(filter(None, [*parts, stats[1:-1]])) + "}"


class _Column:
    def __init__(self) -> None:
        self.least: Any = None
        self.greatest: Any = None
        self.nulls = 0
        self.known = True

    def add(self, values: pa.ChunkedArray) -> None:
        self.nulls += values.null_count
        if not self.known or values.null_count == len(values):
            return
        found = _bounds(values)
        if found is None:
            self.known = False
        elif self.least is None:
            self.least, self.greatest = found
        else:
            self.least, self.greatest = min(self.least, found[0]), max(self.greatest, found[1])

    def encode(self) -> str:
        least, greatest = _text(self.least), _text(self.greatest)
        if not self.known or least is None or greatest is None:
            least = greatest = "null"
        return f"[{least},{greatest},{self.nulls}]"


def _is_ordered(kind: pa.DataType) -> bool:
    from pyarrow import types

    return bool(
        types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
        or types.is_boolean(kind) or types.is_date(kind) or types.is_timestamp(kind)
        or types.is_string(kind) or types.is_large_string(kind)
    )  # fmt: skip


def _bounds(values: pa.ChunkedArray) -> tuple[Any, Any] | None:
    import pyarrow as pa
    from pyarrow import compute, types

    kind = values.type
    if types.is_floating(kind) and compute.any(compute.is_nan(values)).as_py():
        return None  # Spark sorts it after everything, others nowhere
    if types.is_timestamp(kind):
        values = values.cast(pa.int64())
    elif types.is_date(kind):
        values = values.cast(pa.int32())
    found = compute.min_max(values)
    least, greatest = found["min"].as_py(), found["max"].as_py()
    if types.is_date(kind):
        if least < _FIRST_DAY or greatest > _LAST_DAY:
            return None
        return _EPOCH + timedelta(least), _EPOCH + timedelta(greatest)
    return least, greatest


def _text(value: object) -> str | None:
    """As JSON, or None where it would be too long or is no number there."""
    if value is None or (isinstance(value, float) and not isfinite(value)):
        return None
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, date):
        return f'"{value.isoformat()}"'
    if isinstance(value, str) and len(value) > LONGEST_TEXT:
        return None
    return json.dumps(value, ensure_ascii=False)
