"""The least and greatest value of each column of a file, as its entry has them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from trunkline.model.entries import IN_FOLDERS
from trunkline.model.tables import Schema
from trunkline.tables.pathvalues import scalar_of
from trunkline.tables.types import from_arrow_type
from trunkline.tables.values import MOMENTS, ORDERED, write_bounds

if TYPE_CHECKING:
    import pyarrow as pa

MOST_COLUMNS = 64


class Bounds:
    """Gathered from row group to row group. A column is left out once one is not known."""

    def __init__(self, schema: pa.Schema) -> None:
        kinds = [(field.name, from_arrow_type(field.type).name) for field in schema]
        ordered = [(name, kind) for name, kind in kinds if kind in ORDERED]
        self._columns = {name: _Column(kind) for name, kind in ordered[:MOST_COLUMNS]}

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
    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.least: Any = None
        self.greatest: Any = None
        self.nulls = 0
        self.known = True

    def add(self, values: pa.ChunkedArray) -> None:
        self.nulls += values.null_count
        if not self.known or values.null_count == len(values):
            return
        found = _bounds(values, self.kind)
        if found is None:
            self.known = False
        elif self.least is None:
            self.least, self.greatest = found
        else:
            self.least, self.greatest = min(self.least, found[0]), max(self.greatest, found[1])

    def encode(self) -> str:
        if not self.known:
            return write_bounds(self.kind, None, None, self.nulls)
        return write_bounds(self.kind, self.least, self.greatest, self.nulls)


def _bounds(values: pa.ChunkedArray, kind: str) -> tuple[Any, Any] | None:
    import pyarrow as pa
    from pyarrow import compute

    if kind in ("float", "double") and compute.any(compute.is_nan(values)).as_py():
        return None  # the greatest of all, for which there is no number in JSON
    if kind in MOMENTS:
        values = values.cast(pa.int64())
    elif kind == "date":
        values = values.cast(pa.int32())
    found = compute.min_max(values)
    try:
        return found["min"].as_py(), found["max"].as_py()
    except UnicodeDecodeError:
        return None
