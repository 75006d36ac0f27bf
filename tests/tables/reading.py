"""Files into a repo, and the table they make up."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import orc

from trunkline import Lake
from trunkline.tables.describe import Table, describe
from trunkline.tables.reading.arrowread import record_batches

MAIN = "orders@main"


def put(lake: Lake, files: Mapping[str, str | bytes]) -> None:
    with lake.commit(MAIN) as commit:
        for path, content in files.items():
            commit.put(path, content.encode() if isinstance(content, str) else content)


def described(lake: Lake, path: str = "/") -> Table:
    tree = lake._core.tree_of(lake._ref(MAIN))
    return describe(lake._core, tree, path, MAIN)


def table_of(lake: Lake, files: Mapping[str, str | bytes]) -> Table:
    put(lake, files)
    return described(lake)


def columns(table: Table) -> dict[str, str]:
    return {column.name: column.type for column in table.schema}


def rows(lake: Lake, table: Table, **options: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (
        record_batches(lake._core, table, **options).read_all().to_pylist()
    )
    return found


def parquet(**values: Any) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table(values), buffer)
    return buffer.getvalue()


def orc_bytes(**values: Any) -> bytes:
    buffer = io.BytesIO()
    orc.write_table(pa.table(values), buffer)
    return buffer.getvalue()
