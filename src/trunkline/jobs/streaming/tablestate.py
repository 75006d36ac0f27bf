"""What a table is at each commit of its history, found out from what each commit added."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import ClassVar

from trunkline.errors import Precondition
from trunkline.jobs.inputtypes import table_folder
from trunkline.lake.core import Core
from trunkline.lake.manifests import Tree
from trunkline.model.entries import Entry, line_hash
from trunkline.model.inputs import Pfs
from trunkline.model.recent import Recent
from trunkline.model.tables import TABLE_FILE, Column, Format, Schema, TableSpec
from trunkline.tables.describe import TEXT, data_lines, recorded_spec
from trunkline.tables.discovery.discover import facts_of, one_format
from trunkline.tables.discovery.facts import Fact, Shape
from trunkline.tables.pathcolumns import PathColumns
from trunkline.tables.unite import refuse_twins, settled, unite

_MOST_KNOWN = 256


@dataclass(frozen=True, slots=True)
class Found:
    """What the files themselves say. `inside` are their columns, before what is null everywhere
    has got a type; `paths` those of their folders' names.
    """

    format: Format
    inside: Schema
    paths: Schema

    def spec(self, told: TableSpec | None) -> TableSpec:
        known = told or TableSpec(self.format, Schema())
        inside = settled(self.inside)
        return replace(
            known, schema=Schema(inside.columns + self.paths.without(inside.names).columns)
        )


class TableStates:
    """The table in a folder, commit by commit. Where it is recorded, that is one look-up.

    What was discovered in a tree is kept in this process by the tree's hash, so that going on
    from there does not mean to look at all files again.
    """

    _known: ClassVar[Recent[tuple[str, str], Found]] = Recent(_MOST_KNOWN)

    def __init__(self, core: Core, folder: str, name: str, newest: Tree | None = None) -> None:
        """`newest` may record what older trees had before anybody knew."""
        self._core = core
        self._folder = folder
        self._name = name
        self._place = f"{folder.rstrip('/')}/{TABLE_FILE}".encode()
        self._recorded: tuple[bytes, TableSpec] | None = None
        self._newest = self._told(newest) if newest is not None else None

    def at(
        self,
        tree: Tree,
        tree_id: str | None,
        before: tuple[str | None, Sequence[bytes]] | None = None,
    ) -> TableSpec | None:
        """The table in a tree of that hash; None if there is none. `before` is the hash of a tree
        that it has only some lines more than, and these.
        """
        told = self._told(tree)
        if told is not None and len(told.schema):
            return told
        try:
            found = self._discovered(tree, tree_id, before, told)
        except Precondition as error:
            later = self._newest
            if later is not None and len(later.schema) and later.format in TEXT:
                return later
            raise _with_hint(error) from None
        if found is None:
            return told
        if tree_id is not None:
            self._known.put((self._folder, tree_id), found)
        return found.spec(told)

    def _discovered(
        self,
        tree: Tree,
        tree_id: str | None,
        before: tuple[str | None, Sequence[bytes]] | None,
        told: TableSpec | None,
    ) -> Found | None:
        found = self._remembered(tree_id)
        if found is None and before is not None:
            base = self._remembered(before[0])
            found = self._grown(base, before[1], told) if base is not None else None
        return found or self._grown(None, list(data_lines(tree, self._folder)), told)

    def look_at(self, tree: Tree, lines: Sequence[bytes]) -> bool:
        """Find out together what is in files that are asked about one by one later. Whether
        there is anything to find out: a table that is recorded is known.
        """
        told = self._told(tree)
        if told is not None and len(told.schema):
            return False
        entries = [Entry.decode(line) for line in lines]
        if len(entries) > 1:
            options = dict(told.options) if told else {}
            with suppress(Precondition):  # said again, and heard, when its turn comes
                format_ = one_format(entries, self._name)
                facts_of(self._core, entries, format_, options, self._name)
        return True

    def _told(self, tree: Tree) -> TableSpec | None:
        line = tree.find(self._place)
        if line is None:
            return None
        if self._recorded is None or self._recorded[0] != line_hash(line):
            spec = recorded_spec(self._core, tree, self._folder)
            assert spec is not None
            self._recorded = line_hash(line), spec
        return self._recorded[1]

    def _grown(
        self, base: Found | None, lines: Sequence[bytes], told: TableSpec | None
    ) -> Found | None:
        entries = [Entry.decode(line) for line in lines]
        if not entries:
            return base
        format_ = one_format(entries, self._name)
        if base is not None and base.format is not format_:
            raise Precondition(
                f"{self._name} is {base.format}, but {entries[0].path} is {format_}.",
                hint="Keep each format in a folder of its own, then each is a table.",
            )
        options = dict(told.options) if told else {}
        shapes = self._shapes(entries, format_, options, base)
        named = [(self._folder, base.inside)] if base else []
        inside = unite([*named, *shapes], self._name, lenient=format_ in TEXT)
        refuse_twins(inside.names, self._name)
        paths = PathColumns.of(entries, len(self._folder.rstrip("/")) + 1, ()).schema
        if base is not None:
            paths = _united_paths(base.paths, paths)
        return Found(format_, inside, paths)

    def _shapes(
        self,
        entries: Sequence[Entry],
        format_: Format,
        options: dict[str, str],
        base: Found | None,
    ) -> list[tuple[str, Schema]]:
        """The columns of each kind of file; one whose rows are malformed has no say in it."""
        facts: list[Fact | None] = []
        try:
            facts += facts_of(self._core, entries, format_, options, self._name)
        except Precondition:
            if base is None or format_ not in TEXT:
                raise
            for entry in entries:
                facts.append(self._fact(entry, format_, options))
        if format_ is Format.CSV:
            from trunkline.tables.discovery.csvfacts import aligned

            # What has no header is told apart by that of the files before.
            headed = Fact(Shape(base.inside, (("header", "true"),))) if base else None
            facts = aligned([headed, *facts])[1:]
        found: dict[Shape, tuple[str, Schema]] = {}
        for fact, entry in zip(facts, entries, strict=True):
            if fact is not None:
                found.setdefault(fact.shape, (entry.path, fact.shape.schema))
        return list(found.values())

    def _fact(self, entry: Entry, format_: Format, options: dict[str, str]) -> Fact | None:
        try:
            return facts_of(self._core, [entry], format_, options, self._name)[0]
        except Precondition:
            return None

    def _remembered(self, tree_id: str | None) -> Found | None:
        return self._known.find((self._folder, tree_id)) if tree_id else None


def _with_hint(error: Precondition) -> Precondition:
    hint = "Or record the table's columns, then rows that do not fit go to /_malformed/: "
    return Precondition(error.message, hint=f"{error.hint} {hint}trunkline table set.".lstrip())


def _united_paths(one: Schema, two: Schema) -> Schema:
    found = {column.name.casefold(): column for column in one}
    for column in two:
        held = found.setdefault(column.name.casefold(), column)
        if held.type != column.type:
            found[column.name.casefold()] = Column(held.name, "string")
    return Schema(tuple(found.values()))


def folder_of(tree: Tree, leaf: Pfs) -> str:
    """The folder of the table that a stream reads: what its glob names, or the only one below."""
    folder = "/" + leaf.glob.strip("/")
    if any(mark in folder for mark in "*?[]{}()"):
        raise Precondition(
            f"A stream reads one table, and the glob {leaf.glob} of {leaf.name} may match several.",
            hint="Name the table's folder: glob: / or glob: /folder/",
        )
    there = tree.find(f"{folder.rstrip('/')}/{TABLE_FILE}".encode())
    if there is not None or next(iter(data_lines(tree, folder)), None) is not None:
        return folder
    return table_folder(tree, leaf.glob, str(leaf.repo))


def name_of(leaf: Pfs, folder: str) -> str:
    """How errors call the table."""
    return f"{leaf.repo}@{leaf.branch}" + (f":{folder}" if folder != "/" else "")
