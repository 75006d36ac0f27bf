"""Which rows differ between two versions of a table, or between any two tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from trunkline.errors import Failed
from trunkline.lake.core import Core
from trunkline.model.display import table as html_table
from trunkline.model.shape import as_json
from trunkline.model.tables import Schema
from trunkline.tables.comparing import diffsql
from trunkline.tables.comparing.diffsql import CHANGES, DELETE, INSERT, UPDATE_BEFORE, Comparison
from trunkline.tables.comparing.matching import SchemaChange, match, schema_changes
from trunkline.tables.comparing.sharing import leave_out_shared
from trunkline.tables.describe import Table
from trunkline.tables.reading.cells import plain, shown
from trunkline.tables.reading.duck import connect, quoted
from trunkline.tables.reading.frames import Frames, ToSpark

if TYPE_CHECKING:
    import pyarrow as pa
    from duckdb import DuckDBPyConnection

CHANGE = "_change"
_PAGE = 64 << 10
_IN_ORDER = "ORDER BY pair, change DESC"  # update_before, then update_after


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two: a query for its rows. `rows` and `files` tell of the whole table, if known.

    `left_out` are files that both sides have, which the query therefore need not read.
    """

    name: str
    query: str
    schema: Schema
    rows: int | None = None
    files: int = 0
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class ChangedRow:
    """A row that differs: `added`, `removed` or `changed`, and then in which columns."""

    change: str
    old: Mapping[str, Any] | None
    new: Mapping[str, Any] | None
    columns: tuple[str, ...] = ()

    def __json__(self) -> dict[str, object]:
        return {
            "change": self.change,
            "old": plain(self.old),
            "new": plain(self.new),
            "columns": list(self.columns),
        }


@dataclass(frozen=True)
class RowDiff(Frames):
    """How two tables differ. Counts are here; rows come when they are asked for.

    `columns` has for each compared column how many rows changed in it. `duplicates` counts, on
    each side, the keys of more than one of the rows that were read. `unchanged` and `rows`, those
    of the new side, are None where counting them would mean to read files that cannot differ.
    """

    old: str
    new: str
    key: tuple[str, ...]
    added: int
    removed: int
    changed: int
    unchanged: int | None
    rows: int | None
    columns: Mapping[str, int]
    schema: tuple[SchemaChange, ...]
    duplicates: tuple[int, int]
    files_read: int
    files_shared: int
    _connection: DuckDBPyConnection = field(repr=False, compare=False)
    _to_spark: ToSpark | None = field(default=None, repr=False, compare=False)

    def __bool__(self) -> bool:
        """Whether anything differs, rows or schema."""
        return bool(self.added or self.removed or self.changed or self.schema)

    def samples(self, n: int = 20) -> list[ChangedRow]:
        """The first rows that differ, in order of the key."""
        cells = ", ".join(f"c{number}" for number in range(len(self.columns)))
        found = self._connection.execute(
            f"SELECT change, columns, {cells} FROM {CHANGES} WHERE pair <= ? {_IN_ORDER}",
            [n],
        ).fetchall()
        return list(self._paired(found))

    def arrow(self) -> pa.Table:
        """All rows that differ, with what became of each in `_change`.

        It is insert, delete, or for both sides of a changed row update_before and update_after.
        """
        names = [free_name(CHANGE, self.columns), *self.columns]
        cells = ["change", *(f"c{number}" for number in range(len(self.columns)))]
        shown_as = ", ".join(
            f"{cell} AS {quoted(name)}" for cell, name in zip(cells, names, strict=True)
        )
        query = f"SELECT {shown_as} FROM {CHANGES} {_IN_ORDER}"
        return self._connection.sql(query).to_arrow_table()

    def batches(self, change: str, columns: Schema) -> Iterator[pa.RecordBatch]:
        """The rows of one kind of change in the given columns and types, in bounded memory."""
        from trunkline.tables.types import to_arrow

        places = {name.casefold(): number for number, name in enumerate(self.columns)}
        cells = ", ".join(f"c{places[one.name.casefold()]}" for one in columns)
        [[last]] = self._connection.execute(f"SELECT max(pair) FROM {CHANGES}").fetchall()
        for start in range(0, last or 0, _PAGE):
            page = self._connection.sql(
                f"SELECT {cells} FROM {CHANGES} WHERE change = '{change}' "
                f"AND pair > {start} AND pair <= {start + _PAGE} {_IN_ORDER}"
            ).to_arrow_table()
            rows = page.rename_columns(list(columns.names)).cast(to_arrow(columns), safe=False)
            yield from rows.to_batches()

    def summary(self) -> str:
        """`3 added, 1 removed, 2 changed (of 1,204 rows)`."""
        text = f"{self.added:,} added, {self.removed:,} removed"
        if self.key:
            text += f", {self.changed:,} changed"
        if self.rows is None:
            return text
        return f"{text} (of {self.rows:,} {'row' if self.rows == 1 else 'rows'})"

    def to_dict(self, samples: int = 20) -> dict[str, object]:
        return {
            "old": self.old,
            "new": self.new,
            "key": list(self.key),
            "added": self.added,
            "removed": self.removed,
            "changed": self.changed,
            "unchanged": self.unchanged,
            "rows": self.rows,
            "columns": dict(self.columns),
            "schema": as_json(self.schema),
            "duplicate_keys": {"old": self.duplicates[0], "new": self.duplicates[1]},
            "files": {"read": self.files_read, "shared": self.files_shared},
            "samples": as_json(self.samples(samples)),
        }

    __json__ = to_dict

    def __repr__(self) -> str:
        return f"RowDiff({self.old!r}, {self.new!r}: {self.summary()})"

    def _repr_html_(self) -> str:
        title = f"{self.old} → {self.new}: {self.summary()}"
        schema = "".join(html_table("Schema", ({"": str(one)} for one in self.schema)))
        rows = html_table(title, map(self._html_row, self.samples()))
        return rows + schema if self.schema else rows

    def _html_row(self, row: ChangedRow) -> dict[str, object]:
        return {"": row.change, **{name: cell_text(row, name) for name in self.columns}}

    def _paired(self, found: Sequence[tuple[Any, ...]]) -> Iterator[ChangedRow]:
        names = list(self.columns)
        rows = iter(found)
        for change, _, *cells in rows:
            row = dict(zip(names, cells, strict=True))
            if change == INSERT:
                yield ChangedRow("added", None, row)
            elif change == DELETE:
                yield ChangedRow("removed", row, None)
            else:
                _, changed, *cells = next(rows)
                after = dict(zip(names, cells, strict=True))
                yield ChangedRow("changed", row, after, tuple(names[i] for i in changed))


