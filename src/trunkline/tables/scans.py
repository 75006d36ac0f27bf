"""The files of a table as scans: those that are read alike, together."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from trunkline.errors import Precondition
from trunkline.lake.core import Core
from trunkline.model.entries import Entry, is_in_folders
from trunkline.model.tables import (
    DROP_MALFORMED,
    EXACT,
    FITTING,
    NULL,
    QUOTED_NULLS,
    Column,
    Format,
    Scan,
    ScanFile,
    Schema,
    TableSpec,
)
from trunkline.model.types import VOID, DataType, parse_type
from trunkline.tables.discovery.facts import Fact, Shape
from trunkline.tables.discovery.textclasses import EMPTY, accepted, pattern
from trunkline.tables.pathcolumns import PathColumns
from trunkline.tables.physical import scan_uris
from trunkline.tables.unite import read_as, wider

# Other readers tell an empty cell from an empty text in quotes, and take what has no zone for UTC.
_CSV = {
    "mode": "FAILFAST",
    "enforceSchema": "false",
    "nullValue": NULL,
    "emptyValue": "",
    "timeZone": "UTC",
}
# What JSON has in a file, by what it may be in the table and is still read by DuckDB as by Spark.
_SAME = {
    "double": ("double", "bigint"),
    "int": ("bigint",),
    "smallint": ("bigint",),
    "tinyint": ("bigint",),
    "timestamp": ("timestamp", "timestamp_ntz", "date"),
    "timestamp_ntz": ("timestamp_ntz", "date"),
}
_READ = {
    **_SAME,
    "decimal": ("double", "bigint", "decimal"),
    "double": ("double", "bigint", "decimal"),
}

Reading = tuple[Schema, tuple[tuple[str, str], ...]]
Way = tuple[Reading, Schema, Schema | None]
"""How files are read, which columns the names of their folders have, and their own columns where
those differ: such files need not fit each other.
"""


def make_scans(
    core: Core,
    name: str,
    spec: TableSpec,
    entries: Sequence[Entry],
    facts: Sequence[Fact | None],
    folders: PathColumns,
) -> tuple[Scan, ...]:
    """One scan where all files are read alike, else one for each way; in order of first files."""
    groups: dict[Way, list[ScanFile]] = {}
    held: list[tuple[list[ScanFile], tuple[int, ...]]] = []
    ids: dict[tuple[int, bool], int] = {}
    uris = scan_uris(core, entries)
    for entry, fact, uri, values in zip(entries, facts, uris, folders.values, strict=True):
        if not entry.size and spec.format in (Format.CSV, Format.JSON):
            continue  # an empty file has no rows, and not even a header
        shape = fact.shape if fact else None
        kind = id(shape), shape is None and is_in_folders(entry.stats)
        place = ids.get(kind)
        if place is None:
            told = folders.left(_held(shape, kind[1], spec))
            path_columns = Schema(tuple(folders.schema.columns[one] for one in told))
            inside = spec.schema.without(path_columns.names)
            if shape is not None:
                _refuse_stranger(shape, inside, entry, name)
            text = spec.format in (Format.CSV, Format.JSON)  # whose types are the table's
            own = shape.schema if shape and not text and shape.schema != inside else None
            way = _by_format(spec, inside)(shape, entry, name), path_columns, own
            place = ids[kind] = len(held)
            held.append((groups.setdefault(way, []), told))
        files, told = held[place]
        if len(told) < len(values):
            values = tuple(values[one] for one in told)
        rows, stats = entry.rows, entry.stats
        if fact is not None:
            rows, stats = fact.rows if rows is None else rows, stats or fact.stats
        files.append(ScanFile(uri, entry.size, values, stats, rows, entry.path))
    return tuple(
        Scan(name, spec.format, schema, path_columns, tuple(files), options, spec.schema)
        for ((schema, options), path_columns, _), files in groups.items()
    )


def _held(shape: Shape | None, in_folders: bool, spec: TableSpec) -> Sequence[str]:
    """The columns that a file has itself, as far as folders may be named after them."""
    if shape is not None:
        return shape.schema.names
    return () if in_folders else spec.partition_by


def _by_format(spec: TableSpec, inside: Schema) -> Callable[[Shape | None, Entry, str], Reading]:
    """How a file of a given shape is read so that it fits the table."""

    def columnar(shape: Shape | None, entry: Entry, name: str) -> Reading:
        if shape is None:
            return inside, spec.options
        options = _options(dict(shape.options) | dict(spec.options))
        return _own_types(shape.schema, inside, entry, name), options

    def objects(shape: Shape | None, entry: Entry, name: str) -> Reading:
        found = dict(shape.options if shape else ()) | dict(spec.options)
        columns, exact = _json_columns(shape, inside, entry, name)
        found.pop(EXACT, None)
        if exact:
            found[EXACT] = "true"
        return columns, _options({"mode": "FAILFAST", "timeZone": "UTC"} | found)

    def csv(shape: Shape | None, entry: Entry, name: str) -> Reading:
        found = dict(shape.options if shape else ()) | dict(spec.options)
        columns = _csv_columns(shape, found, inside, entry, name)
        if quoted := _quoted_nulls(shape, columns):
            found[QUOTED_NULLS] = json.dumps(quoted, ensure_ascii=False)
        if found.get("mode", "").upper() == DROP_MALFORMED:
            patterns = {one.name: pattern(one.type) for one in columns if accepted(one.type) >= 0}
            found[FITTING] = json.dumps(patterns, ensure_ascii=False)
        return columns, _options(_CSV | found)

    return {Format.CSV: csv, Format.JSON: objects}.get(spec.format, columnar)


def _refuse_stranger(shape: Shape, inside: Schema, entry: Entry, name: str) -> None:
    """A file that has nothing of the table would give rows of nulls."""
    names = shape.schema.names
    nameless = ("header", "false") in shape.options
    if not names or not len(inside) or nameless or any(map(inside.find, names)):
        return
    shown = ", ".join(names[:5]) + (" …" if len(names) > 5 else "")
    raise Precondition(
        f"{entry.path} has none of the columns of {name}: it has {shown}.",
        hint="Look at its header and delimiter: trunkline table set --option sep=';'.",
    )


def _csv_columns(
    shape: Shape | None, options: dict[str, str], inside: Schema, entry: Entry, name: str
) -> Schema:
    """The columns in the order of the file, whose header tells it; without one, the table's."""
    if shape is None:
        return inside
    types = {one.name.casefold(): one for one in inside}
    names = [name.casefold() for name in shape.schema.names]
    if options.get("header") != "true" and not types.keys() >= set(names):
        if len(shape.schema) != len(inside):
            raise Precondition(
                f"{entry.path} has no header and {len(shape.schema)} columns, "
                f"where {name} has {len(inside)}.",
                hint="Put it again with a header, or with all columns.",
            )
        return inside
    pairs = zip(shape.schema, names, strict=True)
    return Schema(tuple(types.get(name) or Column(one.name, "string") for one, name in pairs))


