"""Histories of a table: written to, merged into, updated, deleted from, compacted, taken back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

from tests.oracle.doors import rows_of, spark_table
from tests.oracle.model import (
    Condition,
    Row,
    Table,
    bag,
    merged,
    overwritten,
    told,
    updated,
)
from tests.oracle.reading import NOT_IN_FOLDERS, smaller_tables
from tests.oracle.running import Wrong
from tests.oracle.sql import DuckDB
from tests.oracle.tables import (
    NUMBER,
    Unstored,
    any_condition,
    any_table,
    arrow_table,
    parted_by,
    store,
)
from tests.oracle.values import Value, any_value, duckdb_literal, order
from tests.oracle.worlds import World
from trunkline.errors import TrunklineError

VERBS = (
    *("append", "overwrite", "delete", "delete", "update", "update", "merge", "merge"),
    *("compact", "revert", "branch", "overwrite_partitions"),
)  # fmt: skip


@dataclass(frozen=True)
class Step:
    """One operation. `place` is the column that is set, or merged on."""

    verb: str
    rows: tuple[Row, ...] = ()
    condition: Condition | None = None
    place: int = 0
    value: Value = None


@dataclass(frozen=True)
class History:
    table: Table
    steps: tuple[Step, ...]


class Histories:
    """After each step the rows are the model's, and `diff` tells what the step did."""

    name, share = "changes", 0.02

    def cases(self, chance: Random, count: int) -> list[History]:
        return [_history(chance) for _ in range(min(count, 20))]

    def check(self, world: World, cases: Sequence[History]) -> list[Wrong]:
        found = []
        refs = store(world, [case.table for case in cases])
        for place, (case, ref) in enumerate(zip(cases, refs, strict=True)):
            if isinstance(ref, Unstored):
                continue  # `reads` tells of those that should have been
            if said := _lived(world, case, ref, place):
                found.append(Wrong(place, *said))
        return found

    def smaller(self, case: History) -> Iterator[History]:
        for place in range(len(case.steps) - 1, -1, -1):
            yield replace(case, steps=case.steps[:place] + case.steps[place + 1 :])
        for table in smaller_tables(case.table):
            yield replace(case, table=table)
        for place, step in enumerate(case.steps):
            if step.rows:
                less = replace(step, rows=step.rows[1:])
                yield replace(case, steps=(*case.steps[:place], less, *case.steps[place + 1 :]))

    def sort(self, case: History) -> str:
        return " ".join(step.verb for step in case.steps)


def _history(chance: Random) -> History:
    table = any_table(chance, layout=chance.choice(("arrow", "arrow", "parts")))
    steps: list[Step] = []
    for number in range(chance.randint(1, 4)):
        steps.append(_step(chance, table, 100 * (number + 1)))
    return History(table, tuple(steps))


def _step(chance: Random, table: Table, count: int) -> Step:
    verb = chance.choice(VERBS)
    rows = tuple(
        (count + n, *(any_value(chance, kind) for kind in table.kinds[1:]))
        for n in range(chance.choice((1, 2, 3)))
    )
    match verb:
        case "overwrite_partitions" if table.layout != "parts" or not parted_by(table):
            return Step("overwrite", rows)
        case "append" | "overwrite" | "branch" | "overwrite_partitions":
            return Step(verb, rows)
        case "delete":
            return Step(verb, condition=any_condition(chance, table))
        case "update":
            place = chance.randrange(1, len(table.columns))
            if table.kinds[place].is_nested:
                return Step("delete", condition=any_condition(chance, table))
            value = any_value(chance, table.kinds[place])
            return Step(verb, condition=any_condition(chance, table), place=place, value=value)
        case "merge":
            scalars = [n for n, kind in enumerate(table.kinds) if not kind.is_nested]
            place = chance.choice(scalars)
            held = table.rows
            if held:  # some of the keys are there already
                rows = tuple(
                    (*row[:place], chance.choice(held)[place], *row[place + 1 :])
                    if chance.random() < 0.6
                    else row
                    for row in rows
                )
            keys = {
                None if row[place] is None else order(table.kinds[place], row[place]): row
                for row in rows
            }
            return Step(verb, tuple(keys.values()), place=place)
    return Step(verb)


