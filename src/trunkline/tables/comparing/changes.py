"""Change rows: what to do to the rows of one commit to get those of another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from trunkline.errors import Usage
from trunkline.lake.core import Core
from trunkline.model.commits import Commit
from trunkline.model.display import table as html_table
from trunkline.model.tables import Column, Schema
from trunkline.model.types import parse_type
from trunkline.storage.catalog import Session, commits
from trunkline.tables.comparing.diffsql import DELETE, INSERT, UPDATE_AFTER
from trunkline.tables.comparing.matching import common_type
from trunkline.tables.comparing.rowdiff import CHANGE, diff_tables, free_name
from trunkline.tables.describe import Table
from trunkline.tables.reading.cells import shown
from trunkline.tables.reading.frames import Frames, ToSpark
from trunkline.tables.types import to_arrow_type

if TYPE_CHECKING:
    import pyarrow as pa

COMMIT = "_commit"


@dataclass(frozen=True, slots=True)
class Version:
    """A table as it is at a commit; without one, before there was any."""

    table: Table
    commit: str | None


@dataclass(frozen=True)
class Changes(Frames):
    """Change rows, oldest first.

    `_change` is insert or delete, and with a key also update_before and update_after, which
    follow each other. `_commit` is the commit that made the change; the newer one of the two
    where only those were compared.
    """

    old: str
    new: str
    key: tuple[str, ...]
    inserted: int
    deleted: int
    updated: int
    _rows: pa.Table = field(repr=False, compare=False)
    _to_spark: ToSpark | None = field(default=None, repr=False, compare=False)

    def arrow(self) -> pa.Table:
        return self._rows

    def __len__(self) -> int:
        return int(self._rows.num_rows)

    def summary(self) -> str:
        text = f"{self.inserted:,} inserted, {self.deleted:,} deleted"
        return f"{text}, {self.updated:,} updated" if self.key else text

    def to_dict(self) -> dict[str, object]:
        return {
            "old": self.old,
            "new": self.new,
            "key": list(self.key),
            "inserted": self.inserted,
            "deleted": self.deleted,
            "updated": self.updated,
        }

    __json__ = to_dict

    def __repr__(self) -> str:
        return f"Changes({self.old!r}, {self.new!r}: {self.summary()})"

    def _repr_html_(self) -> str:
        rows = (row for batch in self._rows.to_batches(1000) for row in batch.to_pylist())
        title = f"{self.old} → {self.new}: {self.summary()}"
        return html_table(title, ({n: shown(v) for n, v in row.items()} for row in rows))


def changes_between(
    core: Core,
    versions: Sequence[Version],
    key: Sequence[str] | None = None,
    to_spark: ToSpark | None = None,
) -> Changes:
    """What changed from each version to the next. All columns count, also those of one side."""
    import pyarrow as pa

    columns = _united([version.table.schema for version in versions])
    counts: Counter[str] = Counter()
    parts: list[pa.Table] = []
    used: tuple[str, ...] = ()
    for before, after in pairwise(versions):
        found = diff_tables(core, before.table, after.table, key=key, one_sided=True)
        used = found.key
        counts += Counter({INSERT: found.added, DELETE: found.removed, UPDATE_AFTER: found.changed})
        parts.append(_brought(found.arrow(), columns, after.commit or ""))
    return Changes(
        versions[0].table.name,
        versions[-1].table.name,
        used,
        counts[INSERT],
        counts[DELETE],
        counts[UPDATE_AFTER],
        pa.concat_tables(parts),
        to_spark,
    )


def steps_between(session: Session, repo: int, old: Commit, new: Commit) -> list[Commit]:
    """The commits from the old one to the new one along first parents, both included."""
    most = max(1, new.depth - old.depth + 1)
    found = commits.chain(session, repo, new.id, most)[::-1]
    if not found or found[0].id != old.id:
        raise Usage(
            f"{old.short_id} is not behind {new.short_id} on its branch, "
            "so there are no commits between them.",
            hint="Ask for the changes between the two alone, without per_commit.",
        )
    return found


def _united(schemas: Sequence[Schema]) -> Schema:
    """The columns of all versions, the newest's first, in types that hold those of all."""
    found: dict[str, Column] = {}
    for schema in reversed(schemas):
        for column in schema:
            held = found.setdefault(column.name.casefold(), column)
            joined = common_type(parse_type(held.type), parse_type(column.type))
            found[column.name.casefold()] = Column(held.name, str(joined))
    return Schema(tuple(found.values()))


def _brought(rows: pa.Table, columns: Schema, commit: str) -> pa.Table:
    """`_change`, `_commit`, then all columns in their types."""
    import pyarrow as pa

    taken = dict.fromkeys(columns.names)
    has = {name.casefold(): number for number, name in enumerate(rows.column_names) if number}
    cells = [rows.column(0), pa.repeat(pa.scalar(commit, pa.string()), rows.num_rows)]
    for column in columns:
        type_ = to_arrow_type(column.type)
        number = has.get(column.name.casefold())
        if number is None:
            cells.append(pa.nulls(rows.num_rows, type_))
        else:
            cells.append(rows.column(number).cast(type_, safe=False))
    names = [free_name(CHANGE, taken), free_name(COMMIT, taken), *columns.names]
    return pa.table(cells, names=names)
