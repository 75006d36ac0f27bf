"""DuckDBs that stay open: opening and locking one takes longer than most queries.

Once locked it takes no further files, so a query with new tables gets a new one that has those of
the last as well. Each table has a schema named after its version: nothing is found by mistake.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from threading import Lock

from blake3 import blake3

from trunkline.errors import TrunklineError
from trunkline.lake.core import Core
from trunkline.tables.describe import Table
from trunkline.tables.reading.duck import MEMORY, WIDE, Duck, View, connect_views

MOST = 4
MOST_VIEWS = 32
MOST_FILES = 2_000

Version = tuple[str, str]
"""The hash of a commit's tree, and the folder in it."""


@dataclass(frozen=True, slots=True)
class _Open:
    duck: Duck
    views: frozenset[tuple[str, str]]
    tables: tuple[View, ...]
    wide: bool
    erased: int


class Ducks:
    """The last few that were used, each until others push it out and no result reads from it.

    Where they are kept `apart`, one has the tables of a single query and no others: who asks
    next may not be allowed to see them.
    """

    def __init__(
        self,
        core: Core,
        memory: str = MEMORY,
        apart: bool = False,
        reserve: int | None = None,
    ) -> None:
        self._core = core
        self._reserve = reserve
        self._memory = memory
        self._apart = apart
        self._open: list[_Open] = []
        self._lock = Lock()

    def get(self, views: Iterable[View], erased: int) -> Duck:
        """One that has these views. `erased` is as of when it may have copied bytes."""
        views = tuple(views)
        wanted = frozenset((view.schema, view.name) for view in views)
        wide = any(len(view.table.schema) > WIDE for view in views)
        with self._lock:
            self._open = [one for one in self._open if one.erased == erased]
            alike = [one for one in reversed(self._open) if one.wide == wide]
            for held in alike:
                if wanted == held.views or (wanted <= held.views and not self._apart):
                    self._open.remove(held)
                    self._open.append(held)
                    return held.duck.only(wanted)
        base = alike[0] if alike and not self._apart else None
        made = self._made(_together(base.tables, views) if base else views, views, wide, erased)
        with self._lock:
            if not self._apart:
                self._open = [one for one in self._open if not one.views <= made.views]
            self._open = [*self._open, made][-MOST:]
            if base in self._open and len(made.views) > len(wanted):
                self._open.remove(base)
        return made.duck.only(wanted)

    def _made(
        self, tables: tuple[View, ...], wanted: tuple[View, ...], wide: bool, erased: int
    ) -> _Open:
        import duckdb

        try:
            duck = self._connected(tables)
        except (duckdb.Error, TrunklineError, OSError):
            if tables == wanted:
                raise
            # What is wrong may be with a table that this query does not ask for.
            tables = wanted
            duck = self._connected(tables)
        views = frozenset((view.schema, view.name) for view in tables)
        return _Open(duck, views, tables, wide, erased)

    def _connected(self, tables: tuple[View, ...]) -> Duck:
        return connect_views(self._core, tables, memory=self._memory, reserve=self._reserve)

    def drop(self, duck: Duck) -> None:
        """Hand it out no more: an internal error has ended it."""
        with self._lock:
            self._open = [one for one in self._open if one.duck.connection is not duck.connection]

    def close(self) -> None:
        with self._lock:
            self._open = []

    def __len__(self) -> int:
        return len(self._open)


def _together(held: tuple[View, ...], wanted: tuple[View, ...]) -> tuple[View, ...]:
    """Also those that were there, but for other versions under the same name."""
    names = {view.name for view in wanted}
    both = (*(view for view in held if view.name not in names), *wanted)
    files = sum(len(view.table.entries) for view in both)
    return wanted if len(both) > MOST_VIEWS or files > MOST_FILES else both


def views_of(tables: Mapping[str, Table], versions: Mapping[str, Version]) -> list[View]:
    return [View(schema(*versions[name]), name, table) for name, table in tables.items()]


def schema(tree: str, path: str) -> str:
    return "tl_" + blake3(f"{tree}\0{path}".encode()).hexdigest(length=8)
