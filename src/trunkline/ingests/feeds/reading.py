"""Files made pieces of rows, some megabytes at a time."""

from __future__ import annotations

import bz2
import gzip
import io
import zlib
from collections.abc import Iterator
from typing import Any, Protocol

from trunkline.errors import Usage
from trunkline.ingests.feeds.base import Columns, JsonLines, Piece, Records, Refused
from trunkline.ingests.feeds.csvpieces import csv_pieces
from trunkline.tables.layout import compression_of, extension_of
from trunkline.tables.reading.opening import open_parquet, parquet_schema

CHUNK = 16 << 20
_KINDS = {
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
}


class Readable(Protocol):
    """An open file, packed or not."""

    def read(self, size: int = -1, /) -> bytes: ...


KINDS = ("json", "csv", "parquet", "text", "files")


def kind_of(name: str) -> str:
    """How a file is read, by its name; what holds no rows is kept as it is."""
    if compression_of(name) not in ("", ".gz", ".bz2", ".zst"):
        return "files"
    return _KINDS.get(extension_of(name), "files")


def pieces(file: Readable, source: str, kind: str, most: int) -> Iterator[Piece]:
    """The rows of an open file. What cannot be unpacked is refused from there on."""
    if kind not in KINDS:
        raise Usage(f'"{kind}" is no format of files.', hint=f"Use {', '.join(KINDS)}.")
    try:
        if kind == "parquet":
            yield from _parquet(file, source)
            return
        unpacked = _unpacked(file, source)
        if kind == "csv":
            tab = "\t" if extension_of(source) == ".tsv" else ","
            yield from csv_pieces(blocks(unpacked), source, tab)
        elif kind == "text":
            yield from _text(unpacked, source)
        elif extension_of(source) == ".json":
            yield from _document(unpacked, source, most)
        else:
            yield from _lines(unpacked, source)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        yield Refused("", f"cannot be unpacked: {error}", source)


def _unpacked(file: Any, source: str) -> Readable:
    unpacked: Readable = file
    match compression_of(source):
        case ".gz":
            unpacked = gzip.GzipFile(fileobj=file)
        case ".bz2":
            unpacked = bz2.BZ2File(file)
        case ".zst":
            import zstandard

            unpacked = zstandard.ZstdDecompressor().stream_reader(file)
    return unpacked


def blocks(file: Readable, size: int = CHUNK) -> Iterator[bytes]:
    """The file in blocks that end with a line."""
    rest = b""
    while block := file.read(size):
        head, newline, tail = (rest + block).rpartition(b"\n")
        if newline:
            yield head
            rest = tail
        else:
            rest = tail if not head else head + tail
    if rest.strip():
        yield rest


def _lines(file: Readable, source: str) -> Iterator[Piece]:
    for block in blocks(file):
        lines = [line for line in block.split(b"\n") if line.strip()]
        if lines:
            yield JsonLines(lines, [source] * len(lines))


def _document(file: Readable, source: str, most: int) -> Iterator[Piece]:
    """JSON that may be lines, one list, or one object over many lines."""
    from pydantic_core import from_json

    start = file.read(most + 1)
    if len(start) <= most:
        try:
            found = from_json(start, allow_inf_nan=False)
        except ValueError:
            found = None
        if isinstance(found, list):
            if found:
                yield Records(found, source)
            return
        if isinstance(found, dict):
            yield Records([found], source)
            return
    yield from _lines(_Chained(start, file), source)


class _Chained:
    """What was read already, and then the rest."""

    def __init__(self, start: bytes, rest: Readable) -> None:
        self._start, self._rest = io.BytesIO(start), rest

    def read(self, size: int = -1) -> bytes:
        return self._start.read(size) or self._rest.read(size)


def _text(file: Readable, source: str) -> Iterator[Piece]:
    import pyarrow as pa

    for block in blocks(file):
        good, lines = [], block.split(b"\n")
        for line in lines:
            try:
                good.append(line.decode().removesuffix("\r"))
            except UnicodeDecodeError:
                shown = line.decode(errors="backslashreplace")
                yield Refused(shown, "not UTF-8", source)
        if good:
            yield Columns(pa.table({"value": pa.array(good, pa.string())}), source)


def _parquet(file: Readable, source: str) -> Iterator[Piece]:
    import pyarrow as pa

    try:
        opened = open_parquet(file)
        schema = parquet_schema(opened)
        waiting: list[Any] = []
        size = 0
        for batch in opened.iter_batches():
            waiting.append(batch.cast(schema))
            size += batch.nbytes
            if size >= CHUNK:
                yield Columns(pa.Table.from_batches(waiting), source)
                waiting, size = [], 0
        if waiting:
            yield Columns(pa.Table.from_batches(waiting), source)
    except (pa.ArrowInvalid, OSError) as error:
        yield Refused("", f"not Parquet: {str(error).splitlines()[0]}", source)


class Joined:
    """Puts the lines of small files together, so that a batch of them is few pieces."""

    def __init__(self, most: int) -> None:
        self._most = min(most, CHUNK)
        self._lines: list[bytes] = []
        self._sources: list[str] = []
        self._size = 0

    def add(self, piece: Piece) -> Iterator[Piece]:
        if not isinstance(piece, JsonLines) or piece.extra is not None:
            yield piece
            return
        self._lines += piece.lines
        self._sources += piece.sources
        self._size += sum(map(len, piece.lines))
        if self._size >= self._most:
            yield from self.rest()

    def rest(self) -> Iterator[Piece]:
        if self._lines:
            yield JsonLines(self._lines, self._sources)
            self._lines, self._sources, self._size = [], [], 0
