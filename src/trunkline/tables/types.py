"""Types of columns in Arrow and DuckDB."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from trunkline.errors import Usage
from trunkline.model.tables import Column, Schema
from trunkline.model.types import INTEGERS, VOID, DataType, parse_type, refused, without_void

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


def respelled(given: pa.DataType, wanted: pa.DataType) -> pa.DataType:
    """`given` with fields of structs spelled as in `wanted`: Arrow tells upper from lower case."""
    import pyarrow as pa
    import pyarrow.types as kinds

    if kinds.is_struct(given) and kinds.is_struct(wanted):
        spelled = {field.name.casefold(): field for field in wanted}
        fields = []
        for field in given:
            if there := spelled.get(field.name.casefold()):
                field = field.with_name(there.name).with_type(respelled(field.type, there.type))
            fields.append(field)
        return pa.struct(fields)
    if kinds.is_map(given) and kinds.is_map(wanted):
        key, item = given.key_field, given.item_field
        return pa.map_(
            key.with_type(respelled(key.type, wanted.key_type)),
            item.with_type(respelled(item.type, wanted.item_type)),
        )
    if kinds.is_list(given) and kinds.is_list(wanted):
        inner = given.value_field
        return pa.list_(inner.with_type(respelled(inner.type, wanted.value_type)))
    if kinds.is_large_list(given) and kinds.is_list(wanted):
        inner = given.value_field
        return pa.large_list(inner.with_type(respelled(inner.type, wanted.value_type)))
    return given


def cast(values: Any, type_: pa.DataType) -> Any:
    """Values brought to a type: structs by name, times cut to the microseconds that all have."""
    from pyarrow import compute

    if values.type == type_:
        return values
    if (alike := respelled(values.type, type_)) != values.type:
        values = values.view(alike)
    options = compute.CastOptions(target_type=type_, allow_time_truncate=True)
    return compute.cast(values, options=options)


def from_arrow(schema: pa.Schema, where: str = "") -> Schema:
    """The columns as a table has them; `Usage` names a column that no table can hold."""
    columns = []
    for field in schema:
        try:
            type_ = from_arrow_type(field.type)
        except ValueError:
            raise unsupported(field.name, str(field.type), where) from None
        if type_.fields and (found := refused(without_void(type_), field.name)):
            place = f" of {where}" if where else ""
            raise Usage(f'Column "{field.name}"{place} has {found.why}.', hint=found.hint)
        columns.append(Column(field.name, str(type_), field.nullable))
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
