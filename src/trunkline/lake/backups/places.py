"""A place with backups: what they are, whose, and what each of them holds."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import zstandard
from blake3 import blake3

from trunkline.errors import AmbiguousId, CorruptObject, NotFound, Precondition, WrongFormat
from trunkline.model.time import Moment
from trunkline.storage.objects.keys import STREAMS
from trunkline.storage.objects.loose import loose
from trunkline.storage.objects.open import open_store
from trunkline.storage.objects.port import ObjectStore

BACKUPS = "backups/"
CATALOG, OBJECTS, DESCRIPTION = "catalog.zst", "objects.zst", "backup.json"


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup that is whole. `copied` of its `objects` were not in that place before."""

    id: str
    at: Moment
    version: str
    format: int
    objects: int
    bytes: int
    copied: int
    catalog_hash: str
    outside: int = 0
    """How many objects it refers to and does not hold."""
    lake: str = ""
    name: str = ""
    """The id of the lake, and the folder it was in."""
    objects_hash: str = ""


class Stored(NamedTuple):
    """An object as a backup lists it."""

    size: int
    hash: str


def open_place(target: str, options: Mapping[str, str]) -> ObjectStore:
    if "://" not in target:
        target = str(Path(target).expanduser().absolute())
    return open_store(target, options if target.startswith("s3://") else {})


def whole_backups(place: ObjectStore) -> list[Backup]:
    """The newest first."""
    found = [info.key for info in place.list(BACKUPS) if info.key.endswith("/" + DESCRIPTION)]
    return sorted((_described(place, key) for key in found), key=lambda one: one.id, reverse=True)


def choose(known: Iterable[Backup], source: str, at: str | None, lake: str | None) -> Backup:
    """The newest, if all are of one lake; else it must be said which."""
    matching = list(known)
    if not matching:
        raise NotFound(f"There is no backup in {source}.")
    if lake is not None:
        matching = [one for one in matching if one.name == lake or one.lake.startswith(lake)]
        if not matching:
            raise NotFound(f'There is no backup of a lake "{lake}" in {source}.')
    if at is not None:
        matching = [one for one in matching if one.id.startswith(at)]
        if not matching:
            raise NotFound(f'There is no backup "{at}" in {source}.')
        if len(matching) > 1:
            some = ", ".join(one.id[: max(12, len(at) + 4)] for one in matching[:4])
            raise AmbiguousId(f'The id "{at}" is not unique: {some} …', hint="Give more digits.")
    lakes = {one.lake: one.name for one in matching}
    if len(lakes) > 1:
        whose = ", ".join(f"{name} ({lake_id[:12]})" for lake_id, name in sorted(lakes.items()))
        raise Precondition(
            f"{source} has backups of {len(lakes)} lakes: {whose}.",
            hint="Say which: --lake NAME or ID, or --at ID of a backup.",
        )
    return matching[0]


def _described(place: ObjectStore, key: str) -> Backup:
    try:
        return Backup(**json.loads(place.get(key)))
    except (ValueError, TypeError):
        raise CorruptObject(f"The backup's {key} cannot be read.") from None


# -- its catalog and its list of objects -----------------------------------------------------


def write_lines(place: ObjectStore, key: str, lines: Iterable[bytes]) -> str:
    """Store lines, and give their hash."""
    hasher = blake3()
    compressor = zstandard.ZstdCompressor(level=6, write_checksum=True).compressobj()
    with place.writer(key) as writer:
        for line in lines:
            hasher.update(line)
            if piece := compressor.compress(line):
                writer.write(piece)
        writer.write(compressor.flush())
    return hasher.hexdigest()


