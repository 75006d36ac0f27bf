"""Tables and conditions on them, made up; and how they get into a lake."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.oracle.model import COMPARISONS, Both, Column, Condition, Not, Row, Table, Term, Test
from tests.oracle.values import BIGINT, Kind, Value, any_kind, any_value, near, to_arrow
from tests.oracle.worlds import World

NAMES = (
    "a", "b", "a b", "x.y", "select", "größe", "at", "user-id", "2nd", "Name", "it's", "名", "_x",
    "day", "order by", "tl_hash", "e\u0301", "a`b", 'a"b', "null", "=", "a,b", "%20", "$1", "rows",
)  # fmt: skip
NUMBER = "n"  # the first column of every table: it tells a row from all others
PARTING = ("string", "int", "bigint", "date", "boolean")
# How files come to be: put as they are, with a group for each row, with old moments, with other
# columns in each; written by us, in folders, by Spark.
LAYOUTS = ("raw", "groups", "int96", "evolved", "evolved", "arrow", "arrow", "parts", "spark")


def any_table(chance: Random, columns: int = 5, layout: str | None = None) -> Table:
    names = chance.sample(NAMES, chance.randint(1, columns))
    made = (Column(NUMBER, BIGINT), *(Column(name, any_kind(chance)) for name in names))
    count, files = 0, []
    for _ in range(chance.choice((1, 2, 3, 4))):
        rows = [
            (count + n, *(any_value(chance, column.kind) for column in made[1:]))
            for n in range(chance.choice((0, 1, 1, 2, 3, 5)))
        ]
        count += len(rows)
        files.append(tuple(rows))
    return Table(made, tuple(files), layout or chance.choice(LAYOUTS))


def any_condition(chance: Random, table: Table, depth: int = 2) -> Condition:
    """Mostly about values that are in the table: those are what bounds are made of."""
    if depth and chance.random() < 0.3:
        if chance.random() < 0.5:
            return Not(any_condition(chance, table, depth - 1))
        parts = (any_condition(chance, table, depth - 1) for _ in range(2))
        return Both(chance.choice(("AND", "OR")), *parts)
    term = chance.choice(_terms(table.columns))
    kind = term.kind(table.columns)
    if kind.is_nested or chance.random() < 0.08:
        return Test(term, "is null")
    signs = [*COMPARISONS, "=", ">=", "<=", "in", "between", "<=>"]
    sign = chance.choice([*signs, "starts", "starts"] if kind.name == "string" else signs)
    count = {"in": chance.choice((1, 2, 4)), "between": 2}.get(sign, 1)
    values = tuple(_asked(chance, table, term, kind) for _ in range(count))
    if sign == "starts":
        text = values[0][: chance.choice((1, 2, 40, 66, 100))]
        # What stands for other characters in a pattern, or cannot stand in SQL's text.
        return Test(term, sign, ("".join(one for one in text if one not in "%_\\\0"),))
    if sign == "<=>" and chance.random() < 0.2:
        return Test(term, sign, (None,))
    return Test(term, sign, values)


def _asked(chance: Random, table: Table, term: Term, kind: Kind) -> Value:
    held = [value for row in table.rows if (value := term.of(row)) is not None]
    value = chance.choice(held) if held and chance.random() < 0.75 else chance.choice(kind.edges)
    return near(chance, kind, value) if chance.random() < 0.15 else value


def _terms(columns: Sequence[Column]) -> list[Term]:
    found = []
    for place, column in enumerate(columns):
        found.append(Term(place))
        if column.kind.name == "struct":
            found += [Term(place, path) for path in _paths(column.kind)]
    return found[1:]  # not the number


def _paths(kind: Kind) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = []
    for place, (_, part) in enumerate(kind.parts):
        found.append((place,))
        if part.name == "struct":
            found += [(place, *path) for path in _paths(part)]
    return found


# -- into a lake -----------------------------------------------------------------------------------


def arrow_table(columns: Sequence[Column], rows: Sequence[Row]) -> pa.Table:
    arrays = [
        to_arrow(column.kind, [row[place] for row in rows]) for place, column in enumerate(columns)
    ]
    return pa.Table.from_arrays(arrays, names=[column.name for column in columns])


def parquet(table: pa.Table, **options: Any) -> bytes:
    made = io.BytesIO()
    pq.write_table(table, made, **options)
    return made.getvalue()


_OPTIONS: dict[str, dict[str, Any]] = {
    "groups": {"row_group_size": 1},
    "int96": {"use_deprecated_int96_timestamps": True},
}


class Unstored(str):
    """What was said instead of storing a table."""


def store(world: World, tables: Sequence[Table]) -> list[str]:
    """Put all of them into a new repo; the ref of each, or `Unstored`."""
    repo = world.new_repo()
    with world.lake.commit(f"{repo}@main") as commit:
        for place, table in enumerate(tables):
            if table.layout in ("arrow", "parts"):
                continue
            folder = "source" if table.layout == "spark" else "table"
            for number, rows in enumerate(table.files):
                made = arrow_table(table.columns, rows)
                if table.layout == "evolved" and number:
                    made = arrow_table(*_older(table.columns, rows, number))
                data = parquet(made, **_OPTIONS.get(table.layout, {}))
                commit.put(f"/{folder}{place}/{number}.parquet", data)
    refs = [f"{repo}@main:/table{place}" for place in range(len(tables))]
    for place, table in enumerate(tables):
        try:
            _write(world, table, refs[place], f"{repo}@main:/source{place}")
        except Exception as error:
            refs[place] = Unstored(f"{type(error).__name__}: {str(error)[:400]}")
    return refs


def _write(world: World, table: Table, ref: str, source: str) -> None:
    if table.layout == "spark":
        frame = world.lake.table(source).spark()
        world.lake.write_table(ref, frame.repartition(len(table.files)))
    elif table.layout in ("arrow", "parts"):
        by = [table.columns[place].name for place in parted_by(table)]
        for rows in table.files:
            world.lake.write_table(ref, arrow_table(table.columns, rows), partition_by=by or None)


def parted_by(table: Table) -> list[int]:
    """The places of the columns that a table in folders is parted by: none if no column can be."""
    if table.layout != "parts":
        return []
    kinds = enumerate(table.kinds)
    return [place for place, kind in kinds if place and kind.name in PARTING][:2]


def _older(
    columns: Sequence[Column], rows: Sequence[Row], number: int
) -> tuple[list[Column], list[Row]]:
    """The same rows as a file may have them that was written before columns were added or widened:
    in another order, without what is null throughout, in narrower types."""
    found = []
    for place, column in reversed(list(enumerate(columns))):
        values = [row[place] for row in rows]
        if place and number % 2 and all(value is None for value in values):
            continue
        kind, values = _narrower(column.kind, values, number)
        found.append((Column(column.name, kind), values))
    made = [column for column, _ in found]
    return made, list(zip(*(values for _, values in found), strict=True))


def _narrower(kind: Kind, values: list[Value], number: int) -> tuple[Kind, list[Value]]:
    there = [value for value in values if value is not None]
    if kind.name == "struct":
        fields, columns = [], []
        for place, (name, part) in reversed(list(enumerate(kind.parts))):
            inner = [None if value is None else value[place] for value in values]
            if number % 2 and len(kind.parts) > 1 and all(one is None for one in inner):
                continue
            narrow, inner = _narrower(part, inner, number)
            fields.append((name, narrow))
            columns.append(inner)
        if not fields:
            return kind, values
        rows = zip(*columns, strict=True)
        made = [None if value is None else row for value, row in zip(values, rows, strict=True)]
        return replace(kind, parts=tuple(fields)), made
    if kind.name in ("int", "bigint") and all(-(2**15) <= value < 2**15 for value in there):
        return Kind("smallint"), values
    whole = kind.precision - 2 - kind.scale
    if kind.name == "decimal" and whole > 0 and all(abs(value) < 10**whole for value in there):
        return replace(kind, precision=kind.precision - 2), values
    return kind, values
