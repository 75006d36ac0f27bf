"""Backups of a lake, and lakes made of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from trunkline import __version__
from trunkline import settings as configuration
from trunkline.sdk.base import LakeBase, Location, core_options, store_options
from trunkline.settings import LAKE_FOLDER

if TYPE_CHECKING:
    from trunkline.lake.backups.places import Backup
    from trunkline.lake.backups.restoring import Restore, RestorePlan
    from trunkline.lake.backups.verifying import Verification


class Backups(LakeBase):
    """Copies of the lake elsewhere."""

    def backup(self, target: Location) -> Backup:
        """Copy the lake to a folder or bucket; what is there already is not copied again.

        Every object is compared with its hash: one that is missing or damaged ends it.
        """
        from trunkline.lake.backups.taking import back_up

        options = store_options(self._settings)
        return back_up(self._core, self._folder, str(target), options, __version__)


def backups(source: Location) -> list[Backup]:
    """The backups in a folder or bucket, newest first."""
    from trunkline.lake.backups.places import open_place, whole_backups

    return whole_backups(open_place(str(source), store_options(configuration.load(None, {}))))


def verify(
    source: Location, *, at: str | None = None, lake: str | None = None, deep: bool = False
) -> Verification:
    """Whether all that a backup lists is there with its size; with `deep`, with its hash."""
    from trunkline.lake.backups import verifying

    options = store_options(configuration.load(None, {}))
    return verifying.verify(str(source), at, lake, deep, options)


def restore(
    source: Location,
    path: Location = ".",
    *,
    at: str | None = None,
    lake: str | None = None,
    catalog: str | None = None,
    store: str | None = None,
) -> tuple[str, Backup]:
    """Make a lake in a folder of a backup; where it is now, and which backup it was.

    With `catalog` and `store` it moves to a database server and an object store on the way.
    `lake` is its name or id, where several are backed up. What was cut off can be tried again.
    """
    folder = _folder(path)
    found = _restore(source, folder, at, lake, catalog, store)
    found.run(core_options(configuration.load(folder, {}))).close()
    return str(folder.parent), found.backup


def plan_restore(
    source: Location,
    path: Location = ".",
    *,
    at: str | None = None,
    lake: str | None = None,
    catalog: str | None = None,
    store: str | None = None,
) -> RestorePlan:
    """What `restore` would write, and where. Raises what it would raise before it writes."""
    return _restore(source, _folder(path), at, lake, catalog, store).plan()


def _restore(
    source: Location,
    folder: Path,
    at: str | None,
    lake: str | None,
    catalog: str | None,
    store: str | None,
) -> Restore:
    from trunkline.lake import create
    from trunkline.lake.backups.restoring import Restore

    addresses = create.addresses_of(catalog, store)
    options = store_options(configuration.load(folder, {}))
    into = create.store_options_for(addresses, options)
    return Restore(str(source), at, lake, folder, addresses, options, into)


def _folder(path: Location) -> Path:
    return Path(path).expanduser().absolute() / LAKE_FOLDER
