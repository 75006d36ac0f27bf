"""The ways to read a table. Each takes many questions at once, and gives the rows of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tests.oracle.model import Column, Condition, Row, Table
from tests.oracle.sql import DuckDB, Spark, arrow_conditions
from tests.oracle.tables import NUMBER
from tests.oracle.values import from_arrow
from tests.oracle.worlds import World
from tests.spark import shared_session


@dataclass(frozen=True)
class Asked:
    """Which rows of a table meet a condition?"""

    ref: str
    table: Table
    condition: Condition


Numbers = list[int] | str
"""The numbers of the rows, or what was said instead."""


def spark_numbers(world: World, asked: Sequence[Asked]) -> list[Numbers]:
    """All questions as one query."""
    views: dict[str, str] = {}
    for one in asked:
        if one.ref not in views:
            views[one.ref] = f"v{len(views)}"
            _frame(world, one.ref).createOrReplaceTempView(views[one.ref])
    dialect = Spark()
    queries = [
        f"SELECT {place} AS place, {NUMBER} FROM {views[one.ref]} "
        f"WHERE {dialect.write(one.condition, one.table.columns)}"
        for place, one in enumerate(asked)
    ]
    # Every task brings the whole union along: two of them do all the work.
    frame = world.spark.sql(" UNION ALL ".join(queries)).coalesce(2)
    return _by_place(frame.toArrow(), len(asked))


def duckdb_numbers(world: World, asked: Sequence[Asked]) -> list[Numbers]:
    dialect = DuckDB()
    queries = [
        f'SELECT {place} AS place, {NUMBER} FROM "{one.ref}" '
        f"WHERE {dialect.write(one.condition, one.table.columns)}"
        for place, one in enumerate(asked)
    ]
    return _by_place(world.lake.sql(" UNION ALL ".join(queries)).arrow(), len(asked))


def arrow_numbers(world: World, asked: Sequence[Asked]) -> list[Numbers | None]:
    """None where `where=` cannot say it."""
    found: list[Numbers | None] = []
    for one in asked:
        where = arrow_conditions(one.condition, one.table.columns)
        if where is None:
            found.append(None)
            continue
        table = world.lake.table(one.ref).arrow([NUMBER], where)
        found.append(sorted(table.column(NUMBER).to_pylist()))
    return found


def _by_place(table: pa.Table, count: int) -> list[Numbers]:
    found: list[list[int]] = [[] for _ in range(count)]
    for place, number in zip(*(column.to_pylist() for column in table.columns), strict=True):
        found[place].append(number)
    return [sorted(one) for one in found]


FILTERS: dict[str, Callable[[World, Sequence[Asked]], Sequence[Numbers | None]]] = {
    "spark": spark_numbers,
    "duckdb": duckdb_numbers,
    "arrow": arrow_numbers,
}


# -- whole tables ----------------------------------------------------------------------------------


def rows_of(table: pa.Table, columns: Sequence[Column]) -> list[Row]:
    """The rows of an Arrow table; its columns must be those, in any order."""
    names = {column.name for column in columns}
    assert set(table.column_names) == names, f"columns {table.column_names} for {sorted(names)}"
    values = [from_arrow(column.kind, table.column(column.name)) for column in columns]
    return list(zip(*values, strict=True))


def _frame(world: World, ref: str) -> Any:
    """As pipelines read it, in a session that plans quickly."""
    from trunkline.engine.tables import read

    found = world.lake.table(ref)
    return read(shared_session(), found._table.scans, found._table.schema, world.spark)


def _spark(world: World, ref: str) -> pa.Table:
    return _frame(world, ref).toArrow()


def _duckdb(world: World, ref: str) -> pa.Table:
    return world.lake.sql(f'FROM "{ref}"').arrow()


def _arrow(world: World, ref: str) -> pa.Table:
    return world.lake.table(ref).arrow()


def _polars(world: World, ref: str) -> pa.Table:
    return world.lake.table(ref).polars().to_arrow()


Reader = Callable[[World, str], pa.Table]
READERS: dict[str, Reader] = {
    "spark": _spark,
    "duckdb": _duckdb,
    "arrow": _arrow,
    "polars": _polars,
}
