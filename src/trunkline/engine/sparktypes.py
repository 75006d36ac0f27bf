"""Types of Spark as ours, from the types themselves: their text quotes no names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trunkline.errors import TransformFailed
from trunkline.model.tables import Column, Schema
from trunkline.model.types import DataType, Refusal, refused

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql.types import StructType


def type_of(given: Any) -> DataType:
    """A type; one that tables do not have has Spark's text for its name.

    Types that users define, such as vectors, are what they are stored as.
    """
    from pyspark.sql import types

    match given:
        case types.UserDefinedType():
            return type_of(given.sqlType())
        case types.StructType():
            return DataType("struct", fields=tuple((f.name, type_of(f.dataType)) for f in given))
        case types.ArrayType():
            return DataType("array", fields=(("", type_of(given.elementType)),))
        case types.MapType():
            return DataType(
                "map", fields=(("", type_of(given.keyType)), ("", type_of(given.valueType)))
            )
        case types.DecimalType():
            return DataType("decimal", given.precision, given.scale)
        case types.CharType() | types.VarcharType():
            return DataType("string")
    return DataType(given.simpleString())


def columns_of(given: StructType) -> Schema:
    """The columns of a schema of Spark, as ours."""
    return Schema(tuple(Column(one.name, str(type_of(one.dataType))) for one in given.fields))


def refusals(given: StructType) -> Iterator[tuple[str, Refusal]]:
    """The columns that no table holds, each with why."""
    for one in given.fields:
        if why := refused(type_of(one.dataType), one.name):
            yield one.name, why


def refuse_types(where: str, given: StructType) -> None:
    """Refuse what would be written and read by nobody, or by some in another way."""
    for name, (why, hint) in refusals(given):
        raise TransformFailed(f"{where}: the column {name} has {why}.", hint=hint)
