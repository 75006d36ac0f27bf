"""What the queries of an open lake share, so that asking again costs next to nothing.

Everything is kept by version and never by name: a branch that moves is seen at once.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import TYPE_CHECKING, Generic, TypeVar

from trunkline.lake.core import Core
from trunkline.query.ducks import Ducks
from trunkline.storage.catalog import erasures
from trunkline.tables.describe import Table
from trunkline.tables.reading.duck import MEMORY

if TYPE_CHECKING:
    from trunkline.engine.session import Session
    from trunkline.engine.sql import Desk

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_MOST_TABLES = 256
_MOST_FILES = 100_000


class Recent(Generic[K, V]):
    """A mapping that forgets what was not asked for lately: above so many, or so heavy."""

    def __init__(self, most: int, heaviest: int, weight: Callable[[V], int]) -> None:
        self._most = most
        self._heaviest = heaviest
        self._weight = weight
        self._held: OrderedDict[K, V] = OrderedDict()
        self._heavy = 0
        self._lock = Lock()

    def get(self, key: K, make: Callable[[], V]) -> V:
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
                return self._held[key]
        made = make()
        with self._lock:
            if key not in self._held:
                self._held[key] = made
                self._heavy += self._weight(made)
            while len(self._held) > self._most or (self._held and self._heavy > self._heaviest):
                self._heavy -= self._weight(self._held.popitem(last=False)[1])
        return made

    def __len__(self) -> int:
        return len(self._held)


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
