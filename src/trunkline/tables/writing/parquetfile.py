"""One Parquet file on its way into the store: row groups in, an entry out.

Options are pinned and row groups are cut by what is in them, so that the same rows in the same
order give the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from blake3 import blake3

from trunkline.lake.transaction import Transaction
from trunkline.model.entries import IN_FOLDERS, Entry
from trunkline.storage.objects.port import ObjectWriter
from trunkline.tables.writing.bounds import Bounds

if TYPE_CHECKING:
    import pyarrow as pa

_OPTIONS: dict[str, Any] = {
    "version": "2.6",
    "data_page_version": "1.0",
    "compression": "zstd",
    "compression_level": 3,
    "use_dictionary": True,
    "write_page_index": True,
    "write_page_checksum": True,
    "data_page_size": 1 << 20,
    "write_batch_size": 1024,
    "store_schema": False,
    "store_decimal_as_integer": True,
}


class ParquetFile:
    """A file being written: packed if it stays small, else an object of its own."""

    def __init__(
        self, transaction: Transaction, schema: pa.Schema, in_folders: Sequence[str] = ()
    ) -> None:
        """Columns that are `in_folders` are not written: the names of its folders have them."""
        import pyarrow as pa
        from pyarrow import parquet

        self._sink = _Sink(transaction)
        self._file = pa.PythonFile(self._sink, mode="w")
        self._inside = [name for name in schema.names if name not in in_folders]
        inside = pa.schema([schema.field(name) for name in self._inside])
        self._writer = parquet.ParquetWriter(
            self._file, inside, **_OPTIONS, write_statistics=_with_statistics(inside)
        )
        self._bounds = Bounds(schema)
        self._start = f"{{{IN_FOLDERS}," if in_folders else "{"
        self.rows = 0

    @property
    def size(self) -> int:
        return self._sink.size

    def write(self, table: pa.Table) -> None:
        """Add one row group."""
        table = table.combine_chunks()
        self._bounds.add(table)
        self.rows += table.num_rows
        inside = table.select(self._inside)
        self._writer.write_table(inside, row_group_size=max(table.num_rows, 1))

    def end(self) -> Entry:
        """Everything but the path, which follows from the hash."""
        self._writer.close()
        stored, stats = self._sink.end(), self._bounds.encode()
        return Entry(
            "", stored.hash, stored.size, stored.key, stored.offset,
            rows=self.rows, stats=stats and self._start + stats[1:],
        )  # fmt: skip

    def discard(self) -> None:
        self._sink.discard()


def _with_statistics(schema: pa.Schema) -> bool | list[str]:
    """Columns whose bounds the file itself may have: of floats NaN would be left out of them, and
    readers such as DuckDB and Spark then leave out its rows, though it is the greatest to them.
    """
    from pyarrow import types

    kinds = [str(field.type) for field in schema]
    if not any(name in kind for kind in kinds for name in ("float", "double")):
        return True
    # Fields of structs have paths that only the writer knows.
    return [
        field.name
        for field in schema
        if not types.is_nested(field.type) and not types.is_floating(field.type)
    ]


class _Sink:
    """What pyarrow takes for a file."""

    def __init__(self, transaction: Transaction) -> None:
        self._core = transaction.core
        self._intake = transaction.intake
        self._keys = transaction.keys
        self._start = bytearray()
        self._writer: ObjectWriter | None = None
        self._hasher = blake3()
        self.size = 0
        self.closed = False

    def write(self, data: bytes) -> int:
        count = len(data)
        self.size += count
        if self._writer is None:
            self._start += data
            if self.size <= self._core.options.pack_limit:
                return count
            self._writer = self._core.objects.writer(self._keys.data("part.parquet"))
            data, self._start = bytes(self._start), bytearray()
        self._hasher.update(data)
        self._writer.write(data)
        return count

    def tell(self) -> int:
        return self.size

    def flush(self) -> None:
        """Nothing is durable before the end."""

    def close(self) -> None:
        self.closed = True

    def end(self) -> Entry:
        if self._writer is None:
            return Entry.decode(self._intake.add_bytes("/part.parquet", bytes(self._start)))
        self._writer.publish()
        return Entry("", self._hasher.hexdigest(), self.size, self._writer.key)

    def discard(self) -> None:
        if self._writer is not None:
            self._writer.discard()
