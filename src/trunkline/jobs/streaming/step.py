"""What one commit brought to an input of a stream."""

from __future__ import annotations

from dataclasses import dataclass, replace

from trunkline.jobs.streaming.changedrows import with_change
from trunkline.jobs.streaming.positions import Place
from trunkline.lake.differences import Difference
from trunkline.model.entries import Entry
from trunkline.model.tables import Schema, TableSpec


@dataclass(frozen=True, slots=True)
class Step:
    """What one commit brought. `base` is the commit it was compared with, `folder` the table's.

    `added` are lines of new files in path order. `changed` are files whose rows the stream gets
    as the rows that differ: because its policy is rows (`marked`), else because files were
    rewritten with nothing but more rows in them. `skipped` counts files that the policy skip
    left out. `files`, `bytes` and `rows` are of what is delivered; `rows` if they are known.
    A `whole` step cannot be read in parts.
    """

    commit: str
    base: str | None
    folder: str
    table: TableSpec | None
    table_before: TableSpec | None = None
    added: tuple[bytes, ...] = ()
    changed: tuple[Difference, ...] = ()
    skipped: int = 0
    taken: int = 0
    """How many of the commit's files the stream had before these."""
    marked: bool = False
    whole: bool = False
    files: int = 0
    bytes: int = 0
    rows: int | None = 0

    @property
    def schema(self) -> Schema | None:
        """The columns of its rows, as the stream gets them."""
        if self.table is None:
            return None
        return with_change(self.table.schema) if self.marked else self.table.schema

    @property
    def is_empty(self) -> bool:
        return not (self.added or self.changed)

    @property
    def place(self) -> Place:
        """The position after it."""
        return Place(self.commit)

    def part(self, start: int, stop: int) -> Step:
        """Only some of the added files."""
        taken = self.taken + start
        return counted(replace(self, added=self.added[start:stop], taken=taken))


def counted(step: Step) -> Step:
    entries = [Entry.decode(line) for line in step.added]
    entries += [Entry.decode(one.new) for one in step.changed if one.new is not None]
    known = [entry.rows for entry in entries if entry.rows is not None]
    whole = len(known) == len(entries) and not step.changed
    return replace(
        step,
        files=len(entries),
        bytes=sum(entry.size for entry in entries),
        rows=sum(known) if whole else None,
    )
