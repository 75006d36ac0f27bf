"""What of a version goes to a folder or a bucket: files as they are, or tables written anew."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trunkline.egress.base import Shipment
from trunkline.egress.targets.rowsending import json_rows
from trunkline.errors import Precondition
from trunkline.lake import files
from trunkline.model.entries import Entry, line_path

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_OF_A_FILE = 1_000_000
NOTES = ".trunkline.json"
"""Where a target keeps what it has, at the target itself."""
_PIECE = 4 << 20


@dataclass(frozen=True, slots=True)
class Parcel:
    """A file to send: one of the lake (`line`), or one that was made (`file`)."""

    name: str
    size: int
    digest: str
    line: bytes = b""
    file: Path | None = None

    @property
    def identity(self) -> list[object]:
        return [self.digest, self.size]

    def pieces(self, shipment: Shipment) -> Iterator[bytes]:
        if self.file is None:
            yield from shipment.open(Entry.decode(self.line))
            return
        with open(self.file, "rb") as stream:
            while piece := stream.read(_PIECE):
                yield piece


def base_of(shipment: Shipment) -> str:
    """The folder of the lake that becomes the target's."""
    tree = shipment.core.tree(shipment.commit)
    if tree.find(shipment.path.encode()) is not None:
        return shipment.path.rpartition("/")[0] or "/"
    return shipment.path


def parcels_of(shipment: Shipment, format_: str, work: Path) -> list[Parcel]:
    """All of them, by name. Tables in another format are written to the folder `work`."""
    place = f"{shipment.commit.repo}@{shipment.commit.short_id}"
    files.stat(shipment.core.tree(shipment.commit), shipment.path, place)  # is it there at all
    if format_ != "keep":
        return list(_made(shipment, format_, work))
    start = len(base_of(shipment).rstrip("/").encode()) + 1
    found = []
    for line in shipment.lines():
        name = line_path(line)[start:].decode()
        if name.partition("/")[0] == NOTES:
            raise Precondition(
                f"The output has a file {NOTES}, where its target keeps notes of its own.",
                hint="Call it otherwise, or deliver a folder that does not have it.",
            )
        entry = Entry.decode(line)
        found.append(Parcel(name, entry.size, entry.checksum, line))
    return found


def _made(shipment: Shipment, format_: str, work: Path) -> Iterator[Parcel]:
    from trunkline.tables.describe import tables_in

    tree = shipment.core.tree(shipment.commit)
    below = shipment.path.rstrip("/") + "/"
    tables = [one for one in tables_in(tree) if (one.rstrip("/") + "/").startswith(below)]
    single = tree.find(shipment.path.encode()) is not None
    for path in [shipment.path] if single else tables:
        one = Shipment(shipment.core, shipment.commit, path, None)
        folder = "" if single else path[len(below) :].strip("/")
        yield from _written(one, format_, work, f"{folder}/" if folder else "")
    if not single and not tables:
        shipment.table()  # says what is missing


def _written(shipment: Shipment, format_: str, work: Path, prefix: str) -> Iterator[Parcel]:
    """The files of one table; at least one, which has its columns."""
    import pyarrow as pa

    schema, batches, number = shipment.schema(), shipment.batches(), 0
    left = next(batches, None)
    while left is not None or number == 0:
        name = f"{prefix}part-{number:05}.{format_}"
        path = work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = 0
        try:
            with _Writer(path, schema, format_) as writer:
                while left is not None and rows < ROWS_OF_A_FILE:
                    some = left[: ROWS_OF_A_FILE - rows]
                    writer.write(some)
                    rows += some.num_rows
                    left = left[some.num_rows :] if some.num_rows < left.num_rows else None
                    left = next(batches, None) if left is None else left
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
            raise Precondition(
                f"{shipment.table().name} cannot be written as {format_}: "
                f"{str(error).splitlines()[0]}",
                hint="Choose another format, as json or parquet.",
            ) from None
        yield replace(_parcel(path), name=name)
        number += 1


def _parcel(path: Path) -> Parcel:
    from blake3 import blake3

    hasher = blake3()
    hasher.update_mmap(path)
    return Parcel(path.name, path.stat().st_size, hasher.hexdigest(), file=path)


class _Writer:
    """One file of rows."""

    def __init__(self, path: Path, schema: pa.Schema, format_: str) -> None:
        self._stream = open(path, "wb")  # noqa: SIM115 - closed by __exit__
        self._writer: Any = None
        if format_ == "parquet":
            from pyarrow import parquet

            self._writer = parquet.ParquetWriter(self._stream, schema, compression="zstd")
        self._is_csv = format_ == "csv"
        if self._is_csv:
            try:
                self._stream.write(_csv(schema.empty_table(), header=True))
            except BaseException:
                self._stream.close()
                raise

    def write(self, batch: pa.RecordBatch) -> None:
        if self._writer is not None:
            self._writer.write_batch(batch)
        elif self._is_csv:
            self._stream.write(_csv(batch))
        else:
            self._stream.write(as_lines(batch))

    def __enter__(self) -> _Writer:
        return self

    def __exit__(self, *_: object) -> None:
        if self._writer is not None:
            self._writer.close()
        self._stream.close()


_NO_NUMBER = re.compile(rb'"(?:[^"]|"")*+"|(?<![^,\n])(?:nan|-?inf)(?=[,\n])')
_WORDS = {b"nan": b"NaN", b"inf": b"Inf", b"-inf": b"-Inf"}
"""As Spark reads them in CSV, and so does the lake."""


def _csv(rows: pa.RecordBatch | pa.Table, *, header: bool = False) -> bytes:
    import pyarrow as pa
    import pyarrow.types as kinds
    from pyarrow import compute as pc
    from pyarrow import csv

    sink = io.BytesIO()
    csv.write_csv(pa.table(rows), sink, csv.WriteOptions(include_header=header))
    text = sink.getvalue()
    floats = [one for one in rows.columns if kinds.is_floating(one.type)]
    if all(pc.all(pc.is_finite(one)).as_py() is not False for one in floats):
        return text
    return _NO_NUMBER.sub(lambda found: _WORDS.get(found[0], found[0]), text)


def as_lines(batch: pa.RecordBatch) -> bytes:
    """Rows as JSON, one a line."""
    from trunkline.tables.reading.cells import plain

    rows = (json.dumps(plain(row), ensure_ascii=False) for row in json_rows(batch))
    return "".join(f"{row}\n" for row in rows).encode()
