"""The table of types in docs/tables.md, made by trying: `python -m tests.oracle.typetable`.

One pipeline writes a table for each type, with all its edge values and a null. Each reader must
then give exactly those, or refuse. Types that tables do not hold fail the job, with a line.
"""

from __future__ import annotations

import json
import math
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from random import Random

import pyarrow as pa

import trunkline as tl
from tests.docs.console import ROOT
from tests.oracle.doors import READERS, rows_of
from tests.oracle.exports import to_csv, to_delta, to_sqlite
from tests.oracle.model import Column, Row, bag, told
from tests.oracle.tables import NUMBER, arrow_table, parquet
from tests.oracle.values import (
    BIGINT,
    DOUBLE,
    SCALARS,
    TEXT,
    TIMESTAMP,
    any_value,
    array_of,
    decimal,
    from_arrow,
    map_of,
    struct_of,
)
from tests.oracle.worlds import World, open_world
from trunkline.errors import InvalidSpec, Precondition, TrunklineError
from trunkline.model.jobs import JobState

PAGE = ROOT / "docs" / "tables.md"
START = "<!-- Made by python -m tests.oracle.typetable: do not edit it by hand. -->\n"
END = "<!-- Up to here. -->\n"
NESTED = {
    "array": array_of(DOUBLE),
    "map": map_of(TEXT, TIMESTAMP),
    "struct": struct_of(
        ("user-id", BIGINT), ("first name", TEXT), ("at", array_of(decimal(38, 18)))
    ),
}
HELD = {
    **{str(kind): kind for kind in SCALARS if kind.name != "decimal"},
    "decimal(38,18)": decimal(38, 18),
    **NESTED,
}
EDGES = {
    "boolean": "true, false",
    "tinyint": "±2⁷",
    "smallint": "±2¹⁵",
    "int": "±2³¹",
    "bigint": "±2⁶³, 2⁵³+1",
    "float": "0.1, -0.0, NaN, ±inf, 16777217",
    "double": "0.1, -0.0, NaN, ±inf, 5e-324, 1e308, 2⁵³+2",
    "decimal(38,18)": "all 38 digits",
    "string": "empty, spaces, quotes, newlines, NUL, `\\N`, U+FFFF and U+10000, 70 characters",
    "binary": "empty, 00, ff",
    "date": "0001-01-01, 1582-10-04, 9999-12-31",
    "timestamp": "0001-01-01, 1677, 2262, 9999-12-31, microseconds",
    "timestamp_ntz": "0001-01-01, 1677, 2262, 9999-12-31, microseconds",
    "array": "empty, null in it, doubles",
    "map": "empty, null in it, times",
    "struct": "fields such as `user-id`, nested, null at each level",
}
# What tables do not hold, as an expression of Spark's SQL.
REFUSED = {
    "variant": "parse_json('{\"a\": 1}')",
    "time": "TIME '12:00:00'",
    "interval day to second": "INTERVAL '1' DAY",
    "interval year to month": "INTERVAL '1' MONTH",
    "string collate": "'a' COLLATE UNICODE_CI",
    "void": "NULL",
    "array<void>": "array()",
}
Cell = str