def read_lines(place: ObjectStore, key: str, expected: str) -> Iterator[bytes]:
    """The lines, of which the last one is not given if they are not those that were stored."""
    hasher = blake3()
    decompressor = zstandard.ZstdDecompressor().decompressobj()
    left, last = b"", b""
    try:
        for piece in place.stream(key):
            *lines, left = (left + decompressor.decompress(piece)).split(b"\n")
            for line in lines:
                if last:
                    yield last
                last = line + b"\n"
                hasher.update(last)
    except FileNotFoundError:
        raise CorruptObject(f"The backup's {key} is missing.", hint=_EARLIER) from None
    except zstandard.ZstdError:
        raise CorruptObject(f"The backup's {key} is damaged.", hint=_EARLIER) from None
    if left or hasher.hexdigest() != expected:
        raise CorruptObject(
            f"The backup's {key} is damaged: expected {expected}, found {hasher.hexdigest()}.",
            hint=_EARLIER,
        )
    if last:
        yield last


_EARLIER = "Take another one: --at ID."


def base_of(backup_id: str) -> str:
    return f"{BACKUPS}{backup_id}/"


def catalog_lines(place: ObjectStore, backup: Backup) -> Iterator[bytes]:
    return read_lines(place, base_of(backup.id) + CATALOG, backup.catalog_hash)


def write_objects(place: ObjectStore, backup_id: str, objects: Mapping[str, Stored]) -> str:
    lines = (f"{key}\t{one.size}\t{one.hash}\n".encode() for key, one in sorted(objects.items()))
    return write_lines(place, base_of(backup_id) + OBJECTS, lines)


def read_objects(place: ObjectStore, backup: Backup) -> dict[str, Stored]:
    if not backup.objects_hash:
        raise WrongFormat(
            f"Backup {backup.id[:12]} has no list of its objects: an earlier Trunkline made it.",
            hint="Make a new one: trunkline backup create.",
        )
    found = {}
    for line in read_lines(place, base_of(backup.id) + OBJECTS, backup.objects_hash):
        key, size, digest = line.decode().rstrip("\n").split("\t")
        found[key] = Stored(int(size), digest)
    return found


class Contents:
    """What a backup lists, and what its place may have in its stead.

    What jobs keep can change when something is erased. A place then has what the latest backup
    found, for the earlier ones too.
    """

    def __init__(self, place: ObjectStore, known: Iterable[Backup], backup: Backup) -> None:
        self.objects = read_objects(place, backup)
        self._later = [one for one in known if one.id > backup.id and one.objects_hash]
        self._read = cache(lambda one: read_objects(place, one))

    def has(self, key: str, size: int, digest: str | None = None) -> bool:
        """Whether an object is one that was stored, by its size, or by its hash too."""
        if _is(self.objects[key], size, digest):
            return True
        later = (self._read(one).get(key) for one in self._later)
        return any(one is not None and _is(one, size, digest) for one in later)


def _is(stored: Stored, size: int, digest: str | None) -> bool:
    return stored.size == size and digest in (None, stored.hash)


# -- objects, and files of Spark, which have other names ---------------------------------------


def sizes(store: ObjectStore, prefixes: Iterable[str]) -> dict[str, int]:
    return {
        info.key: info.size
        for prefix in prefixes
        for info in (loose(store).list(prefix) if prefix == STREAMS else store.list(prefix))
    }


def pieces(store: ObjectStore, key: str) -> Iterator[bytes]:
    return loose(store).stream(key) if key.startswith(STREAMS) else store.stream(key)


def digest_of(parts: Iterable[bytes]) -> Stored:
    hasher, size = blake3(), 0
    for part in parts:
        hasher.update(part)
        size += len(part)
    return Stored(size, hasher.hexdigest())


def write(store: ObjectStore, key: str, parts: Iterable[bytes]) -> Stored:
    """Store an object, unless reading it ends in an error; what was stored."""
    hasher, size = blake3(), 0
    with loose(store).writer(key) if key.startswith(STREAMS) else store.writer(key) as writer:
        for part in parts:
            hasher.update(part)
            size += len(part)
            writer.write(part)
    return Stored(size, hasher.hexdigest())
