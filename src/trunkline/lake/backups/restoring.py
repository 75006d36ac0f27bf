"""Making a lake of a backup.

Everything is checked before anything is written. Then a mark in the store says what is going on
and for which folder; it goes when the lake is whole. Who finds it there may try again: objects
that are right stay, the rest is written anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from blake3 import blake3

from trunkline.errors import AlreadyExists, CorruptObject, Precondition
from trunkline.lake.backups.places import (
    Backup,
    Contents,
    catalog_lines,
    choose,
    digest_of,
    open_place,
    pieces,
    sizes,
    whole_backups,
    write,
)
from trunkline.lake.backups.taking import PREFIXES
from trunkline.lake.backups.verifying import problems_in
from trunkline.lake.core import Core, Options
from trunkline.lake.create import Addresses, attach, prepare, store_url
from trunkline.lake.erase import finish_erasures
from trunkline.lake.identity import become_another, refuse_used
from trunkline.model.time import to_rfc3339
from trunkline.settings import LAKE_FILE
from trunkline.storage.catalog.dump import load
from trunkline.storage.catalog.open import is_file_url, open_database, sqlite_path
from trunkline.storage.crashpoints import crashpoint
from trunkline.storage.objects.open import open_store

MARK = "restoring.json"
_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class RestorePlan:
    """What a restore would write, and where. `there` of the objects are, of one that was cut off.

    Every object is in the backup with its size; its hash is compared when it is written.
    """

    backup: Backup
    folder: str
    catalog: str
    store: str
    there: int


class Restore:
    """A backup and where it is to go, both looked at."""

    def __init__(
        self,
        source: str,
        at: str | None,
        lake: str | None,
        folder: Path,
        addresses: Addresses,
        source_options: Mapping[str, str],
        store_options: Mapping[str, str],
    ) -> None:
        self._place = open_place(source, source_options)
        known = whole_backups(self._place)
        self.backup = choose(known, source, at, lake)
        self._folder, self._addresses = folder, addresses
        self._store = open_store(store_url(addresses.store, folder), store_options)
        self._is_begun = self._look_at_target()
        self._contents = Contents(self._place, known, self.backup)
        for _ in catalog_lines(self._place, self.backup):
            pass
        if problem := next(problems_in(self._place, self._contents), ""):
            raise _damaged(self.backup, problem)
        self._there = sizes(self._store, PREFIXES) if self._is_begun else {}

    def plan(self) -> RestorePlan:
        addresses, folder = self._addresses, self._folder
        catalog = str(sqlite_path(addresses.catalog, folder))
        if not is_file_url(addresses.catalog):
            catalog = open_database(addresses.catalog, folder).url  # without its password
        there = self._there.keys() & self._contents.objects.keys()
        store = store_url(addresses.store, folder)
        return RestorePlan(self.backup, str(folder.parent), catalog, store, len(there))

    def run(self, options: Options) -> Core:
        folder, addresses = self._folder, self._addresses
        prepare(folder, addresses)
        if not self._is_begun:
            self._store.check()
        if self._is_begun and is_file_url(addresses.catalog):
            path = sqlite_path(addresses.catalog, folder)
            for name in (f"{path}-wal", f"{path}-shm", str(path)):
                Path(name).unlink(missing_ok=True)
        self._store.put(MARK, json.dumps(self._mark()).encode())
        self._copy_objects()
        crashpoint("restore.objects_written")
        lines = catalog_lines(self._place, self.backup)
        load(lines, addresses.catalog, folder, addresses.store, again=self._is_begun)
        crashpoint("restore.catalog_written")
        core = Core(open_database(addresses.catalog, folder), self._store, options)
        taken = f"{to_rfc3339(self.backup.at)[:19]}Z"
        become_another(core, f"it was restored from the backup of {taken}")
        finish_erasures(core)
        core.close()
        core = attach(folder, addresses, options, self._store)
        self._store.delete([MARK])
        return core

    def _look_at_target(self) -> bool:
        """Whether a restore was begun there before; what is in the way is refused."""
        if (self._folder / LAKE_FILE).exists():
            raise AlreadyExists(
                f"{self._folder} is a lake already.", hint="trunkline status shows it"
            )
        for path in (self._folder, *self._folder.parents):
            if path.exists() and not path.is_dir():
                raise _in_the_way(path)
        if "://" not in self._addresses.store:
            path = self._folder / self._addresses.store
            if path.exists() and not path.is_dir():
                raise _in_the_way(path)
        begun = self._marked()
        if begun == self._mark() or (begun and {**begun, "backup": ""} == self._mark("")):
            return True
        if begun:
            raise Precondition(
                f"Another restore was begun in {self._addresses.store}, for {begun['folder']}.",
                hint="Try that one again, or restore into an empty place.",
            )
        refuse_used(self._store)
        if is_file_url(self._addresses.catalog):
            path = sqlite_path(self._addresses.catalog, self._folder)
            if path.exists():
                raise _in_the_way(path)
        return False

    def _mark(self, backup: str | None = None) -> dict[str, str]:
        catalog = self._addresses.catalog
        return {
            "backup": self.backup.id if backup is None else backup,
            "folder": str(self._folder.absolute()),
            # An address may hold a password.
            "catalog": catalog if is_file_url(catalog) else catalog.rpartition("@")[2],
        }

    def _marked(self) -> dict[str, str]:
        try:
            found = json.loads(self._store.get(MARK))
        except FileNotFoundError:
            return {}
        except ValueError:
            raise CorruptObject(f"{self._store.uri(MARK)} cannot be read.") from None
        return {name: str(found.get(name)) for name in ("backup", "folder", "catalog")}

    def _copy_objects(self) -> None:
        crew = ThreadPoolExecutor(_AT_ONCE, "restore")
        try:
            for _ in crew.map(self._copy, self._contents.objects):
                pass
        finally:
            crew.shutdown(cancel_futures=True)

    def _copy(self, key: str) -> None:
        if key in self._there and self._is_right_there(key):
            return
        try:
            write(self._store, key, self._verified(key))
        except FileNotFoundError:
            raise _damaged(self.backup, f"{key} is missing") from None

    def _is_right_there(self, key: str) -> bool:
        try:
            return self._contents.has(key, *digest_of(pieces(self._store, key)))
        except FileNotFoundError:
            return False

    def _verified(self, key: str) -> Iterator[bytes]:
        """The pieces of an object of the backup; wrong ones end in an error."""
        hasher, size = blake3(), 0
        for piece in pieces(self._place, key):
            hasher.update(piece)
            size += len(piece)
            yield piece
        if not self._contents.has(key, size, hasher.hexdigest()):
            raise _damaged(self.backup, f"{key} is damaged")


def _damaged(backup: Backup, problem: str) -> CorruptObject:
    return CorruptObject(
        f"Backup {backup.id[:12]} is not whole: {problem}.",
        hint="trunkline backup verify --deep names all; take another one with --at ID, or remove "
        "the file there and back up again, which copies it anew.",
    )


def _in_the_way(path: Path) -> Precondition:
    return Precondition(
        f"{path} is in the way: it is no part of a lake that is being restored.",
        hint="Move it away, or restore into an empty folder.",
    )
