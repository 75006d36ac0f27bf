"""A folder of a commit as a table: its schema, and the files to read. Where everything begins."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from trunkline.errors import Precondition
from trunkline.lake import files
from trunkline.lake.core import Core
from trunkline.lake.manifests import Tree
from trunkline.model.entries import Entry, line_path
from trunkline.model.tables import OPTIONS, TABLE_FILE, Format, Scan, Schema, TableSpec
from trunkline.model.types import normalize
from trunkline.tables.discovery.discover import facts_of, one_format
from trunkline.tables.discovery.facts import Fact
from trunkline.tables.layout import is_data, table_folders
from trunkline.tables.pathcolumns import PathColumns
from trunkline.tables.scans import make_scans
from trunkline.tables.types import unsupported
from trunkline.tables.unite import refuse_twins, settled, unite

TEXT = (Format.CSV, Format.JSON)


@dataclass(frozen=True, slots=True)
class Table:
    """A table at a commit. `name` is how errors and plans call it, `path` its folder.

    `spec.schema` has all columns, also those that only the folders' names have. `entries` are
    the data files in path order; `scans` the same, as an engine reads them.
    """

    name: str
    path: str
    spec: TableSpec
    recorded: bool
    scans: tuple[Scan, ...]
    entries: tuple[Entry, ...]

    @property
    def schema(self) -> Schema:
        return self.spec.schema

    @property
    def rows(self) -> int | None:
        """How many rows there are, if that is known without reading them."""
        total = 0
        for scan in self.scans:
            for file in scan.files:
                if file.rows is None:
                    return None
                total += file.rows
        return total

    @property
    def size(self) -> int:
        return sum(entry.size for entry in self.entries)


EVERY_FILE = b""
"""Instead of a file's path: what is said of it holds for all of a table."""


def describe(core: Core, tree: Tree, path: str, name: str) -> Table:
    """The table in a folder, or in a single file. NotFound or Precondition say why there is none.

    Files are opened only if neither `_table.json` nor an earlier look tells what is in them.
    """
    if line := tree.find(path.encode()):
        if is_data(path.rpartition("/")[2]):
            return describe_lines(core, [line], path.rpartition("/")[0] or "/", name, None, path)
        raise Precondition(f"{path} of {name} is not a data file.", hint=_EXTENSIONS)
    files.stat(tree, path, name.partition(":")[0])
    spec = recorded_spec(core, tree, path)
    lines = list(data_lines(tree, path))
    if not lines and spec is None:
        raise _no_table(tree, path, name)
    return describe_lines(core, lines, path, name, spec)


def describe_lines(
    core: Core,
    lines: Sequence[bytes],
    path: str,
    name: str,
    spec: TableSpec | None,
    shown_path: str = "",
) -> Table:
    """The table that the given files of a folder make up; with `spec` they are taken to be so."""
    start = len(path.rstrip("/")) + 1
    decoded = map(Entry.decode, lines)
    entries = tuple(entry for entry in decoded if is_data(entry.path[start:], nested=True))
    if spec is None and not entries:
        raise Precondition(f"{name} has no data files.", hint=_EXTENSIONS)
    format_ = one_format(entries, name) if entries else None
    if spec is not None and format_ not in (None, spec.format):
        raise Precondition(
            f"{name} is recorded as {spec.format}, but {entries[0].path} is {format_}.",
            hint="Remove the file, or record the table anew: trunkline table set.",
        )
    known = spec or TableSpec(format_ or Format.PARQUET, Schema())
    known = replace(known, schema=_spelled(known.schema, name))
    _refuse_options(known, name)
    facts = _facts(core, entries, known, name)
    folders = PathColumns.of(entries, start)
    schema = known.schema
    if not schema.columns and entries:
        schema = _discovered(facts, entries, folders, known.format, name)
    folders = folders.only(schema)
    table_spec = replace(known, schema=schema)
    if known.schema.columns and known.format is Format.CSV:
        _check_values(core, entries, facts, known, name)
    scans = make_scans(core, name, table_spec, entries, facts, folders)
    return Table(name, shown_path or path, table_spec, spec is not None, scans, entries)


def _spelled(recorded: Schema, name: str) -> Schema:
    """The recorded columns, their types in the one spelling; some were written down without it."""
    columns = []
    for one in recorded:
        try:
            columns.append(replace(one, type=normalize(one.type)))
        except ValueError:
            raise unsupported(one.name, one.type, name) from None
    return Schema(tuple(columns))


def _refuse_options(recorded: TableSpec, name: str) -> None:
    """Whoever may write files can put such a description, and Spark's readers take much more."""
    known = OPTIONS[recorded.format].lower().split()
    for option, _ in recorded.options:
        if option.lower() not in known:
            raise Precondition(
                f'{name} is recorded with the option "{option}", which {recorded.format} '
                "does not have.",
                hint="Record it anew: trunkline table set.",
            )


