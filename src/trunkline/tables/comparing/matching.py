"""Which columns of two tables are compared, as which type, and how their schemas differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from trunkline.errors import Usage
from trunkline.model.suggest import did_you_mean
from trunkline.model.tables import Column, Schema
from trunkline.model.types import INTEGERS, DataType, parse_type
from trunkline.tables.comparing.diffsql import Comparison, Matched
from trunkline.tables.types import to_duckdb_type
from trunkline.tables.unite import wider

_NUMBERS = {*INTEGERS, "decimal", "float", "double"}
_MOMENTS = {"date", "timestamp", "timestamp_ntz"}


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """A column that one side lacks, or that has another type there. As text: `+ city string`."""

    name: str
    old: str | None
    new: str | None

    @property
    def mark(self) -> str:
        return "+" if self.old is None else "-" if self.new is None else "~"

    def __str__(self) -> str:
        types = " → ".join(one for one in (self.old, self.new) if one)
        return f"{self.mark} {self.name} {types}"


def schema_changes(old: Schema, new: Schema) -> tuple[SchemaChange, ...]:
    """What was added, removed and given another type, in the order of the columns."""
    return tuple(
        SchemaChange(name, before.type if before else None, after.type if after else None)
        for name, before, after in _pairs(old, new)
        if before is None or after is None or before.type != after.type
    )


def match(
    old: Schema,
    new: Schema,
    key: Sequence[str],
    columns: Sequence[str] | None = None,
    one_sided: bool = False,
    tolerance: float | None = None,
) -> Comparison:
    """What a diff compares. Columns that one side lacks take part only if `one_sided`.

    Tables without a common column differ in all their rows, so then they take part too.
    """
    if tolerance is not None and not (tolerance >= 0 and key):
        raise Usage(
            f"A tolerance of {tolerance:g} cannot be used here.",
            hint="It is zero or more, and needs a key: it compares two cells of one row.",
        )
    pairs = list(_pairs(old, new))
    chosen = {_find(name, pairs) for name in [*(columns or ()), *key]} if columns else None
    wanted = [pair for pair in pairs if chosen is None or pair[0] in chosen]
    if not (one_sided or all(before is None or after is None for _, before, after in wanted)):
        wanted = [pair for pair in wanted if pair[1] and pair[2]]
    places = {pair[0]: number for number, pair in enumerate(wanted)}
    return Comparison(
        tuple(_matched(*pair) for pair in wanted),
        tuple(dict.fromkeys(places[_key(name, pairs)] for name in key)),
        tolerance,
    )


Pair = tuple[str, Column | None, Column | None]


def _pairs(old: Schema, new: Schema) -> Iterator[Pair]:
    """Every column as (name, in the old, in the new); those of the new first."""
    before = {one.name.casefold(): one for one in old}
    after = {one.name.casefold() for one in new}
    yield from ((one.name, before.get(one.name.casefold()), one) for one in new)
    yield from ((one.name, one, None) for one in old if one.name.casefold() not in after)


def _find(name: str, pairs: Sequence[Pair]) -> str:
    names = {pair[0].casefold(): pair[0] for pair in pairs}
    if found := names.get(name.casefold()):
        return found
    raise Usage(
        f'Neither side has a column "{name}".{did_you_mean(name, list(names.values()))}',
        hint=f"There are: {', '.join(list(names.values())[:20])}.",
    )


def _key(name: str, pairs: Sequence[Pair]) -> str:
    found = _find(name, pairs)
    if any(one[0] == found and (one[1] is None or one[2] is None) for one in pairs):
        raise Usage(
            f'Only one side has the column "{found}", so it cannot be the key.',
            hint="Name a key that both have, or compare whole rows: key=(), --no-key.",
        )
    return found


def _matched(name: str, old: Column | None, new: Column | None) -> Matched:
    types = [parse_type(one.type) for one in (old, new) if one]
    return Matched(
        name,
        old.name if old else None,
        new.name if new else None,
        to_duckdb_type(str(common_type(types[0], types[-1]))),
    )


def common_type(one: DataType, two: DataType) -> DataType:
    """The type two cells are compared as: exact if any is, else the nearest."""
    if found := wider(one, two, lenient=False):
        return found
    names = {one.name, two.name}
    if names <= _NUMBERS:
        return DataType("double")
    if names <= _MOMENTS:
        return DataType("timestamp" if "timestamp" in names else "timestamp_ntz")
    return wider(one, two, lenient=True) or DataType("string")
