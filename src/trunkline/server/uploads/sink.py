"""One file on its way into the store, pushed block by block."""

from __future__ import annotations

from blake3 import blake3

from trunkline.lake.core import Core
from trunkline.storage.objects.keys import KeyMaker
from trunkline.storage.objects.packer import Packer
from trunkline.storage.objects.port import ObjectWriter
from trunkline.storage.objects.whole import line


class ObjectSink:
    """Stores what is written to it: a small file in a pack, a larger one as its own object."""

    def __init__(self, core: Core, keys: KeyMaker, path: str) -> None:
        self._core = core
        self._keys = keys
        self._path = path
        self._small: list[bytes] = []
        self._writer: ObjectWriter | None = None
        self._hasher = blake3()
        self.size = 0

    def write(self, block: bytes) -> None:
        self.size += len(block)
        if self._writer is None:
            self._small.append(block)
            if self.size <= self._core.options.pack_limit:
                return
            self._writer = self._core.objects.writer(self._keys.data(self._path))
            block = b"".join(self._small)
            self._small = []
        self._hasher.update(block)
        self._writer.write(block)

    def finish(self) -> bytes:
        """The line of the file, which is durable now."""
        if self._writer is None:
            packer = Packer(self._core.objects, self._keys)
            stored = packer.add(self._path.encode(), b"".join(self._small))
            packer.publish()
            return stored
        self._writer.publish()
        return line(self._path, self._hasher.hexdigest(), self.size, self._writer.key)

    def discard(self) -> None:
        if self._writer is not None:
            self._writer.discard()
