"""Bytes that can be given again: those of a file, of memory, or of a stream that was spooled."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import IO, Protocol

from blake3 import blake3

from trunkline.storage.objects.source import changed, open_source, same, unreadable

PIECE = 1 << 20
IN_MEMORY = 8 << 20


class Source(Protocol):
    """Something to upload. `read` gives exactly what is asked for."""

    size: int

    def read(self, start: int, length: int) -> bytes: ...

    def check(self) -> None:
        """Raise if it changed since it was opened."""


class Held:
    """Bytes in memory."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.size = len(data)

    def read(self, start: int, length: int) -> bytes:
        return self._data[start : start + length]

    def check(self) -> None:
        return


class Spooled:
    """A stream that was written to a file without a name."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file = file
        self.size = size

    def read(self, start: int, length: int) -> bytes:
        return os.pread(self._file.fileno(), length, start)

    def check(self) -> None:
        return


class LocalFile:
    """A file of this computer, which must stay as it is."""

    def __init__(self, fd: int, before: os.stat_result, local: bytes) -> None:
        self._fd = fd
        self._before = before
        self._local = local
        self.size = before.st_size

    def read(self, start: int, length: int) -> bytes:
        try:
            data = os.pread(self._fd, length, start)
            while len(data) < length and (more := os.pread(self._fd, length, start + len(data))):
                data += more[: length - len(data)]
        except OSError as error:
            raise unreadable(self._local, error) from None
        if len(data) < length:
            raise changed(self._local)
        return data

    def check(self) -> None:
        if not same(self._before, os.fstat(self._fd)):
            raise changed(self._local)


@contextmanager
def opened(local: str | os.PathLike[str]) -> Iterator[LocalFile]:
    name = os.fsencode(local)
    fd, before = open_source(name)
    try:
        yield LocalFile(fd, before, name)
    finally:
        os.close(fd)


def read_small(local: str | os.PathLike[str]) -> bytes:
    """A whole small file, as `opened` would read it, for those who read thousands."""
    name = os.fsencode(local)
    fd, before = open_source(name)
    try:
        # One byte more than expected: a file that grew shows itself.
        data = os.read(fd, before.st_size + 1)
        if len(data) != before.st_size or not same(before, os.fstat(fd)):
            raise changed(name)
    except OSError as error:
        raise unreadable(name, error) from None
    finally:
        os.close(fd)
    return data


@contextmanager
def spooled(chunks: Iterable[bytes]) -> Iterator[Source]:
    """All that a stream gives: in memory if it is small, else on disk."""
    with tempfile.SpooledTemporaryFile(IN_MEMORY) as file:
        size = 0
        for chunk in chunks:
            size += file.write(chunk)
        if size <= IN_MEMORY:
            file.seek(0)
            yield Held(file.read())
        else:
            file.rollover()
            file.flush()
            yield Spooled(file, size)


def hash_of(source: Source) -> str:
    hasher = blake3()
    for start in range(0, source.size, PIECE):
        hasher.update(source.read(start, min(PIECE, source.size - start)))
    source.check()
    return hasher.hexdigest()
