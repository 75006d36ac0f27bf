"""Pipelines over tables that change: what is published is what a run from scratch would publish.

Each case is a partition of one wide table, so that one job tries many of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import trunkline as tl
from tests.oracle.doors import READERS, can_read, rows_of
from tests.oracle.model import Column, Condition, Row, Table, bag, meeting, told
from tests.oracle.running import Wrong
from tests.oracle.sql import Spark
from tests.oracle.tables import NAMES, NUMBER, any_condition, arrow_table, parquet
from tests.oracle.values import BIGINT, SCALARS, TEXT, Kind, Value, any_kind, any_value, near
from tests.oracle.worlds import World

COLUMNS = 10
EACH = 4  # of so many partitions, for what starts a job for every one


@dataclass(frozen=True)
class Edit:
    """The rows of a partition, and the same with one value that is another."""

    columns: tuple[Column, ...]
    before: tuple[Row, ...]
    after: tuple[Row, ...]


class Published:
    """A value changes in its last bit or microsecond, or deep inside: outputs have the new one."""

    name, share = "published", 0.04

    def cases(self, chance: Random, count: int) -> list[Edit]:
        columns = (Column(NUMBER, BIGINT), *_columns(chance))
        return [_edit(chance, columns) for _ in range(min(count, 100))]

    def check(self, world: World, cases: Sequence[Edit]) -> list[Wrong]:
        source, columns = world.new_repo(), cases[0].columns
        shown = (*columns, Column("case", TEXT))
        together, whole, each, below = (f"{source}{name}" for name in ("t", "w", "e", "b"))
        _put(world, source, {_path(n): (columns, case.before) for n, case in enumerate(cases)})
        every = f"SELECT * FROM {source}"
        _apply(world, together, every, tl.pfs(source, "/case=*/"), partition_by=["case"])
        _apply(world, whole, every, tl.pfs(source, "/"))
        few = tl.pfs(source, f"/case=c[0-{EACH - 1}]/")
        _apply(world, each, every, few, mode="each")
        _apply(world, below, f"SELECT * FROM {together}", tl.pfs(together, "/"))
        found: list[Wrong] = []
        for step in ("before", "after"):
            if step == "after":
                edits = {_path(n): (columns, case.after) for n, case in enumerate(cases)}
                _put(world, source, edits)
            if said := world.run():
                return [Wrong(0, f"job {step}", said)]
            for name in (together, whole, each, below):
                rows = rows_of(world.lake.table(f"{name}@main").arrow(), shown)
                parted = _by_case(rows, cases)
                for place, case in enumerate(cases[:EACH] if name == each else cases):
                    mine = parted[place]
                    kinds = [column.kind for column in columns]
                    if told_ := told(bag(kinds, getattr(case, step)), bag(kinds, mine)):
                        found.append(Wrong(place, f"{_MODES[name[-1]]}, {step}", told_))
        return found

    def smaller(self, case: Edit) -> Iterator[Edit]:
        for place in range(1, len(case.columns)):
            if len(case.columns) > 2:
                yield replace(
                    case,
                    columns=_but(case.columns, place),
                    before=tuple(_but(row, place) for row in case.before),
                    after=tuple(_but(row, place) for row in case.after),
                )
        for place in range(len(case.before)):
            if len(case.before) > 1:
                yield replace(case, before=_but(case.before, place), after=_but(case.after, place))

    def sort(self, case: Edit) -> str:
        return " ".join(str(column.kind) for column in case.columns)


_MODES = {"t": "together", "w": "whole", "e": "each", "b": "below"}


@dataclass(frozen=True)
class Cut:
    """Rows that come in commits, cut anywhere."""

    columns: tuple[Column, ...]
    commits: tuple[tuple[Row, ...], ...]


class Cuts:
    """`append`, a stream, and one with state that upserts: however rows are cut into commits, all
    of them come, once.
    """

    name, share = "cuts", 0.01

    def cases(self, chance: Random, count: int) -> list[Cut]:
        columns = (Column(NUMBER, BIGINT), *_columns(chance)[:5])
        return [_cut(chance, columns) for _ in range(min(count, 40))]

    def check(self, world: World, cases: Sequence[Cut]) -> list[Wrong]:
        source, columns = world.new_repo(), cases[0].columns
        shown, kinds = (*columns, Column("case", TEXT)), [column.kind for column in columns]
        outputs = {"append": f"{source}a", "stream": f"{source}s"}
        for number in range(max(len(case.commits) for case in cases)):
            if number % 2 and (said := world.run()):
                return [Wrong(0, "job", said)]
            cut = {
                f"/case=c{place}/{number}.parquet": (columns, case.commits[number])
                for place, case in enumerate(cases)
                if number < len(case.commits)
            }
            _put(world, source, cut)
            if number == 0:
                every = f"SELECT * FROM {source}"
                _apply(world, outputs["append"], every, tl.pfs(source, "/"), mode="append")
                _stream(world, outputs["stream"], every, tl.pfs(source))
                totals = f"SELECT `case`, count(*) AS rows, max(n) AS last FROM {source} GROUP BY 1"
                _stream(world, f"{source}u", totals, tl.pfs(source), output={"upsert": ["case"]})
        if said := world.run():
            return [Wrong(0, "job", said)]
        found = []
        for name, output in outputs.items():
            rows = rows_of(world.lake.table(f"{output}@main").arrow(), shown)
            for place, (case, mine) in enumerate(zip(cases, _by_case(rows, cases), strict=True)):
                expected = bag(kinds, [row for commit in case.commits for row in commit])
                if said := told(expected, bag(kinds, mine)):
                    found.append(Wrong(place, name, said))
        held = world.lake.table(f"{source}u@main").arrow(["case", "rows", "last"])
        rows = list(zip(*(column.to_pylist() for column in held.columns), strict=True))
        for place, case in enumerate(cases):
            numbers = [row[0] for commit in case.commits for row in commit]
            mine, right = [row[1:] for row in rows if row[0] == f"c{place}"], max(numbers)
            if mine != [(len(numbers), right)]:
                found.append(Wrong(place, "upsert", f"{mine}, not {(len(numbers), right)}"))
        return found

    def smaller(self, case: Cut) -> Iterator[Cut]:
        for place in range(len(case.commits)):
            if len(case.commits) > 1:
                yield replace(case, commits=_but(case.commits, place))

    def sort(self, case: Cut) -> str:
        return " ".join(str(column.kind) for column in case.columns)


@dataclass(frozen=True)
class Rule:
    table: Table
    condition: Condition


class SetAside:
    """Rows that break a rule are in nobody's result, through no door. Each case is its own rule."""

    name, share = "quarantine", 0.02

    def cases(self, chance: Random, count: int) -> list[Rule]:
        columns = (Column(NUMBER, BIGINT), *_columns(chance)[:6])
        found = []
        for _ in range(min(count, 40)):
            rows = tuple(_row(chance, columns, n) for n in range(8))
            table = Table(columns, (rows,))
            found.append(Rule(table, any_condition(chance, table)))
        return found

    def check(self, world: World, cases: Sequence[Rule]) -> list[Wrong]:
        source, columns = world.new_repo(), cases[0].table.columns
        shown, kinds = (*columns, Column("case", TEXT)), cases[0].table.kinds
        _put(
            world, source, {_path(n): (columns, one.table.files[0]) for n, one in enumerate(cases)}
        )
        rules = [
            {
                "name": f"rule{place}",
                "table": "kept",
                "expr": f"case <> 'c{place}' OR ({Spark().write(case.condition, columns)})",
                "action": "quarantine",
            }
            for place, case in enumerate(cases)
        ]
        every = f"CREATE TABLE kept AS SELECT * FROM {source}"
        _apply(world, f"{source}q", every, tl.pfs(source, "/"), expectations=rules)
        if said := world.run():
            return [Wrong(0, "job", said)]
        right = [meeting(case.table, case.condition) for case in cases]
        if not any(right):
            return []  # a table without files: there is nothing that a reader could take for it
        found = []
        for door, read in READERS.items():
            if not any(can_read(door, case.table) for case in cases):
                continue
            try:
                rows = rows_of(read(world, f"{source}q@main:/kept"), shown)
            except Exception as error:
                found.append(Wrong(0, door, f"{type(error).__name__}: {str(error)[:300]}"))
                continue
            for place, (mine, expected) in enumerate(
                zip(_by_case(rows, cases), right, strict=True)
            ):
                if said := told(bag(kinds, expected), bag(kinds, mine)):
                    found.append(Wrong(place, door, said))
        return found

    def smaller(self, case: Rule) -> Iterator[Rule]:
        (rows,) = case.table.files
        for place in range(len(rows)):
            yield replace(case, table=replace(case.table, files=(_but(rows, place),)))

    def sort(self, case: Rule) -> str:
        return " ".join(map(str, case.table.kinds))


