"""Taking a backup, while others work."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path

from trunkline.errors import CorruptObject, InUse, Precondition, TrunklineError
from trunkline.lake import checkpoints
from trunkline.lake.backups.contents import Expected
from trunkline.lake.backups.places import (
    BACKUPS,
    CATALOG,
    DESCRIPTION,
    OBJECTS,
    Backup,
    Stored,
    base_of,
    catalog_lines,
    digest_of,
    open_place,
    pieces,
    read_objects,
    sizes,
    whole_backups,
    write,
    write_lines,
    write_objects,
)
from trunkline.lake.core import Core
from trunkline.lake.create import read_addresses
from trunkline.lake.identity import refuse_store
from trunkline.lake.lease import Lease
from trunkline.lake.reach import used_objects
from trunkline.model.ids import new_id
from trunkline.storage.catalog import FORMAT, Session, erasures, flows, identity, leases, repos
from trunkline.storage.catalog.dump import dump, load
from trunkline.storage.catalog.open import open_database
from trunkline.storage.objects.keys import DATA, JOBS, MANIFESTS, PACKS, STREAMS
from trunkline.storage.objects.local import LocalStore
from trunkline.storage.objects.port import ObjectStore

PREFIXES = (STREAMS, MANIFESTS, JOBS, PACKS, DATA)
"""In the order in which they are copied: what a stream goes on from changes soonest."""
_AT_ONCE = 8
_ABOUT = (
    b"Backups of Trunkline's lakes; trunkline backup list shows them. They share their objects.\n"
)
"""Tells a place of backups from the store of a lake, also before the first one is whole."""


def back_up(
    core: Core, folder: Path, target: str, options: Mapping[str, str], version: str
) -> Backup:
    """Copy a lake to a folder or bucket."""
    place = open_place(target, options)
    _refuse_place(core, place, target)
    lease = Lease(core, new_id(), core.options.author, kind=leases.BACKUP)
    lease.take(_refuse_erasure)
    base = base_of(backup_id := new_id())
    try:
        place.put(BACKUPS + "about.txt", _ABOUT)
        made = _copy_lake(core, folder, place, backup_id, version)
        description = asdict(made)
        # One step: it is there only if nothing that it names could have been removed meanwhile.
        with core.database.write(durable=False) as session:
            lease.check_in(session)
            place.put(base + DESCRIPTION, json.dumps(description, indent=1).encode())
        lease.forget()
        return made
    except BaseException as error:
        with suppress(TrunklineError):
            place.delete(base + name for name in (DESCRIPTION, OBJECTS, CATALOG))
        if isinstance(error, CorruptObject):
            with core.database.write(durable=False) as session:
                lease.check_in(session)  # what was missing was removed because it ran out
        raise
    finally:
        lease.give_back()


def _copy_lake(
    core: Core, folder: Path, place: ObjectStore, backup_id: str, version: str
) -> Backup:
    with core.database.read() as session:
        at, lake = session.now(), identity.lake_id(session)
    rows = dump(read_addresses(folder).catalog, folder)
    catalog_hash = write_lines(place, base_of(backup_id) + CATALOG, rows)
    begun = Backup(backup_id, at, version, FORMAT, 0, 0, 0, catalog_hash, 0, lake,
                   folder.absolute().parent.name)  # fmt: skip
    here, there = sizes(core.objects, PREFIXES), sizes(place, PREFIXES)
    known = {
        key: one
        for key, one in _listed_before(place, lake).items()
        if here.get(key) == there.get(key) == one.size
    }
    with _as_of(core, place, begun) as frozen:
        with frozen.database.read() as session:
            expected = Expected(erasures.places(session), known)
            streams = {str(repo) for repo in repos.every(session)}
        used_objects(frozen, expected)
        copying = _Copying(core.objects, place, expected, known)
        stored, copied = copying.all_of(here, there, streams)
        _check_states(frozen, place)
    return replace(
        begun,
        objects=len(stored),
        bytes=sum(one.size for one in stored.values()),
        copied=copied,
        outside=len(expected.outside),
        objects_hash=write_objects(place, backup_id, stored),
    )


class _Copying:
    """Copies what is named and not there yet, several objects at a time."""

    def __init__(
        self,
        source: ObjectStore,
        place: ObjectStore,
        expected: Expected,
        known: Mapping[str, Stored],
    ) -> None:
        self._source, self._place = source, place
        self._expected, self._known = expected, known
        self._unlisted: set[str] = set()

    def all_of(
        self, here: Mapping[str, int], there: Mapping[str, int], streams: set[str]
    ) -> tuple[dict[str, Stored], int]:
        """The objects of the backup, and how many of them were copied."""
        wanted = [key for key in here if self._is_wanted(key, streams)]
        self._unlisted = {key for key in wanted if here[key] == there.get(key)} - self._known.keys()
        must = self._expected.keys - self._expected.passing
        if lost := sorted(must - here.keys()):
            more = f" (and {len(lost) - 1} more)" if len(lost) > 1 else ""
            raise CorruptObject(
                f"The object {lost[0]}{more} is missing in the lake's store.",
                hint="trunkline fsck names the files that need it.",
            )
        crew = ThreadPoolExecutor(_AT_ONCE, "backup")
        try:
            done = dict(zip(wanted, crew.map(self._one, wanted), strict=True))
        finally:
            crew.shutdown(cancel_futures=True)
        stored = {key: found[0] for key, found in done.items() if found is not None}
        return stored, sum(found[1] for found in done.values() if found is not None)

    def _is_wanted(self, key: str, streams: set[str]) -> bool:
        if key.startswith(STREAMS):
            return key.split("/", 2)[1] in streams
        return key in self._expected.keys

    def _one(self, key: str) -> tuple[Stored, bool] | None:
        """What the place has of an object now, and whether it is new; None if it is no more."""
        if (known := self._known.get(key)) is not None:
            return known, False
        if key in self._unlisted and (found := self._read_there(key)) is not None:
            return found, False
        try:
            return write(self._place, key, self._verified(self._source, key)), True
        except FileNotFoundError:
            if key in self._expected.passing or key.startswith(STREAMS):
                return None
            raise CorruptObject(f"The object {key} is missing in the lake's store.") from None

    def _read_there(self, key: str) -> Stored | None:
        """What an earlier backup left that was never finished, if it is right."""
        if key.startswith((STREAMS, JOBS)):
            return None  # nobody knows what must be in it
        try:
            return digest_of(self._verified(self._place, key))
        except (CorruptObject, FileNotFoundError):
            return None

    def _verified(self, store: ObjectStore, key: str) -> Iterator[bytes]:
        if key.startswith(STREAMS):
            return pieces(store, key)  # looked at as a whole: `_check_states`
        return self._expected.verified(key, pieces(store, key))


@contextmanager
def _as_of(core: Core, place: ObjectStore, begun: Backup) -> Iterator[Core]:
    """The lake as of the backup's catalog, read from where it is kept: so it can be read."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="trunkline-backup-") as folder:
        load(catalog_lines(place, begun), "catalog.db", Path(folder), "objects")
        frozen = Core(open_database("catalog.db", Path(folder)), core.objects, core.options)
        try:
            yield frozen
        finally:
            frozen.close()


