"""Rows on the wire: streams of Arrow, which lose nothing, and cells of JSON for everybody else."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from math import isfinite
from typing import TYPE_CHECKING, Any

from trunkline.errors import TrunklineError, Unavailable, Usage

if TYPE_CHECKING:
    import pyarrow as pa

STEP = 1 << 16
"""Rows of a batch at most: what a reader has to hold at once."""
PIECE = 1 << 20
_END = b"\xff\xff\xff\xff\0\0\0\0"
_FACTS = b"trunkline"
Cut = Callable[[], TrunklineError]
_EXACT = 1 << 53
"""Whole numbers up to here are the same to everybody who reads JSON."""


def options() -> Any:
    from pyarrow import ipc

    return ipc.IpcWriteOptions(compression="zstd")


def stepped(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows in batches of bounded size."""
    for batch in batches:
        for start in range(0, batch.num_rows, STEP):
            yield batch.slice(start, STEP)


def stream_bytes(
    reader: pa.RecordBatchReader, facts: Mapping[str, Any] | None = None
) -> Iterator[bytes]:
    """A stream of Arrow, piece by piece. `facts` go before the rows."""
    from pyarrow import ipc

    schema = reader.schema
    if facts is not None:
        told = {**(schema.metadata or {}), _FACTS: json.dumps(facts).encode()}
        schema = schema.with_metadata(told)
    sink = io.BytesIO()
    with ipc.new_stream(sink, schema, options=options()) as writer:
        for batch in stepped(reader):
            writer.write_batch(batch.replace_schema_metadata(schema.metadata))
            if sink.tell() >= PIECE:
                yield _taken(sink)
    yield _taken(sink)


def _taken(sink: io.BytesIO) -> bytes:
    found = sink.getvalue()
    sink.seek(0)
    sink.truncate()
    return found


def facts_of(schema: pa.Schema) -> tuple[Any, pa.Schema]:
    """The facts before the rows, and the schema without them."""
    told = dict(schema.metadata or {})
    facts = json.loads(told.pop(_FACTS, b"null"))
    return facts, schema.with_metadata(told or None)


class Incoming(io.RawIOBase):
    """Bytes of a stream of Arrow as they come, as a file. One that is cut short is an error."""

    def __init__(self, pieces: Iterator[bytes], cut: Cut) -> None:
        self._pieces = pieces
        self._cut = cut
        self._left = memoryview(b"")
        self._last = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._left:
            piece = next(self._pieces, None)
            if piece is None:
                if self._last != _END:
                    raise self._cut()
                return 0
            self._left = memoryview(piece)
            self._last = (self._last + piece[-8:])[-8:]
        count = min(len(buffer), len(self._left))
        buffer[:count] = self._left[:count]
        self._left = self._left[count:]
        return count


def _lost() -> TrunklineError:
    return Unavailable("The stream of rows ends before its end.", hint="Try again.")


def _half() -> TrunklineError:
    return Usage("The body ends before the stream of Arrow does.")


def read_stream(pieces: Iterator[bytes], cut: Cut = _lost) -> pa.RecordBatchReader:
    """The rows of a stream, read as they come. `cut` tells what it means that some are missing."""
    import pyarrow as pa
    from pyarrow import ipc

    try:
        return ipc.open_stream(io.BufferedReader(Incoming(pieces, cut), PIECE))
    except pa.ArrowInvalid as error:
        raise Usage(f"The body is no stream of Arrow: {_line(error)}.") from None


def checked_stream(pieces: Iterator[bytes]) -> pa.RecordBatchReader:
    """The same from somebody who may send anything: no batch is used that is not whole, and each
    in pieces that stay small when they are unpacked.
    """
    import pyarrow as pa

    from trunkline.tables import unpacking

    reader = read_stream(pieces, _half)

    def batches() -> Iterator[pa.RecordBatch]:
        try:
            for batch in reader:
                batch.validate(full=True)
                yield from unpacking.pieces(batch)
        except (pa.ArrowInvalid, OSError) as error:
            raise Usage(f"The body is no stream of Arrow: {_line(error)}.") from None

    return pa.RecordBatchReader.from_batches(reader.schema, batches())


def _line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")


# -- JSON ----------------------------------------------------------------------------------


def rows_of(batch: pa.RecordBatch) -> list[list[Any]]:
    """The rows of a batch as JSON has them."""
    columns = [[cell(value) for value in column.to_pylist()] for column in batch.columns]
    return [list(row) for row in zip(*columns, strict=True)]


def cell(value: Any) -> Any:
    """A value without loss: the column's type tells how the text that JSON lacks is read.

    Decimals are text, and whole numbers beyond 2^53; NaN, Infinity and -Infinity too. Dates and
    times are ISO 8601, bytes base64; a struct is an object, a map a list of [key, value].
    """
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return value if -_EXACT <= value <= _EXACT else str(value)
    if isinstance(value, float):
        if isfinite(value):
            return value
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Mapping):
        return {str(name): cell(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return [cell(inner) for inner in value]
    return str(value)


_KINDS: dict[type, str] = {
    Decimal: "decimal",
    datetime: "timestamp",
    date: "date",
    time: "time",
    bytes: "binary",
    float: "double",
}


def value_to_json(value: Any) -> Any:
    """A value that is sent to the server: what JSON lacks is {"type": …, "value": text}."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float) and isfinite(value):
        return value
    if isinstance(value, list | tuple | set | frozenset):
        return [value_to_json(one) for one in value]
    for kind, name in _KINDS.items():
        if isinstance(value, kind):
            return {"type": name, "value": str(value) if kind is Decimal else cell(value)}
    if hasattr(value, "item"):  # a number of numpy
        return value_to_json(value.item())
    raise Usage(f"{type(value).__name__} cannot be sent to the server.", hint="Send its text.")


def value_from_json(given: Any) -> Any:
    """What `value_to_json` says, read."""
    if isinstance(given, list):
        return [value_from_json(one) for one in given]
    if not isinstance(given, Mapping):
        return given
    kind, text = given.get("type"), given.get("value")
    readers: dict[str, Any] = {
        "decimal": Decimal,
        "timestamp": datetime.fromisoformat,
        "date": date.fromisoformat,
        "time": time.fromisoformat,
        "binary": lambda one: base64.b64decode(one, validate=True),
        "double": float,
    }
    try:
        return readers[str(kind)](str(text))
    except (KeyError, ValueError, ArithmeticError):
        raise Usage(
            f"{json.dumps(given)} is no value.",
            hint='As in {"type": "date", "value": "2026-01-01"}; one of ' + ", ".join(readers),
        ) from None