# -- making up -------------------------------------------------------------------------------------


def _columns(chance: Random) -> list[Column]:
    """Half of them of scalar types, the others of any."""
    names = chance.sample([name for name in NAMES if name != "="], COLUMNS)
    scalars = chance.sample(SCALARS, COLUMNS // 2)
    kinds = [*scalars, *(any_kind(chance) for _ in range(COLUMNS - len(scalars)))]
    return [Column(name, kind) for name, kind in zip(names, kinds, strict=True)]


def _row(chance: Random, columns: Sequence[Column], number: int) -> Row:
    return (number, *(any_value(chance, column.kind) for column in columns[1:]))


def _edit(chance: Random, columns: tuple[Column, ...]) -> Edit:
    before = tuple(_row(chance, columns, n) for n in range(chance.choice((1, 2, 3))))
    row, place = chance.randrange(len(before)), chance.randrange(1, len(columns))
    value = _other(chance, columns[place].kind, before[row][place])
    changed = (*before[row][:place], value, *before[row][place + 1 :])
    return Edit(columns, before, (*before[:row], changed, *before[row + 1 :]))


def _other(chance: Random, kind: Kind, value: Value) -> Value:
    """As little another as can be."""
    if value is None:
        return any_value(chance, kind, 0)
    inner = [part for _, part in kind.parts]
    match kind.name:
        case "struct":
            place = chance.randrange(len(inner))
            return (*value[:place], _other(chance, inner[place], value[place]), *value[place + 1 :])
        case "array" if value:
            return [*value[:-1], _other(chance, inner[0], value[-1])]
        case "map" if value:
            return [*value[:-1], (value[-1][0], _other(chance, inner[1], value[-1][1]))]
        case "array" | "map":
            return None
    return near(chance, kind, value)


def _cut(chance: Random, columns: tuple[Column, ...]) -> Cut:
    commits, count = [], 0
    for _ in range(chance.choice((2, 3, 5))):
        size = chance.choice((1, 2, 4))
        commits.append(tuple(_row(chance, columns, count + n) for n in range(size)))
        count += size
    return Cut(columns, tuple(commits))


def _but(values: tuple[Any, ...], place: int) -> tuple[Any, ...]:
    return values[:place] + values[place + 1 :]


# -- doing -----------------------------------------------------------------------------------------


def _path(place: int) -> str:
    return f"/case=c{place}/a.parquet"


def _by_case(rows: Sequence[Row], cases: Sequence[Any]) -> list[list[Row]]:
    """The rows of each case, which the last column tells."""
    found: dict[Value, list[Row]] = {}
    for row in rows:
        found.setdefault(row[-1], []).append(row[:-1])
    return [found.get(f"c{place}", []) for place in range(len(cases))]


def _put(
    world: World, repo: str, files: Mapping[str, tuple[Sequence[Column], Sequence[Row]]]
) -> None:
    with world.lake.commit(f"{repo}@main") as commit:
        for path, (columns, rows) in files.items():
            commit.put(path, parquet(arrow_table(columns, rows)))


def _apply(world: World, name: str, sql: str, input: Any, **fields: Any) -> None:
    transform = {"sql": sql}
    transform |= {key: fields.pop(key) for key in ("mode", "partition_by") if key in fields}
    spec = {"pipeline": {"name": name}, "input": input, "transform": transform, **fields}
    world.lake.apply(spec)


def _stream(world: World, name: str, sql: str, input: Any, **fields: Any) -> None:
    spec = {"pipeline": {"name": name}, "input": input, "transform": {"stream": sql, **fields}}
    world.lake.apply(spec)
