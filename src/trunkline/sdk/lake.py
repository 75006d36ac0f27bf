"""The lake as people use it: refs as text in, values of the model out."""

from __future__ import annotations

import os
from pathlib import Path

from trunkline import settings as configuration
from trunkline.errors import InUse
from trunkline.lake import create
from trunkline.lake.create import MigrationReport
from trunkline.lake.identity import Adoption
from trunkline.model.display import fields, table
from trunkline.model.shape import as_json
from trunkline.sdk import places
from trunkline.sdk.access import Access
from trunkline.sdk.backups import Backups
from trunkline.sdk.base import Location, core_options, store_options
from trunkline.sdk.checks import Checks
from trunkline.sdk.contents import Contents
from trunkline.sdk.deletions import Deletions
from trunkline.sdk.egress import Egress
from trunkline.sdk.environments import Environments
from trunkline.sdk.events import Events
from trunkline.sdk.flows import Flows
from trunkline.sdk.history import History
from trunkline.sdk.jobs import Jobs
from trunkline.sdk.lineage import Tracing
from trunkline.sdk.overview import Overviews
from trunkline.sdk.pipelines import Pipelines
from trunkline.sdk.places import Place
from trunkline.sdk.query import Queries
from trunkline.sdk.repos import Repos
from trunkline.sdk.running import Running
from trunkline.sdk.secrets import Secrets
from trunkline.sdk.tablediff import TableDiffs
from trunkline.sdk.tables import Tables
from trunkline.sdk.tablewriting import TableWriting
from trunkline.sdk.upkeep import Upkeep
from trunkline.sdk.verification import Verifying
from trunkline.settings import LAKE_FOLDER, Settings, Source


def open(
    lake: Location | None = None,
    project: str | None = None,
    *,
    author: str | None = None,
    token: str | None = None,
    direct: bool = False,
) -> Lake:
    """Open the nearest lake, the one in a folder, of a context's name, or at https://server.

    A lake in a folder that is being served is reached through its server, unless it is wanted
    `direct`. `token` says who you are to a server; else TRUNKLINE_TOKEN, the context or the
    setting does.
    """
    return open_place(
        places.find_place(None if lake is None else os.fspath(lake)),
        project,
        author=author,
        token=token,
        direct=direct,
    )


def open_place(
    place: Place,
    project: str | None = None,
    *,
    author: str | None = None,
    token: str | None = None,
    direct: bool = False,
) -> Lake:
    """Open the lake of a place that was found before."""
    found = configuration.load(place.folder, {"project": project, "author": author})
    if place.project and found["project"].source in (Source.USER, Source.DEFAULT):
        found = configuration.load(place.folder, {"project": place.project, "author": author})
    if place.folder is None:
        return _connect(place.url, token or _token(found, place), found)
    served = None if direct else places.server_of(place.folder)
    if served is not None:
        return _connect(served.url, token or served.token, found, place.folder)
    core = create.open_lake(place.folder, core_options(found), store_options(found))
    return Lake(core, place.folder, found)


def _connect(url: str, token: str, found: Settings, folder: Path | None = None) -> Lake:
    from trunkline.sdk.remote.lake import connect

    return connect(url, token, found, folder)


def _token(found: Settings, place: Place) -> str:
    """The environment's, then the context's, then that of the files."""
    kept = found.text("token")
    return kept if found["token"].source is Source.ENVIRONMENT else place.token or kept


def init(path: Location = ".", *, catalog: str | None = None, store: str | None = None) -> Lake:
    """Make a lake in a folder: embedded, or on a database server and an object store.

    Onto the catalog and store of a lake that is there already, the folder joins that lake.
    """
    folder = Path(path).expanduser().absolute() / LAKE_FOLDER
    found = configuration.load(folder, {})
    addresses = create.addresses_of(catalog, store)
    options = create.store_options_for(addresses, store_options(found))
    return Lake(create.create_lake(folder, addresses, core_options(found), options), folder, found)


def migrate(lake: Location | None = None) -> MigrationReport:
    """Bring an older lake to the format of this version."""
    place = places.find_place(None if lake is None else os.fspath(lake))
    folder = place.require_folder()
    if places.is_locked(folder):
        raise InUse("The lake is being served.", hint="Stop trunkline serve first.")
    return create.migrate_lake(folder)


def adopt(lake: Location | None = None, *, as_new: bool = False) -> Adoption:
    """Say that a lake that was moved, copied or restored is the one in use from now on.

    It takes the place of the one it came from, which must be out of use; with `as_new` it is a lake
    beside that one. Until then it takes nothing in and sends nothing out.
    """
    place = places.find_place(None if lake is None else os.fspath(lake))
    folder = place.require_folder()
    if places.is_locked(folder):
        raise InUse("The lake is being served.", hint="Stop trunkline serve first.")
    found = configuration.load(folder, {})
    return create.adopt_lake(folder, core_options(found), store_options(found), as_new=as_new)


class Lake(
    Contents,
    History,
    Repos,
    Deletions,
    Upkeep,
    Pipelines,
    Environments,
    Jobs,
    Flows,
    Egress,
    Running,
    Queries,
    Tracing,
    Overviews,
    Secrets,
    Checks,
    Tables,
    TableWriting,
    TableDiffs,
    Access,
    Events,
    Backups,
    Verifying,
):
    """Repos of files with commits, branches and provenance.

    A ref is `[project/]repo[@revision][:/path]`; without a revision it means `main`.
    Methods raise subclasses of `TrunklineError`, and then nothing has changed.
    """

    def __repr__(self) -> str:
        return f"Lake({self.location!r})"

    def _repr_html_(self) -> str:
        return fields(f"Lake {self.location}", as_json(self.status())) + table(
            "Repos", map(as_json, self.repos())
        )
