"""The ways to read a table. Each takes many questions at once, and gives the rows of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import polars as pl
import pyarrow as pa
from pyarrow import parquet
from pyarrow.dataset import dataset
from pyarrow.fs import S3FileSystem

from tests.oracle.model import Column, Condition, Row, Table
from tests.oracle.sql import (
    DuckDB,
    Spark,
    arrow_conditions,
    arrow_expression,
    iceberg_filter,
)
from tests.oracle.tables import NUMBER, parted_by
from tests.oracle.values import Kind, from_arrow
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


FEW = 1  # questions of a table through doors of a server
SCANNED = 3  # one question in so many is a query of its own on Spark


def spark_numbers(world: World, asked: Sequence[Asked]) -> list[Numbers]:
    """All questions as one query. Most of them share the scan of their table, as columns that say
    which hold: a scan for each takes Spark longer than all other doors. One in a few has its own,
    with the condition pushed down to bounds and files.
    """
    views: dict[str, str] = {}
    for one in asked:
        if one.ref not in views:
            views[one.ref] = f"v{len(views)}"
            _frame(world, one.ref).createOrReplaceTempView(views[one.ref])
    dialect, queries = Spark(), []
    shared: dict[str, list[str]] = {}
    for place, one in enumerate(asked):
        condition = dialect.write(one.condition, one.table.columns)
        if place % SCANNED == 0:
            view = views[one.ref]
            queries.append(f"SELECT {place} AS place, {NUMBER} FROM {view} WHERE {condition}")
        else:
            shared.setdefault(one.ref, []).append(f"IF({condition}, {place}, NULL)")
    for ref, places in shared.items():
        holding = f"explode(array({', '.join(places)})) AS place, {NUMBER} FROM {views[ref]}"
        queries.append(f"SELECT place, {NUMBER} FROM (SELECT {holding}) WHERE place IS NOT NULL")
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


def s3_numbers(world: World, asked: Sequence[Asked]) -> list[Numbers | None]:
    """pyarrow with a filter, over the S3 door."""
    return _of_few("s3 pyarrow", asked, partial(_s3_filtered, world))


def tl_numbers(world: World, asked: Sequence[Asked]) -> list[Numbers | None]:
    """pyarrow with a filter, over tl://."""
    return _of_few("tl:// pyarrow", asked, partial(_tl_filtered, world))


def iceberg_numbers(world: World, asked: Sequence[Asked]) -> list[Numbers | None]:
    """pyiceberg, which leaves files out by the bounds that the door tells it."""
    return _of_few("iceberg", asked, partial(_iceberg_filtered, world))


def _of_few(
    door: str, asked: Sequence[Asked], ask: Callable[[Asked], pa.Table | None]
) -> list[Numbers | None]:
    """A question of each table: doors with a server behind them take their time."""
    found: list[Numbers | None] = []
    counts: Counter[str] = Counter()
    for one in asked:
        table = None
        # Who guesses the types of folders guesses others than the table's.
        if counts[one.ref] < FEW and one.table.layout != "parts" and can_read(door, one.table):
            table = ask(one)
        counts[one.ref] += table is not None
        found.append(None if table is None else sorted(table.column(NUMBER).to_pylist()))
    return found


def _s3_filtered(world: World, one: Asked) -> pa.Table | None:
    where = arrow_expression(one.condition, one.table.columns)
    return None if where is None else _s3_dataset(world, one.ref).to_table([NUMBER], where)


def _tl_filtered(world: World, one: Asked) -> pa.Table | None:
    where = arrow_expression(one.condition, one.table.columns)
    if where is None:
        return None
    place = one.ref.replace(":", "")
    return parquet.read_table(place, columns=[NUMBER], filters=where, filesystem=world.files)


def _iceberg_filtered(world: World, one: Asked) -> pa.Table | None:
    where = iceberg_filter(one.condition, one.table.columns)
    if where is None:
        return None
    return _iceberg_table(world, one.ref).scan(where, selected_fields=(NUMBER,)).to_arrow()


def _by_place(table: pa.Table, count: int) -> list[Numbers]:
    found: list[list[int]] = [[] for _ in range(count)]
    for place, number in zip(*(column.to_pylist() for column in table.columns), strict=True):
        found[place].append(number)
    return [sorted(one) for one in found]