def try_all(world: World) -> tuple[dict[str, dict[str, Cell]], dict[str, str]]:
    """What each reader makes of each type, and what is said of those that tables do not hold."""
    chance, places = Random(16), list(HELD)
    values = {}
    for name, kind in HELD.items():
        found = list(kind.edges) or [any_value(chance, kind, 0.3) for _ in range(12)]
        values[name] = [*found, None]
    count = max(map(len, values.values()))
    columns = [Column(NUMBER, BIGINT)]
    columns += [Column(f"c{place}", HELD[name]) for place, name in enumerate(places)]
    padded = [values[name] + [None] * (count - len(values[name])) for name in places]
    rows: list[Row] = list(zip(range(count), *padded, strict=True))
    repo = world.new_repo()
    with world.lake.commit(f"{repo}@main") as commit:
        commit.put("/all.parquet", parquet(arrow_table(columns, rows)))
    statements = []
    for place in range(len(places)):
        statements.append(f"CREATE TABLE t{place} AS SELECT {NUMBER}, c{place} AS v FROM {repo}")
        statements.append(f"CREATE TABLE e{place} AS SELECT {NUMBER}, c{place} AS v FROM {repo}")
    rules = [
        {"name": f"r{place}", "table": f"e{place}", "not_null": "v", "action": "drop"}
        for place in range(len(places))
    ]
    held, refused = f"{repo}t", {}
    _apply(world, held, "; ".join(statements), repo, expectations=rules)
    for place, (name, expression) in enumerate(REFUSED.items()):
        try:
            _apply(world, f"{repo}x{place}", f"SELECT {expression} AS v FROM {repo}", repo)
        except InvalidSpec as error:  # what the text shows is refused before it runs
            said = error.message.partition("\n")[0].partition(", line 1: ")[2]
            refused[name] = f"{said} {error.hint}"
    for job in world.lake.run().jobs:
        pipeline = job.pipeline.repo
        if pipeline == held:
            assert job.state is JobState.SUCCESS, job.reason
        else:
            name = list(REFUSED)[int(pipeline.partition("x")[2])]
            assert job.state is JobState.FAILURE, f"{name} was written"
            refused[name] = job.reason
    cells = {}
    for place, name in enumerate(places):
        one = [Column(NUMBER, BIGINT), Column("v", HELD[name])]
        mine = [(row[0], row[place + 1]) for row in rows]
        ref = f"{held}@main:/{{}}{place}"
        cells[name] = {reader: attempt(world, one, mine, ref) for reader, attempt in TRIES.items()}
    return cells, {name: refused[name] for name in REFUSED}


def _apply(world: World, name: str, sql: str, repo: str, **fields: object) -> None:
    transform = {"sql": sql}
    spec = {"pipeline": {"name": name}, "input": tl.pfs(repo, "/"), "transform": transform}
    world.lake.apply({**spec, **fields})


Try = Callable[[World, Sequence[Column], list[Row], str], Cell]


def _same(columns: Sequence[Column], expected: Sequence[Row], found: Sequence[Row]) -> Cell:
    kinds = [column.kind for column in columns]
    return told(bag(kinds, expected), bag(kinds, found)) or "yes"


def _read(door: str, world: World, columns: Sequence[Column], rows: list[Row], ref: str) -> Cell:
    return _same(columns, rows, rows_of(READERS[door](world, ref.format("t")), columns))


def _pandas(world: World, columns: Sequence[Column], rows: list[Row], ref: str) -> Cell:
    frame = world.lake.table(ref.format("t")).pandas()
    kind = columns[1].kind
    given = pa.Array.from_pandas(frame["v"], type=kind.arrow)
    found = list(zip(frame[NUMBER].tolist(), from_arrow(kind, given), strict=True))
    if kind.name not in ("float", "double"):
        return _same(columns, rows, found)
    # pandas has one value for both.
    one = [(n, None if v is not None and math.isnan(v) else v) for n, v in rows]
    said = _same(columns, one, found)
    return "null is NaN" if said == "yes" else said


def _diff(world: World, columns: Sequence[Column], rows: list[Row], ref: str) -> Cell:
    """The same rows but for those with null."""
    found = world.lake.table_diff(ref.format("t"), ref.format("e"), key=())
    expected = (0, sum(row[1] is None for row in rows))
    return "yes" if (found.added, found.removed) == expected else f"{found.summary()}, {expected}"


def _profile(world: World, columns: Sequence[Column], rows: list[Row], ref: str) -> Cell:
    found = world.lake.profile(ref.format("t"))
    expected = (len(rows), sum(row[1] is None for row in rows))
    given = (found.rows, found["v"].nulls)
    return "yes" if given == expected else f"{given}, not {expected}"


