"""Tables as they are through every reader, and with conditions through every door."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import Any

from tests.oracle.doors import FILTERS, READERS, Asked, Reader, can_read, rows_of
from tests.oracle.model import Both, Condition, Not, Table, Term, Test, bag, meeting, told
from tests.oracle.running import Wrong, each_or_why
from tests.oracle.tables import Unstored, any_condition, any_table, store
from tests.oracle.worlds import World

# What is said of values that the names of folders cannot have.
NOT_IN_FOLDERS = ("cannot tell it from null", "cannot be partitioned by")
CONDITIONS = 40  # of one table: what it costs to make it is shared


class Reads:
    """Every row of a table, every value exactly, through every reader."""

    name, share = "reads", 0.01

    def cases(self, chance: Random, count: int) -> list[Table]:
        return [any_table(chance) for _ in range(min(count, 12))]

    def check(self, world: World, cases: Sequence[Table]) -> list[Wrong]:
        refs = store(world, cases)
        found = unstored(refs)
        kept = [place for place, ref in enumerate(refs) if not isinstance(ref, Unstored)]
        for door, read in READERS.items():
            places = [place for place in kept if can_read(door, cases[place])]
            asked = [(refs[place], cases[place]) for place in places]
            answers = each_or_why(partial(_bags, read), world, asked)
            for place, answer in zip(places, answers, strict=True):
                expected = bag(cases[place].kinds, cases[place].rows)
                if said := answer if isinstance(answer, str) else told(expected, answer):
                    found.append(Wrong(place, door, said))
        return found

    def smaller(self, case: Table) -> Iterator[Table]:
        yield from smaller_tables(case)
        for place in range(1, len(case.columns)):
            yield only_columns(case, [one for one in range(len(case.columns)) if one != place])

    def sort(self, case: Table) -> str:
        return f"{case.layout} {' '.join(map(str, case.kinds))}"


def _bags(read: Reader, world: World, asked: Sequence[tuple[str, Table]]) -> list[Any]:
    return [bag(table.kinds, rows_of(read(world, ref), table.columns)) for ref, table in asked]


@dataclass(frozen=True)
class Question:
    table: Table
    condition: Condition


class Filters:
    """Which rows meet a condition, through every door that takes one."""

    name, share = "filters", 0.89

    def cases(self, chance: Random, count: int) -> list[Question]:
        found: list[Question] = []
        while len(found) < count:
            table = any_table(chance)
            few = min(CONDITIONS, count - len(found))
            found += [Question(table, any_condition(chance, table)) for _ in range(few)]
        return found

    def check(self, world: World, cases: Sequence[Question]) -> list[Wrong]:
        tables = list({id(case.table): case.table for case in cases}.values())
        stored = dict(zip(map(id, tables), store(world, tables), strict=True))
        refs = [stored[id(case.table)] for case in cases]
        found = unstored(refs)
        kept = [place for place, ref in enumerate(refs) if not isinstance(ref, Unstored)]
        asked = [Asked(refs[place], cases[place].table, cases[place].condition) for place in kept]
        expected = [sorted(row[0] for row in meeting(one.table, one.condition)) for one in asked]
        for door, ask in FILTERS.items():
            answers = each_or_why(ask, world, asked)
            for place, answer, right in zip(kept, answers, expected, strict=True):
                if answer is None:
                    continue
                if answer != right:
                    found.append(Wrong(place, door, f"{answer}, not {right}"))
        return found

    def smaller(self, case: Question) -> Iterator[Question]:
        table, condition = case.table, case.condition
        used = sorted({0, *(term.place for term in _terms(condition))})
        if len(used) < len(table.columns):
            moved = _moved(condition, {place: number for number, place in enumerate(used)})
            yield Question(only_columns(table, used), moved)
        if isinstance(condition, Both):
            yield Question(table, condition.first)
            yield Question(table, condition.second)
        elif isinstance(condition, Not):
            yield Question(table, condition.inner)
        elif condition.sign == "in" and len(condition.values) > 1:
            for value in condition.values:
                yield Question(table, replace(condition, values=(value,)))
        for smaller in smaller_tables(table):
            yield Question(smaller, condition)

    def sort(self, case: Question) -> str:
        return " ".join(str(term.kind(case.table.columns)) for term in _terms(case.condition))


def unstored(refs: Sequence[str]) -> list[Wrong]:
    """Tables that could not be written, and should have been."""
    return [
        Wrong(place, "writing", ref)
        for place, ref in enumerate(refs)
        if isinstance(ref, Unstored) and not any(said in ref for said in NOT_IN_FOLDERS)
    ]


def smaller_tables(table: Table) -> Iterator[Table]:
    """Without one of its files, or one of its rows."""
    files = table.files
    for place in range(len(files)):
        if len(files) > 1:
            yield replace(table, files=files[:place] + files[place + 1 :])
    for place, rows in enumerate(files):
        for row in range(len(rows)):
            left = rows[:row] + rows[row + 1 :]
            yield replace(table, files=(*files[:place], left, *files[place + 1 :]))


def only_columns(table: Table, places: Sequence[int]) -> Table:
    return replace(
        table,
        columns=tuple(table.columns[place] for place in places),
        files=tuple(
            tuple(tuple(row[place] for place in places) for row in rows) for rows in table.files
        ),
    )


def _terms(condition: Condition) -> list[Term]:
    if isinstance(condition, Test):
        return [condition.term]
    if isinstance(condition, Not):
        return _terms(condition.inner)
    return [*_terms(condition.first), *_terms(condition.second)]


def _moved(condition: Condition, places: dict[int, int]) -> Condition:
    """The same where columns stand elsewhere."""
    if isinstance(condition, Test):
        term = replace(condition.term, place=places[condition.term.place])
        return replace(condition, term=term)
    if isinstance(condition, Not):
        return Not(_moved(condition.inner, places))
    return Both(condition.word, _moved(condition.first, places), _moved(condition.second, places))