FILTERS: dict[str, Callable[[World, Sequence[Asked]], Sequence[Numbers | None]]] = {
    "spark": spark_numbers,
    "duckdb": duckdb_numbers,
    "arrow": arrow_numbers,
    "s3 pyarrow": s3_numbers,
    "tl:// pyarrow": tl_numbers,
    "iceberg": iceberg_numbers,
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


def spark_table(world: World, ref: str) -> pa.Table:
    return _frame(world, ref).toArrow()


def _duckdb(world: World, ref: str) -> pa.Table:
    return world.lake.sql(f'FROM "{ref}"').arrow()


def _arrow(world: World, ref: str) -> pa.Table:
    return world.lake.table(ref).arrow()


def _polars(world: World, ref: str) -> pa.Table:
    return world.lake.table(ref).polars().to_arrow()


def _s3_dataset(world: World, ref: str) -> Any:
    """pyarrow, which knows nothing of us, over the S3 door."""
    files = S3FileSystem(
        endpoint_override=world.s3, access_key="any", secret_key="thing", region="us-east-1"
    )
    repo, _, path = ref.partition("@main:")
    return dataset(f"{repo}/main{path}", filesystem=files, partitioning="hive")


def _s3(world: World, ref: str) -> pa.Table:
    return _s3_dataset(world, ref).to_table()


def _s3_polars(world: World, ref: str) -> pa.Table:
    repo, _, path = ref.partition("@main:")
    options = {
        "aws_endpoint_url": world.s3,
        "aws_access_key_id": "any",
        "aws_secret_access_key": "thing",
        "aws_region": "us-east-1",
        "aws_allow_http": "true",
    }
    found = pl.read_parquet(
        f"s3://{repo}/main{path.rstrip('/')}/**/*.parquet",
        storage_options=options,
        hive_partitioning=True,
    )
    return found.to_arrow()


def _tl(world: World, ref: str) -> pa.Table:
    return parquet.read_table(ref.replace(":", ""), filesystem=world.files)


def _iceberg_table(world: World, ref: str) -> Any:
    repo, _, path = ref.partition("@main:/")
    return world.catalog.load_table(("default", repo, path) if path else ("default", repo))


def _iceberg(world: World, ref: str) -> pa.Table:
    return _iceberg_table(world, ref).scan().to_arrow()


Reader = Callable[[World, str], pa.Table]
READERS: dict[str, Reader] = {
    "spark": spark_table,
    "duckdb": _duckdb,
    "arrow": _arrow,
    "polars": _polars,
    "s3 pyarrow": _s3,
    "s3 polars": _s3_polars,
    "tl:// pyarrow": _tl,
    "iceberg": _iceberg,
}
# These see the files of a folder, and not what its table makes of older ones.
OF_FILES = ("s3 pyarrow", "s3 polars", "tl:// pyarrow")


def can_read(door: str, table: Table) -> bool:
    # The Iceberg door refuses such moments; readers of files take them for nanoseconds, which end.
    has_int96 = table.layout == "int96" and any(map(_holds_moments, table.kinds))
    if door == "iceberg":
        # pyiceberg makes an empty array or map of structs of a null one.
        return not has_int96 and not any(map(_holds_many_structs, table.kinds))
    if door in OF_FILES:
        if has_int96 or table.layout == "evolved" or not table.rows:
            return False
        told = [[row[place] for row in table.rows] for place in parted_by(table)]
        # XML has no such characters, and clients do not ask for names in another spelling.
        if door.startswith("s3") and any("\uffff" in str(v) for one in told for v in one):
            return False
        # pyarrow guesses the type of a folder's values, and has nothing to guess from in nulls.
        return door == "s3 polars" or all(any(v is not None for v in one) for one in told)
    return True


def _holds_moments(kind: Kind) -> bool:
    return kind.name in ("timestamp", "timestamp_ntz") or any(
        _holds_moments(part) for _, part in kind.parts
    )


def _holds_many_structs(kind: Kind) -> bool:
    if kind.name in ("array", "map") and kind.parts[-1][1].name == "struct":
        return True
    return any(_holds_many_structs(part) for _, part in kind.parts)
