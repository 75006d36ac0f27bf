"""What the queries of an open lake share, so that asking again costs next to nothing.

Everything is kept by version and never by name: a branch that moves is seen at once.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING

from trunkline.lake.core import Core
from trunkline.model.recent import Recent
from trunkline.query.ducks import Ducks
from trunkline.storage.catalog import erasures
from trunkline.tables.describe import Table
from trunkline.tables.reading.duck import MEMORY

if TYPE_CHECKING:
    from trunkline.engine.session import Session
    from trunkline.engine.sql import Desk

_MOST_TABLES = 256
_MOST_FILES = 100_000


class Kept:
    """Tables by what is in them, open DuckDBs, and the session of queries on Spark."""

    def __init__(
        self,
        core: Core,
        memory: str = MEMORY,
        apart: bool = False,
        reserve: int | None = None,
    ) -> None:
        self.ducks = Ducks(core, memory, apart, reserve)
        self.tables: Recent[tuple[str, str, str], Table] = Recent(
            _MOST_TABLES, _MOST_FILES, lambda table: len(table.entries) + 1
        )
        self._core = core
        self._desk: Desk | None = None
        self._lock = Lock()

    def erased(self) -> int:
        """Tells whether bytes were erased since: then nothing that may hold them is used again."""
        with self._core.database.read() as session:
            return erasures.latest(session)

    def desk(self, session: Callable[[], Session]) -> Desk:
        """The session of queries on Spark; a new one if its Spark is gone, or it was handed out."""
        from trunkline.engine.sql import Desk

        with self._lock:
            if self._desk is None or not self._desk.usable():
                self._desk = Desk(session())
            return self._desk

    @property
    def asked_desk(self) -> Desk | None:
        """The one that queries were last asked at; others may be making another just now."""
        return self._desk

    def close(self) -> None:
        """Let go of all. What a result still reads from closes with that result."""
        self.ducks.close()
        with self._lock:
            self._desk = None
