"""One schema for several files: columns that were added, types that were widened."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from trunkline.errors import Precondition, Usage
from trunkline.model.tables import Column, Schema
from trunkline.model.types import INTEGERS, VOID, DataType, parse_type, without_void

_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}


def unite(named: Iterable[tuple[str, Schema]], where: str, lenient: bool = False) -> Schema:
    """The schema that holds the rows of all files; each comes with the path of one of its files.

    Refused if a column has types that nothing holds exactly. `lenient`, for text, takes string.
    """
    order: dict[str, tuple[str, DataType, str]] = {}
    for path, schema in named:
        for column in schema.columns:
            folded = column.name.casefold()
            type_ = parse_type(column.type)
            if folded not in order:
                order[folded] = (column.name, type_, path)
                continue
            name, before, first = order[folded]
            joined = wider(before, type_, lenient)
            if joined is None:
                raise _differ(where, column.name, (first, before), (path, type_))
            if joined != before:
                order[folded] = (name, joined, path if joined == type_ else first)
    return Schema(tuple(Column(name, str(type_)) for name, type_, _ in order.values()))


def settled(schema: Schema) -> Schema:
    """What is null in all files becomes text."""
    return Schema(tuple(_settled(column) for column in schema.columns))


def refuse_twins(names: Iterable[str], where: str) -> None:
    """Spark does not tell `id` from `ID`: such tables can be read by nobody."""
    seen: dict[str, str] = {}
    for name in names:
        folded = name.casefold()
        if folded in seen:
            other = seen[folded]
            what = f'"{name}" twice' if other == name else f'"{other}" and "{name}"'
            raise Precondition(
                f"{where} has the columns {what}, which are the same to Spark.",
                hint="Give one of them another name and put the file again.",
            )
        seen[folded] = name


def wider(one: DataType, two: DataType, lenient: bool) -> DataType | None:
    """The type that holds the values of both, or None."""
    if one == two or two.name == VOID:
        return one
    if one.name == VOID:
        return two
    if one.name == two.name and one.fields:
        return _nested(one, two, lenient)
    return _scalar(one, two, lenient) or (DataType("string") if lenient else None)


def _scalar(one: DataType, two: DataType, lenient: bool) -> DataType | None:
    names = {one.name, two.name}
    if names <= set(INTEGERS):
        return max(one, two, key=lambda type_: INTEGERS.index(type_.name))
    if names == {"float", "double"}:
        return DataType("double")
    if "double" in names and names & {"tinyint", "smallint", "int"}:
        return DataType("double")
    if lenient and names == {"bigint", "double"}:
        return DataType("double")
    if lenient and names == {"date", "timestamp_ntz"}:
        return DataType("timestamp_ntz")
    if "decimal" in names and names <= {"decimal", *INTEGERS}:
        return _decimal(_as_decimal(one), _as_decimal(two))
    return None


def _as_decimal(given: DataType) -> DataType:
    return DataType("decimal", _DIGITS[given.name]) if given.name in _DIGITS else given


def _decimal(one: DataType, two: DataType) -> DataType | None:
    scale = max(one.scale, two.scale)
    whole = max(one.precision - one.scale, two.precision - two.scale)
    return DataType("decimal", whole + scale, scale) if whole + scale <= 38 else None


def _nested(one: DataType, two: DataType, lenient: bool) -> DataType | None:
    if one.name != "struct":
        pairs = zip(one.fields, two.fields, strict=True)
        inner = [wider(a, b, lenient) for (_, a), (_, b) in pairs]
        if None in inner:
            return None
        return DataType(one.name, fields=tuple(("", type_) for type_ in inner if type_))
    # As columns: by name, whatever their order, and upper and lower case are the same.
    fields = {name.casefold(): (name, type_) for name, type_ in one.fields}
    for name, type_ in two.fields:
        spelled, there = fields.get(name.casefold(), (name, type_))
        joined = wider(there, type_, lenient)
        if joined is None:
            return None
        fields[name.casefold()] = spelled, joined
    return DataType("struct", fields=tuple(fields.values()))


def read_as(wanted: DataType, own: DataType) -> DataType:
    """How a reader that goes by name is to read a file: the table's fields, of the file's types."""
    if wanted.name != own.name or not wanted.fields:
        return own
    if wanted.name != "struct":
        pairs = zip(wanted.fields, own.fields, strict=True)
        return replace(wanted, fields=tuple(("", read_as(a, b)) for (_, a), (_, b) in pairs))
    has = {name.casefold(): type_ for name, type_ in own.fields}
    return replace(
        wanted,
        fields=tuple(
            (name, read_as(type_, has.get(name.casefold(), type_))) for name, type_ in wanted.fields
        ),
    )


def _settled(column: Column) -> Column:
    if VOID not in column.type:
        return column
    return Column(column.name, str(without_void(parse_type(column.type))), column.nullable)


def _differ(
    where: str, column: str, one: tuple[str, DataType], two: tuple[str, DataType]
) -> Usage | Precondition:
    return Precondition(
        f'The files of {where} do not fit together: column "{column}" is {one[1]} in {one[0]} '
        f"and {two[1]} in {two[0]}.",
        hint="Write one of them again with the other's type, or keep them in two folders.",
    )
