"""One large file as one object: read, hashed and written in pieces."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from itertools import chain

from blake3 import blake3

from trunkline.storage.crashpoints import crashpoint
from trunkline.storage.objects.keys import KeyMaker
from trunkline.storage.objects.port import Buffer, ObjectStore
from trunkline.storage.objects.source import changed, open_source, same, unreadable

# Small enough to stay in the processor's cache between read, hash and write.
PIECE = 256 << 10


def store_file(
    store: ObjectStore,
    keys: KeyMaker,
    path: str,
    local: bytes,
    known: tuple[bytes, int],
    wrote: Callable[[int], None],
) -> bytes:
    """The line of the stored file, or nothing if its bytes are `known` (hash and size) already.

    `wrote` is told the size of each piece, and may raise to stop.
    """
    fd, before = open_source(local)
    try:
        size = before.st_size
        buffer = memoryview(bytearray(min(PIECE, size + 1)))
        if known[1] == size and _hash(fd, local, buffer) == known[0]:
            if not same(before, os.fstat(fd)):
                raise changed(local)
            wrote(size)
            return b""
        key = keys.data(path)
        hasher = blake3()
        crashpoint("put.before_bytes")
        done = 0
        with store.writer(key, size) as writer:
            while count := _read(fd, local, buffer, done):
                piece = buffer[:count]
                hasher.update(piece)
                writer.write(piece)
                done += count
                wrote(count)
                crashpoint("put.during_bytes")
                if done > size:
                    break
            if done != size or not same(before, os.fstat(fd)):
                raise changed(local)
        crashpoint("put.after_bytes")
    finally:
        os.close(fd)
    return line(path, hasher.hexdigest(), done, key)


def store_stream(
    store: ObjectStore, keys: KeyMaker, path: str, first: bytes, rest: Iterable[Buffer]
) -> bytes:
    """Store pieces of unknown number as one object."""
    key = keys.data(path)
    hasher = blake3()
    done = 0
    crashpoint("put.before_bytes")
    with store.writer(key) as writer:
        for piece in chain((first,), rest):
            hasher.update(piece)
            writer.write(piece)
            done += len(piece)
            crashpoint("put.during_bytes")
    crashpoint("put.after_bytes")
    return line(path, hasher.hexdigest(), done, key)


def line(path: str, digest: str, size: int, key: str) -> bytes:
    return f"{path}\t{digest}\t{size}\t{key}\t-".encode()


def _hash(fd: int, local: bytes, buffer: memoryview) -> bytes:
    hasher = blake3()
    done = 0
    while count := _read(fd, local, buffer, done):
        hasher.update(buffer[:count])
        done += count
    return hasher.hexdigest().encode()


def _read(fd: int, local: bytes, buffer: memoryview, start: int) -> int:
    try:
        return os.preadv(fd, [buffer], start)
    except OSError as error:
        raise unreadable(local, error) from None
