"""What a source gives, and what it must be able to do.

A feed is asked again and again for the next batch from a position. What it gives is committed
together with the position behind it, in one transaction: so whatever was gathered and not
committed is simply gathered again, by this process or another.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trunkline.lake.core import Core
from trunkline.lake.manifests import Tree
from trunkline.lake.this_machine import of_source
from trunkline.model.commits import Commit, RepoName
from trunkline.model.hidden import INGEST_BOOKS
from trunkline.model.pipelines import PipelineSpec
from trunkline.model.reach import Connection
from trunkline.model.streams import IngestSource, Position
from trunkline.storage.objects.intake import Intake

if TYPE_CHECKING:
    import pyarrow as pa

    from trunkline.engine.session import Session
    from trunkline.ingests.feeds.endpoints import Endpoints

OWN = f"/{INGEST_BOOKS}"


@dataclass(frozen=True, slots=True)
class JsonLines:
    """Rows as lines of JSON; `sources` has where each is from, `extra` further columns."""

    lines: Sequence[bytes]
    sources: Sequence[str]
    extra: pa.Table | None = None


@dataclass(frozen=True, slots=True)
class Records:
    """Rows as dicts."""

    rows: Sequence[Any]
    source: str


@dataclass(frozen=True, slots=True)
class Columns:
    """Rows as Arrow has them."""

    table: pa.Table
    source: str


@dataclass(frozen=True, slots=True)
class CsvText:
    """A CSV with a header."""

    data: bytes
    source: str
    delimiter: str = ","


@dataclass(frozen=True, slots=True)
class Refused:
    """Something that makes no row."""

    line: str
    reason: str
    source: str


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file that is kept as it is."""

    path: str
    local: Path


@dataclass(frozen=True, slots=True)
class StoredEntry:
    """A file that is kept as it is; `store` gives the line of its entry at a path, at once."""

    path: str
    store: Callable[[Intake, str], bytes]


Piece = JsonLines | Records | Columns | CsvText | Refused | StoredFile | StoredEntry


@dataclass(frozen=True, slots=True)
class Stored:
    """What is known of a batch when its rows are stored, just before it is committed."""

    commit: str
    malformed: Mapping[str, int]
    parts: Mapping[str, Sequence[str]]
    """By source, the files of the table that hold its rows."""


@dataclass(slots=True)
class Gathered:
    """A batch. `pieces` are read once, while it is being committed; `end` lies behind them.

    When all pieces were read, `noted` gives small files that are committed with them, and
    `removed` are the files of the table that they take the place of. `origin` says in words
    where it is from: "3 files".
    """

    pieces: Iterable[Piece]
    end: Position
    origin: Callable[[], str] = lambda: ""
    noted: Callable[[Stored], Mapping[str, bytes]] = lambda stored: {}
    removed: Sequence[str] = ()
    dropped: Sequence[str] = ()
    """Folders that are removed in the same commit."""
    cleared: Sequence[str] = ()
    """Folders whose place the files of this batch take: what was in them before is gone."""
    replace: bool = False
    """Whether its rows take the place of all that are there: none are left if it has none."""
    key: Sequence[str] = ()
    """Columns by which rows take the place of older ones. Of rows with one key the last counts."""
    token: Any = None
    """The feed's own, to know it again by."""


@dataclass(slots=True)
class Written:
    """What became of a batch. Without a `commit` there was nothing in it."""

    commit: Commit | None = None
    rows: int = 0
    files: int = 0
    malformed: dict[str, int] = field(default_factory=dict)
    """By the source of the row."""

    @property
    def rows_in(self) -> int:
        return self.rows + sum(self.malformed.values())


@dataclass(frozen=True, slots=True)
class Site:
    """What a feed knows of where it runs. `options` have their secrets filled in."""

    core: Core
    name: RepoName
    source: IngestSource
    options: Mapping[str, Any]
    stop: threading.Event
    head: Callable[[], Tree]
    """The newest tree of the ingest's own repo. None is kept for long: gc may take it."""
    code: Callable[[], Path]
    """The folder of the files that travel with it."""
    spec: PipelineSpec
    endpoints: Endpoints
    env: Mapping[str, str] = field(default_factory=dict)
    """Of the code that travels with it, secrets among it."""
    spark: Callable[[], Session] | None = None

    @property
    def connection(self) -> Connection:
        return replace(of_source(self.source), options=self.options)

    def secrets(self) -> dict[str, str]:
        """What must not be told when something fails."""
        options = {option: str(self.options.get(option, "")) for option, _ in self.source.secrets}
        return options | {name: self.env.get(name, "") for name, _ in self.spec.transform.secrets}


class Feed:
    """One source, in the hands of one thread."""

    owes: bool = False
    """Whether somebody waits for an answer, so that a clean stop must not leave it out."""
    may_compact: bool = True
    """Whether its rows may be joined into other files than they were written to."""

    def __init__(self, site: Site) -> None:
        self.site = site

    def gather(self, position: Position, *, drain: bool) -> Gathered | None:
        """The next batch from `position`, or None if nothing came for a while.

        With `drain` only what is there now is taken, and None means there is no more of it.
        """
        raise NotImplementedError

    def committed(self, batch: Gathered, written: Written) -> None:
        """The batch is durable, or there was nothing in it."""

    def refused(self, batch: Gathered, error: Exception) -> None:
        """The batch was not committed, and will be gathered again."""

    def facts(self) -> Mapping[str, Any]:
        """More about how it goes: how far it is behind."""
        return {}

    def closing(self) -> None:
        """Take in nothing new; what was taken in is asked for with `gather`."""

    def close(self) -> None:
        """Let go of everything. It may be used again with `gather`."""
