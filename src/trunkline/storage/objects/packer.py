"""Small files end to end in packs: one object, one sync, for thousands of them.

Costs are per file, so the loop over files is written for speed and touches nothing twice.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from blake3 import blake3

from trunkline import errors
from trunkline.storage.crashpoints import crashpoint
from trunkline.storage.objects.keys import KeyMaker
from trunkline.storage.objects.port import Buffer, ObjectStore, ObjectWriter
from trunkline.storage.objects.source import changed, open_source, same, unreadable

PACK_LIMIT = 1 << 20
PACK_SIZE = 64 << 20
_FLUSH = 4 << 20

# What `add_files` says of a file instead of a line.
KNOWN = b""
LARGE = b"+"

Job = tuple[bytes, bytes, bytes]
"""Path in the lake, local path, and the hash the path already has (or nothing)."""


class Packer:
    """The pack being written. Belongs to one thread."""

    def __init__(
        self,
        store: ObjectStore,
        keys: KeyMaker,
        pack_limit: int = PACK_LIMIT,
        pack_size: int = PACK_SIZE,
    ) -> None:
        self._store = store
        self._keys = keys
        self._limit = pack_limit
        self._size = pack_size
        self._writer: ObjectWriter | None = None
        self._key = b""
        self._parts: list[Buffer] = []
        self._pending = 0
        self._offset = 0

    def add(self, path: bytes, data: bytes) -> bytes:
        """Append one file; its line. The pack is readable after `publish`."""
        return self._append(path, data, blake3(data).hexdigest().encode())

    def add_files(self, jobs: Sequence[Job]) -> tuple[list[bytes], int]:
        """Append files up to the limit. For each a line, KNOWN or LARGE; and the bytes read."""
        lines: list[bytes] = []
        total = 0
        limit = self._limit
        fstat, read, close = os.fstat, os.read, os.close
        append, hasher, line_of = lines.append, blake3, self._append
        for path, local, known in jobs:
            fd, before = open_source(local)
            try:
                size = before.st_size
                if size > limit:
                    append(LARGE)
                    continue
                # One byte more than expected: a file that grew shows itself.
                data = read(fd, size + 1)
                if len(data) != size or not same(before, fstat(fd)):
                    raise changed(local)
            except OSError as error:
                raise unreadable(local, error) from None
            finally:
                close(fd)
            total += size
            digest = hasher(data).hexdigest().encode()
            append(KNOWN if digest == known else line_of(path, data, digest))
        return lines, total

    def publish(self) -> None:
        """Make the pack durable. Every line returned so far can be read now."""
        if not self._key:
            return
        self._flush()
        writer = self._writer
        self._reset()
        if writer is not None:
            writer.publish()
        crashpoint("put.after_bytes")

    def discard(self) -> None:
        writer = self._writer
        self._reset()
        if writer is not None:
            writer.discard()

    def _append(self, path: bytes, data: bytes, digest: bytes) -> bytes:
        size = len(data)
        if not self._key:
            self._key = self._keys.pack().encode()
        offset = self._offset
        self._parts.append(data)
        self._offset = offset + size
        self._pending += size
        line = b"%b\t%b\t%d\t%b\t%d" % (path, digest, size, self._key, offset)
        if self._pending >= _FLUSH:
            self._flush()
            if self._offset >= self._size:
                self.publish()
        return line

    def _flush(self) -> None:
        if self._writer is None:
            crashpoint("put.before_bytes")
            self._writer = self._store.writer(self._key.decode())
        parts, self._parts, self._pending = self._parts, [], 0
        try:
            self._writer.write(b"".join(parts))
        except errors.TrunklineError:
            self.discard()
            raise
        crashpoint("put.during_bytes")

    def _reset(self) -> None:
        self._writer = None
        self._key = b""
        self._parts = []
        self._pending = self._offset = 0
