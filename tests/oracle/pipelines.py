"""Pipelines over tables that change: what is published is what a run from scratch would publish.

Each case is a partition of one wide table, so that one job tries many of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import trunkline as tl
from tests.oracle.doors import READERS, rows_of
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

    name, share = "published", 0.1

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
                for place, case in enumerate(cases[:EACH] if name == each else cases):
                    mine = [row[:-1] for row in rows if row[-1] == f"c{place}"]
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
    """`append` and a stream: however rows are cut into commits, all of them come, once."""

    name, share = "cuts", 0.01

    def cases(self, chance: Random, count: int) -> list[Cut]:
        return [_cut(chance) for _ in range(min(count, 3))]

    def check(self, world: World, cases: Sequence[Cut]) -> list[Wrong]:
        repos = []
        for case in cases:
            repos.append(world.new_repo())
            _put(world, repos[-1], {"/0.parquet": (case.columns, case.commits[0])})
            every = f"SELECT * FROM {repos[-1]}"
            _apply(world, f"{repos[-1]}a", every, tl.pfs(repos[-1], "/"), mode="append")
            _stream(world, f"{repos[-1]}s", every, tl.pfs(repos[-1]))
        for number in range(1, max(len(case.commits) for case in cases)):
            if number % 2 and (said := world.run()):
                return [Wrong(0, "job", said)]
            for case, repo in zip(cases, repos, strict=True):
                if number < len(case.commits):
                    _put(world, repo, {f"/{number}.parquet": (case.columns, case.commits[number])})
        if said := world.run():
            return [Wrong(0, "job", said)]
        found = []
        for place, (case, repo) in enumerate(zip(cases, repos, strict=True)):
            kinds = [column.kind for column in case.columns]
            expected = bag(kinds, [row for rows in case.commits for row in rows])
            for name in ("append", "stream"):
                rows = rows_of(world.lake.table(f"{repo}{name[0]}@main").arrow(), case.columns)
                if said := told(expected, bag(kinds, rows)):
                    found.append(Wrong(place, name, said))
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
    """Rows that break a rule are in nobody's result, through no door."""

    name, share = "quarantine", 0.01

    def cases(self, chance: Random, count: int) -> list[Rule]:
        found = []
        for _ in range(min(count, 4)):
            columns = (Column(NUMBER, BIGINT), *_columns(chance)[:4])
            rows = tuple(_row(chance, columns, n) for n in range(8))
            table = Table(columns, (rows,))
            found.append(Rule(table, any_condition(chance, table)))
        return found

    def check(self, world: World, cases: Sequence[Rule]) -> list[Wrong]:
        repos = []
        for case in cases:
            repos.append(world.new_repo())
            _put(world, repos[-1], {"/0.parquet": (case.table.columns, case.table.files[0])})
            rule = Spark().write(case.condition, case.table.columns)
            _apply(
                world,
                f"{repos[-1]}q",
                f"CREATE TABLE kept AS SELECT * FROM {repos[-1]}",
                tl.pfs(repos[-1], "/"),
                expectations=[
                    {"name": "rule", "table": "kept", "expr": rule, "action": "quarantine"}
                ],
            )
        if said := world.run():
            return [Wrong(0, "job", said)]
        found = []
        for place, (case, repo) in enumerate(zip(cases, repos, strict=True)):
            expected = meeting(case.table, case.condition)
            if not expected:
                continue  # a table without files: there is nothing that a reader could take for it
            for door, read in READERS.items():
                try:
                    rows = rows_of(read(world, f"{repo}q@main:/kept"), case.table.columns)
                    said = told(bag(case.table.kinds, expected), bag(case.table.kinds, rows))
                except Exception as error:
                    said = f"{type(error).__name__}: {str(error)[:300]}"
                if said:
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


def _cut(chance: Random) -> Cut:
    columns = (Column(NUMBER, BIGINT), *_columns(chance)[:5])
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


def _stream(world: World, name: str, sql: str, input: Any) -> None:
    spec = {"pipeline": {"name": name}, "input": input, "transform": {"stream": sql}}
    world.lake.apply(spec)
