"""What the columns of a table hold."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from trunkline.errors import Failed, Usage
from trunkline.lake.core import Core
from trunkline.model.display import table as html_table
from trunkline.model.suggest import did_you_mean
from trunkline.model.tables import Column, Format
from trunkline.tables.comparing.rowdiff import said
from trunkline.tables.describe import Table
from trunkline.tables.profiles.profilecache import Found, ProfileCache, key_of
from trunkline.tables.profiles.profilesql import (
    COUNTED,
    Asked,
    Findings,
    bins_of,
    bins_query,
    first_pass,
    frequent,
    take_bins,
    take_values,
    values_query,
)
from trunkline.tables.reading.duck import connect, quoted

if TYPE_CHECKING:
    import pandas as pd
    from duckdb import DuckDBPyConnection

EXACT_ROWS = 1_000_000
"""In larger tables distinct values and quantiles are estimated, and marked so."""

MOST_COLUMNS = 100
_MOST_CELLS = 20_000_000
_COPIED = 64 * 1024 * 1024
_BARS = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """A column in numbers. Values are as in JSON: decimals and moments are text.

    `quantiles` by share (0.5 is the median); with `exact` False these, and `distinct` unless
    `distinct_exact`, are estimates. `top` are (value, count), `histogram` (low, high, count):
    the low bound belongs to the bin, the high one only to the last.
    """

    name: str
    type: str
    rows: int
    nulls: int
    distinct: int
    distinct_exact: bool
    exact: bool
    min: Any = None
    max: Any = None
    mean: float | None = None
    std: float | None = None
    nan: int = 0
    quantiles: dict[str, Any] | None = None
    top: Sequence[Sequence[Any]] = ()
    histogram: Sequence[Sequence[Any]] = ()

    def bars(self) -> str:
        """The histogram as one line of text."""
        most = max((count for *_, count in self.histogram), default=0)
        return "".join(
            _BARS[-(-count * (len(_BARS) - 1) // most)] if count else " "
            for *_, count in self.histogram
        )


@dataclass(frozen=True, slots=True)
class Profile:
    """What a table holds, column by column."""

    name: str
    rows: int
    columns: tuple[ColumnProfile, ...]

    def __getitem__(self, column: str) -> ColumnProfile:
        return next(one for one in self.columns if one.name.casefold() == column.casefold())

    def pandas(self) -> pd.DataFrame:
        """A row for each column."""
        import pandas

        return pandas.DataFrame(list(map(asdict, self.columns)))

    def __repr__(self) -> str:
        return f"Profile({self.name!r}, {self.rows:,} rows, {len(self.columns):,} columns)"

    def _repr_html_(self) -> str:
        def row(one: ColumnProfile) -> dict[str, object]:
            return {
                "column": one.name,
                "type": one.type,
                "nulls": f"{one.nulls:,}",
                "distinct": ("" if one.distinct_exact else "≈ ") + f"{one.distinct:,}",
                "min": one.min,
                "median": (one.quantiles or {}).get("0.5"),
                "max": one.max,
                "mean": None if one.mean is None else f"{one.mean:g}",
                "values": one.bars(),
                "top": [f"{value} ({count:,})" for value, count in one.top[:3]],
            }

        return html_table(f"{self.name}: {self.rows:,} rows", map(row, self.columns))


def profile_table(
    core: Core,
    table: Table,
    columns: Sequence[str] | None = None,
    *,
    cache: ProfileCache | None = None,
    exact_rows: int = EXACT_ROWS,
) -> Profile:
    """A table's profile: what is not known of its columns yet is computed, and kept."""
    import duckdb

    wanted = _chosen(table, columns)
    cache = cache or ProfileCache()
    key = key_of(table)
    held = _readable(cache.find(key))
    missing = [one for one in wanted if one.name not in held]
    if missing:
        try:
            connection = connect(core, {"t": table}).connection
            held |= measure(connection, _source(connection, table, missing), missing, exact_rows)
        except duckdb.Error as error:
            raise Failed(f"{table.name} cannot be read: {said(error)}") from None
        cache.keep(key, held)
    found = tuple(ColumnProfile(**held[one.name]) for one in wanted)
    return Profile(table.name, found[0].rows if found else table.rows or 0, found)


