"""A copy of a whole lake: its catalog as of one moment, and every object that it names.

Objects never change, so a second backup to the same place copies only what is new. The catalog is
read first and the objects after it; a lease keeps gc from removing any in between. A backup
counts when its description is there, which is written last. The secrets of pipelines and the
key of the server are not in it: who may read a backup need not know them. Nor is what files
refer to outside the lake: the reference is, and a lake that is restored follows it as this one.

An erasure does not reach what was copied before it. A lake that is restored does all that its
catalog knows of again, so that what was erased before a backup does not come back with it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import zstandard
from blake3 import blake3

from trunkline.errors import AlreadyExists, CorruptObject, NotFound, Usage
from trunkline.lake.core import Core, Options
from trunkline.lake.create import Addresses, attach, prepare, read_addresses, store_url
from trunkline.lake.erase import finish_erasures
from trunkline.lake.lease import Lease
from trunkline.lake.reach import outside_objects
from trunkline.model.ids import new_id
from trunkline.model.time import Moment, to_rfc3339
from trunkline.storage.catalog import FORMAT, leases
from trunkline.storage.catalog.dump import dump, load
from trunkline.storage.objects.keys import DATA, JOBS, MANIFESTS, PACKS, STREAMS
from trunkline.storage.objects.loose import LooseFiles, loose
from trunkline.storage.objects.open import open_store
from trunkline.storage.objects.port import ObjectStore

BACKUPS = "backups/"
_AT_ONCE = 8
_CATALOG, _DESCRIPTION = "catalog.zst", "backup.json"


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

    def to_dict(self) -> dict[str, object]:
        return {
            "id": self.id,
            "at": to_rfc3339(self.at),
            "version": self.version,
            "format": self.format,
            "objects": self.objects,
            "bytes": self.bytes,
            "copied": self.copied,
            "catalog_hash": self.catalog_hash,
            "outside": self.outside,
        }


def back_up(
    core: Core, folder: Path, target: str, options: Mapping[str, str], version: str
) -> Backup:
    """Copy a lake to a folder or bucket."""
    place = _place(target, options)
    _refuse_own_store(core, place)
    lease = Lease(core, new_id(), core.options.author, kind=leases.BACKUP)
    lease.take()
    try:
        backup_id = new_id()
        base = f"{BACKUPS}{backup_id}/"
        with core.database.read() as session:
            at = session.now()
        addresses = read_addresses(folder)
        catalog_hash = _write_catalog(place, base + _CATALOG, dump(addresses.catalog, folder))
        total, size, copied = _copy_all(core.objects, place)
        made = Backup(backup_id, at, version, FORMAT, total, size, copied, catalog_hash,
                      outside_objects(core))  # fmt: skip
        description = {**made.to_dict(), "at": at}
        place.put(base + _DESCRIPTION, json.dumps(description, indent=1).encode())
        return made
    finally:
        lease.give_back()


def backups(source: str, options: Mapping[str, str]) -> list[Backup]:
    """The whole backups in a place, newest first."""
    place = _place(source, options)
    found = [info.key for info in place.list(BACKUPS) if info.key.endswith("/" + _DESCRIPTION)]
    return sorted((_described(place, key) for key in found), key=lambda one: one.id, reverse=True)


def restore(
    source: str,
    wanted: str | None,
    folder: Path,
    addresses: Addresses,
    options: Options,
    source_options: Mapping[str, str],
    store_options: Mapping[str, str],
) -> tuple[Core, Backup]:
    """Make a lake of a backup, by default the newest; its catalog and store may be other ones."""
    known = backups(source, source_options)
    if not known:
        raise NotFound(f"There is no backup in {source}.")
    matching = [one for one in known if one.id.startswith(wanted or "")]
    if not matching:
        raise NotFound(f'There is no backup "{wanted}" in {source}.')
    chosen = matching[0]
    place = _place(source, source_options)
    prepare(folder, addresses)
    objects = open_store(store_url(addresses.store, folder), store_options)
    objects.check()
    if next(iter(objects.list(MANIFESTS)), None) is not None:
        raise AlreadyExists(
            f"{addresses.store} holds the objects of a lake.", hint="Restore into an empty place."
        )
    key = f"{BACKUPS}{chosen.id}/{_CATALOG}"
    _check_catalog(place, key, chosen)
    _copy_all(place, objects)
    load(_catalog_lines(place, key), addresses.catalog, folder, addresses.store)
    core = attach(folder, addresses, options, objects)
    finish_erasures(core)
    return core, chosen


def _place(target: str, options: Mapping[str, str]) -> ObjectStore:
    if "://" not in target:
        target = str(Path(target).expanduser().absolute())
    return open_store(target, options if target.startswith("s3://") else {})


def _refuse_own_store(core: Core, place: ObjectStore) -> None:
    own, other = core.objects.uri("").rstrip("/"), place.uri("").rstrip("/")
    if f"{other}/".startswith(f"{own}/"):
        raise Usage(
            "A lake cannot be backed up into itself.", hint="Name another folder or bucket."
        )


def _write_catalog(place: ObjectStore, key: str, lines: Iterable[bytes]) -> str:
    hasher = blake3()
    compressor = zstandard.ZstdCompressor(level=6, write_checksum=True).compressobj()
    with place.writer(key) as writer:
        for line in lines:
            hasher.update(line)
            if piece := compressor.compress(line):
                writer.write(piece)
        writer.write(compressor.flush())
    return hasher.hexdigest()


def _catalog_lines(place: ObjectStore, key: str) -> Iterator[bytes]:
    decompressor = zstandard.ZstdDecompressor().decompressobj()
    left = b""
    for piece in place.stream(key):
        try:
            *lines, left = (left + decompressor.decompress(piece)).split(b"\n")
        except zstandard.ZstdError:
            raise CorruptObject(f"The backup's {key} is damaged.") from None
        yield from (line + b"\n" for line in lines)


def _check_catalog(place: ObjectStore, key: str, chosen: Backup) -> None:
    hasher = blake3()
    for line in _catalog_lines(place, key):
        hasher.update(line)
    if hasher.hexdigest() != chosen.catalog_hash:
        raise CorruptObject(
            f"The catalog of backup {chosen.id[:12]} is damaged: expected "
            f"{chosen.catalog_hash}, found {hasher.hexdigest()}.",
            hint="Restore an earlier one: --at ID.",
        )


def _copy_all(source: ObjectStore, target: ObjectStore) -> tuple[int, int, int]:
    """Copy what is not there yet; how many objects there are, their bytes, how many were new."""
    total = size = copied = 0
    with ThreadPoolExecutor(_AT_ONCE, "backup") as crew:
        for prefix in (DATA, PACKS, MANIFESTS, JOBS):
            there = {info.key: info.size for info in target.list(prefix)}
            found = list(source.list(prefix))
            missing = [info.key for info in found if there.get(info.key) != info.size]
            total, size = total + len(found), size + sum(info.size for info in found)
            copied += sum(crew.map(partial(_copy, source, target), missing))
        # Spark's own files: small, and of names that our objects never have.
        mine, theirs = loose(source), loose(target)
        there = {info.key: info.size for info in theirs.list(STREAMS)}
        for info in mine.list(STREAMS):
            total, size = total + 1, size + info.size
            if there.get(info.key) != info.size:
                copied += _copy_loose(mine, theirs, info.key)
    return total, size, copied


def _copy(source: ObjectStore, target: ObjectStore, key: str) -> bool:
    try:
        pieces = source.stream(key)
        with target.writer(key) as writer:
            for piece in pieces:
                writer.write(piece)
    except FileNotFoundError:
        # A result of a job that nothing keeps any more: no commit names it.
        return False
    return True


def _copy_loose(source: LooseFiles, target: LooseFiles, name: str) -> bool:
    try:
        data = source.read(name)
        target.delete([name])  # what a backup that was cut off has left of it
        target.write({name: data})
    except FileNotFoundError:
        return False
    return True


def _described(place: ObjectStore, key: str) -> Backup:
    try:
        return Backup(**json.loads(place.get(key)))
    except (ValueError, TypeError):
        raise CorruptObject(f"The backup's {key} cannot be read.") from None
