"""How a folder is to be read, as somebody says: checked against its files before it is recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from trunkline.errors import Precondition, Usage
from trunkline.lake.core import Core
from trunkline.lake.manifests import Tree
from trunkline.model.entries import Entry
from trunkline.model.suggest import did_you_mean
from trunkline.model.tables import OPTIONS, Column, Format, Schema, TableSpec
from trunkline.model.types import normalize
from trunkline.tables.describe import Table, data_lines, describe_lines, recorded_spec
from trunkline.tables.layout import format_of, hive_values
from trunkline.tables.reading.arrowread import check_readable
from trunkline.tables.unite import refuse_twins

SchemaLike = Schema | str | Mapping[str, str] | Sequence[Mapping[str, object]]

_ALIASES = {"delimiter": "sep", "charset": "encoding"}


def new_spec(
    core: Core,
    tree: Tree,
    path: str,
    name: str,
    *,
    format: str | None = None,
    options: Mapping[str, str] | None = None,
    schema: SchemaLike | None = None,
    key: Sequence[str] | None = None,
) -> TableSpec:
    """The spec to record. What is not said stays as it was recorded, else as it is found.

    Without a schema none is recorded: it goes on being found in the files.
    """
    old = recorded_spec(core, tree, path)
    lines = list(data_lines(tree, path))
    known = _format(format, old, lines, name)
    told = tuple(sorted(_options(known, options).items())) if options is not None else ()
    spec = TableSpec(
        known,
        parse_schema(schema) if schema is not None else (old.schema if old else Schema()),
        old.partition_by if old else (),
        told or (old.options if old else ()),
        tuple(key) if key is not None else (old.key if old else ()),
        old.evolved if old else False,
    )
    refuse_twins(spec.schema.names, name)
    if not lines:
        if not spec.schema.columns:
            raise Precondition(
                f"{name} has no data files, so its columns must be told.",
                hint='Say what will be in it: --schema "id bigint, day date".',
            )
        _check_key(spec, spec.schema, name)
        return spec
    found = describe_lines(core, lines, path, name, replace(spec, schema=Schema()))
    if spec.schema.columns and old is None:
        spec = replace(spec, partition_by=_held(found, path))
    table = describe_lines(core, lines, path, name, spec) if spec.schema.columns else found
    check_readable(core, table)
    _check_key(spec, table.schema, name)
    return spec


def parse_schema(given: SchemaLike) -> Schema:
    """Columns as text (`id bigint, day date`), as a mapping of names to types, or as a list."""
    if isinstance(given, Schema):
        pairs = [(one.name, one.type, one.nullable) for one in given.columns]
    elif isinstance(given, str):
        pairs = [_column(part) for part in _split(given)]
    elif isinstance(given, Mapping):
        pairs = [(str(name), str(type_), True) for name, type_ in given.items()]
    else:
        pairs = [(str(c["name"]), str(c["type"]), bool(c.get("nullable", True))) for c in given]
    columns = []
    for name, type_, nullable in pairs:
        try:
            columns.append(Column(name, normalize(type_), nullable))
        except ValueError as error:
            raise Usage(
                f'Column "{name}": {error}.',
                hint="Types are boolean, int, bigint, double, decimal(12,2), string, binary, date, "
                "timestamp, timestamp_ntz, array<…>, map<…>, struct<…>.",
            ) from None
    return Schema(tuple(columns))


def _column(text: str) -> tuple[str, str, bool]:
    text = text.strip()
    if text.startswith("`"):
        end = text.replace("``", "  ").find("`", 1)
        name, rest = text[1:end].replace("``", "`"), text[end + 1 :]
    else:
        name, _, rest = text.replace(":", " ", 1).partition(" ")
    rest = rest.strip().lstrip(":").strip()
    nullable = not rest.lower().endswith("not null")
    if not nullable:
        rest = rest[: -len("not null")].strip()
    if not name or not rest:
        raise Usage(f'"{text}" is not a column.', hint="Write a name and a type, as in: id bigint.")
    return name, rest, nullable


def _split(text: str) -> list[str]:
    """At the commas that are in no brackets."""
    parts, depth, start = [], 0, 0
    for place, one in enumerate(text):
        depth += (one in "<(") - (one in ">)")
        if one == "," and not depth:
            parts.append(text[start:place])
            start = place + 1
    return [part for part in [*parts, text[start:]] if part.strip()]


def _format(named: str | None, old: TableSpec | None, lines: Sequence[bytes], name: str) -> Format:
    if named is not None:
        try:
            return Format(named.lower())
        except ValueError:
            known = ", ".join(Format)
            raise Usage(f'There is no format "{named}".', hint=f"Use one of {known}.") from None
    if lines and (found := format_of(Entry.decode(lines[0]).path)):
        return found
    if old is not None:
        return old.format
    raise Usage(f"{name} has no data files, so its format must be told.", hint="Use --format.")


def _options(format_: Format, given: Mapping[str, str]) -> dict[str, str]:
    """By the names that Spark's reader has for them, which it knows in any case."""
    known = {one.lower(): one for one in OPTIONS[format_].split()}
    found = {}
    for name, value in given.items():
        folded = _ALIASES.get(name.lower(), name.lower())
        if folded not in known:
            raise Usage(
                f'{format_} has no option "{name}".{did_you_mean(name, known.values())}',
                hint=f"Options are: {', '.join(known.values())}.",
            )
        text = str(value)
        found[known[folded]] = text.lower() if text.lower() in ("true", "false") else text
    return found


def _held(table: Table, path: str) -> tuple[str, ...]:
    """Columns that folders are named after, and that are in the files too."""
    from_path = {one.name for scan in table.scans for one in scan.path_columns}
    start = len(path.rstrip("/")) + 1
    names: dict[str, None] = {}
    for entry in table.entries:
        names |= dict.fromkeys(hive_values(entry.path[start:]))
    return tuple(one for one in names if one not in from_path and table.schema.find(one))


def _check_key(spec: TableSpec, schema: Schema, name: str) -> None:
    for one in spec.key:
        if schema.find(one) is None:
            raise Usage(
                f'{name} has no column "{one}".{did_you_mean(one, schema.names)}',
                hint=f"It has: {', '.join(schema.names[:20])}.",
            )
