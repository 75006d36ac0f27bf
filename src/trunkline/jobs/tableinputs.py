"""The files of datums as tables: what a transform on tables reads."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from trunkline.engine.transform import Source
from trunkline.errors import Precondition
from trunkline.jobs.context import Context
from trunkline.jobs.inputtypes import table_folder
from trunkline.jobs.planning import Decision
from trunkline.lake.core import Core
from trunkline.model.entries import Entry, line_path
from trunkline.model.inputs import Cron
from trunkline.model.tables import TABLE_FILE, TableSpec
from trunkline.pipelines.datums import Datum
from trunkline.storage.objects.outside import is_outside
from trunkline.tables.describe import describe, describe_lines, recorded_spec
from trunkline.tables.layout import hive_values
from trunkline.tables.physical import check_references

_WHOLE_NUMBER = re.compile(r"-?\d{1,18}")
Values = tuple[str | None, ...]


class TableInputs:
    """The inputs of one job. What a table is does not depend on which of its files are read."""

    def __init__(self, core: Core, context: Context) -> None:
        self._core = core
        self._context = context
        self._specs: dict[int, tuple[str, TableSpec]] = {}
        self._outside: list[Entry] = []

    def of(self, datums: Iterable[Datum]) -> dict[str, Source]:
        """By the inputs' names, the files of some datums; each file once."""
        lines: dict[int, dict[bytes, bytes]] = {n: {} for n in range(len(self._context.leaves))}
        for datum in datums:
            for match in datum.matches:
                for line in self._lines(match.leaf, match.path):
                    lines[match.leaf][line_path(line)] = line
        sources: dict[str, Source] = {}
        for number, leaf in enumerate(self._context.leaves):
            if isinstance(leaf, Cron):
                continue  # it says when, not what
            if lines[number] or leaf.name not in sources:
                sources[leaf.name] = self.source(number, list(lines[number].values()))
        return sources

    def source(self, number: int, lines: Sequence[bytes]) -> Source:
        """Some files of an input."""
        path, spec = self._table(number)
        table = describe_lines(self._core, lines, path, self._name(number, path), spec)
        check_references(self._core, table.entries, publish=True)
        self._outside += [one for one in table.entries if is_outside(one.key)]
        return Source(table.scans, table.schema)

    def check_again(self) -> None:
        """After they were read: what lies outside the lake has not changed meanwhile."""
        check_references(self._core, self._outside, publish=True)

    def whole(self, number: int) -> Source:
        """All that an input's glob may match, at the commit that is read."""
        path, _ = self._table(number)
        tree = self._context.trees[number]
        return self.source(number, list(tree.scan(_below(path))))

    def has_rows(self, datum: Datum) -> bool:
        """Whether it has any data: a table's own description is a file too."""
        return any(
            not line_path(line).endswith(b"/" + TABLE_FILE.encode())
            for match in datum.matches
            for line in self._lines(match.leaf, match.path)
        )

    def _lines(self, leaf: int, path: bytes) -> Iterable[bytes]:
        tree = self._context.trees[leaf]
        if path.endswith(b"/"):
            return tree.scan(path)
        found = tree.find(path)
        return (found,) if found is not None else ()

    def _table(self, number: int) -> tuple[str, TableSpec]:
        """The folder of the table that an input reads, and what is known of it."""
        if number not in self._specs:
            tree, leaf = self._context.trees[number], self._context.leaves[number]
            path = table_folder(tree, leaf.glob, str(leaf.repo))
            spec = recorded_spec(self._core, tree, path)
            if spec is None or not len(spec.schema):
                spec = describe(self._core, tree, path, self._name(number, path)).spec
            self._specs[number] = path, spec
        return self._specs[number]

    def _name(self, number: int, path: str) -> str:
        leaf = self._context.leaves[number]
        return f"{leaf.repo}@{leaf.branch}" + (f":{path}" if path != "/" else "")


def _below(path: str) -> bytes:
    return path.rstrip("/").encode() + b"/"


def partition_values(datum: Datum, columns: Sequence[str]) -> Values | None:
    """What a datum's folders say about some columns; None if they leave one open."""
    said: dict[str, str | None] = {}
    for match in datum.matches:
        path = match.path.decode()
        said.update(hive_values(path if path.endswith("/") else path + "/"))
    folded = {name.casefold(): value for name, value in said.items()}
    if any(column.casefold() not in folded for column in columns):
        return None
    return tuple(normal(folded[column.casefold()]) for column in columns)


def normal(value: str | None) -> str | None:
    """month=01 and 1 are the same partition, whichever of them a type makes of the other."""
    return str(int(value)) if value is not None and _WHOLE_NUMBER.fullmatch(value) else value


def by_partition(decisions: Sequence[Decision], columns: Sequence[str]) -> dict[Values, Decision]:
    """The datums by the partition that each of them makes; refused where that is not plain."""
    from trunkline.pipelines.datums import described

    found: dict[Values, Decision] = {}
    for one in decisions:
        assert one.datum is not None
        values = partition_values(one.datum, columns)
        if values is None:
            raise Precondition(
                f"{described(one.datum.key)} does not say what {' and '.join(columns)} is, "
                "so mode: together cannot tell which rows are its own.",
                hint=f"Its path must have a folder such as {columns[0]}=….",
            )
        other = found.setdefault(values, one)
        if other is not one:
            assert other.datum is not None
            shown = ", ".join(f"{c}={v}" for c, v in zip(columns, values, strict=True))
            raise Precondition(
                f"{described(other.datum.key)} and {described(one.datum.key)} both make {shown}, "
                "so mode: together cannot tell their rows apart.",
                hint="Add a column to partition_by, or use mode: whole.",
            )
    return found
