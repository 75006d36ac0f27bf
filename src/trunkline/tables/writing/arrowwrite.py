"""A stream of Arrow batches into Parquet files of the lake, in bounded memory.

Where rows are cut into units, row groups and files follows from the rows alone, never from how
the stream happened to be cut: the same rows in the same order give the same files.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from trunkline.errors import Usage
from trunkline.lake.transaction import Transaction
from trunkline.model.entries import Entry
from trunkline.model.tables import Schema
from trunkline.tables.pathvalues import Values, hive_folder
from trunkline.tables.writing.casting import arrow_schema, fitted
from trunkline.tables.writing.naming import Namer
from trunkline.tables.writing.parquetfile import ParquetFile
from trunkline.tables.writing.splitting import logical_size, split, units

if TYPE_CHECKING:
    import pyarrow as pa

FILE_SIZE = 128 << 20
GROUP_ROWS = 256 << 10
GROUP_BYTES = 64 << 20
BUFFERED = 256 << 20
"""Over all partitions; then every one of them writes what it has."""

MOST_OPEN = 64
MOST_PARTITIONS = 50_000


def write_batches(
    transaction: Transaction,
    batches: Iterable[pa.RecordBatch],
    schema: Schema,
    partition_by: Sequence[str],
    folder: str,
    *,
    suffix: str = "",
    file_size: int | None = None,
) -> list[bytes]:
    """Store rows as files of the table in `folder`; their entry lines, in no order.

    Rows are brought to `schema`: by name, columns they lack are null. With a `suffix` the names
    of the files clash with no other write's.
    """
    writer = _Writer(transaction, schema, tuple(partition_by), file_size or FILE_SIZE)
    try:
        for unit in units(fitted(batches, schema)):
            writer.add(unit)
        files = writer.end()
    except BaseException:
        writer.discard()
        raise
    namer = Namer(suffix)
    return [
        replace(
            entry, path=namer.path(folder, hive_folder(writer.partition_by, values), entry.hash)
        ).encode()
        for values, entry in files
    ]


class _Writer:
    def __init__(
        self, transaction: Transaction, schema: Schema, partition_by: tuple[str, ...], size: int
    ) -> None:
        self._transaction = transaction
        self._schema = arrow_schema(schema)
        self._types = {one.name: one.type for one in schema}
        self._file_size = size
        self._parts: dict[Values, _Part] = {}
        self._buffered = self._open = 0
        self._files: list[tuple[Values, Entry]] = []
        self.partition_by = tuple(_as_written(schema, name) for name in partition_by)

    def add(self, unit: pa.Table) -> None:
        parting = {name: self._types[name] for name in self.partition_by}
        for values, rows in split(unit, parting):
            part = self._parts.get(values)
            if part is None:
                if len(self._parts) >= MOST_PARTITIONS:
                    raise _too_many(self.partition_by)
                hive_folder(self.partition_by, values)  # refuses what none can say
                part = self._parts[values] = _Part(self, values)
            size = logical_size(rows)
            self._buffered += size
            part.add(rows, size)
        if self._buffered > BUFFERED:
            # Rows of several partitions share memory, so only all of them together free it.
            for part in self._parts.values():
                part.write_all()
                if self._open > MOST_OPEN:
                    part.close()
        if self._open > MOST_OPEN:
            for part in self._largest_open(MOST_OPEN // 2):
                part.close()

    def _largest_open(self, count: int) -> list[_Part]:
        opened = [(part.file.size, part) for part in self._parts.values() if part.file]
        return [part for _, part in sorted(opened, key=lambda one: -one[0])[:count]]

    def opened(self) -> ParquetFile:
        self._open += 1
        return ParquetFile(self._transaction, self._schema, self.partition_by)

    def wrote(self, size: int) -> None:
        self._buffered -= size

    def closed(self, values: Values, entry: Entry) -> None:
        self._open -= 1
        self._files.append((values, entry))

    def is_full(self, file: ParquetFile) -> bool:
        return file.size >= self._file_size

    def end(self) -> list[tuple[Values, Entry]]:
        for part in self._parts.values():
            part.write_all()
            part.close()
        return self._files

    def discard(self) -> None:
        for part in self._parts.values():
            if part.file is not None:
                part.file.discard()


class _Part:
    """The rows of one partition: those that wait for their row group, and the open file."""

    def __init__(self, writer: _Writer, values: Values) -> None:
        self._writer = writer
        self._values = values
        self._waiting: list[pa.Table] = []
        self._rows = self._size = 0
        self.file: ParquetFile | None = None

    def add(self, rows: pa.Table, size: int) -> None:
        self._waiting.append(rows)
        self._rows += rows.num_rows
        self._size += size
        if self._rows >= GROUP_ROWS or self._size >= GROUP_BYTES:
            self.write_all()

    def write_all(self) -> None:
        if not self._rows:
            return
        import pyarrow as pa

        if self.file is None:
            self.file = self._writer.opened()
        self.file.write(pa.concat_tables(self._waiting))
        self._writer.wrote(self._size)
        self._waiting, self._rows, self._size = [], 0, 0
        if self._writer.is_full(self.file):
            self.close()

    def close(self) -> None:
        if self.file is not None:
            self._writer.closed(self._values, self.file.end())
            self.file = None


def _as_written(schema: Schema, name: str) -> str:
    column = schema.find(name)
    return column.name if column else name


def _too_many(partition_by: Sequence[str]) -> Usage:
    return Usage(
        f"{', '.join(partition_by)} would cut the rows into more than {MOST_PARTITIONS:,} folders.",
        hint="Partition by a column with fewer values, such as a day.",
    )
