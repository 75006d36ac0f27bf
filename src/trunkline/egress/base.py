"""What a target of egress gets, and what it must be able to do.

A version is delivered at least once by us and visible exactly once at the target, wherever the
target allows it: `send` is called again after a crash at any point, and must then find out what
is there already. What it does becomes visible as a whole or not at all; where the target cannot
do that (a plain folder of a bucket, a webhook), the module says so.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from trunkline.errors import NotFound, Precondition, Unavailable
from trunkline.lake import files
from trunkline.lake.core import Core
from trunkline.lake.this_machine import of_target
from trunkline.model.commits import Commit, RepoName
from trunkline.model.egress import Target
from trunkline.model.entries import Entry
from trunkline.model.reach import Connection
from trunkline.storage.catalog import erasures

if TYPE_CHECKING:
    import pyarrow as pa

    from trunkline.tables.describe import Table


@dataclass(frozen=True, slots=True)
class Sent:
    """What went out. `note` says it in words: "merged 12 rows into public.report"."""

    note: str
    rows: int | None = None
    files: int | None = None
    bytes: int | None = None
    more: Mapping[str, Any] = field(default_factory=dict)
    """Further facts for the record, as JSON: an id that the target gave, a version."""

    def receipt(self) -> dict[str, Any]:
        known = {"note": self.note, "rows": self.rows, "files": self.files, "bytes": self.bytes}
        return {name: value for name, value in known.items() if value is not None} | dict(self.more)


@dataclass(frozen=True, slots=True)
class Changes:
    """Rows that differ between two versions, as Arrow, in the columns of the newer one.

    Rows are compared as a whole: one that changed is in both, in `removed` as it was. Both can be
    read side by side, and each once.
    """

    added: Iterator[pa.RecordBatch]
    removed: Iterator[pa.RecordBatch]
    added_rows: int = 0
    removed_rows: int = 0


class Shipment:
    """One version of an output: the files or the table below a path of a commit."""

    def __init__(self, core: Core, commit: Commit, path: str, before: Commit | None) -> None:
        """`before` is the newest version that the target is known to have."""
        self.core = core
        self.commit = commit
        self.path = path
        self.before = before

    def lines(self) -> list[bytes]:
        """The files as the manifest lists them: see `files`."""
        tree = self.core.tree(self.commit)
        with self.core.database.read() as session:
            gone = erasures.places(session)
        return [
            line
            for line in files.shown_below(tree, self.path)
            if not (gone and erasures.place_of(Entry.decode(line)) in gone)
        ]

    def files(self) -> Iterator[Entry]:
        """Files below the path, without what the lake keeps beside them (`model.hidden`), and
        without those that were erased."""
        return map(Entry.decode, self.lines())

    def open(self, entry: Entry) -> Iterator[bytes]:
        """The bytes of a file, in pieces, checked against its hash."""
        return files.read(self.core, entry)

    def table(self) -> Table:
        """The table at the path. NotFound or Precondition if there is none."""
        return self._table_at(self.commit)

    def schema(self) -> pa.Schema:
        from trunkline.tables.types import to_arrow

        return to_arrow(self.table().schema)

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """All rows, in bounded memory."""
        from trunkline.tables.reading.arrowread import record_batches

        return iter(record_batches(self.core, self.table(), columns))

    def changes(self) -> Changes | None:
        """What changed since `before`; None if there is no version before, or it is gone."""
        if self.before is None:
            return None
        try:
            old = self._table_at(self.before)
        except (NotFound, Precondition):
            return None
        from trunkline.tables.comparing.diffsql import DELETE, INSERT
        from trunkline.tables.comparing.rowdiff import diff_tables

        new = self.table()
        found = diff_tables(self.core, old, new, key=(), one_sided=True)
        added, removed = (found.batches(kind, new.schema) for kind in (INSERT, DELETE))
        return Changes(added, removed, found.added, found.removed)

    def _table_at(self, commit: Commit) -> Table:
        from trunkline.tables.describe import describe

        place = f"{commit.repo}@{commit.short_id}"
        name = place if self.path == "/" else f"{place}:{self.path}"
        return describe(self.core, self.core.tree(commit), self.path, name)


@dataclass(frozen=True, slots=True)
class Berth:
    """What a sender knows of where it runs. `options` have their secrets filled in."""

    pipeline: RepoName
    target: Target
    options: Mapping[str, Any]
    stop: threading.Event
    lake: str
    """The id of the lake: two lakes may deliver to one place."""
    progress: Callable[[int], None] = lambda count: None
    """Told how many rows or files went out so far."""

    @property
    def connection(self) -> Connection:
        return replace(of_target(self.target), options=self.options)

    @property
    def id(self) -> str:
        """Who sends, in the target's own books."""
        return f"{self.lake}/{self.pipeline}/{self.target.name}"


class Sender:
    """One target, in the hands of one thread."""

    in_order: bool = False
    """Whether each version must go out (rows are appended), or the newest one is enough."""

    def __init__(self, berth: Berth) -> None:
        self.berth = berth

    def send(self, shipment: Shipment) -> Sent:
        """Deliver it. May be called again for the same version: see above.

        Raises Unavailable for what may pass, and any other TrunklineError for what will not.
        """
        raise NotImplementedError

    def refuse_if_stopped(self) -> None:
        """Before what others see: if we were told to stop, another may send by now."""
        if self.berth.stop.is_set():
            raise Unavailable("It was told to stop.")

    def close(self) -> None:
        """Let go of everything."""
