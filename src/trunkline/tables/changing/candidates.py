"""Files that may hold a key of a source, told by the bounds of their key columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trunkline.model.entries import Entry
from trunkline.model.tables import Column, Schema
from trunkline.model.types import INTEGERS, parse_type
from trunkline.tables.changing.pruning import BOUNDS, bounds_table
from trunkline.tables.reading.duck import quoted
from trunkline.tables.values import MOMENTS

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# Of floats -0.0 and 0.0 are equal, but sorted one after the other.
_SORTED = (*INTEGERS, "decimal", "string", "date", *MOMENTS)


def candidates(
    connection: DuckDBPyConnection,
    source: str,
    entries: Sequence[Entry],
    schema: Schema,
    keys: Sequence[str],
) -> list[Entry]:
    """Those whose bounds leave room for a key of the table `source` of DuckDB."""
    left = list(entries)
    for key in keys:
        column = schema.find(key)
        if column is not None and parse_type(column.type).name in _SORTED:
            left = _within(connection, source, left, column)
    return left


def _within(
    connection: DuckDBPyConnection, source: str, entries: list[Entry], column: Column
) -> list[Entry]:
    connection.register(BOUNDS, bounds_table(entries, [column]))
    try:
        # For each file the first key of the source that is not below its least: is it in there?
        name = quoted(column.name)
        rows = connection.execute(
            f"WITH b AS (SELECT place, least0 AS least, greatest0 AS greatest FROM {BOUNDS}), "
            f"k AS (SELECT DISTINCT {name} AS key FROM {source} WHERE {name} IS NOT NULL) "
            "SELECT b.place FROM b ASOF LEFT JOIN k ON b.least <= k.key "
            "WHERE b.least IS NOT NULL AND b.greatest IS NOT NULL "
            "AND (k.key IS NULL OR k.key > b.greatest)"
        ).fetchall()
    finally:
        connection.unregister(BOUNDS)
    outside = {int(row[0]) for row in rows}
    return [entry for place, entry in enumerate(entries) if place not in outside]
