"""Backups of a lake, and lakes made of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from trunkline import __version__
from trunkline import settings as configuration
from trunkline.sdk.base import LakeBase, Location, core_options, store_options
from trunkline.settings import LAKE_FOLDER

if TYPE_CHECKING:
    from trunkline.lake.backup import Backup


class Backups(LakeBase):
    """Copies of the lake elsewhere."""

    def backup(self, target: Location) -> Backup:
        """Copy the lake to a folder or bucket; what is there already is not copied again."""
        from trunkline.lake.backup import back_up

        options = store_options(self._settings)
        return back_up(self._core, self._folder, str(target), options, __version__)


def backups(source: Location) -> list[Backup]:
    """The backups in a folder or bucket, newest first."""
    from trunkline.lake.backup import backups as listed

    return listed(str(source), store_options(configuration.load(None, {})))


def restore(
    source: Location,
    path: Location = ".",
    *,
    at: str | None = None,
    catalog: str | None = None,
    store: str | None = None,
) -> tuple[str, Backup]:
    """Make a lake in a folder of a backup; where it is now, and which backup it was.

    With `catalog` and `store` it moves to a database server and an object store on the way.
    """
    from trunkline.lake import backup, create

    folder = Path(path).expanduser().absolute() / LAKE_FOLDER
    found = configuration.load(folder, {})
    addresses = create.Addresses(catalog or create.CATALOG_FILE, store or create.OBJECTS_FOLDER)
    options = store_options(found)
    core, chosen = backup.restore(
        str(source),
        at,
        folder,
        addresses,
        core_options(found),
        options,
        create.store_options_for(addresses, options),
    )
    core.close()
    return str(folder.parent), chosen
