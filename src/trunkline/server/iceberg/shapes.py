"""A table at one commit, as far as its metadata tells: columns, and what its files come to."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from trunkline.errors import NotFound, Precondition
from trunkline.lake.core import Core
from trunkline.lake.manifests import Tree
from trunkline.model.entries import Entry, is_in_folders, join_fields, line_path, undecoded
from trunkline.model.tables import Format, Schema, TableSpec
from trunkline.server.iceberg.bounds import folder_values
from trunkline.tables.describe import Table, data_lines, describe, recorded_spec, tables_in
from trunkline.tables.discovery.discover import facts_of
from trunkline.tables.discovery.footers import INT96
from trunkline.tables.layout import format_of
from trunkline.tables.pathcolumns import PathColumns

NOTHING = Schema()
LOOKING = 10
"""How many times more a file takes that nothing is recorded of."""
MOST_SEEN = 300_000


@dataclass(frozen=True, slots=True)
class Shape:
    """`path_columns` are those that only the folders' names have. `others` are only in files:
    the table has no such columns, but who reads a file must know all that is in it.
    """

    schema: Schema
    path_columns: Schema
    files: int
    rows: int | None
    size: int
    others: Schema = NOTHING
    effort: int = 0
    """What it took to find out, in files."""


def parquet_tables(core: Core, tree: Tree) -> tuple[str, ...]:
    """The folders of a tree that are tables of Parquet files. Others would have to be copied."""
    return tuple(path for path in tables_in(tree) if _format(core, tree, path) is Format.PARQUET)


def _format(core: Core, tree: Tree, path: str) -> Format | None:
    try:
        spec = recorded_spec(core, tree, path)
    except Precondition:
        return None
    if spec is not None:
        return spec.format
    first = next(iter(data_lines(tree, path)), None)
    return format_of(line_path(first).decode()) if first is not None else None


def shape_of(core: Core, tree: Tree, path: str, name: str, seen: Seen) -> Shape | None:
    """None where there is no such table. Precondition says why it cannot be read."""
    spec = recorded_spec(core, tree, path)
    lines = list(data_lines(tree, path))
    if spec is None and not lines:
        return None
    if spec is not None and spec.format is not Format.PARQUET:
        return None
    if spec is None or not spec.schema.columns:
        return _of_table(core, tree, path, name)
    return _of_lines(core, lines, path, spec, name, seen)


def _of_table(core: Core, tree: Tree, path: str, name: str) -> Shape | None:
    """Where nothing is recorded, the files are looked at, if nobody did before."""
    try:
        table = describe(core, tree, path, name)
    except NotFound:
        return None
    if table.spec.format is not Format.PARQUET:
        return None
    for scan in table.scans:
        _refuse_int96(scan.options, scan.files[0].path)
    files = len(table.entries)
    return Shape(
        table.schema,
        path_columns(table),
        files,
        table.rows,
        table.size,
        effort=files * LOOKING,
    )


def _of_lines(
    core: Core, lines: list[bytes], path: str, spec: TableSpec, name: str, seen: Seen
) -> Shape:
    """As recorded. Few of the lines are looked at in full: there may be many, in many commits."""
    start = len(path.rstrip("/")) + 1
    fields = undecoded(lines)
    counted = sum(int(one[6]) for one in fields if len(one) > 6 and one[6])
    strange = [one for one in fields if len(one) <= 6 or not one[6]]
    found = seen.of(core, strange, spec, name)
    total = sum((one.rows or 0 for one in found), counted)
    others = {
        column.name.casefold(): column
        for schema in {id(one.schema): one.schema for one in found}.values()
        for column in schema.without(spec.schema.names)
    }
    return Shape(
        spec.schema,
        _folders(fields, start, spec, _held(fields, found, spec)),
        len(lines),
        None if any(one.rows is None for one in found) else total,
        sum(int(one[2]) for one in fields),
        Schema(tuple(others.values())),
        len(lines),
    )


def _refuse_int96(options: tuple[tuple[str, str], ...], path: str) -> None:
    """Iceberg has no such moments, and its readers take them for nanoseconds, which end in 2262."""
    if INT96 in dict(options):
        raise Precondition(
            f"{path} has moments of 96 bits (INT96), which Iceberg does not have.",
            hint="Write its rows again: trunkline table write, or lake.write_table.",
        )


@dataclass(frozen=True, slots=True)
class _Known:
    schema: Schema
    rows: int | None


class Seen:
    """What is in files that others wrote, by their hash: most are in the next commit, too."""

    def __init__(self) -> None:
        self._known: dict[bytes, _Known] = {}

    def of(self, core: Core, fields: list[list[bytes]], spec: TableSpec, name: str) -> list[_Known]:
        known = self._known
        fresh = [one for one in fields if one[1] not in known]
        entries = [Entry.decode(join_fields(one)) for one in fresh]
        facts = facts_of(core, entries, spec.format, dict(spec.options), name) if entries else []
        if len(known) + len(fresh) > MOST_SEEN:
            known = self._known = {one[1]: known[one[1]] for one in fields if one[1] in known}
        for one, fact in zip(fresh, facts, strict=True):
            _refuse_int96(fact.shape.options, one[0].decode())
            known[one[1]] = _Known(fact.shape.schema, fact.rows)
        return [known[one[1]] for one in fields]


def _held(fields: list[list[bytes]], strange: list[_Known], spec: TableSpec) -> list[str]:
    """The partition columns that all files have themselves, as older ones of ours do."""
    if any(len(one) > 8 and is_in_folders(one[8].decode()) for one in fields):
        return []
    return [name for name in spec.partition_by if all(one.schema.find(name) for one in strange)]


def _folders(fields: list[list[bytes]], start: int, spec: TableSpec, held: list[str]) -> Schema:
    firsts = [next(files) for _, files in groupby((one[0] for one in fields), _folder)]
    entries = [Entry(path.decode(), "", 0, "") for path in firsts]
    found = PathColumns.of(entries, start, held).only(spec.schema)
    for entry, texts in zip(entries, found.values, strict=True):
        folder_values(found.schema, texts, entry.path)
    return found.schema


def _folder(path: bytes) -> bytes:
    return path.rpartition(b"/")[0]


def path_columns(table: Table) -> Schema:
    """Those that some file has in the names of its folders alone, in the order of the folders."""
    found = {one.name.casefold(): one for scan in table.scans for one in scan.path_columns}
    start = len(table.path.rstrip("/")) + 1
    order = PathColumns.of(table.entries, start).schema.names
    return Schema(tuple(found[name.casefold()] for name in order if name.casefold() in found))
