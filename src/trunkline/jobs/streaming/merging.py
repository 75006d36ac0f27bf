"""Rows of a batch in the place of those with the same key."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from trunkline.errors import TransformFailed
from trunkline.jobs.streaming.results import Results
from trunkline.lake.changes import Changes
from trunkline.lake.core import Core
from trunkline.lake.manifests import Tree
from trunkline.lake.transaction import Transaction
from trunkline.model.entries import Entry
from trunkline.model.tables import Format, TableSpec
from trunkline.storage.objects.keys import KeyMaker
from trunkline.tables.changing.merging import MergeRule, merged
from trunkline.tables.changing.rewriting import ROW, numbered, rows_of, streaming
from trunkline.tables.layout import is_data

if TYPE_CHECKING:
    import pyarrow as pa


def upserted(
    core: Core, keys: KeyMaker, base: Tree, results: Results, key: Sequence[str], name: str
) -> tuple[Changes, list[Entry]]:
    """What the batches of a job make of the table, and the files that are put beside it.

    A key that several batches of the job have is taken from the last of them.
    """
    fresh = [entry for entry in results.entries if is_data(entry.path[1:])]
    beside = [entry for entry in results.entries if not is_data(entry.path[1:])]
    if not fresh:
        return Changes(), beside
    schema = results.schemas["/"]
    spec = TableSpec(Format.PARQUET, schema, results.partition_by)
    for column in key:
        if schema.find(column) is None:
            raise TransformFailed(
                f"The output lacks the column {column}, which is a key of its upsert.",
                hint=f"It has {', '.join(schema.names[:20])}.",
            )
    reader = _newest(core, fresh, spec, key) if results.batches > 1 else _all(core, fresh, spec)
    transaction = Transaction(core, name, keys=keys.branch())
    rule = MergeRule(tuple(key), nulls_match=True, partition_by=results.partition_by)
    rewrite, _ = merged(transaction, base, "/", name, reader, rule)
    changes = rewrite.changes(base)
    transaction.intake.close()
    return changes, beside


def _all(core: Core, entries: Iterable[Entry], spec: TableSpec) -> pa.RecordBatchReader:
    import pyarrow as pa

    from trunkline.tables.writing.casting import arrow_schema

    batches = (batch for entry in entries for batch in rows_of(core, entry, "/", spec))
    return pa.RecordBatchReader.from_batches(arrow_schema(spec.schema), batches)


def _newest(
    core: Core, entries: Sequence[Entry], spec: TableSpec, key: Sequence[str]
) -> pa.RecordBatchReader:
    """Each key once, from the last batch that has it. Files come in the order of batches."""
    import duckdb
    import pyarrow as pa

    from trunkline.tables.reading.duck import quoted
    from trunkline.tables.writing.casting import arrow_schema, fitted

    schema = spec.schema
    columns = ", ".join(map(quoted, schema.names))
    keys = ", ".join(map(quoted, key))
    every = numbered(_all(core, entries, spec))
    with duckdb.connect() as connection, streaming(connection, every) as rows:
        table: pa.Table = connection.sql(
            f"SELECT {columns} FROM {rows} QUALIFY row_number() OVER "
            f"(PARTITION BY {keys} ORDER BY {ROW} DESC) = 1 ORDER BY {ROW}"
        ).to_arrow_table()
    batches = fitted(table.to_batches(), schema)
    return pa.RecordBatchReader.from_batches(arrow_schema(schema), batches)
