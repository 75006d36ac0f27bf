"""Blocks of a database as pieces of a batch: columns, and rows with a value that does not fit."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trunkline.connect.sqlreading import Block
from trunkline.ingests.columns import as_text, column, without
from trunkline.ingests.feeds.base import Columns, Piece, Refused
from trunkline.tables.types import from_arrow_type

if TYPE_CHECKING:
    import pyarrow as pa


def pieces_of(block: Block, source: str, required: Sequence[str] = ()) -> Iterator[Piece]:
    """The rows of a block. `required` columns must not be null."""
    import pyarrow as pa

    arrays, names, bad = [], [], dict[int, str]()
    for one, values in zip(block.columns, block.plain(), strict=True):
        array, refused = _array(values, one.type)
        if one.name in required:
            nulls = (at for at, value in enumerate(values) if value is None)
            refused |= dict.fromkeys(nulls, "it is null, and of the key")
        for at, why in refused.items():
            bad.setdefault(at, f"{one.name}: {why}")
        if not pa.types.is_null(array.type):
            arrays.append(array)
            names.append(one.name)
    if bad:
        yield from _refused(block, bad, source)
    table = without(pa.Table.from_arrays(arrays, names=names), bad)
    if table.num_rows and names:
        yield Columns(table, source)


def _array(values: Sequence[Any], wanted: pa.DataType | None) -> tuple[pa.Array, dict[int, str]]:
    import pyarrow as pa

    try:
        return pa.array(values, wanted), {}
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        if wanted is None:
            # Values of several types, as SQLite has them in one column.
            texts = [None if one is None else _text(one) for one in values]
            return pa.array(texts, pa.string()), {}
    return column(values, str(from_arrow_type(wanted)))


def _text(value: Any) -> str:
    return value.decode(errors="backslashreplace") if isinstance(value, bytes) else str(value)


def _refused(block: Block, bad: dict[int, str], source: str) -> Iterator[Refused]:
    names = [one.name for one in block.columns]
    for at in sorted(bad):
        row = {name: values[at] for name, values in zip(names, block.values, strict=True)}
        yield Refused(as_text(row), bad[at], source)


class Spill:
    """Pieces on disk, with a fingerprint of their rows that does not go by their order.

    So a table is read once, whether it turns out to be new or not, and the database is not kept
    waiting while its rows are stored.
    """

    def __init__(self) -> None:
        import duckdb

        self._folder = tempfile.TemporaryDirectory(prefix="trunkline-sql-")
        self._path = Path(self._folder.name) / "rows"
        self._engine = duckdb.connect()
        self._sum = 0
        self._shapes: set[str] = set()
        self._refused: list[Refused] = []
        self.rows = 0
        self._sink = open(self._path, "wb")  # noqa: SIM115 - open until all are in

    def add(self, piece: Piece) -> None:
        import pyarrow as pa

        self.rows += 1
        if isinstance(piece, Refused):
            self._refused.append(piece)
            digest = hashlib.blake2b(piece.line.encode(), digest_size=16).digest()
            self._sum += int.from_bytes(digest)
            return
        assert isinstance(piece, Columns)
        table = piece.table
        self.rows += table.num_rows - 1
        self._sum += self._hash(table)
        self._shapes.add(str(table.schema))
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        with pa.ipc.new_stream(self._sink, table.schema, options=options) as stream:
            stream.write_table(table)

    def fingerprint(self) -> str:
        import duckdb

        self._sink.close()
        # Another DuckDB hashes otherwise: then the rows count as changed, once.
        facts = (duckdb.__version__, sorted(self._shapes), self.rows, self._sum % 2**128)
        return hashlib.blake2b(repr(facts).encode(), digest_size=16).hexdigest()

    def pieces(self, source: str) -> Iterator[Piece]:
        import pyarrow as pa

        yield from self._refused
        with pa.OSFile(str(self._path)) as file:
            while file.tell() < file.size():
                with pa.ipc.open_stream(file) as stream:
                    yield Columns(stream.read_all(), source)

    def close(self) -> None:
        self._sink.close()
        self._engine.close()
        self._folder.cleanup()

    def _hash(self, table: pa.Table) -> int:
        names = [f"c{at}" for at in range(table.num_columns)]
        self._engine.register("block", table.rename_columns(names))
        try:
            columns = ", ".join(names)
            ((low, high),) = self._engine.execute(
                f"SELECT sum(hash({columns})::HUGEINT), sum(hash({columns}, 1)::HUGEINT) FROM block"
            ).fetchall()
        finally:
            self._engine.unregister("block")
        return int(low) + (int(high) << 64)
