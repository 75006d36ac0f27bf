"""Types of columns in Arrow and DuckDB."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from trunkline.errors import Usage
from trunkline.model.tables import Column, Schema
from trunkline.model.types import INTEGERS, VOID, DataType, parse_type

if TYPE_CHECKING:
    import pyarrow as pa

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
