"""The SQL of a row diff. Columns go by number inside it, so no name of a user's gets in the way.

o, n        the rows of the old and of the new side: c0, c1, …, brought to one type each
delta       rows that one side has more often, and by how many (EXCEPT ALL, both ways at once)
tl_changes  what the diff found: a row for each insert and delete, two for each update
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trunkline.tables.reading.duck import quoted

CHANGES = "tl_changes"
OLD, NEW = "tl_old", "tl_new"
INSERT, DELETE = "insert", "delete"
UPDATE_BEFORE, UPDATE_AFTER = "update_before", "update_after"

# Only so that a diff reads the same twice; more columns would cost more than that is worth.
_MOST_SORTED = 32
_FLOATS = ("FLOAT", "DOUBLE")


@dataclass(frozen=True, slots=True)
class Matched:
    """A column that is compared: what each side calls it, and the type both are brought to."""

    name: str
    old: str | None
    new: str | None
    type: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """What is compared, and how. `key` are places in `columns`; without one, rows are bags."""

    columns: tuple[Matched, ...]
    key: tuple[int, ...] = ()
    tolerance: float | None = None

    @property
    def numbers(self) -> range:
        return range(len(self.columns))


def side(source: str, compared: Comparison, new: bool) -> str:
    """The compared columns of one side, by number."""
    cells = []
    for number, column in enumerate(compared.columns):
        name = column.new if new else column.old
        cells.append(f"{_brought(name, column.type)} AS c{number}")
    return f"SELECT {', '.join(cells)} FROM ({source})"


def duplicates(source: str, compared: Comparison) -> str:
    """How many rows there are, and how many keys are of more than one of them."""
    keys = _names("c", compared.key)
    return (
        "SELECT coalesce(sum(n), 0), count(*) FILTER (n > 1) "
        f"FROM (SELECT count(*) AS n FROM {source} GROUP BY {keys})"
    )


def whole_rows(compared: Comparison) -> str:
    """What changed between two bags of rows."""
    every = _names("c", compared.numbers)
    return f"""CREATE TEMP TABLE {CHANGES} AS
        SELECT row_number() OVER (ORDER BY {_sorted("c", compared.numbers)}, times) AS pair,
            CASE WHEN times > 0 THEN '{INSERT}' ELSE '{DELETE}' END AS change,
            NULL::INTEGER[] AS columns, {every}
        FROM (SELECT *, unnest(range(abs(times))) FROM ({_delta(every)}))"""


def by_key(compared: Comparison, unique: bool) -> str:
    """What changed between rows of the same key.

    Where a key has several rows, those that are equal on both sides go first, and the rest are
    paired in their order. So the answer depends on nothing but the rows that differ.
    """
    every = _names("c", compared.numbers)
    old, new = OLD, NEW
    same = [f"o.c{number} IS NOT DISTINCT FROM n.c{number}" for number in compared.key]
    start = ""
    if not unique:
        start = f"WITH delta AS MATERIALIZED ({_delta(every)}) "
        old, new = _numbered(compared, every, "<"), _numbered(compared, every, ">")
        same.append("o.place = n.place")
    others = [number for number in compared.numbers if number not in compared.key]
    flags = ", ".join(
        f"CASE WHEN {differs(number, compared)} THEN {number} END" for number in others
    )
    changed = f"list_filter([{flags}]::INTEGER[], lambda x: x IS NOT NULL)"
    sides = ", ".join(f"o.c{i} AS o{i}, n.c{i} AS n{i}" for i in compared.numbers)
    first = ", ".join(f"coalesce(o{i}, n{i})" for i in compared.key)
    chosen = ", ".join(f"CASE WHEN later THEN n{i} ELSE o{i} END AS c{i}" for i in compared.numbers)
    return f"""CREATE TEMP TABLE {CHANGES} AS {start}
        SELECT pair, CASE WHEN here IS NULL THEN '{DELETE}' WHEN there IS NULL THEN '{INSERT}'
            WHEN later THEN '{UPDATE_AFTER}' ELSE '{UPDATE_BEFORE}' END AS change,
            CASE WHEN later THEN columns END AS columns, {chosen}
        FROM (
            SELECT *, row_number() OVER (ORDER BY {first}, place) AS pair FROM (
                SELECT o.here AS there, n.here AS here, {sides},
                    {"0" if unique else "coalesce(o.place, n.place)"} AS place,
                    CASE WHEN o.here AND n.here THEN {changed} END AS columns
                FROM (SELECT *, true AS here FROM {old}) o
                FULL OUTER JOIN (SELECT *, true AS here FROM {new}) n ON {" AND ".join(same)}
            ) WHERE columns IS NULL OR len(columns) > 0
        ), (VALUES (false), (true)) AS sides(later)
        WHERE CASE WHEN later THEN here ELSE there END"""


def differs(number: int, compared: Comparison) -> str:
    """Whether a cell changed. Null equals null, and NaN equals NaN."""
    old, new = f"o.c{number}", f"n.c{number}"
    plain = f"{old} IS DISTINCT FROM {new}"
    if compared.tolerance is None or compared.columns[number].type not in _FLOATS:
        return plain
    # With a NaN or an infinity the distance is NaN or infinite, which no tolerance covers.
    return f"({plain} AND (abs({old} - {new}) <= {compared.tolerance!r}) IS NOT TRUE)"


def _delta(every: str) -> str:
    return (
        f"SELECT {every}, sum(side)::BIGINT AS times FROM ("
        f"SELECT {every}, 1 AS side FROM {NEW} UNION ALL SELECT {every}, -1 AS side FROM {OLD}"
        f") GROUP BY {every} HAVING sum(side) <> 0"
    )


def _numbered(compared: Comparison, every: str, sign: str) -> str:
    keys, order = _names("c", compared.key), _sorted("c", compared.numbers)
    return (
        f"(SELECT {every}, row_number() OVER (PARTITION BY {keys} ORDER BY {order}) AS place "
        f"FROM (SELECT *, unnest(range(abs(times))) FROM delta WHERE times {sign} 0))"
    )


def _brought(name: str | None, type_: str) -> str:
    if name is None:
        return f"CAST(NULL AS {type_})"
    cast = f"CAST({quoted(name)} AS {type_})"
    # The entries of a map have no order, but DuckDB compares them in the one they are stored in.
    is_map = type_.startswith("MAP(") and type_.endswith(")")
    return f"map_from_entries(list_sort(map_entries({cast})))" if is_map else cast


def _names(letter: str, numbers: Sequence[int]) -> str:
    return ", ".join(f"{letter}{number}" for number in numbers)


def _sorted(letter: str, numbers: Sequence[int]) -> str:
    return _names(letter, numbers[:_MOST_SORTED])
