"""How a table's schema may change without rewriting its files.

Columns may be added, and types may become wider where every reader turns the old values into
the new ones without loss. Everything else needs a rewrite, so it is refused.
"""

from __future__ import annotations

import re
from dataclasses import replace

from trunkline.errors import SchemaClash
from trunkline.model.tables import Column, Schema, TableSpec
from trunkline.model.types import VOID, parse_type

_INTEGERS = {"tinyint": 10, "smallint": 10, "int": 10, "bigint": 20}
"""With the digits that Spark wants left of the point to read them as a decimal."""

_WIDER = {
    "tinyint": ("smallint", "int", "bigint", "double"),
    "smallint": ("int", "bigint", "double"),
    "int": ("bigint", "double"),
    "float": ("double",),
    "date": ("timestamp_ntz",),
}
_MOST_DIGITS = 38
_decimal = re.compile(r"decimal\((\d+),\s*(\d+)\)").fullmatch


def united(old: Schema, new: Schema, where: str = "") -> Schema:
    """The schema that both fit into: columns of `old` in their order, then those only in `new`.

    Raises SchemaClash if there is none.
    """
    columns, clashes = [], []
    for column in old:
        other = new.find(column.name)
        if other is None:
            columns.append(replace(column, nullable=True))
            continue
        type_ = wider(column.type, other.type)
        if type_ is None:
            clashes.append(f"{column.name} is {column.type}, not {other.type}")
            type_ = column.type
        columns.append(Column(column.name, type_, column.nullable or other.nullable))
    # Rows that are there have no value for them.
    columns += [replace(c, nullable=True) for c in new if old.find(c.name) is None]
    if clashes:
        raise clash(old, new, "; ".join(clashes), where)
    return Schema(tuple(columns))


def wider(one: str, other: str) -> str | None:
    """The narrowest type that holds the values of both, or None."""
    if one == other or other == VOID:
        return one
    if one == VOID:
        return other
    if other in _WIDER.get(one, ()):
        return other
    if one in _WIDER.get(other, ()):
        return one
    if {one, other} <= {"tinyint", "smallint", "int", "float"}:
        return "double"
    return _wider_decimal(one, other) or _wider_nested(one, other)


def _wider_nested(one: str, other: str) -> str | None:
    """Fields of structs are added and widened as columns are; keys of maps stay as they are."""
    if "<" not in one or "<" not in other:
        return None
    first, second = parse_type(one), parse_type(other)
    if first.name != second.name:
        return None
    if first.name == "struct":
        fields = {name.casefold(): (name, type_) for name, type_ in first.fields}
        for name, type_ in second.fields:
            spelled, there = fields.get(name.casefold(), (name, type_))
            if (joined := wider(str(there), str(type_))) is None:
                return None
            fields[name.casefold()] = spelled, parse_type(joined)
        return str(replace(first, fields=tuple(fields.values())))
    inner = [
        wider(str(a), str(b)) for (_, a), (_, b) in zip(first.fields, second.fields, strict=True)
    ]
    if None in inner or (first.name == "map" and first.fields[0] != second.fields[0]):
        return None
    return str(replace(first, fields=tuple(("", parse_type(one)) for one in inner if one)))


def _wider_decimal(one: str, other: str) -> str | None:
    first, second = _digits(one), _digits(other)
    if first is None or second is None or not (_decimal(one) or _decimal(other)):
        return None
    whole, scale = max(first[0], second[0]), max(first[1], second[1])
    return f"decimal({whole + scale},{scale})" if whole + scale <= _MOST_DIGITS else None


def _digits(type_: str) -> tuple[int, int] | None:
    """How many there are before the point, and after it."""
    if found := _decimal(type_):
        precision, scale = int(found[1]), int(found[2])
        return precision - scale, scale
    return (_INTEGERS[type_], 0) if type_ in _INTEGERS else None


def schema_diff(old: Schema, new: Schema) -> list[str]:
    """What differs, a line for each column: `+ tip double`, `- note string`, `~ n int → string`."""
    lines = []
    for column in old:
        other = new.find(column.name)
        if other is None:
            lines.append(f"- {column.name} {column.type}")
        elif other.type != column.type:
            lines.append(f"~ {column.name} {column.type} → {other.type}")
    lines += [f"+ {c.name} {c.type}" for c in new if old.find(c.name) is None]
    return lines


def clash(old: Schema, new: Schema, what: str, where: str = "") -> SchemaClash:
    """The error for a schema that does not fit, with the columns that differ."""
    diff = schema_diff(old, new)
    return SchemaClash(
        "\n".join([f"The rows do not fit {where or 'the table'}: {what}.", *diff]),
        hint='Cast the columns, or replace the table with mode "overwrite".',
        diff=diff,
        table=[str(column) for column in old],
        given=[str(column) for column in new],
    )


def united_specs(base: TableSpec | None, ours: TableSpec, theirs: TableSpec) -> TableSpec | None:
    """A table that both sides of a merge described anew, if both only widened it."""
    alike = ("format", "partition_by", "options", "key")
    if any(getattr(ours, name) != getattr(theirs, name) for name in alike):
        return None
    try:
        schema = united(ours.schema, theirs.schema)
        for side in (ours, theirs):
            # A column that one side took away must not come back by the merge.
            if base is not None and united(base.schema, side.schema) != side.schema:
                return None
    except SchemaClash:
        return None
    evolved = ours.evolved or theirs.evolved or not schema == ours.schema == theirs.schema
    return replace(ours, schema=schema, evolved=evolved)
