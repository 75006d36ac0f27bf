"""Types of columns: the text that Spark SQL writes, and the same in Arrow and DuckDB.

`timestamp` is a moment in UTC, `timestamp_ntz` a wall clock without a zone. `void`, the type of a
column that is null throughout, is kept only while schemas are being found: tables have `string`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from trunkline.errors import Usage
from trunkline.model.tables import Column, Schema

if TYPE_CHECKING:
    import pyarrow as pa

INTEGERS = ("tinyint", "smallint", "int", "bigint")
VOID = "void"

_DUCKDB = {
    "boolean": "BOOLEAN",
    "tinyint": "TINYINT",
    "smallint": "SMALLINT",
    "int": "INTEGER",
    "bigint": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "string": "VARCHAR",
    "binary": "BLOB",
    "date": "DATE",
    "timestamp": "TIMESTAMP WITH TIME ZONE",
    "timestamp_ntz": "TIMESTAMP",
    VOID: "VARCHAR",
}
_SYNONYMS = {
    "bool": "boolean",
    "byte": "tinyint",
    "short": "smallint",
    "integer": "int",
    "long": "bigint",
    "real": "float",
    "dec": "decimal",
    "numeric": "decimal",
    "varchar": "string",
    "char": "string",
    "timestamp_ltz": "timestamp",
    "null": VOID,
}
_TOKEN = re.compile(r"\s*(`(?:[^`]|``)*`|[^\s<>(),:`]+|[<>(),:])")
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


@dataclass(frozen=True, slots=True)
class DataType:
    """A type as a value. `fields` are those of a struct; of an array or map they have no names."""

    name: str
    precision: int = 0
    scale: int = 0
    fields: tuple[tuple[str, DataType], ...] = ()

    def __str__(self) -> str:
        inner = [type_ for _, type_ in self.fields]
        match self.name:
            case "decimal":
                return f"decimal({self.precision},{self.scale})"
            case "array" | "map":
                return f"{self.name}<{','.join(map(str, inner))}>"
            case "struct":
                return f"struct<{','.join(f'{_quoted(n)}:{t}' for n, t in self.fields)}>"
        return self.name


@lru_cache(maxsize=4096)
def parse_type(text: str) -> DataType:
    """A type from its text. Raises ValueError."""
    tokens = _TOKEN.findall(text)
    if _TOKEN.sub("", text).strip() or not tokens:
        raise ValueError(f"cannot read the type {text!r}")
    try:
        found, rest = _read(tokens)
    except IndexError:
        raise ValueError(f"the type {text!r} breaks off") from None
    if rest:
        raise ValueError(f"the type {text!r} cannot be read from {rest[0]!r} on")
    return found


def normalize(text: str) -> str:
    """The one spelling of a type: int for INTEGER, decimal(10,0) for dec. Raises ValueError."""
    return str(parse_type(text))


def to_arrow_type(text: str) -> pa.DataType:
    return _arrow(parse_type(text))


def to_duckdb_type(text: str) -> str:
    return _duckdb(parse_type(text))


def to_arrow(schema: Schema) -> pa.Schema:
    import pyarrow as pa

    return pa.schema(
        [pa.field(one.name, to_arrow_type(one.type), one.nullable) for one in schema.columns]
    )


def from_arrow(schema: pa.Schema, where: str = "") -> Schema:
    """The columns as a table has them; `Usage` names a column that no table can hold."""
    columns = []
    for field in schema:
        try:
            columns.append(Column(field.name, str(from_arrow_type(field.type)), field.nullable))
        except ValueError:
            raise unsupported(field.name, str(field.type), where) from None
    return Schema(tuple(columns))


def unsupported(column: str, type_: str, where: str) -> Usage:
    place = f" of {where}" if where else ""
    return Usage(
        f'Column "{column}"{place} has the type {type_}, which tables cannot hold.',
        hint="Write it as another type, for example as string or bigint.",
    )


def from_arrow_type(given: pa.DataType) -> DataType:
    """Raises ValueError for a type that Spark does not have."""
    import pyarrow.types as kinds

    if name := _scalars().get(given):
        return DataType(name)
    if kinds.is_timestamp(given):
        return DataType("timestamp_ntz" if given.tz is None else "timestamp")
    if kinds.is_decimal(given) and given.precision <= 38 and given.scale >= 0:
        return DataType("decimal", given.precision, given.scale)
    if kinds.is_uint64(given):
        return DataType("decimal", 20, 0)
    if kinds.is_dictionary(given) or kinds.is_run_end_encoded(given):
        return from_arrow_type(given.value_type)
    if kinds.is_fixed_size_binary(given):
        return DataType("binary")
    if kinds.is_map(given):
        key, item = from_arrow_type(given.key_type), from_arrow_type(given.item_type)
        return DataType("map", fields=(("", key), ("", item)))
    if kinds.is_list(given) or kinds.is_large_list(given) or kinds.is_fixed_size_list(given):
        return DataType("array", fields=(("", from_arrow_type(given.value_type)),))
    if kinds.is_struct(given):
        return DataType("struct", fields=tuple((f.name, from_arrow_type(f.type)) for f in given))
    if hasattr(given, "storage_type"):
        return from_arrow_type(given.storage_type)
    raise ValueError(str(given))


@lru_cache(maxsize=1)
def _scalars() -> dict[pa.DataType, str]:
    import pyarrow as pa

    # Unsigned numbers as Spark reads them: in the next wider type.
    return {
        pa.bool_(): "boolean",
        pa.int8(): "tinyint",
        pa.int16(): "smallint",
        pa.int32(): "int",
        pa.int64(): "bigint",
        pa.uint8(): "smallint",
        pa.uint16(): "int",
        pa.uint32(): "bigint",
        pa.float16(): "float",
        pa.float32(): "float",
        pa.float64(): "double",
        pa.string(): "string",
        pa.large_string(): "string",
        pa.string_view(): "string",
        pa.binary(): "binary",
        pa.large_binary(): "binary",
        pa.binary_view(): "binary",
        pa.date32(): "date",
        pa.date64(): "date",
        pa.null(): VOID,
    }


@lru_cache(maxsize=4096)
def _arrow(given: DataType) -> pa.DataType:
    import pyarrow as pa

    inner = [_arrow(type_) for _, type_ in given.fields]
    match given.name:
        case "decimal":
            return pa.decimal128(given.precision, given.scale)
        case "array":
            return pa.list_(inner[0])
        case "map":
            return pa.map_(inner[0], inner[1])
        case "struct":
            names = [name for name, _ in given.fields]
            return pa.struct(list(zip(names, inner, strict=True)))
        case "timestamp":
            return pa.timestamp("us", "UTC")
        case "timestamp_ntz":
            return pa.timestamp("us")
        case "boolean":
            return pa.bool_()
        case "tinyint" | "smallint" | "int" | "bigint":
            return (pa.int8(), pa.int16(), pa.int32(), pa.int64())[INTEGERS.index(given.name)]
        case "float":
            return pa.float32()
        case "double":
            return pa.float64()
        case "binary":
            return pa.binary()
        case "date":
            return pa.date32()
    return pa.string()


def _duckdb(given: DataType) -> str:
    inner = [_duckdb(type_) for _, type_ in given.fields]
    match given.name:
        case "decimal":
            return f"DECIMAL({given.precision},{given.scale})"
        case "array":
            return f"{inner[0]}[]"
        case "map":
            return f"MAP({inner[0]}, {inner[1]})"
        case "struct":
            names = ['"' + name.replace('"', '""') + '"' for name, _ in given.fields]
            return f"STRUCT({', '.join(f'{n} {t}' for n, t in zip(names, inner, strict=True))})"
    return _DUCKDB[given.name]


def _read(tokens: list[str]) -> tuple[DataType, list[str]]:
    """One type from the front of the tokens, and what follows it."""
    name = tokens[0].lower()
    name, rest = _SYNONYMS.get(name, name), tokens[1:]
    if name == "decimal":
        return _decimal(rest)
    if name in ("array", "map", "struct"):
        return _nested(name, rest)
    if name not in _DUCKDB:
        raise ValueError(f"there is no type {tokens[0]!r}")
    if name == "string" and rest and rest[0] == "(":  # varchar(20)
        rest = rest[rest.index(")") + 1 :]
    return DataType(name), rest


def _decimal(rest: list[str]) -> tuple[DataType, list[str]]:
    if not rest or rest[0] != "(":
        return DataType("decimal", 10, 0), rest
    numbers = [int(token) for token in rest[1 : rest.index(")")] if token != ","]
    precision, scale = (*numbers, 0)[:2]
    if not (len(numbers) in (1, 2) and 0 < precision <= 38 and 0 <= scale <= precision):
        raise ValueError("a decimal has up to 38 digits, not all of them behind the point")
    return DataType("decimal", precision, scale), rest[rest.index(")") + 1 :]


def _nested(name: str, rest: list[str]) -> tuple[DataType, list[str]]:
    _expect(rest[0], "<")
    fields: list[tuple[str, DataType]] = []
    while rest[0] != ">":
        rest, label = rest[1:], ""
        if name == "struct":
            if rest[0] == ">":
                break
            label = rest[0]
            if label.startswith("`"):
                label = label[1:-1].replace("``", "`")
            rest = rest[2:] if rest[1] == ":" else rest[1:]
        type_, rest = _read(rest)
        fields.append((label, type_))
        if [token.lower() for token in rest[:2]] == ["not", "null"]:
            rest = rest[2:]
        _expect(rest[0], ",", ">")
    if name != "struct" and len(fields) != (1 if name == "array" else 2):
        raise ValueError(f"{name} has the wrong number of types in it")
    return DataType(name, fields=tuple(fields)), rest[1:]


def _expect(token: str, *wanted: str) -> None:
    if token not in wanted:
        raise ValueError(f"{token!r} stands where {' or '.join(wanted)} should")


def _quoted(name: str) -> str:
    return name if _PLAIN.match(name) else "`" + name.replace("`", "``") + "`"
