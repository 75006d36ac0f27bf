"""The ways to read a table. Each takes many questions at once, and gives the rows of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
import pyarrow as pa
from pyarrow import parquet
from pyarrow.dataset import dataset
from pyarrow.fs import S3FileSystem

from tests.oracle.model import Column, Condition, Row, Table
from tests.oracle.sql import DuckDB, Spark, arrow_conditions
from tests.oracle.tables import NUMBER
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


def spark_table(world: World, ref: str) -> pa.Table:
    return _frame(world, ref).toArrow()


def _duckdb(world: World, ref: str) -> pa.Table:
    return world.lake.sql(f'FROM "{ref}"').arrow()


def _arrow(world: World, ref: str) -> pa.Table:
    return world.lake.table(ref).arrow()


def _polars(world: World, ref: str) -> pa.Table:
    return world.lake.table(ref).polars().to_arrow()


def _s3(world: World, ref: str) -> pa.Table:
    """pyarrow, which knows nothing of us, over the S3 door."""
    files = S3FileSystem(
        endpoint_override=world.s3, access_key="any", secret_key="thing", region="us-east-1"
    )
    repo, _, path = ref.partition("@main:")
    return dataset(f"{repo}/main{path}", filesystem=files, partitioning="hive").to_table()


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


def _iceberg(world: World, ref: str) -> pa.Table:
    repo, _, path = ref.partition("@main:/")
    names = ("default", repo, path) if path else ("default", repo)
    return world.catalog.load_table(names).scan().to_arrow()


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
    if door == "iceberg":
        # pyiceberg makes an empty array or map of structs of a null one. And it reads INT96 in
        # nanoseconds, which overflow: known to be wrong for far moments, in files of others.
        return table.layout != "int96" and not any(map(_holds_many_structs, table.kinds))
    if door in OF_FILES:
        return table.layout not in ("evolved", "int96") and bool(table.rows)
    return True


def _holds_many_structs(kind: Kind) -> bool:
    if kind.name in ("array", "map") and kind.parts[-1][1].name == "struct":
        return True
    return any(_holds_many_structs(part) for _, part in kind.parts)