def _expectations(world: World, columns: Sequence[Column], rows: list[Row], ref: str) -> Cell:
    kept = [row for row in rows if row[1] is not None]
    return _same(columns, kept, rows_of(world.lake.table(ref.format("e")).arrow(), columns))


def _delta(world: World, columns: Sequence[Column], rows: list[Row], ref: str) -> Cell:
    return _same(columns, rows, to_delta(world, ref.format("t"), columns))


def _csv(world: World, columns: Sequence[Column], rows: list[Row], ref: str) -> Cell:
    return _same(columns, rows, to_csv(world, ref.format("t"), columns))


def _sql(world: World, columns: Sequence[Column], rows: list[Row], ref: str) -> Cell:
    """SQLite, which has the fewest types of all."""
    kind = columns[1].kind
    try:
        found = to_sqlite(world, ref.format("t"), columns)
    except Precondition as error:
        if kind.name in ("float", "double") and "NaN" in error.message:
            return "but for NaN"
        raise
    if kind.is_nested:
        held = [(row[0], json.loads(row[1]) is None if row[1] else True) for row in found]
        expected = [(row[0], row[1] is None) for row in rows]
        return "as JSON" if sorted(held) == expected else f"{held}, not {expected}"
    signless = [(n, 0.0 if kind.name in ("float", "double") and v == 0 else v) for n, v in rows]
    return _same(columns, signless, found)


def _told(attempt: Try, world: World, columns: Sequence[Column], rows: list[Row], ref: str) -> Cell:
    try:
        return attempt(world, columns, rows, ref)
    except TrunklineError as error:
        return f"refused: {error.message}"
    except Exception as error:
        return f"fails: {type(error).__name__}: {str(error)[:300]}"


_ATTEMPTS: dict[str, Try] = {
    "Spark": partial(_read, "spark"),
    "DuckDB": partial(_read, "duckdb"),
    "Arrow": partial(_read, "arrow"),
    "pandas": _pandas,
    "polars": partial(_read, "polars"),
    "Iceberg": partial(_read, "iceberg"),
    "diff": _diff,
    "profile": _profile,
    "expectations": _expectations,
    "SQL": _sql,
    "Delta": _delta,
    "CSV": _csv,
}
TRIES: dict[str, Try] = {name: partial(_told, one) for name, one in _ATTEMPTS.items()}

# -- the page --------------------------------------------------------------------------------------


def shown(cells: dict[str, dict[str, Cell]], refused: dict[str, str]) -> str:
    lines = [f"| type | with | {' | '.join(TRIES)} |", "|---|---|" + "---|" * len(TRIES)]
    for name, found in cells.items():
        words = [cell.partition(":")[0] for cell in found.values()]
        lines.append(f"| `{name}` | {EDGES[name]} | {' | '.join(words)} |")
    lines += ["", "| not held | what is said |", "|---|---|"]
    lines += [f"| `{name}` | {_line(said)} |" for name, said in refused.items()]
    return "\n".join(lines) + "\n"


def _line(said: str) -> str:
    return said.splitlines()[0].replace("|", "\\|")


def page(made: str) -> str:
    """docs/tables.md with that table in it."""
    before, _, rest = PAGE.read_text().partition(START)
    return f"{before}{START}\n{made}\n{END}{rest.partition(END)[2]}"


def main() -> int:
    with tempfile.TemporaryDirectory() as folder, open_world(Path(folder)) as world:
        cells, refused = try_all(world)
    for name, found in cells.items():
        for reader, cell in found.items():
            if cell not in GOOD:
                print(f"{name} through {reader}: {cell[:300]}")
    PAGE.write_text(page(shown(cells, refused)))
    return 0


GOOD = ("yes", "as JSON", "null is NaN", "but for NaN")

if __name__ == "__main__":
    sys.exit(main())
