"""An iterator of bytes as a file to read from."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


class ChunkStream(io.RawIOBase):
    """Reads from chunks of any size, holding no more than one of them."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._left = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        while not self._left:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._left = memoryview(chunk)
        view = memoryview(buffer)
        taken = min(len(view), len(self._left))
        view[:taken] = self._left[:taken]
        self._left = self._left[taken:]
        return taken


def open_chunks(chunks: Iterator[bytes]) -> io.BufferedReader:
    return io.BufferedReader(ChunkStream(chunks), 1 << 20)
