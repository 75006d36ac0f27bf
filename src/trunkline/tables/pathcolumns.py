"""Columns that only the names of folders have: `day=2026-01-01/`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date

from trunkline.model.entries import Entry
from trunkline.model.tables import Column, Schema
from trunkline.tables.layout import hive_values

# With a leading zero it is a code, as in text files: 01234 is a place, not a number.
_number = re.compile(r"0|-?[1-9][0-9]{0,17}").fullmatch
_day = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}").fullmatch

Values = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class PathColumns:
    """The columns, and for each file the values in its folders' names."""

    schema: Schema
    values: tuple[Values, ...]

    @classmethod
    def of(cls, entries: Sequence[Entry], start: int, ignored: Iterable[str] = ()) -> PathColumns:
        """What the folders say; `start` is where a path goes on below the table's folder."""
        gone = {name.casefold() for name in ignored}
        by_folder: dict[str, dict[str, str | None]] = {}
        names: dict[str, str] = {}
        rows = []
        for entry in entries:
            path = entry.path
            folder = path[start : path.rindex("/") + 1]
            row = by_folder.get(folder)
            if row is None:
                found = hive_values(folder) if folder else {}
                row = {n.casefold(): v for n, v in found.items() if n.casefold() not in gone}
                names |= {n.casefold(): n for n in found if n.casefold() in row}
                by_folder[folder] = row
            rows.append(row)
        if not names:
            return cls(Schema(), ((),) * len(entries))
        order = list(names)
        tuples = {id(row): tuple(row.get(name) for name in order) for row in by_folder.values()}
        distinct = set(tuples.values())
        columns = [
            Column(names[name], _type({row[place] for row in distinct}))
            for place, name in enumerate(order)
        ]
        return cls(Schema(tuple(columns)), tuple(tuples[id(row)] for row in rows))

    def left(self, held: Iterable[str]) -> tuple[int, ...]:
        """The places of columns that a file lacks: one knows better than its folder."""
        names = {name.casefold() for name in held}
        return tuple(n for n, one in enumerate(self.schema) if one.name.casefold() not in names)

    def types_of(self, values: Values) -> Iterator[tuple[str, str]]:
        """The types that the columns would have if there were these values alone."""
        for column, value in zip(self.schema, values, strict=True):
            if value is not None:
                yield column.name, _type({value})

    def only(self, schema: Schema) -> PathColumns:
        """Those that a recorded schema has, with its names and types."""
        kept = self._keep([schema.find(column.name) is not None for column in self.schema])
        columns = tuple(found for c in kept.schema if (found := schema.find(c.name)) is not None)
        return PathColumns(Schema(columns), kept.values)

    def _keep(self, wanted: list[bool]) -> PathColumns:
        if all(wanted):
            return self
        places = [place for place, keep in enumerate(wanted) if keep]
        columns = tuple(self.schema.columns[place] for place in places)
        shorter: dict[Values, Values] = {}
        for row in set(self.values):
            shorter[row] = tuple(row[place] for place in places)
        return PathColumns(Schema(columns), tuple(shorter[row] for row in self.values))


def _type(values: set[str | None]) -> str:
    texts = [value for value in values if value is not None]
    if texts and all(map(_number, texts)):
        return "bigint"
    if texts and all(_day(text) and _is_date(text) for text in texts):
        return "date"
    return "string"


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True
