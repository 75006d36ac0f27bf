"""What must be in the objects that a catalog names, and whether it is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from typing import Protocol

import zstandard
from blake3 import blake3

from trunkline.errors import CorruptObject
from trunkline.lake.manifests import Lines, decompress
from trunkline.lake.named import Named
from trunkline.model.entries import Entry, line_object
from trunkline.storage.catalog.erasures import Place, place_of
from trunkline.storage.objects.outside import is_outside


class Expected(Named):
    """Notes the hashes of all that is named, but of what is `trusted`: that is not read."""

    def __init__(self, erased: Collection[Place], trusted: Collection[str]) -> None:
        super().__init__()
        self._erased = erased
        self._touched = {key.encode() for key, _, _ in erased}
        self._trusted = {key.encode() for key in trusted}
        self._manifests: dict[str, str] = {}
        self._files: dict[str, set[tuple[int, int, str]]] = defaultdict(set)
        self.outside: set[str] = set()

    def manifest(self, key: str, digest: str) -> None:
        super().manifest(key, digest)
        self._manifests[key] = digest

    def files(self, lines: Lines) -> None:
        for line in lines:
            key = line_object(line)
            if key in self._trusted and key not in self._touched:
                self.keys.add(key.decode())
                continue
            entry = Entry.decode(line)
            if is_outside(entry.key):
                self.outside.add(entry.key)
            elif place_of(entry) not in self._erased:
                self.keys.add(entry.key)
                start = -1 if entry.offset is None else entry.offset
                self._files[entry.key].add((start, entry.size, entry.checksum))

    def verified(self, key: str, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """The pieces of an object. Wrong ones end in CorruptObject, at the latest at the end."""
        check = self._check(key)
        for piece in pieces:
            check.feed(piece)
            yield piece
        if not check.is_right():
            raise CorruptObject(
                f"The object {key} is damaged.", hint="trunkline fsck --deep names its files."
            )

    def _check(self, key: str) -> Check:
        spans = sorted(self._files.get(key, ()))
        if spans and spans[0][0] < 0:
            return _Whole(spans[0][1], spans[0][2])
        return _Pack(spans) if spans else _Text(self._manifests.get(key))


class Check(Protocol):
    def feed(self, piece: bytes) -> None: ...

    def is_right(self) -> bool: ...


class _Whole:
    """An object that is one file."""

    def __init__(self, size: int, digest: str) -> None:
        self._left, self._digest = size, digest
        self._hasher = blake3()

    def feed(self, piece: bytes) -> None:
        self._hasher.update(piece)
        self._left -= len(piece)

    def is_right(self) -> bool:
        return self._left == 0 and self._hasher.hexdigest() == self._digest


class _Pack:
    """Many files one after the other; not all of them need be in use."""

    def __init__(self, spans: list[tuple[int, int, str]]) -> None:
        self._spans = spans[::-1]
        self._held = bytearray()
        self._start = 0
        self._wrong = False

    def feed(self, piece: bytes) -> None:
        self._held += piece
        while self._spans:
            start, size, digest = self._spans[-1]
            stop = start + size
            if stop > self._start + len(self._held):
                break
            self._spans.pop()
            with memoryview(self._held) as view:
                found = blake3(view[start - self._start : stop - self._start]).hexdigest()
            self._wrong = self._wrong or found != digest
        # What is before the next file, nobody asks for.
        following = self._spans[-1][0] if self._spans else self._start + len(self._held)
        if (cut := min(following - self._start, len(self._held))) > 0:
            del self._held[:cut]
            self._start += cut

    def is_right(self) -> bool:
        return not self._wrong and all(size == 0 for _, size, _ in self._spans)


class _Text:
    """A manifest, or what jobs and open commits keep: of these no hash is known."""

    def __init__(self, digest: str | None) -> None:
        self._digest = digest
        self._data: list[bytes] = []

    def feed(self, piece: bytes) -> None:
        self._data.append(piece)

    def is_right(self) -> bool:
        try:
            text = decompress(b"".join(self._data))
        except zstandard.ZstdError:
            return False
        return self._digest is None or blake3(text).hexdigest() == self._digest
