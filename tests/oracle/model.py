"""Rows as Python values in lists, and what each operation does to them. Nothing is ever skipped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tests.oracle.values import Kind, Value, exact, order

Row = tuple[Value, ...]
Truth = bool | None


@dataclass(frozen=True)
class Column:
    name: str
    kind: Kind


@dataclass(frozen=True)
class Term:
    """A column, or a field below it in structs. `place` is the column's, `path` the fields'."""

    place: int
    path: tuple[int, ...] = ()

    def of(self, row: Row) -> Value:
        found = row[self.place]
        for step in self.path:
            found = None if found is None else found[step]
        return found

    def kind(self, columns: Sequence[Column]) -> Kind:
        found = columns[self.place].kind
        for step in self.path:
            found = found.parts[step][1]
        return found

    def names(self, columns: Sequence[Column]) -> list[str]:
        found = columns[self.place].kind
        names = [columns[self.place].name]
        for step in self.path:
            names.append(found.parts[step][0])
            found = found.parts[step][1]
        return names


COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


@dataclass(frozen=True)
class Test:
    """A condition on one term. `sign` is a comparison, in, between, is null, <=> or starts."""

    term: Term
    sign: str
    values: tuple[Value, ...] = ()

    __test__ = False

    def holds(self, row: Row, columns: Sequence[Column]) -> Truth:
        kind, value = self.term.kind(columns), self.term.of(row)
        if self.sign == "is null":
            return value is None
        if self.sign == "<=>":
            (other,) = self.values
            if value is None or other is None:
                return value is other
        elif value is None or None in self.values:
            return None
        if self.sign == "starts":
            return bool(value.encode().startswith(self.values[0].encode()))
        mine, others = order(kind, value), [order(kind, one) for one in self.values]
        if self.sign == "in":
            return mine in others
        if self.sign == "between":
            return bool(others[0] <= mine <= others[1])
        return COMPARISONS["=" if self.sign == "<=>" else self.sign](mine, others[0])


@dataclass(frozen=True)
class Not:
    inner: Condition

    def holds(self, row: Row, columns: Sequence[Column]) -> Truth:
        found = self.inner.holds(row, columns)
        return None if found is None else not found


@dataclass(frozen=True)
class Both:
    """Two conditions joined by AND, or by OR."""

    word: str
    first: Condition
    second: Condition

    def holds(self, row: Row, columns: Sequence[Column]) -> Truth:
        found = {self.first.holds(row, columns), self.second.holds(row, columns)}
        deciding = self.word == "OR"
        if deciding in found:
            return deciding
        return None if None in found else not deciding


Condition = Test | Not | Both


@dataclass(frozen=True)
class Table:
    """Rows in files. `layout` tells how the files come to be."""

    columns: tuple[Column, ...]
    files: tuple[tuple[Row, ...], ...]
    layout: str = "raw"

    @property
    def rows(self) -> list[Row]:
        return [row for file in self.files for row in file]

    @property
    def kinds(self) -> list[Kind]:
        return [column.kind for column in self.columns]


def meeting(table: Table, condition: Condition) -> list[Row]:
    return [row for row in table.rows if condition.holds(row, table.columns) is True]


def bag(kinds: Sequence[Kind], rows: Sequence[Row]) -> Counter[Any]:
    """The rows without an order, each with its number: what two tables with equal rows share."""
    return Counter(
        tuple(exact(kind, value) for kind, value in zip(kinds, row, strict=True)) for row in rows
    )


def told(expected: Counter[Any], found: Counter[Any]) -> str:
    """How two bags differ, in a line; nothing if they do not."""
    lost, added = list((expected - found).elements()), list((found - expected).elements())
    if not lost and not added:
        return ""
    said = [f"lacks {row!r}" for row in lost[:3]] + [f"has {row!r}" for row in added[:3]]
    return f"{len(lost)} rows lost, {len(added)} too many: " + "; ".join(said)


# -- operations ------------------------------------------------------------------------------------


def updated(
    columns: Sequence[Column], rows: list[Row], condition: Condition, place: int, value: Value
) -> list[Row]:
    return [
        (*row[:place], value, *row[place + 1 :]) if condition.holds(row, columns) is True else row
        for row in rows
    ]


def merged(kind: Kind, rows: list[Row], source: Sequence[Row], place: int) -> list[Row]:
    """Rows with the key of one of the source become that one; the others of it are added."""
    keys = {order(kind, row[place]): row for row in source if row[place] is not None}
    kept = [row if row[place] is None else keys.get(order(kind, row[place]), row) for row in rows]
    held = {order(kind, row[place]) for row in rows if row[place] is not None}
    new = [row for row in source if row[place] is None or order(kind, row[place]) not in held]
    return kept + new


def overwritten(table: Table, rows: list[Row], new: Sequence[Row], by: Sequence[int]) -> list[Row]:
    """Rows of partitions that the new ones have go, others stay."""

    def partition(row: Row) -> tuple[Any, ...]:
        return tuple(exact(table.kinds[place], row[place]) for place in by)

    gone = {partition(row) for row in new}
    return [*(row for row in rows if partition(row) not in gone), *new]