def _quoted_nulls(shape: Shape | None, columns: Schema) -> list[str]:
    """The columns that are no texts, and in which there are empty texts."""
    if shape is None or len(shape.classes) != len(columns):
        return []
    pairs = zip(columns, shape.classes, strict=True)
    return [one.name for one, seen in pairs if seen & EMPTY and accepted(one.type) >= 0]


def _json_columns(
    shape: Shape | None, inside: Schema, entry: Entry, name: str
) -> tuple[Schema, bool]:
    """The columns as the file spells them, and whether only the exact reader reads them."""
    if shape is None or not shape.schema.columns:
        return inside, shape is None
    loose = set(json.loads(dict(shape.options).get(EXACT, "[]")))
    columns, exact = [], False
    for column in inside:
        own = shape.schema.find(column.name)
        if own is None:
            columns.append(column)
            continue
        columns.append(Column(own.name, column.type))
        wanted, held = parse_type(column.type), parse_type(own.type)
        if flaw := _unread(wanted, held, column.name):
            raise Precondition(
                f"{entry.path} of {name} cannot be read as JSON: {flaw}.",
                hint="Mend the file, or choose another type: trunkline table set.",
            )
        exact = exact or own.name in loose or not _alike(wanted, held)
    return Schema(tuple(columns)), exact


def _alike(wanted: DataType, held: DataType) -> bool:
    """Whether DuckDB makes of the one what Spark makes of it."""
    if held.name == VOID or (held == wanted and not wanted.fields):
        return wanted.name not in ("decimal", "float", "binary") or held.name == VOID
    if wanted.name == held.name and wanted.fields:
        if wanted.name == "array":
            return _alike(wanted.fields[0][1], held.fields[0][1])
        inner = dict(held.fields)
        return wanted.name == "struct" and all(
            one not in inner or _alike(type_, inner[one]) for one, type_ in wanted.fields
        )
    return held.name in _SAME.get(wanted.name, ())


def _unread(wanted: DataType, held: DataType, name: str, *, nested: bool = False) -> str:
    """Why what a file holds cannot be read as what the table says; empty if it can."""
    if held.name == VOID or wanted.name == "string" or (held == wanted and not wanted.fields):
        return ""
    if wanted.name == held.name == "array":
        return _unread(wanted.fields[0][1], held.fields[0][1], name, nested=True)
    if wanted.name == "map" and held.name == "struct":
        inner = ((f"{name}.{key}", type_) for key, type_ in held.fields)
        flaws = (_unread(wanted.fields[1][1], t, n, nested=True) for n, t in inner)
        return next(filter(None, flaws), "")
    if wanted.name == held.name == "struct":
        inside = dict(held.fields)
        folded = {one.casefold(): one for one in inside}
        for one, type_ in wanted.fields:
            other = folded.get(one.casefold(), one)
            if one not in inside and other != one:
                return f"{name}.{one} is spelled {other}, and Spark finds fields by their case"
            if one in inside:
                flaw = _unread(type_, inside[one], f"{name}.{one}", nested=True)
                if flaw:
                    return flaw
        return ""
    if held.name in _READ.get(wanted.name, ()):
        return ""
    if nested and held.name == "string" and wanted.name in ("date", "timestamp", "timestamp_ntz"):
        return ""  # what is inside is not looked at one by one before it is read
    return f"{name} is {held}, and {wanted} in the table"


def _own_types(found: Schema, inside: Schema, entry: Entry, name: str) -> Schema:
    """The table's columns with the types that the file has; what is void there is left out."""
    types = {column.name.casefold(): column.type for column in found}
    columns = []
    for column in inside.columns:
        own = types.get(column.name.casefold())
        if own is None or own == column.type:
            columns.append(column)
        elif own != VOID:
            wanted, found_type = parse_type(column.type), parse_type(own)
            joined = wider(wanted, found_type, lenient=False)
            if joined != wanted:
                raise Precondition(
                    f'{entry.path} does not fit {name}: its column "{column.name}" is {own}, '
                    f"that of the table {column.type}.",
                    hint="Write the file again with that type, or remove it.",
                )
            columns.append(Column(column.name, str(read_as(wanted, found_type))))
    return Schema(tuple(columns))


def _options(found: dict[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(found.items()))