def retyped(core: Core, tree: Tree, path: str, name: str) -> dict[bytes, str]:
    """The files of a table that are read with other types than their own: by path, in order, the
    columns with the types that they get.

    `EVERY_FILE` has what holds for all: how text is read, and its types, if they are recorded.
    Other files are as recorded, until a type there is widened.
    """
    spec = recorded_spec(core, tree, path)
    found = {EVERY_FILE: how} if spec is not None and (how := _how_text_is_read(spec, name)) else {}
    recorded = spec is not None and bool(len(spec.schema))
    if spec is not None and recorded and (spec.format in TEXT or not spec.evolved):
        return found
    start = len(path.rstrip("/")) + 1
    entries = [Entry.decode(line) for line in data_lines(tree, path)]
    if not entries:
        return found
    known = spec or TableSpec(one_format(entries, name), Schema())
    facts = _facts(core, entries, replace(known, schema=Schema()), name)
    folders = PathColumns.of(entries, start)
    schema = (
        _spelled(known.schema, name)
        if recorded
        else _discovered(facts, entries, folders, known.format, name)
    )
    types = {one.name.casefold(): one.type for one in schema}
    alone: dict[Sequence[str | None], list[tuple[str, str]]] = {}
    for entry, fact, values in zip(entries, facts, folders.values, strict=True):
        if values not in alone:
            alone[values] = list(folders.types_of(values))
        own = [(one.name, one.type) for one in fact.shape.schema] if fact is not None else []
        held = {column.casefold() for column, _ in own}
        if not recorded:  # else those of folders were recorded when the table was made
            own += [one for one in alone[values] if one[0].casefold() not in held]
        other = [
            f"{column} {types[column.casefold()]}"
            for column, type_ in own
            if types.get(column.casefold(), type_) != type_
        ]
        if other:
            found[entry.path.encode()] = ", ".join(other)
    return found


def _how_text_is_read(spec: TableSpec, name: str) -> str:
    if spec.format not in TEXT:
        return ""
    columns = [f"{one.name} {one.type}" for one in _spelled(spec.schema, name)]
    return ", ".join([*columns, *(f"{key}={value}" for key, value in sorted(spec.options))])


def recorded_spec(core: Core, tree: Tree, path: str) -> TableSpec | None:
    """What the folder's `_table.json` says, if it has one."""
    place = f"{path.rstrip('/')}/{TABLE_FILE}"
    line = tree.find(place.encode())
    if line is None:
        return None
    try:
        spec = TableSpec.decode(b"".join(files.read(core, Entry.decode(line))))
    except ValueError as error:
        raise Precondition(
            f"{place} is damaged: {error}.", hint="Write it again: trunkline table set."
        ) from None
    refuse_twins(spec.schema.names, place)
    return spec


def tables_in(tree: Tree) -> list[str]:
    """The folders that are tables, in path order."""
    folders: dict[bytes, bytes] = {}
    for lines in tree.chunks():
        for line in lines:
            path = line_path(line)
            folder, _, name = path.rpartition(b"/")
            if folder not in folders and (name == TABLE_FILE.encode() or is_data(name.decode())):
                folders[folder] = path
    return table_folders(path.decode()[1:].split("/") for path in folders.values())


def _facts(core: Core, entries: Sequence[Entry], spec: TableSpec, name: str) -> list[Fact | None]:
    """What is in each file; None where nothing but the recorded spec and the entry is needed."""
    found: list[Fact | None] = [None] * len(entries)
    recorded = bool(spec.schema.columns) and spec.format not in TEXT
    asked = [
        index
        for index, entry in enumerate(entries)
        if not (recorded and entry.rows is not None and entry.stats)
        and (entry.size or spec.format not in TEXT)
    ]
    options = dict(spec.options)
    facts = facts_of(core, [entries[index] for index in asked], spec.format, options, name)
    for index, fact in zip(asked, facts, strict=True):
        found[index] = fact
    if spec.format is Format.CSV:
        from trunkline.tables.discovery.csvfacts import aligned

        return aligned(found)
    return found


def _check_values(
    core: Core, entries: Sequence[Entry], facts: Sequence[Fact | None], spec: TableSpec, name: str
) -> None:
    """Refused now what would fail when it is read: a value that is not of its column's type."""
    from trunkline.tables.discovery.csvfacts import check_values

    seen: set[int] = set()
    for entry, fact in zip(entries, facts, strict=True):
        if fact is not None and id(fact.shape) not in seen:
            seen.add(id(fact.shape))
            check_values(core, entry, fact.shape, spec.schema, dict(spec.options), name)


def _discovered(
    facts: Sequence[Fact | None],
    entries: Sequence[Entry],
    folders: PathColumns,
    format_: Format,
    name: str,
) -> Schema:
    """The schema of all files, with the columns that only their folders tell at its end."""
    shapes: dict[int, tuple[str, Schema]] = {}
    for fact, entry in zip(facts, entries, strict=True):
        if fact is not None and id(fact.shape) not in shapes:
            shapes[id(fact.shape)] = (entry.path, fact.shape.schema)
    schema = settled(unite(shapes.values(), name, lenient=format_ in TEXT))
    refuse_twins(schema.names, name)
    return Schema(schema.columns + folders.schema.without(schema.names).columns)


def data_lines(tree: Tree, path: str) -> Iterable[bytes]:
    """The lines of a table's own files; a folder is judged once for all files in it."""
    prefix = path.rstrip("/").encode() + b"/"
    good: dict[bytes, bool] = {}
    for lines in tree.chunks(prefix):
        for line in lines:
            place = line_path(line)[len(prefix) :]
            folder, slash, name = place.rpartition(b"/")
            held = good.get(folder)
            if held is None:
                held = good[folder] = is_data((folder + slash).decode() + "a.csv")
            if held and is_data(name.decode()):
                yield line


_EXTENSIONS = (
    "Tables are made of .parquet, .csv, .tsv, .json, .jsonl, .ndjson and .orc files, "
    "in one folder or in folders such as day=2026-01-01."
)


def _no_table(tree: Tree, path: str, name: str) -> Precondition:
    below = path.rstrip("/") + "/"
    others = [one for one in tables_in(tree) if one.startswith(below) and one != path]
    if not others:
        return Precondition(f"{name} has no data files.", hint=_EXTENSIONS)
    shown = ", ".join(others[:5]) + (" …" if len(others) > 5 else "")
    return Precondition(
        f"{name} is not a table itself, but its folders are.", hint=f"Name one of them: {shown}"
    )
