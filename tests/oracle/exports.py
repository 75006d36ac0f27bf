"""Tables sent elsewhere, and read there by somebody who knows nothing of us."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from random import Random
from typing import Any

import duckdb
from deltalake import DeltaTable
from pyarrow.dataset import dataset

from tests.oracle.doors import rows_of
from tests.oracle.model import Column, Row, Table, bag, told
from tests.oracle.reading import only_columns, smaller_tables, unstored
from tests.oracle.running import Wrong
from tests.oracle.tables import Unstored, any_table, store
from tests.oracle.values import Kind, Value, days, micros, single
from tests.oracle.worlds import World
from trunkline.errors import TrunklineError

Sent = Callable[[World, str, Sequence[Column]], list[Row]]


class Exports:
    """What arrives is what the table has, or the export is refused."""

    name, share = "exports", 0.01

    def cases(self, chance: Random, count: int) -> list[Table]:
        return [any_table(chance, 3) for _ in range(min(count, 12))]

    def check(self, world: World, cases: Sequence[Table]) -> list[Wrong]:
        refs = store(world, cases)
        found = unstored(refs)
        for place, (table, ref) in enumerate(zip(cases, refs, strict=True)):
            if isinstance(ref, Unstored):
                continue
            whole = table
            for door, send in SENDERS.items():
                table = _scalars(whole) if door == "SQLite" else whole
                try:
                    rows = send(world, ref, table.columns)
                except TrunklineError as error:
                    said = "" if refuses(door, table) else f"refused: {error}"
                except Exception as error:
                    said = f"{type(error).__name__}: {str(error)[:300]}"
                else:
                    expected = [tuple(map(_ARRIVES[door], row)) for row in table.rows]
                    said = told(bag(table.kinds, expected), bag(table.kinds, rows))
                if said:
                    found.append(Wrong(place, door, said))
        return found

    def smaller(self, case: Table) -> Iterator[Table]:
        yield from smaller_tables(case)
        for place in range(1, len(case.columns)):
            yield only_columns(case, [one for one in range(len(case.columns)) if one != place])

    def sort(self, case: Table) -> str:
        return " ".join(map(str, case.kinds))


def refuses(door: str, table: Table) -> bool:
    """Whether a target is known to have no place for such values."""
    if door == "CSV":
        return any(kind.is_nested or kind.name == "binary" for kind in table.kinds)
    if door == "Delta":
        return any(_has_wall_clock(kind) for kind in table.kinds if kind.is_nested)
    if door == "SQLite":
        return any(isinstance(one, float) and math.isnan(one) for row in table.rows for one in row)
    return False


def _has_wall_clock(kind: Kind) -> bool:
    """Deep inside, deltalake does not see a feature that it must ask for, and refuses the table."""
    return kind.name == "timestamp_ntz" or any(_has_wall_clock(part) for _, part in kind.parts)


def to_parquet(world: World, ref: str, columns: Sequence[Column]) -> list[Row]:
    folder = world.new_folder()
    world.lake.export(ref, str(folder), format="parquet")
    return rows_of(dataset(folder, format="parquet").to_table(), columns)


def to_delta(world: World, ref: str, columns: Sequence[Column]) -> list[Row]:
    folder = world.new_folder() / "delta"
    world.lake.export(ref, f"delta:{folder}")
    return rows_of(DeltaTable(str(folder)).to_pyarrow_table(), columns)


def to_csv(world: World, ref: str, columns: Sequence[Column]) -> list[Row]:
    folder = world.new_folder()
    world.lake.export(ref, str(folder), format="csv")
    how = "header=true, all_varchar=true, allow_quoted_nulls=false, parallel=false, delim=','"
    quoting = """quote='"', escape='"', new_line='\\n', auto_detect=false"""
    names = ", ".join(
        f"'{column.name.replace(chr(39), chr(39) * 2)}': 'VARCHAR'" for column in columns
    )
    query = f"FROM read_csv('{folder}/*.csv', {how}, {quoting}, columns={{{names}}})"
    texts = duckdb.connect().execute(query).fetchall()
    return [_read(columns, row) for row in texts]


def to_sqlite(world: World, ref: str, columns: Sequence[Column]) -> list[Row]:
    file = world.new_folder() / "mart.db"
    world.lake.export(ref, f"sqlite:///{file}#report")
    names = ", ".join('"' + column.name.replace('"', '""') + '"' for column in columns)
    with sqlite3.connect(file) as opened:
        found = opened.execute(f"SELECT {names} FROM report").fetchall()
    return [_read(columns, row) for row in found]


def _scalars(table: Table) -> Table:
    """Nested values are JSON in a database: of those there is no model here."""
    kinds = enumerate(table.kinds)
    return only_columns(table, [place for place, kind in kinds if not kind.is_nested])


SENDERS: dict[str, Sent] = {
    "Parquet": to_parquet,
    "Delta": to_delta,
    "CSV": to_csv,
    "SQLite": to_sqlite,
}


def _as_it_is(value: Value) -> Value:
    return value


def _without_sign_of_zero(value: Value) -> Value:
    """SQLite keeps a whole number of a real column as one, and whole numbers have no -0."""
    return 0.0 if isinstance(value, float) and value == 0 else value


_ARRIVES = {**dict.fromkeys(SENDERS, _as_it_is), "SQLite": _without_sign_of_zero}


def _read(columns: Sequence[Column], row: Sequence[Any]) -> Row:
    return tuple(_value(column.kind, one) for column, one in zip(columns, row, strict=True))


def _value(kind: Kind, given: Any) -> Value:
    if given is None:
        return None
    match kind.name:
        case "boolean":
            return {"true": True, "false": False}[given] if isinstance(given, str) else bool(given)
        case "tinyint" | "smallint" | "int" | "bigint":
            return int(given)
        case "float":
            return single(float(given))
        case "double":
            return float(given)
        case "binary" if isinstance(given, str):
            return given.encode()
        case "decimal":
            return Decimal(repr(given) if isinstance(given, float) else given)
        case "date":
            return days(given)
        case "timestamp" | "timestamp_ntz":
            return micros(given.removesuffix("Z"))
    return given
