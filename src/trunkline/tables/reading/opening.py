"""Files of a table as Arrow and DuckDB open them: in place where they can, else a copy."""

from __future__ import annotations

import contextlib
import io
import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any

from trunkline.errors import Precondition, TrunklineError
from trunkline.lake import files
from trunkline.lake.core import Core
from trunkline.model.entries import Entry
from trunkline.model.tables import Format
from trunkline.tables.layout import compression_of
from trunkline.tables.physical import local_path

if TYPE_CHECKING:
    import pyarrow as pa

# Where DuckDB says that something is, which tells nobody anything.
_place = re.compile(r"(Invalid Input Error: | in file \"[^\"]*\")")

_AHEAD = 256 << 10
_ARROW_CODECS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2"}
_DUCKDB_READS = ("", ".gz", ".zst")


class RangeFile(io.RawIOBase):
    """A file of the lake that can be read from anywhere in it, without all of its bytes."""

    def __init__(self, core: Core, entry: Entry) -> None:
        self._core = core
        self._entry = entry
        self._place = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: self._entry.size}[whence]
        self._place = max(0, start + offset)
        return self._place

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        data = b"".join(files.read(self._core, self._entry, self._place, len(view)))
        view[: len(data)] = data
        self._place += len(data)
        return len(data)


def arrow_source(core: Core, entry: Entry) -> Any:
    """What Arrow's readers open: a path, a buffer, or a file that is fetched in parts."""
    import pyarrow as pa

    if path := local_path(core, entry):
        return path
    if entry.offset is not None or entry.size <= _AHEAD:
        return pa.BufferReader(b"".join(files.read(core, entry)))
    return pa.PythonFile(io.BufferedReader(RangeFile(core, entry), _AHEAD), mode="r")


def open_parquet(source: Any, dictionaries: Sequence[str] = ()) -> Any:
    """A Parquet file for Arrow. Its checksums count, and INT96 is in microseconds: nanoseconds,
    as Arrow has it otherwise, overflow before 1677 and after 2262 without a word. Columns that are
    named come as `dictionaries`, with each value once.
    """
    import pyarrow.parquet as pq

    return pq.ParquetFile(
        source,
        page_checksum_verification=True,
        coerce_int96_timestamp_unit="us",
        read_dictionary=list(dictionaries) or None,
    )


def parquet_schema(file: Any) -> pa.Schema:
    """The columns of an opened file. INT96 has no zone there, but all who write it mean moments."""
    schema: pa.Schema = file.schema_arrow.remove_metadata()
    leaves = [file.schema.column(index).physical_type for index in range(len(file.schema))]
    if "INT96" not in leaves:
        return schema
    import pyarrow as pa

    kinds = iter(leaves)
    return pa.schema([one.with_type(_with_moments(one.type, kinds)) for one in schema])


def _with_moments(type_: pa.DataType, leaves: Iterator[str]) -> pa.DataType:
    """The type with a zone where its leaves, which are in the order of the file's, are INT96."""
    import pyarrow as pa
    from pyarrow import types

    if types.is_map(type_):
        key, item = (
            one.with_type(_with_moments(one.type, leaves))
            for one in (type_.key_field, type_.item_field)
        )
        return pa.map_(key, item)
    if types.is_struct(type_):
        return pa.struct([one.with_type(_with_moments(one.type, leaves)) for one in type_])
    if types.is_nested(type_):
        inner = type_.value_field
        return pa.list_(inner.with_type(_with_moments(inner.type, leaves)))
    return pa.timestamp("us", "UTC") if next(leaves) == "INT96" else type_


def text_stream(core: Core, entry: Entry) -> Any:
    """The bytes of a text file, decompressed, as a stream of Arrow's."""
    import pyarrow as pa

    suffix = compression_of(entry.path)
    source = arrow_source(core, entry)
    if isinstance(source, str):
        source = pa.OSFile(source)
    if not suffix:
        return source
    if suffix not in _ARROW_CODECS:
        raise Precondition(
            f"{entry.path} is compressed as {suffix}, which only Spark reads.",
            hint="Compress it with gzip or zstd and put it again.",
        )
    return pa.CompressedInputStream(source, _ARROW_CODECS[suffix])


def beginning(core: Core, entry: Entry, size: int) -> bytes:
    """The first bytes of a text file, decompressed."""
    if not compression_of(entry.path):
        return b"".join(files.read(core, entry, 0, size))
    with text_stream(core, entry) as stream:
        return bytes(stream.read(size))


@contextlib.contextmanager
def local_files(core: Core, entries: Sequence[Entry]) -> Iterator[list[str]]:
    """Paths under which DuckDB reads the files: their own, or those of copies for a while."""
    with contextlib.ExitStack() as stack:
        paths = []
        folder = ""
        for number, entry in enumerate(entries):
            suffix = compression_of(entry.path)
            path = local_path(core, entry)
            if path is None or compression_of(path) != suffix or suffix not in _DUCKDB_READS:
                folder = folder or stack.enter_context(
                    tempfile.TemporaryDirectory(prefix="trunkline-")
                )
                kept = suffix if suffix in _DUCKDB_READS else ""
                path = f"{folder}/{number}{kept}"
                with open(path, "wb") as copy:
                    _copy(core, entry, copy, decompress=kept != suffix)
            paths.append(path)
        yield paths


def _copy(core: Core, entry: Entry, to: IO[bytes], decompress: bool) -> None:
    if not decompress:
        to.writelines(files.read(core, entry))
        return
    with text_stream(core, entry) as stream:
        while piece := stream.read(1 << 20):
            to.write(piece)


def kind_of(format_: Format) -> str:
    """How a format is called in a sentence."""
    return "Parquet" if format_ is Format.PARQUET else format_.name


def unreadable(core: Core, entry: Entry, where: str, kind: str, error: Exception) -> TrunklineError:
    """Why a file cannot be read: it was erased, it is lost, or it is not what its name says."""
    if isinstance(error, TrunklineError):
        return error
    try:
        files.explain_erasure(core, entry)
    except TrunklineError as erased:
        return erased
    reason = _place.sub("", str(error).strip().split("\n")[0]).rstrip(".")
    return Precondition(
        f"{entry.path} of {where} cannot be read as {kind}: {reason}.",
        hint="Put it again whole, or remove it: trunkline rm.",
    )
