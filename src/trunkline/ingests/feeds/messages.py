"""What the process of a generator tells its ingest: JSON and Arrow, which run nothing when read.

People's code runs there, so what comes is as little trusted as a file of theirs. A message is a
kind, a length and as many bytes. Values of rows that JSON has no word for are
`{"": [kind, value]}`; what is none of the known kinds is sent as its text.
"""

from __future__ import annotations

import base64
import io
import json
import re
import struct
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import IO, Any, NamedTuple

_head = struct.Struct("<cQ")
_ITEM, _TABLE, _IDLE, _ENDED = b"R", b"T", b"I", b"E"
_PIECE = 1 << 20
_TAG = ""
_dtype = re.compile(r"[<>|=]?[biufmM]\d{1,2}(\[\d{0,6}[a-zA-Zμ]{1,2}\])?").fullmatch


class Item(NamedTuple):
    """Rows, as dicts or an Arrow table, and the position behind them."""

    rows: Any
    position: Mapping[str, Any]


class Idle(NamedTuple):
    """There is nothing now."""


class Ended(NamedTuple):
    """It has ended; with the reason if that was no good end."""

    error: str = ""
    hint: str = ""


Message = Item | Idle | Ended


def send(out: IO[bytes], message: Message) -> None:
    kind, body = _encoded(message)
    out.write(_head.pack(kind, len(body)))
    out.write(body)
    out.flush()


def receive(source: IO[bytes]) -> Message:
    """The next message. EOFError where there is none, ValueError where it is none of ours."""
    kind, length = _head.unpack(_exactly(source, _head.size))
    body = _exactly(source, length)
    try:
        return _decoded(kind, body)
    except (TypeError, KeyError, RecursionError, ArithmeticError, struct.error) as error:
        raise ValueError(f"not a message: {error}") from None


def _exactly(source: IO[bytes], length: int) -> bytes:
    # Piece by piece: memory is taken for what came, not for what was announced.
    held = bytearray()
    while len(held) < length:
        piece = source.read(min(length - len(held), _PIECE))
        if not piece:
            raise EOFError
        held += piece
    return bytes(held)


def _encoded(message: Message) -> tuple[bytes, bytes]:
    if isinstance(message, Idle):
        return _IDLE, b""
    if isinstance(message, Ended):
        return _ENDED, json.dumps([message.error, message.hint]).encode()
    position = json.dumps(dict(message.position)).encode()
    if isinstance(message.rows, list):
        rows = json.dumps([_plain(row) for row in message.rows]).encode()
        return _ITEM, struct.pack("<I", len(position)) + position + rows
    return _TABLE, struct.pack("<I", len(position)) + position + _as_ipc(message.rows)


def _decoded(kind: bytes, body: bytes) -> Message:
    if kind == _IDLE:
        return Idle()
    if kind == _ENDED:
        error, hint = json.loads(body)
        return Ended(str(error), str(hint))
    (size,) = struct.unpack_from("<I", body)
    position, rest = json.loads(body[4 : 4 + size]), body[4 + size :]
    if not isinstance(position, dict):
        raise ValueError("a position is an object")
    if kind == _TABLE:
        return Item(_of_ipc(rest), position)
    if kind != _ITEM:
        raise ValueError("a message of no known kind")
    rows = json.loads(rest)
    if not isinstance(rows, list):
        raise ValueError("rows are a list")
    return Item([_value(row) for row in rows], position)


# -- tables ------------------------------------------------------------------------------------


def _as_ipc(table: Any) -> bytes:
    import pyarrow as pa

    out = io.BytesIO()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return out.getvalue()


def _of_ipc(data: bytes) -> Any:
    import pyarrow as pa

    with pa.ipc.open_stream(data) as reader:
        table = reader.read_all()
    table.validate(full=True)  # offsets that lead elsewhere would be followed
    return table


# -- values of rows ----------------------------------------------------------------------------


def _plain(value: Any) -> Any:
    """A value as JSON can say it."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        if all(type(key) is str and key != _TAG for key in value):
            return {key: _plain(one) for key, one in value.items()}
        return {_TAG: ["map", [[_plain(key), _plain(one)] for key, one in value.items()]]}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(one) for one in value]
    if isinstance(value, bytes | bytearray | memoryview):
        return {_TAG: ["bytes", base64.b64encode(value).decode()]}
    if isinstance(value, Decimal):
        return {_TAG: ["decimal", str(value)]}
    if isinstance(value, timedelta):
        return {_TAG: ["timedelta", [value.days, value.seconds, value.microseconds]]}
    for kind in (datetime, date, time):
        if isinstance(value, kind) and value == value:  # pandas has a time that is none
            return {_TAG: [kind.__name__, value.isoformat()]}
    return _of_numpy(value)


def _of_numpy(value: Any) -> Any:
    """Numbers keep their width: it is what the columns of a new table are guessed from."""
    import numpy as np

    if isinstance(value, np.ndarray) and value.dtype.kind in "biufmM":
        numbers = value.astype("int64") if value.dtype.kind in "mM" else value
        return {_TAG: ["numpy", [value.dtype.str, numbers.tolist()]]}
    if isinstance(value, np.ndarray):
        return [_plain(one) for one in value.tolist()]
    if isinstance(value, np.generic):
        return _of_numpy(np.asarray(value)) if value.dtype.kind in "biufmM" else str(value)
    return None if str(value) in ("NaT", "<NA>") else str(value)


def _numpy(told: Any) -> Any:
    import numpy as np

    dtype, numbers = told
    if not isinstance(dtype, str) or not _dtype(dtype):
        raise ValueError("not a type of numbers")
    return np.array(numbers).astype(dtype)[()]


_KINDS: dict[str, Callable[[Any], Any]] = {
    "map": lambda pairs: {_value(key): _value(one) for key, one in pairs},
    "bytes": lambda text: base64.b64decode(text, validate=True),
    "decimal": Decimal,
    "timedelta": lambda parts: timedelta(*parts),
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "time": time.fromisoformat,
    "numpy": _numpy,
}


def _value(plain: Any) -> Any:
    """What `_plain` was given."""
    if isinstance(plain, list):
        return [_value(one) for one in plain]
    if not isinstance(plain, dict):
        return plain
    if _TAG in plain:
        kind, told = plain[_TAG]
        return _KINDS[kind](told)
    return {key: _value(one) for key, one in plain.items()}