def _check_states(frozen: Core, place: ObjectStore) -> None:
    """Each stream can go on, in the backup, from its newest batch."""
    with frozen.database.read() as session:
        newest = {flow.name: dict(flow.facts.get("state") or {}) for flow in flows.listed(session)}
    for name, state in newest.items():
        if state:
            checkpoints.check(place, state["checkpoint"], int(state["batch"]), str(name))


def _listed_before(place: ObjectStore, lake: str) -> dict[str, Stored]:
    """What the newest backup of the same lake lists: it was compared when it was copied."""
    for one in whole_backups(place):
        if one.lake == lake and one.objects_hash:
            with suppress(CorruptObject):
                return read_objects(place, one)
    return {}


def _refuse_erasure(session: Session) -> None:
    if leases.erasing(session):
        raise InUse(
            "Something is being erased, and a backup would hold half of it.",
            hint="Back up when it is done; if it was killed, ten minutes later.",
        )


def _refuse_place(core: Core, place: ObjectStore, target: str) -> None:
    """Among the objects of a lake its gc would remove what it does not know."""
    own, other = core.objects.uri("").rstrip("/"), place.uri("").rstrip("/")
    if isinstance(place, LocalStore) and isinstance(core.objects, LocalStore):
        own, other = os.path.realpath(core.objects.root), os.path.realpath(place.root)
    if f"{other}/".startswith(f"{own}/"):
        raise Precondition(
            "A lake cannot be backed up into itself.", hint="Name another folder or bucket."
        )
    refuse_store(place)
    if _has_any(place, (BACKUPS,)):
        return
    if _has_any(place, PREFIXES):
        raise Precondition(
            f"{target} holds objects and no backup: it is the store of a lake.",
            hint="Name another folder or bucket.",
        )


def _has_any(store: ObjectStore, prefixes: tuple[str, ...]) -> bool:
    return any(next(iter(store.list(prefix)), None) is not None for prefix in prefixes)
