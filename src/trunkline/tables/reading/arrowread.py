"""The rows of a table as Arrow batches, without Spark, whatever its files are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from trunkline.errors import NotFound, TrunklineError
from trunkline.lake.core import Core
from trunkline.model.entries import Entry
from trunkline.model.suggest import did_you_mean
from trunkline.model.tables import FITTING, Column, Format, Scan, ScanFile, Schema
from trunkline.tables.describe import Table
from trunkline.tables.pathvalues import scalar_of
from trunkline.tables.reading.conditions import (
    Condition,
    Predicate,
    may_match,
    predicates,
    row_filter,
)
from trunkline.tables.reading.opening import arrow_source, kind_of, open_parquet, unreadable
from trunkline.tables.reading.parquetrows import parquet_rows
from trunkline.tables.types import cast, to_arrow, to_arrow_type

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ROWS = 64 << 10
_TRIED_ROWS = 1000


def record_batches(
    core: Core,
    table: Table,
    columns: Sequence[str] | None = None,
    where: Sequence[Condition] | None = None,
) -> pa.RecordBatchReader:
    """Rows in path order; only `columns`, and only those that fulfil every condition of `where`.

    Files whose statistics or folders rule them out are not opened. An error names the file.
    """
    import pyarrow as pa

    shown = _chosen(table, columns)
    _chosen(table, [name for name, _, _ in where or ()])
    conditions = predicates(where or (), table.schema)
    return pa.RecordBatchReader.from_batches(
        to_arrow(shown), _all_batches(core, table, shown, conditions)
    )


def left_out(core: Core, table: Table, count: int | None = None) -> pa.Table:
    """The first rows that mode=DROPMALFORMED leaves out, in path order: where, what and why."""
    import pyarrow as pa

    from trunkline.tables.reading.textread import malformed_rows

    by_path = {one.path: one for one in table.entries}
    found = (
        (file.path, *row)
        for scan in table.scans
        if FITTING in dict(scan.options)
        for file in scan.files
        for row in malformed_rows(core, by_path[file.path], scan.schema, dict(scan.options))
    )
    names = ("path", "line", "text", "reason")
    rows = [dict(zip(names, one, strict=True)) for one in islice(found, count)]
    kinds = (pa.string(), pa.int64(), pa.string(), pa.string())
    return pa.Table.from_pylist(rows, pa.schema(list(zip(names, kinds, strict=True))))


def to_arrow_table(
    core: Core,
    table: Table,
    columns: Sequence[str] | None = None,
    where: Sequence[Condition] | None = None,
) -> pa.Table:
    return record_batches(core, table, columns, where).read_all()


def first_rows(
    core: Core, table: Table, count: int, columns: Sequence[str] | None = None
) -> pa.Table:
    """The first rows only, reading no more than they need."""
    import pyarrow as pa

    reader = record_batches(core, table, columns)
    taken: list[pa.RecordBatch] = []
    missing = count
    for batch in reader if count > 0 else ():
        taken.append(batch[:missing])
        missing -= taken[-1].num_rows
        if missing <= 0:
            break
    return pa.Table.from_batches(taken, reader.schema)


def check_readable(core: Core, table: Table) -> None:
    """Read some rows of one file for each way of reading, so that an error comes now."""
    for scan in table.scans:
        first = {scan.files[0].path} if scan.files else set()
        entries = tuple(entry for entry in table.entries if entry.path in first)
        first_rows(core, replace(table, scans=(scan,), entries=entries), _TRIED_ROWS)


def _chosen(table: Table, columns: Sequence[str] | None) -> Schema:
    if columns is None:
        return table.schema
    found = []
    known = {column.name.casefold(): column for column in table.schema}
    for name in columns:
        column = known.get(name.casefold())
        if column is None:
            raise NotFound(
                f'{table.name} has no column "{name}".{did_you_mean(name, table.schema.names)}',
                hint=f"trunkline table schema {table.name} shows its columns.",
            )
        found.append(column)
    return Schema(tuple(found))


def _all_batches(
    core: Core, table: Table, shown: Schema, conditions: list[Predicate]
) -> Iterator[pa.RecordBatch]:
    needed = shown.names + tuple(one.column.name for one in conditions)
    wanted = _of_names(table.schema, needed)
    fields = to_arrow(shown)
    for entry, scan, file in _in_order(table):
        if not may_match(conditions, file, scan):
            continue
        try:
            for batch in _file_batches(core, entry, scan, wanted):
                whole = _fitted(batch, wanted, scan, file)
                if conditions:
                    whole = whole.filter(row_filter(conditions, whole))
                if whole.num_rows:
                    yield whole.select(list(shown.names)).cast(fields)
        except TrunklineError:
            raise
        except Exception as error:
            kind = kind_of(table.spec.format)
            raise unreadable(core, entry, table.name, kind, error) from error


def _in_order(table: Table) -> Iterator[tuple[Entry, Scan, ScanFile]]:
    """Each file with the scan that it belongs to, in path order."""
    by_path = {file.path: (scan, file) for scan in table.scans for file in scan.files}
    for entry in table.entries:
        if found := by_path.get(entry.path):
            yield entry, *found


def _file_batches(core: Core, entry: Entry, scan: Scan, wanted: Schema) -> Iterable[pa.RecordBatch]:
    inside = _of_names(scan.schema, wanted.names)
    if scan.format is Format.CSV:
        from trunkline.tables.reading.textread import csv_batches

        return csv_batches(core, entry, scan.schema, inside, dict(scan.options))
    if scan.format is Format.JSON:
        from trunkline.tables.reading.textread import json_batches

        return json_batches(core, entry, inside, dict(scan.options))
    return _columnar_batches(core, entry, scan.format, inside)


def _columnar_batches(
    core: Core, entry: Entry, format_: Format, inside: Schema
) -> Iterator[pa.RecordBatch]:
    source = arrow_source(core, entry)
    if format_ is Format.ORC:
        from pyarrow import orc

        file = orc.ORCFile(source)
        names = _spelled(file.schema.names, inside)
        for stripe in range(file.nstripes):
            yield file.read_stripe(stripe, columns=names)
        return
    with open_parquet(source) as parquet:
        names = _spelled(parquet.schema_arrow.names, inside)
        yield from parquet_rows(source, parquet, names, BATCH_ROWS)


def _spelled(names: Sequence[str], inside: Schema) -> list[str]:
    """The columns as the file spells them, as far as it has them."""
    held = {name.casefold() for name in inside.names}
    return [name for name in names if name.casefold() in held]


def _fitted(batch: pa.RecordBatch, wanted: Schema, scan: Scan, file: ScanFile) -> pa.RecordBatch:
    """The batch with the table's columns: missing ones null, those of folders filled in."""
    import pyarrow as pa

    places = {name.casefold(): place for place, name in enumerate(batch.schema.names)}
    from_path = {
        column.name.casefold(): value
        for column, value in zip(scan.path_columns, file.values, strict=True)
    }
    arrays = []
    for column in wanted:
        type_ = to_arrow_type(column.type)
        folded = column.name.casefold()
        if folded in from_path:
            value = scalar_of(from_path[folded], column.type)
            arrays.append(pa.repeat(value, batch.num_rows))
        elif folded in places:
            arrays.append(_cast(batch.column(places[folded]), type_, column))
        else:
            arrays.append(pa.nulls(batch.num_rows, type_))
    if not arrays:
        return _without_columns(batch.num_rows)
    return pa.RecordBatch.from_arrays(arrays, names=list(wanted.names))


def _without_columns(rows: int) -> pa.RecordBatch:
    """Rows of a table without columns: only their number is left of them."""
    import pyarrow as pa

    return pa.RecordBatch.from_struct_array(pa.array([{}] * rows, pa.struct([])))


def _cast(values: Any, type_: pa.DataType, column: Column) -> Any:
    import pyarrow as pa

    if pa.types.is_timestamp(values.type) and values.type.tz is None and type_ == _moment():
        # ORC and old Parquet files have moments without a zone: they are in UTC.
        values = values.cast(pa.timestamp(values.type.unit, "UTC"))
    return cast(values, type_)


def _moment() -> pa.DataType:
    return to_arrow_type("timestamp")


def _of_names(schema: Schema, names: Sequence[str]) -> Schema:
    """The columns that are named, in the order of the schema."""
    held = {name.casefold() for name in names}
    return Schema(tuple(one for one in schema if one.name.casefold() in held))
