"""The rows of a query on disk: a stream of Arrow that can be read while it is written."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from trunkline.errors import DiskFull, TooLarge
from trunkline.sdk.wire.arrow import options, stepped
from trunkline.storage.disk import spare

if TYPE_CHECKING:
    import pyarrow as pa

MOST_ROWS = 100_000_000
MOST_BYTES = 4 << 30
SMALL = 1 << 20
"""So much is written in any case: a disk that is nearly full can still be asked about."""


class Spool:
    """One writer, any number of readers. Rows are numbered from 0."""

    def __init__(
        self,
        path: Path,
        *,
        rows: int = MOST_ROWS,
        size: int = MOST_BYTES,
        reserve: int | None = None,
    ) -> None:
        self.path = path
        self._reserve = reserve
        self.rows = self.size = 0
        self.schema: pa.Schema | None = None
        self._most = rows, size
        self._starts: list[int] = []
        self._places: list[int] = []

    def write(self, reader: pa.RecordBatchReader, told: Callable[[], None]) -> None:
        """Take all rows; `told` is called after each step, and may raise to end it."""
        import pyarrow as pa
        from pyarrow import ipc

        with pa.OSFile(str(self.path), "wb") as sink:
            with ipc.new_stream(sink, reader.schema, options=options()) as writer:
                self.schema = reader.schema
                for batch in stepped(reader):
                    place = sink.tell()
                    self._refuse_full(place + batch.nbytes, batch.nbytes)
                    writer.write_batch(batch)
                    self._refuse(self.rows + batch.num_rows, sink.tell())
                    self._places.append(place)
                    self._starts.append(self.rows)
                    self.size = sink.tell()
                    self.rows += batch.num_rows
                    told()
            self.size = sink.tell()

    def _refuse(self, rows: int, size: int) -> None:
        most_rows, most_size = self._most
        if rows > most_rows or size > most_size:
            most = f"{most_rows:,} rows" if rows > most_rows else f"{most_size >> 20:,} MiB"
            raise TooLarge(
                f"The answer has more than {most}, which is the most that is kept.",
                hint="Add a LIMIT, or read the table itself, as a stream.",
            )

    def _refuse_full(self, size: int, more: int) -> None:
        if size > SMALL and spare(self.path.parent, self._reserve) < more:
            raise DiskFull(
                "The server has no space left for the rows of this query.",
                hint="Add a LIMIT, or free some space on the server.",
            )

    def batches(self, start: int = 0, count: int | None = None) -> Iterator[pa.RecordBatch]:
        """Rows that are written, from one on."""
        end = self.rows if count is None else min(self.rows, start + count)
        number = max(0, bisect_right(self._starts, start) - 1)
        for batch in self._from(number) if start < end else ():
            first = self._starts[number]
            if first >= end:
                return
            begin = max(0, start - first)
            yield batch.slice(begin, min(batch.num_rows, end - first) - begin)
            number += 1

    def reader(self, count: int | None = None) -> pa.RecordBatchReader:
        """The first rows, or all, as a stream of batches."""
        import pyarrow as pa

        assert self.schema is not None
        return pa.RecordBatchReader.from_batches(self.schema, self.batches(0, count))

    def _from(self, number: int) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        from pyarrow import ipc

        assert self.schema is not None
        with pa.OSFile(str(self.path), "rb") as source:
            if any(_has_dictionary(field.type) for field in self.schema):
                # Its values came before the first batch: there is no way in between.
                stream = ipc.open_stream(source)
                for index in range(len(self._places)):
                    batch = stream.read_next_batch()
                    if index >= number:
                        yield batch
                return
            for place in self._places[number:]:
                source.seek(place)
                if place == 0:  # the schema is written together with the first batch
                    ipc.read_message(source)
                yield ipc.read_record_batch(ipc.read_message(source), self.schema)

    def drop(self) -> None:
        """Forget the rows. Who has the file open reads on."""
        with suppress(FileNotFoundError):
            os.unlink(self.path)


def _has_dictionary(type_: pa.DataType) -> bool:
    import pyarrow as pa

    if pa.types.is_dictionary(type_):
        return True
    return any(_has_dictionary(type_.field(at).type) for at in range(type_.num_fields))
