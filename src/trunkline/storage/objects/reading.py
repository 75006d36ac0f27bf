"""Single entries out of a store, verified as far as they are read whole."""

from __future__ import annotations

from collections.abc import Iterator

from blake3 import blake3

from trunkline.model.entries import Entry
from trunkline.storage.objects.failures import corrupt, missing
from trunkline.storage.objects.outside import Reference, is_outside, outside_of
from trunkline.storage.objects.port import ObjectStore


def read_entry(store: ObjectStore, entry: Entry) -> Iterator[bytes]:
    """The bytes of a file in pieces. Wrong bytes end in CorruptObject, at the latest at the end."""
    if entry.offset is not None:
        yield read_packed(store, entry)
        return
    if is_outside(entry.key):
        yield from outside_of(store).read(reference(entry))
        return
    hasher = blake3()
    done = 0
    try:
        for piece in store.stream(entry.key):
            hasher.update(piece)
            done += len(piece)
            if done > entry.size:
                break
            yield piece
    except FileNotFoundError:
        raise missing(entry.path, entry.checksum, entry.key) from None
    if done != entry.size or hasher.hexdigest() != entry.checksum:
        raise corrupt(entry.path, entry.checksum, entry.key)


def read_range(store: ObjectStore, entry: Entry, start: int, length: int | None) -> Iterator[bytes]:
    """Part of a file, as a slice would cut it. Only packed files are verified."""
    stop = entry.size if length is None else min(entry.size, start + length)
    if stop <= start:
        return
    if entry.offset is not None:
        yield read_packed(store, entry)[start:stop]
        return
    if is_outside(entry.key):
        yield from outside_of(store).read(reference(entry), start, stop - start)
        return
    done = 0
    try:
        for piece in store.stream(entry.key, start, stop - start):
            done += len(piece)
            yield piece
    except FileNotFoundError:
        raise missing(entry.path, entry.checksum, entry.key) from None
    if done != stop - start:
        raise corrupt(entry.path, entry.checksum, entry.key)


def reference(entry: Entry) -> Reference:
    return Reference(entry.path, entry.checksum, entry.size, entry.key)


def read_packed(store: ObjectStore, entry: Entry) -> bytes:
    """A small file out of its pack, whole and verified."""
    try:
        data = store.get_range(entry.key, entry.offset or 0, entry.size) if entry.size else b""
    except FileNotFoundError:
        raise missing(entry.path, entry.checksum, entry.key) from None
    if len(data) != entry.size or blake3(data).hexdigest() != entry.checksum:
        raise corrupt(entry.path, entry.checksum, entry.key)
    return data
