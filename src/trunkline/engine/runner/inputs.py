"""Input files: read from packs in large strides, verified, and laid out on disk."""

from __future__ import annotations

from collections.abc import Iterator

from blake3 import blake3

from trunkline.model.entries import FileBytes
from trunkline.storage.objects.failures import corrupt, missing
from trunkline.storage.objects.outside import Reference, is_outside, outside_of
from trunkline.storage.objects.port import ObjectStore

_FIRST_STRIDE = 64 << 10
_LONGEST_STRIDE = 4 << 20
_GAP = 256 << 10
_PACKS = 8


class InputReader:
    """Reads entries of a store. Remembers the last stretch of a few packs."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        # Pack to where the stretch begins, its bytes, and how much is read the next time.
        self._stretches: dict[str, tuple[int, bytes, int]] = {}

    def read(self, fields: FileBytes) -> bytes:
        """All bytes of a file."""
        if fields.offset < 0:
            return b"".join(self.stream(fields))
        data = self._packed(fields) if fields.size else b""
        if len(data) != fields.size or blake3(data).hexdigest() != fields.digest:
            raise corrupt(fields.path, fields.digest, fields.key)
        return data

    def stream(self, fields: FileBytes) -> Iterator[bytes]:
        """The bytes of a whole object; wrong ones raise at the end at the latest."""
        if is_outside(fields.key):
            yield from outside_of(self._store).read(Reference(*fields[:4]), publish=True)
            return
        hasher = blake3()
        done = 0
        try:
            for piece in self._store.stream(fields.key):
                hasher.update(piece)
                done += len(piece)
                yield piece
        except FileNotFoundError:
            raise missing(fields.path, fields.digest, fields.key) from None
        if done != fields.size or hasher.hexdigest() != fields.digest:
            raise corrupt(fields.path, fields.digest, fields.key)

    def _packed(self, fields: FileBytes) -> bytes:
        _, _, size, key, offset = fields
        known = self._stretches.get(key)
        stride = _FIRST_STRIDE
        if known is not None:
            start, data, stride = known
            at = offset - start
            if at >= 0 and at + size <= len(data):
                return data[at : at + size]
            # Whoever reads on from where the last stretch ended will go on doing so.
            is_next = 0 <= at <= len(data) + _GAP
            stride = min(stride * 4, _LONGEST_STRIDE) if is_next else _FIRST_STRIDE
        elif len(self._stretches) >= _PACKS:
            del self._stretches[next(iter(self._stretches))]
        try:
            data = self._store.get_range(key, offset, max(size, stride))
        except FileNotFoundError:
            raise missing(fields.path, fields.digest, key) from None
        self._stretches[key] = (offset, data, stride)
        return data[:size]
