"""What a target of egress gets, and what it must be able to do.

A version is delivered at least once by us and visible exactly once at the target, wherever the
target allows it: `send` is called again after a crash at any point, and must then find out what
is there already. What it does becomes visible as a whole or not at all; where the target cannot
do that (a plain folder of a bucket, a webhook), the module says so.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from trunkline.lake.core import Core
from trunkline.model.commits import Commit, RepoName
from trunkline.model.egress import Target
from trunkline.model.entries import Entry

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
    """Rows that differ between two versions, as Arrow. `removed` has the rows as they were."""

    added: Iterator[pa.RecordBatch]
    removed: Iterator[pa.RecordBatch]


class Shipment:
    """One version of an output: the files or the table below a path of a commit."""

    def __init__(self, core: Core, commit: Commit, path: str, before: Commit | None) -> None:
        """`before` is the newest version that the target is known to have."""
        self.core = core
        self.commit = commit
        self.path = path
        self.before = before

    def files(self) -> Iterator[Entry]:
        """Files below the path, those of hidden folders (`/_quarantine/` …) left out."""
        raise NotImplementedError

    def open(self, entry: Entry) -> Iterator[bytes]:
        """The bytes of a file, in pieces."""
        raise NotImplementedError

    def table(self) -> Table:
        """The table at the path. NotFound if there is none."""
        raise NotImplementedError

    def schema(self) -> pa.Schema:
        raise NotImplementedError

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """All rows, in bounded memory."""
        raise NotImplementedError

    def changes(self) -> Changes | None:
        """What changed since `before`; None if there is no version before, or it is gone."""
        raise NotImplementedError


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

    def close(self) -> None:
        """Let go of everything."""
