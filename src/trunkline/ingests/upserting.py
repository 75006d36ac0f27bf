"""Rows of a batch in the place of those with the same key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trunkline.errors import Precondition
from trunkline.lake.manifests import Tree
from trunkline.lake.transaction import Transaction
from trunkline.model.suggest import did_you_mean
from trunkline.tables.changing.merging import MergeRule, merged
from trunkline.tables.changing.rewriting import ROW, Rewrite, numbered, streaming

if TYPE_CHECKING:
    import pyarrow as pa


def upserted(
    transaction: Transaction,
    tree: Tree,
    path: str,
    name: str,
    tables: Sequence[pa.Table],
    key: tuple[str, ...],
    partition_by: tuple[str, ...],
) -> Rewrite:
    """What the rows make of the table of a tree. Of rows with one key the last one counts."""
    import pyarrow as pa

    rows = pa.concat_tables(tables, promote_options="permissive")
    for column in key:
        if column.casefold() not in {one.casefold() for one in rows.column_names}:
            raise Precondition(
                f'The rows have no column "{column}", which is their key.'
                f"{did_you_mean(column, rows.column_names)}",
                hint=f"They have: {', '.join(rows.column_names[:20])}.",
            )
    rule = MergeRule(key, nulls_match=True, partition_by=partition_by)
    rewrite, _ = merged(transaction, tree, path, name, _last(rows, key), rule)
    return rewrite


def _last(rows: pa.Table, key: Sequence[str]) -> pa.RecordBatchReader:
    """Each key once, in the order of the rows."""
    import duckdb
    import pyarrow as pa

    from trunkline.tables.reading.duck import quoted

    keys = ", ".join(map(quoted, key))
    order = numbered(rows.select(key).to_reader())
    with duckdb.connect() as connection, streaming(connection, order) as stream:
        taken = connection.sql(
            f"SELECT max({ROW}) AS last FROM {stream} GROUP BY {keys} ORDER BY last"
        ).to_arrow_table()
    if taken.num_rows < rows.num_rows:
        rows = rows.take(taken.column(0))
    return pa.RecordBatchReader.from_batches(rows.schema, rows.to_batches())