def _lived(world: World, case: History, ref: str, place: int) -> tuple[str, str] | None:
    """Do the steps; through which door the rows differed first, and how. Spark reads one in four:
    it takes longer than all the rest.
    """
    lake, table = world.lake, case.table
    rows, undone = table.rows, table.rows
    for number, step in enumerate(case.steps):
        old = lake.commit_info(ref.partition(":")[0]).id
        try:
            after = _done(world, ref, table, step, rows, undone)
        except TrunklineError as error:
            if any(said in str(error) for said in NOT_IN_FOLDERS):
                return None
            return step.verb, f"refused: {error}"
        except Exception as error:
            return step.verb, f"{type(error).__name__}: {str(error)[:300]}"
        before, rows = rows, after
        # What was written beside a branch stays when its merge is taken back.
        undone = [*before, *step.rows[1:]] if step.verb == "branch" else before
        found = rows_of(lake.table(ref).arrow(), table.columns)
        if said := told(bag(table.kinds, rows), bag(table.kinds, found)):
            return step.verb, said
        repo, _, path = ref.partition("@main")
        try:
            differs = lake.table_diff(f"{repo}@{old}{path}", ref, key=())
        except TrunklineError as error:
            return f"diff after {step.verb}", f"refused: {error}"
        lost, added = bag(table.kinds, before), bag(table.kinds, rows)
        expected = ((added - lost).total(), (lost - added).total())
        if (differs.added, differs.removed) != expected:
            said = f"(added, removed) is {(differs.added, differs.removed)}, not {expected}"
            return f"diff after {step.verb}", said
        if number % 2 == 0 and (
            said := _keyed(world, f"{repo}@{old}{path}", ref, table, before, rows)
        ):
            return f"keyed diff after {step.verb}", said
    if place % 4:
        return None
    found = rows_of(spark_table(world, ref), table.columns)
    if said := told(bag(table.kinds, rows), bag(table.kinds, found)):
        return "spark", said
    return None


def _keyed(
    world: World, old: str, new: str, table: Table, before: list[Row], after: list[Row]
) -> str:
    """How the diff by number differs from the model's; only where numbers tell rows apart."""
    sides = [{row[0]: bag(table.kinds, [row]) for row in rows} for rows in (before, after)]
    if any(len(side) < len(rows) for side, rows in zip(sides, (before, after), strict=True)):
        return ""
    first, last = sides
    differs = world.lake.table_diff(old, new, key=[NUMBER])
    found = (differs.added, differs.removed, differs.changed)
    changed = sum(first[key] != last[key] for key in first.keys() & last.keys())
    expected = (len(last.keys() - first.keys()), len(first.keys() - last.keys()), changed)
    return "" if found == expected else f"(added, removed, changed) is {found}, not {expected}"


def _done(
    world: World, ref: str, table: Table, step: Step, rows: list[Row], undone: list[Row]
) -> list[Row]:
    lake, dialect = world.lake, DuckDB(plain=True)
    where = dialect.write(step.condition, table.columns) if step.condition else ""
    column, kind = table.columns[step.place].name, table.kinds[step.place]
    repo, _, path = ref.partition("@main")
    match step.verb:
        case "append":
            lake.write_table(ref, arrow_table(table.columns, step.rows))
            return [*rows, *step.rows]
        case "overwrite":
            lake.write_table(ref, arrow_table(table.columns, step.rows), mode="overwrite")
            return list(step.rows)
        case "branch":
            # One row on a branch, the others on main in the meantime.
            branch = f"b{step.rows[0][0]}x{path.rpartition('/')[2]}"
            lake.create_branch(f"{repo}@{branch}", "main")
            there, here = step.rows[:1], step.rows[1:]
            lake.write_table(f"{repo}@{branch}{path}", arrow_table(table.columns, there))
            if here:
                lake.write_table(ref, arrow_table(table.columns, here))
            lake.merge(f"{repo}@{branch}", f"{repo}@main")
            return [*rows, *step.rows]
        case "overwrite_partitions":
            made = arrow_table(table.columns, step.rows)
            lake.write_table(ref, made, mode="overwrite_partitions")
            return overwritten(table, rows, step.rows, parted_by(table))
        case "delete":
            lake.delete_from(ref, where)
            assert step.condition is not None
            return [row for row in rows if step.condition.holds(row, table.columns) is not True]
        case "update":
            value = "NULL" if step.value is None else duckdb_literal(kind, step.value)
            assert step.condition is not None
            lake.update_table(ref, {column: value}, where)
            return updated(table.columns, rows, step.condition, step.place, step.value)
        case "merge":
            lake.merge_table(ref, arrow_table(table.columns, step.rows), on=[column])
            return merged(kind, rows, step.rows, step.place)
        case "compact":
            lake.compact(ref)
            return rows
        case "revert":
            if rows == undone:
                return rows
            lake.revert(f"{repo}@main")
            return undone
    raise ValueError(step.verb)
