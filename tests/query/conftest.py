"""A lake with a few small tables, made once and only read.

orders     four rows in two commits; the first is tagged v1
customers  a table of one file
days       hive folders, whose names alone say the day
shop       two tables: items (two commits) and prices
people     CSV
empty      a table without rows
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import trunkline as tl
from tests.served import through_door
from trunkline import Lake


def parquet(**columns: object) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file)
    return file.getvalue()


def money(*values: str) -> pa.Array:
    return pa.array(map(Decimal, values), pa.decimal128(12, 2))


def put(lake: Lake, ref: str, **files: bytes) -> str:
    with lake.commit(ref) as commit:
        for name, content in files.items():
            commit.put("/" + name, content)
    return commit.result.id


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    with tl.init(tmp_path_factory.mktemp("lake")) as lake:
        fill(lake)
        yield lake


@pytest.fixture(params=["local", "http"])
def lake(request: pytest.FixtureRequest, made: Lake) -> Iterator[Lake]:
    """The lake in its folder, and the same through a server."""
    if request.param == "local":
        yield made
        return
    with through_door(made) as remote:
        yield remote


local = pytest.mark.parametrize("lake", ["local"], indirect=True)
"""For what a server does elsewhere: Spark in a worker, its own DuckDB."""


def fill(lake: Lake) -> None:
    for name in ("orders", "customers", "days", "shop", "people", "empty", "Mixed.name"):
        lake.create_repo(name)
    first = parquet(id=[1, 2], customer=[1, 2], amount=money("1.25", "2.50"))
    put(lake, "orders@main", **{"a.parquet": first})
    lake.create_tag("orders@v1", "orders@main")
    second = parquet(id=[3, 4], customer=pa.array([None, 1]), amount=money("1.00", "9.99"))
    put(lake, "orders@main", **{"b.parquet": second})
    put(lake, "customers@main", **{"c.parquet": parquet(id=[1, 2], name=["Ada", "Zoë"])})
    put(
        lake,
        "days@main",
        **{
            "day=2026-01-01/a.parquet": parquet(n=[1, 2]),
            "day=2026-01-02/a.parquet": parquet(n=[5]),
        },
    )
    put(lake, "shop@main", **{"items/a.parquet": parquet(price=[3])})
    more = {"items/b.parquet": parquet(price=[7]), "prices/a.parquet": parquet(p=[1])}
    put(lake, "shop@main", **more)
    put(lake, "people@main", **{"p.csv": b"name,age\nAda,36\nBob,41\n"})
    put(lake, "empty@main", **{"e.parquet": parquet(id=pa.array([], pa.int64()))})
    put(lake, "Mixed.name@main", **{"m.parquet": parquet(id=[1])})
