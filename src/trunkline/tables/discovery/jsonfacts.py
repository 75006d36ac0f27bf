"""What is in files of JSON lines: the fields of all objects, and their types."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trunkline.lake.core import Core
from trunkline.model.entries import Entry
from trunkline.model.tables import EXACT, Column, Schema
from trunkline.model.types import DataType
from trunkline.tables.discovery.facts import Fact, Shape
from trunkline.tables.discovery.textclasses import CLOCK, DAY, LONGER, MOMENT, class_sql, type_of
from trunkline.tables.reading.opening import beginning, local_files, unreadable
from trunkline.tables.unite import refuse_twins

if TYPE_CHECKING:
    import duckdb

LINES, ARRAY, ANY = "newline_delimited", "array", "auto"
LARGEST_OBJECT = 256 << 20

_SCALARS = {
    "BOOLEAN": "boolean",
    "BIGINT": "bigint",
    "UBIGINT": "bigint",
    "DOUBLE": "double",
    "NULL": "void",
}
_TIMES = DAY | CLOCK | MOMENT


def examine(
    core: Core, entries: Sequence[Entry], options: Mapping[str, str], where: str
) -> list[Fact]:
    """A fact for each file, in order."""
    import duckdb

    from trunkline.tables.reading.textread import check_json_options

    check_json_options(options, where)
    found: dict[str, Fact] = {}
    with local_files(core, entries) as paths, duckdb.connect(":memory:") as connection:
        groups: dict[str, list[int]] = {}
        for index, entry in enumerate(entries):
            groups.setdefault(layout(core, entry, options), []).append(index)
        for kind, members in groups.items():
            try:
                found |= _facts(connection, [paths[index] for index in members], kind, options)
            except (duckdb.Error, ValueError):
                for index in members:
                    try:
                        found |= _facts(connection, [paths[index]], kind, options)
                    except (duckdb.Error, ValueError) as error:
                        raise unreadable(core, entries[index], where, "JSON", error) from None
    empty = Fact(Shape(Schema(), tuple(sorted(options.items()))), 0)
    facts = [found.get(path, empty) for path in paths]
    for fact, entry in zip(facts, entries, strict=True):
        refuse_twins(fact.shape.schema.names, entry.path)
    return facts


def layout(core: Core, entry: Entry, options: Mapping[str, str]) -> str:
    """An object on each line, or one array of them: the first character tells."""
    if options.get("multiLine", "").lower() == "true":
        return ANY
    start = beginning(core, entry, 256).removeprefix(b"\xef\xbb\xbf").lstrip()
    return ARRAY if start.startswith(b"[") else LINES


def _facts(
    connection: duckdb.DuckDBPyConnection,
    paths: Sequence[str],
    kind: str,
    options: Mapping[str, str],
) -> dict[str, Fact]:
    rows = connection.execute(
        f"""select filename, count(*), json_group_structure(json)
        from read_json_objects($paths, format = $kind, filename = true,
            maximum_object_size = {LARGEST_OBJECT})
        group by filename""",
        {"paths": list(paths), "kind": kind},
    ).fetchall()
    alike: dict[str, dict[str, int]] = {}
    for path, count, structure in rows:
        alike.setdefault(structure or "{}", {})[path] = count
    multi = {"multiLine": "true"} if kind != LINES else {}
    told = multi | dict(options)
    found = {}
    for structure, counts in alike.items():
        fields = json.loads(structure)
        if not isinstance(fields, dict):
            raise ValueError("what it holds are not objects")
        classes = _classes(connection, list(counts), kind, fields)
        loose = [name for name, given in fields.items() if _is_loose(given)]
        exact = {EXACT: json.dumps(loose, ensure_ascii=False)} if loose else {}
        shapes: dict[tuple[int, ...], Shape] = {}
        for path, count in counts.items():
            seen = classes.get(path, (0,) * len(fields))
            if seen not in shapes:
                shapes[seen] = Shape(_schema(fields, seen), tuple(sorted((told | exact).items())))
            found[path] = Fact(shapes[seen], count)
    return found


def _classes(
    connection: duckdb.DuckDBPyConnection, paths: list[str], kind: str, fields: dict[str, Any]
) -> dict[str, tuple[int, ...]]:
    """For each file what its texts and whole numbers look like; 0 for other fields."""
    asked = [name for name, given in fields.items() if given in ("VARCHAR", "UBIGINT", "BIGINT")]
    if not asked:
        return {}
    # Names that differ in case are the same to DuckDB too, and refused later.
    if len({name.casefold() for name in fields}) < len(fields):
        return {}
    rows = connection.execute(
        f"""select filename, name, bit_or({class_sql("value")}) from (
            select filename, unnest($asked) as name,
                unnest([{", ".join(map(_quoted, asked))}]) as value
            from read_json($paths, format = $kind, filename = true,
                columns = $columns, maximum_object_size = {LARGEST_OBJECT}))
        group by all""",
        {
            "paths": paths,
            "kind": kind,
            "asked": asked,
            "columns": dict.fromkeys(asked, "VARCHAR"),
        },
    ).fetchall()
    by_path: dict[str, dict[str, int]] = {}
    for path, name, classes in rows:
        by_path.setdefault(path, {})[name] = classes
    return {path: tuple(seen.get(name, 0) for name in fields) for path, seen in by_path.items()}


def _schema(fields: dict[str, Any], classes: tuple[int, ...]) -> Schema:
    columns = []
    for (name, given), seen in zip(fields.items(), classes, strict=True):
        type_ = str(_type(given))
        if given == "VARCHAR" and seen and not seen & ~_TIMES:
            type_ = type_of(seen)
        if type_ == "bigint" and seen & LONGER:
            type_ = "decimal(38,0)"
        columns.append(Column(name, type_))
    return Schema(tuple(columns))


def _type(given: Any) -> DataType:
    """From what DuckDB calls the structure; whatever has no type of its own stays JSON text."""
    if isinstance(given, list):
        return DataType("array", fields=(("", _type(given[0]) if given else DataType("void")),))
    if isinstance(given, dict) and given:
        if len({name.casefold() for name in given}) < len(given):
            raise ValueError(f"of its fields {', '.join(given)} two differ in case alone")
        return DataType("struct", fields=tuple((name, _type(one)) for name, one in given.items()))
    return DataType(_SCALARS.get(given, "string") if isinstance(given, str) else "string")


def _is_loose(given: Any) -> bool:
    """Whether it holds values of different kinds, which are text as they are written."""
    if isinstance(given, list):
        return any(map(_is_loose, given))
    if isinstance(given, dict):
        return not given or any(map(_is_loose, given.values()))
    return given not in _SCALARS and given != "VARCHAR"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
