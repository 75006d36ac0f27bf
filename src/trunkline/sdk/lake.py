"""The lake as people use it: refs as text in, values of the model out."""

from __future__ import annotations

import os
from pathlib import Path

from trunkline import settings as configuration
from trunkline.lake import create
from trunkline.lake.create import Addresses, MigrationReport
from trunkline.model.display import fields, table
from trunkline.sdk.access import Access
from trunkline.sdk.base import Location, core_options, store_options
from trunkline.sdk.checks import Checks
from trunkline.sdk.contents import Contents
from trunkline.sdk.flows import Flows
from trunkline.sdk.history import History
from trunkline.sdk.jobs import Jobs
from trunkline.sdk.lineage import Tracing
from trunkline.sdk.pipelines import Pipelines
from trunkline.sdk.query import Queries
from trunkline.sdk.repos import Repos
from trunkline.sdk.running import Running
from trunkline.sdk.secrets import Secrets
from trunkline.sdk.tablediff import TableDiffs
from trunkline.sdk.tables import Tables
from trunkline.sdk.tablewriting import TableWriting
from trunkline.sdk.upkeep import Upkeep
from trunkline.settings import LAKE_FOLDER


def open(
    lake: Location | None = None, project: str | None = None, *, author: str | None = None
) -> Lake:
    """Open the nearest lake, or the one in a folder."""
    folder = configuration.find_lake(explicit=None if lake is None else os.fspath(lake))
    found = configuration.load(folder, {"project": project, "author": author})
    core = create.open_lake(folder, core_options(found), store_options(found))
    return Lake(core, folder, found)


def init(path: Location = ".", *, catalog: str | None = None, store: str | None = None) -> Lake:
    """Make a lake in a folder: embedded, or on a database server and an object store."""
    folder = Path(path).expanduser().absolute() / LAKE_FOLDER
    found = configuration.load(folder, {})
    addresses = Addresses(catalog or create.CATALOG_FILE, store or create.OBJECTS_FOLDER)
    options = create.store_options_for(addresses, store_options(found))
    return Lake(create.create_lake(folder, addresses, core_options(found), options), folder, found)


def migrate(lake: Location | None = None) -> MigrationReport:
    """Bring an older lake to the format of this version."""
    folder = configuration.find_lake(explicit=None if lake is None else os.fspath(lake))
    return create.migrate_lake(folder)


class Lake(
    Contents,
    History,
    Repos,
    Upkeep,
    Pipelines,
    Jobs,
    Flows,
    Running,
    Queries,
    Tracing,
    Secrets,
    Checks,
    Tables,
    TableWriting,
    TableDiffs,
    Access,
):
    """Repos of files with commits, branches and provenance.

    A ref is `[project/]repo[@revision][:/path]`; without a revision it means `main`.
    Methods raise subclasses of `TrunklineError`, and then nothing has changed.
    """

    def __repr__(self) -> str:
        return f"Lake({self.location!r})"

    def _repr_html_(self) -> str:
        return fields(f"Lake {self.location}", self.status().to_dict()) + table(
            "Repos", (repo.to_dict() for repo in self.repos())
        )
