"""Files that may hold a key of a source, told by the bounds of their key columns."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from trunkline.model.entries import Entry
from trunkline.model.tables import Column, Schema
from trunkline.tables.reading.duck import quoted
from trunkline.tables.types import to_duckdb_type

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_BOUNDS = "__tl_bounds"


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
        if column is not None and (cast := _cast(column)):
            left = _within(connection, source, left, column, cast)
    return left


def _within(
    connection: DuckDBPyConnection, source: str, entries: list[Entry], column: Column, cast: str
) -> list[Entry]:
    import pyarrow as pa

    known = [
        {"place": place, "least": found[0], "greatest": found[1]}
        for place, entry in enumerate(entries)
        if (found := _bounds(entry.stats, column.name)) is not None
    ]
    if not known:
        return entries
    table = pa.Table.from_pylist(known)
    connection.register(_BOUNDS, table)
    try:
        # For each file the first key of the source that is not below its least: is it in there?
        name = quoted(column.name)
        rows = connection.execute(
            f"WITH b AS (SELECT place, {cast.format('least')} AS least, "
            f"{cast.format('greatest')} AS greatest FROM {_BOUNDS}), "
            f"k AS (SELECT DISTINCT {name} AS key FROM {source} WHERE {name} IS NOT NULL) "
            "SELECT b.place FROM b ASOF LEFT JOIN k ON b.least <= k.key "
            "WHERE b.least IS NOT NULL AND b.greatest IS NOT NULL "
            "AND (k.key IS NULL OR k.key > b.greatest)"
        ).fetchall()
    finally:
        connection.unregister(_BOUNDS)
    outside = {int(row[0]) for row in rows}
    return [entry for place, entry in enumerate(entries) if place not in outside]


def _cast(column: Column) -> str:
    """SQL that turns a bound's text into the column's type; null where it is of another."""
    type_ = column.type
    if type_ == "timestamp_ntz":
        return "make_timestamp(TRY_CAST({} AS BIGINT))"
    if type_ == "timestamp":
        return "make_timestamp(TRY_CAST({} AS BIGINT)) AT TIME ZONE 'UTC'"
    if type_ in ("string", "date", "tinyint", "smallint", "int", "bigint"):
        return f"TRY_CAST({{}} AS {to_duckdb_type(type_)})"
    return f"TRY_CAST({{}} AS {to_duckdb_type(type_)})" if type_.startswith("decimal") else ""


def _bounds(stats: str, name: str) -> tuple[str, str] | None:
    if not stats:
        return None
    found: dict[str, Any] = json.loads(stats, parse_float=str, parse_int=str)
    for column, bounds in found.items():
        if column.casefold() == name.casefold():
            least, greatest = bounds[0], bounds[1]
            if isinstance(least, str) and isinstance(greatest, str):
                return least, greatest
    return None
