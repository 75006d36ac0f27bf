"""Messages between this process and its helpers: a kind, a length, bytes."""

from __future__ import annotations

import json
import struct
from typing import BinaryIO

from trunkline import errors

SETUP = b"S"
BATCH = b"B"
FINISH = b"F"
ANSWER = b"A"
ERROR = b"E"

_head = struct.Struct("<cI")


def send(stream: BinaryIO, kind: bytes, payload: bytes = b"") -> None:
    stream.write(_head.pack(kind, len(payload)) + payload)
    stream.flush()


def receive(stream: BinaryIO) -> tuple[bytes, bytes] | None:
    """The next message, or None if the other side is gone."""
    head = stream.read(_head.size)
    if len(head) < _head.size:
        return None
    kind, length = _head.unpack(head)
    payload = stream.read(length)
    return (kind, payload) if len(payload) == length else None


def encode_error(error: errors.TrunklineError) -> bytes:
    return json.dumps([type(error).__name__, error.message, error.hint]).encode()


def decode_error(payload: bytes) -> errors.TrunklineError:
    name, message, hint = json.loads(payload)
    kind = getattr(errors, name, errors.Failed)
    error = kind(message, hint=hint)
    assert isinstance(error, errors.TrunklineError)
    return error
