"""What is known of a file's columns, as Iceberg writes it: counts, and bounds as bytes."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from decimal import Context, Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from trunkline.errors import Precondition
from trunkline.model.tables import ScanFile, Schema
from trunkline.model.types import parse_type
from trunkline.tables.layout import hive_values
from trunkline.tables.pathvalues import scalar_of

if TYPE_CHECKING:
    from pyiceberg.schema import Schema as IcebergSchema
    from pyiceberg.types import PrimitiveType

_EXACT = Context(prec=76)
_INTEGERS = ("tinyint", "smallint", "int", "bigint", "timestamp", "timestamp_ntz")


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

        self._columns: dict[str, tuple[int, PrimitiveType, Callable[[Any], Any]]] = {}
        for column, one in zip(schema, iceberg.fields, strict=True):
            if isinstance(one.field_type, PrimitiveType):
                found = (one.field_id, one.field_type, _plain(column.type))
                self._columns[column.name.casefold()] = found

    def of(self, file: ScanFile) -> Metrics:
        """What is not known, or does not fit the column's type, is left out."""
        from pyiceberg.conversions import to_bytes

        found = Metrics()
        stats = json.loads(file.stats, parse_float=Decimal) if file.stats else {}
        for name, (least, greatest, nulls) in stats.items():
            column = self._columns.get(name.casefold())
            if column is None:
                continue
            number, type_, plain = column
            if file.rows is not None:
                found.values[number] = file.rows
                found.nulls[number] = nulls
            for value, bounds in ((least, found.lower), (greatest, found.upper)):
                if value is not None:
                    with suppress(ValueError, TypeError, ArithmeticError, struct.error):
                        bounds[number] = to_bytes(type_, plain(value))
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


def _plain(type_: str) -> Callable[[Any], Any]:
    """From a bound as our statistics have it to one as Iceberg takes it."""
    kind = parse_type(type_)
    if kind.name == "decimal":
        step = Decimal(1).scaleb(-kind.scale)
        return lambda value: _decimal(Decimal(value), step)
    if kind.name in _INTEGERS:
        return _whole
    if kind.name in ("float", "double"):
        return float
    if kind.name == "date":
        return date.fromisoformat
    return _text if kind.name == "string" else _unknown


def _decimal(value: Decimal, step: Decimal) -> Decimal:
    found = value.quantize(step, context=_EXACT)
    if found != value:
        raise ValueError(f"{value} has more digits than its column")
    return found


def _whole(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{value!r} is no whole number")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _unknown(value: Any) -> Any:
    raise TypeError("its order is not ours to tell")


@lru_cache(maxsize=4096)
def _value(text: str, type_: str) -> Any:
    """A folder's text as Avro holds it: days and moments are counted from 1970 on."""
    import pyarrow as pa

    value = scalar_of(text, type_)
    if pa.types.is_timestamp(value.type):
        return value.cast(pa.int64()).as_py()
    return value.cast(pa.int32()).as_py() if pa.types.is_date(value.type) else value.as_py()
