"""How large a stream of Arrow becomes, told before any of it is unpacked.

A few bytes may say that they unpack to more than there is memory. What each buffer of a batch
unpacks to is its first eight bytes; where the buffers are is told by the batch's metadata, a
flatbuffer, of which this reads as much as that takes.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from typing import BinaryIO

from trunkline.errors import TooLarge, Usage

LARGEST_BATCH = 1 << 30
MOST_ROWS = 16 << 20
"""Of a batch: rows of nulls take no bytes at all."""
MOST_METADATA = 64 << 20
_GOES_ON = 0xFFFFFFFF
_DICTIONARY, _BATCH = 2, 3


def check_sizes(file: BinaryIO, largest: int = LARGEST_BATCH) -> None:
    """Refuse a stream with a batch that unpacks to more; the file stands where it stood."""
    start = file.tell()
    try:
        end = file.seek(0, os.SEEK_END)
        file.seek(start)
        for metadata, body in _messages(file, end):
            if (size := _unpacked(file, metadata, body, end)) > largest:
                raise TooLarge(
                    f"A batch of {size:,} bytes is too large; most: {largest:,}.",
                    hint="Send the rows in smaller batches.",
                )
    except (struct.error, IndexError, ValueError, OverflowError):
        raise Usage("The body is no stream of Arrow: its metadata is damaged.") from None
    finally:
        file.seek(start)


def _messages(file: BinaryIO, end: int) -> Iterator[tuple[bytes, int]]:
    """The metadata of each message, and where its body begins."""
    while len(head := file.read(4)) == 4:
        (length,) = struct.unpack("<I", head)
        if length == _GOES_ON:
            (length,) = struct.unpack("<I", file.read(4))
        if length == 0:
            return
        if length > min(MOST_METADATA, end - file.tell()):
            raise ValueError("metadata")
        metadata = file.read(length)
        body = file.tell()
        yield metadata, body
        (size,) = struct.unpack_from("<q", metadata, at) if (at := _field(metadata, 3)) else (0,)
        if not 0 <= size <= end - body:
            raise ValueError("body")
        file.seek(body + size)


def _unpacked(file: BinaryIO, metadata: bytes, body: int, end: int) -> int:
    """What the buffers of a message unpack to; 0 where nothing is packed."""
    at = _field(metadata, 1)
    kind = metadata[at] if at else 0
    header = _table(metadata, _field(metadata, 2))
    if kind == _DICTIONARY:
        header = _table(metadata, _field(metadata, 1, header))
    elif kind != _BATCH:
        return 0
    at = _field(metadata, 0, header)
    (rows,) = struct.unpack_from("<q", metadata, at) if at else (0,)
    if rows < 0:
        raise ValueError("rows")
    if rows > MOST_ROWS:
        raise TooLarge(
            f"A batch of {rows:,} rows is too large; most: {MOST_ROWS:,}.",
            hint="Send the rows in smaller batches.",
        )
    if not _field(metadata, 3, header):
        return 0
    total = 0
    for offset, length in _buffers(metadata, _field(metadata, 2, header)):
        if length == 0:
            continue
        if offset < 0 or length < 8 or body + offset + 8 > end:
            raise ValueError("buffer")
        file.seek(body + offset)
        (size,) = struct.unpack("<q", file.read(8))
        total += size if size >= 0 else length
    return total


def _buffers(metadata: bytes, at: int) -> Iterator[tuple[int, int]]:
    if not at:
        return
    first = at + _u32(metadata, at)
    count = _u32(metadata, first)
    if first + 4 + count * 16 > len(metadata):
        raise ValueError("buffers")
    for number in range(count):
        yield struct.unpack_from("<qq", metadata, first + 4 + number * 16)


def _field(data: bytes, number: int, table: int | None = None) -> int:
    """Where a field of a table is, 0 where it is not set."""
    if table is None:
        table = _u32(data, 0)
    if not table:
        return 0
    (back,) = struct.unpack_from("<i", data, table)
    known = table - back
    if known < 0:
        raise ValueError("table")
    (size,) = struct.unpack_from("<H", data, known)
    slot = 4 + number * 2
    if slot + 2 > size:
        return 0
    (offset,) = struct.unpack_from("<H", data, known + slot)
    return table + offset if offset else 0


def _table(data: bytes, at: int) -> int:
    return at + _u32(data, at) if at else 0


def _u32(data: bytes, at: int) -> int:
    (found,) = struct.unpack_from("<I", data, at)
    return int(found)
