"""Rows that changed in a commit, as rows for a stream: what to do to those it had before.

Files that the commit left alone are not read: what differs between two bags of rows stays the
same when equal rows are taken from both.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from trunkline.engine.transform import Source
from trunkline.lake.core import Core
from trunkline.model.tables import Column, Format, Scan, ScanFile, Schema
from trunkline.storage.objects.keys import KeyMaker
from trunkline.tables.comparing.diffsql import INSERT
from trunkline.tables.comparing.rowdiff import CHANGE, RowDiff, diff_tables, free_name
from trunkline.tables.describe import describe_lines
from trunkline.tables.writing.casting import arrow_schema, fitted

if TYPE_CHECKING:
    import pyarrow as pa

    from trunkline.jobs.streaming.step import Step

_GROUP_ROWS = 256 << 10


def change_column(schema: Schema) -> Column:
    """The column that says what became of a row, with more underscores if there is one."""
    return Column(free_name(CHANGE, dict.fromkeys(schema.names)), "string")


def with_change(schema: Schema) -> Schema:
    """The columns of an input whose changed rows arrive as rows."""
    return Schema((*schema.columns, change_column(schema)))


def as_inserts(source: Source) -> Source:
    """New files with that column: for each of them its value is known, so none is read."""
    column, schema = change_column(source.schema), with_change(source.schema)
    scans = tuple(
        Scan(
            scan.name,
            scan.format,
            scan.schema,
            Schema((*scan.path_columns.columns, column)),
            tuple(
                ScanFile(one.uri, one.size, (*one.values, INSERT), one.stats, one.rows, one.path)
                for one in scan.files
            ),
            scan.options,
            schema,
        )
        for scan in source.scans
    )
    return Source(scans, schema)


def only_inserts(core: Core, step: Step, name: str) -> int | None:
    """How many rows the step's changed files have more than before; None if any row has gone."""
    found = _diff(core, step, name, key=())
    return None if found.removed else found.added


def changes_of(core: Core, keys: KeyMaker, step: Step, name: str, *, marked: bool) -> Source:
    """The rows that differ, stored as a table's file of this attempt. `marked` with what became
    of them; else the inserted ones alone.
    """
    assert step.table is not None
    schema = step.table.schema
    rows = _diff(core, step, name, key=None if marked else ()).arrow()
    if marked:
        column = change_column(schema)
        rows = rows.rename_columns([column.name, *rows.column_names[1:]])
        schema = with_change(schema)
    brought = list(fitted(rows.to_batches(), Schema(tuple(_nullable(one) for one in schema))))
    return _stored(core, keys, brought, schema, f"{name} at {step.commit[:12]}")


def _diff(core: Core, step: Step, name: str, key: tuple[str, ...] | None) -> RowDiff:
    old = [one.old for one in step.changed if one.old is not None]
    new = [one.new for one in step.changed if one.new is not None]
    assert step.table is not None
    before = step.table_before or step.table
    return diff_tables(
        core,
        describe_lines(core, old, step.folder, name, before),
        describe_lines(core, new, step.folder, name, step.table),
        key=key,
        one_sided=True,
    )


def _nullable(column: Column) -> Column:
    return Column(column.name, column.type)


def _stored(
    core: Core, keys: KeyMaker, batches: list[pa.RecordBatch], schema: Schema, name: str
) -> Source:
    import pyarrow as pa
    from pyarrow import parquet

    table = pa.Table.from_batches(batches, arrow_schema(schema))
    if not table.num_rows:
        return Source((), schema)
    buffer = io.BytesIO()
    parquet.write_table(
        table, buffer, compression="zstd", row_group_size=_GROUP_ROWS, store_schema=False
    )
    key = keys.data("changes.parquet")
    core.objects.put(key, buffer.getvalue())
    file = ScanFile(core.objects.uri(key), buffer.tell(), (), "", table.num_rows, "changed rows")
    return Source((Scan(name, Format.PARQUET, schema, Schema(), (file,), (), schema),), schema)