def measure(
    connection: DuckDBPyConnection, source: str, columns: Sequence[Column], exact_rows: int
) -> Found:
    """What a query's columns hold, some columns at a time and never more than memory likes."""
    counted = connection.execute(f"SELECT count(*) FROM {source}").fetchone()
    rows = int(counted[0]) if counted else 0
    exact = rows <= exact_rows
    step = MOST_COLUMNS
    if exact and rows:
        step = max(8, min(step, _MOST_CELLS // rows))
    result: Found = {}
    for start in range(0, len(columns), step):
        some = [Findings(one) for one in columns[start : start + step]]
        _ask(connection, source, [ask for one in some for ask in first_pass(one, exact)])
        if not exact:
            _ask(connection, source, [ask for one in some for ask in frequent(one)])
        few = [one for one in some if exact or one.found["distinct"] <= COUNTED]
        _count_values(connection, source, few)
        _count_bins(connection, source, [one for one in some if bins_of(one)[0]])
        for one in some:
            found = one.found
            nulls = rows - found.pop("values")
            facts = {"name": one.column.name, "type": one.column.type, "rows": rows}
            result[one.column.name] = facts | {"nulls": nulls, "exact": exact} | found
    return result


def _count_values(connection: DuckDBPyConnection, source: str, columns: Sequence[Findings]) -> None:
    by_type: dict[str, list[Findings]] = defaultdict(list)
    for one in columns:
        by_type[one.column.type].append(one)
    for alike in by_type.values():
        query = values_query([one.column.name for one in alike], source)
        counts: dict[int, list[tuple[Any, int, int]]] = defaultdict(list)
        for number, *count in connection.execute(query).fetchall():
            counts[number].append((count[0], count[1], count[2]))
        for number, one in enumerate(alike):
            take_values(one, counts[number])


def _count_bins(connection: DuckDBPyConnection, source: str, columns: Sequence[Findings]) -> None:
    if not columns:
        return
    counts: dict[int, dict[int, int]] = defaultdict(dict)
    for number, place, count in connection.execute(bins_query(columns, source)).fetchall():
        counts[number][place] = count
    for number, one in enumerate(columns):
        take_bins(one, counts[number])


def _ask(connection: DuckDBPyConnection, source: str, asked: Sequence[Asked]) -> None:
    if not asked:
        return
    parameters = [value for _, _, values in asked for value in values]
    query = f"SELECT {', '.join(expression for expression, _, _ in asked)} FROM {source}"
    row = connection.execute(query, parameters).fetchone()
    assert row is not None
    for (_, take, _), value in zip(asked, row, strict=True):
        take(value)


def _source(connection: DuckDBPyConnection, table: Table, columns: Sequence[Column]) -> str:
    """The view; or a copy where each pass over it would mean to parse all columns again."""
    if table.spec.format is Format.PARQUET and table.size > _COPIED:
        return '"t"'
    names = ", ".join(quoted(one.name) for one in columns)
    connection.execute(f'CREATE TEMP TABLE tl_copy AS SELECT {names} FROM "t"')
    return "tl_copy"


def _chosen(table: Table, columns: Sequence[str] | None) -> list[Column]:
    if columns is None:
        return list(table.schema)
    found = []
    for name in columns:
        column = table.schema.find(name)
        if column is None:
            raise Usage(
                f'{table.name} has no column "{name}".{did_you_mean(name, table.schema.names)}',
                hint=f"There are: {', '.join(table.schema.names[:20])}.",
            )
        found.append(column)
    return list(dict.fromkeys(found))


def _readable(held: Found) -> Found:
    """What is not damaged: an entry with a field of another name or none would not load."""
    known = {field.name for field in fields(ColumnProfile)}
    least = {"name", "type", "rows", "nulls", "distinct", "distinct_exact", "exact"}
    return {name: one for name, one in held.items() if least <= one.keys() <= known}
