"""What is known of a file's columns, as Iceberg writes it: counts, and bounds as bytes."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Context, Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from trunkline.errors import Precondition
from trunkline.model.tables import ScanFile, Schema
from trunkline.model.types import DataType, parse_type
from trunkline.tables.layout import hive_values
from trunkline.tables.pathvalues import scalar_of
from trunkline.tables.values import parse_stats, read_bounds

if TYPE_CHECKING:
    from pyiceberg.schema import Schema as IcebergSchema
    from pyiceberg.types import PrimitiveType

_EXACT = Context(prec=76)


@dataclass(slots=True)
class Metrics:
    """By the number of a field: how many values and nulls, the least and greatest value."""

    values: dict[int, int] = field(default_factory=dict)
    nulls: dict[int, int] = field(default_factory=dict)
    lower: dict[int, bytes] = field(default_factory=dict)
    upper: dict[int, bytes] = field(default_factory=dict)


class Bounds:
    """Translates for the files of one table."""

    def __init__(self, schema: Schema, iceberg: IcebergSchema) -> None:
        from pyiceberg.types import PrimitiveType

        self._columns: dict[str, tuple[int, PrimitiveType, DataType]] = {}
        for column, one in zip(schema, iceberg.fields, strict=True):
            if isinstance(one.field_type, PrimitiveType):
                found = (one.field_id, one.field_type, parse_type(column.type))
                self._columns[column.name.casefold()] = found

    def of(self, file: ScanFile) -> Metrics:
        """What is not known, or does not fit the column's type, is left out."""
        from pyiceberg.conversions import to_bytes

        found = Metrics()
        for name, told in parse_stats(file.stats).items():
            column = self._columns.get(name)
            if column is None:
                continue
            number, type_, kind = column
            known = read_bounds(kind, told)
            if file.rows is not None and known.nulls is not None:
                found.values[number] = file.rows
                found.nulls[number] = known.nulls
            if kind.name == "boolean":
                continue
            for value, bounds in ((known.least, found.lower), (known.greatest, found.upper)):
                if value is not None:
                    with suppress(ValueError, TypeError, ArithmeticError, struct.error):
                        fitting = _decimal(value, kind.scale) if kind.name == "decimal" else value
                        bounds[number] = to_bytes(type_, fitting)
        return found

    def values(self, columns: Schema, folder: str, file: ScanFile) -> list[Any]:
        """What the folders of a file below that of its table say, in the types of their columns."""
        found = hive_values(file.path[len(folder.rstrip("/")) + 1 :])
        texts = {name.casefold(): text for name, text in found.items()}
        return folder_values(
            columns, [texts.get(one.name.casefold()) for one in columns], file.path
        )


def folder_values(columns: Schema, texts: Sequence[str | None], path: str) -> list[Any]:
    """The texts of a file's folders as values; Precondition names one that does not fit."""
    found = []
    for column, text in zip(columns, texts, strict=True):
        try:
            found.append(None if text is None else _value(text, column.type))
        except ValueError:
            raise Precondition(
                f'{path} does not fit: "{text}" is no {column.type}.',
                hint=f"Move it to another folder, or record {column.name} as string.",
            ) from None
    return found


def _decimal(value: Decimal, scale: int) -> Decimal:
    found = value.quantize(Decimal(1).scaleb(-scale), context=_EXACT)
    if found != value:
        raise ValueError(f"{value} has more digits than its column")
    return found


@lru_cache(maxsize=4096)
def _value(text: str, type_: str) -> Any:
    """A folder's text as Avro holds it: days and moments are counted from 1970 on."""
    import pyarrow as pa

    value = scalar_of(text, type_)
    if pa.types.is_timestamp(value.type):
        return value.cast(pa.int64()).as_py()
    return value.cast(pa.int32()).as_py() if pa.types.is_date(value.type) else value.as_py()