def cell_text(row: ChangedRow, name: str) -> str:
    """A cell as a diff shows it: `10 → 12` where it changed."""
    if name in row.columns and row.old is not None and row.new is not None:
        return f"{shown(row.old[name])} → {shown(row.new[name])}"
    side = row.new if row.old is None else row.old
    return "" if side is None else shown(side[name])


def free_name(name: str, taken: Mapping[str, object]) -> str:
    """The name, with more underscores in front where a column has it already."""
    folded = {one.casefold() for one in taken}
    while name.casefold() in folded:
        name = "_" + name
    return name


def diff_tables(
    core: Core,
    old: Table,
    new: Table,
    *,
    key: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    tolerance: float | None = None,
    one_sided: bool = False,
    shortcut: bool = True,
    to_spark: ToSpark | None = None,
) -> RowDiff:
    """The diff of two tables by a key, else by the one they record; `()` compares whole rows.

    Without the `shortcut` files that both have are read too. The answer is the same.
    """
    import duckdb

    if key is None:
        key = new.spec.key or old.spec.key
    match(old.schema, new.schema, key, columns, one_sided, tolerance)  # refuse before any work
    before, after, shared = old, new, 0
    if shortcut:
        before, after, shared = leave_out_shared(core, old, new, one_sided)
    try:
        return compare(
            connect(core, {"old": before, "new": after}).connection,
            Side(old.name, 'SELECT * FROM "old"', old.schema, old.rows, len(old.entries), shared),
            Side(new.name, 'SELECT * FROM "new"', new.schema, new.rows, len(new.entries), shared),
            key=key,
            columns=columns,
            tolerance=tolerance,
            one_sided=one_sided,
            to_spark=to_spark,
        )
    except duckdb.Error as error:
        raise Failed(f"{old.name} and {new.name} cannot be compared: {said(error)}") from None


def said(error: Exception) -> str:
    """What DuckDB has to say, in a line."""
    import json

    kind, _, rest = str(error).partition(" Error: ")
    try:
        rest = str(json.loads(rest)["exception_message"])
    except (ValueError, KeyError, TypeError):
        rest = rest or kind
    return " ".join(rest.split("\n\nLINE ")[0].split())


def compare(
    connection: DuckDBPyConnection,
    old: Side,
    new: Side,
    *,
    key: Sequence[str] = (),
    columns: Sequence[str] | None = None,
    tolerance: float | None = None,
    one_sided: bool = False,
    to_spark: ToSpark | None = None,
) -> RowDiff:
    """The diff of two queries. The connection is the diff's own from here on."""
    compared = match(old.schema, new.schema, key, columns, one_sided, tolerance)
    for name, side, later in ((diffsql.OLD, old, False), (diffsql.NEW, new, True)):
        rows = diffsql.side(side.query, compared, later)
        connection.execute(f"CREATE TEMP VIEW {name} AS {rows}")
    read = duplicates = (0, 0)
    if compared.key:
        read, duplicates = zip(*(_keys(connection, name, compared) for name in _VIEWS), strict=True)
        connection.execute(diffsql.by_key(compared, unique=not any(duplicates)))
    else:
        connection.execute(diffsql.whole_rows(compared))
    counts = dict(
        connection.execute(f"SELECT change, count(*) FROM {CHANGES} GROUP BY 1").fetchall()
    )
    added, changed = counts.get(INSERT, 0), counts.get(UPDATE_BEFORE, 0)
    total = new.rows
    if total is None and not new.left_out:
        total = read[1] if compared.key else _count(connection)
    return RowDiff(
        old.name,
        new.name,
        tuple(compared.columns[number].name for number in compared.key),
        added,
        counts.get(DELETE, 0),
        changed,
        None if total is None else total - added - changed,
        total,
        _per_column(connection, compared),
        schema_changes(old.schema, new.schema),
        duplicates,
        old.files + new.files - old.left_out - new.left_out,
        new.left_out,
        connection,
        to_spark,
    )


_VIEWS = (diffsql.OLD, diffsql.NEW)


def _keys(connection: DuckDBPyConnection, view: str, compared: Comparison) -> tuple[int, int]:
    found = connection.execute(diffsql.duplicates(view, compared)).fetchone()
    assert found is not None
    return int(found[0]), int(found[1])


def _count(connection: DuckDBPyConnection) -> int:
    found = connection.execute(f"SELECT count(*) FROM {diffsql.NEW}").fetchone()
    return int(found[0]) if found else 0


def _per_column(connection: DuckDBPyConnection, compared: Comparison) -> dict[str, int]:
    found: dict[int, int] = dict(
        connection.execute(
            f"SELECT number, count(*) FROM (SELECT unnest(columns) AS number FROM {CHANGES}) "
            "GROUP BY number"
        ).fetchall()
    )
    return {one.name: found.get(number, 0) for number, one in enumerate(compared.columns)}
