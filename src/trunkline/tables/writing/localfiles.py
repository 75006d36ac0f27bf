"""Rows out of files of this computer, or of standard input: Parquet, CSV, JSON, Arrow."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from trunkline.errors import SourceUnreadable, Usage
from trunkline.model.tables import Format
from trunkline.tables.changing.expressions import said
from trunkline.tables.layout import format_of

if TYPE_CHECKING:
    import pyarrow as pa

ARROW = "arrow"
_ARROW_NAMES = (".arrow", ".arrows", ".feather", ".ipc")
_READERS = {
    Format.PARQUET: "read_parquet({}, union_by_name = true)",
    Format.CSV: "read_csv({}, union_by_name = true)",
    Format.JSON: "read_json_auto({}, union_by_name = true)",
}
_BATCH = 64 << 10


@contextmanager
def rows_of_files(paths: Sequence[str]) -> Iterator[pa.RecordBatchReader]:
    """The rows of all files, which are of one format; "-" is standard input, of any."""
    import duckdb
    import pyarrow as pa

    with ExitStack() as stack:
        places, kinds = [], set()
        for path in paths:
            place = _from_stdin(stack) if path == "-" else path
            kinds.add(_kind_of_content(place) if path == "-" else _kind_of_name(path))
            places.append(_readable(place))
        if len(kinds) != 1:
            shown = ", ".join(sorted(kinds))
            raise Usage(f"The files are of several formats: {shown}.", hint="Write each by itself.")
        (kind,) = kinds
        try:
            if kind == ARROW:
                yield stack.enter_context(_arrow(places))
                return
            connection = stack.enter_context(duckdb.connect(":memory:"))
            connection.execute("SET TimeZone = 'UTC'")
            listed = ", ".join("'" + _plain(place).replace("'", "''") + "'" for place in places)
            query = f"FROM {_READERS[Format(kind)].format(f'[{listed}]')}"
            yield pa.RecordBatchReader.from_stream(connection.sql(query).to_arrow_reader(_BATCH))
        except (duckdb.Error, pa.ArrowInvalid) as error:
            what = ", ".join(paths[:3])
            raise SourceUnreadable(
                f"{what} cannot be read as {kind}: {said(error)}",
                hint="Is it whole, and is it what its name says?",
            ) from None


def _kind_of_name(path: str) -> str:
    lower = path.lower()
    if lower.endswith(_ARROW_NAMES):
        return ARROW
    found = format_of(os.path.basename(path))
    if found not in _READERS:
        raise Usage(
            f"{path} is not a file of rows.",
            hint="Name .parquet, .csv, .tsv, .json, .jsonl or .arrow files, or - for stdin.",
        )
    return str(found)


def _kind_of_content(path: str) -> str:
    with open(path, "rb") as file:
        start = file.read(64).lstrip()
    if start.startswith(b"PAR1"):
        return Format.PARQUET
    if start.startswith((b"ARROW1", b"\xff\xff\xff\xff")):
        return ARROW
    return Format.JSON if start.startswith((b"{", b"[")) else Format.CSV


def _from_stdin(stack: ExitStack) -> str:
    """Kept in a file, since most formats are read from their end."""
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="trunkline-"))
    place = os.path.join(folder, "stdin")
    with open(place, "wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    return place


def _readable(path: str) -> str:
    try:
        with open(path, "rb"):
            return path
    except OSError as error:
        raise SourceUnreadable(f"{path} cannot be read: {error.strerror}.") from None


def _plain(path: str) -> str:
    """A name as DuckDB takes it: some characters would be a pattern."""
    return "".join(f"[{one}]" if one in "*?[" else one for one in path)


@contextmanager
def _arrow(paths: Sequence[str]) -> Iterator[pa.RecordBatchReader]:
    import pyarrow as pa

    with ExitStack() as stack:
        readers = []
        for path in paths:
            source = stack.enter_context(pa.memory_map(path))
            is_file = source.read(6) == b"ARROW1"
            source.seek(0)
            readers.append(pa.ipc.open_file(source) if is_file else pa.ipc.open_stream(source))
        if any(reader.schema != readers[0].schema for reader in readers):
            raise Usage("The Arrow files have different schemas.", hint="Write each by itself.")

        def batches() -> Iterator[pa.RecordBatch]:
            for reader in readers:
                if hasattr(reader, "num_record_batches"):
                    yield from map(reader.get_batch, range(reader.num_record_batches))
                else:
                    yield from reader

        yield pa.RecordBatchReader.from_batches(readers[0].schema, batches())
