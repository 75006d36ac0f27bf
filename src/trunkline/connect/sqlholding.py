"""Values that a column of a database cannot hold: refused before they are sent, by name.

Databases round digits away and store NaN as null without a word, or fail without the column.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from trunkline.connect.sqltypes import NO_NUMBERS
from trunkline.errors import Precondition

if TYPE_CHECKING:
    import pyarrow as pa
    from sqlalchemy.types import TypeEngine

_FINITE = ("mysql", "mariadb", "mssql")
"""Dialects of databases whose numbers are all finite."""
_DAYS = (-719_162, 2_932_896)
"""The years 1 to 9999, as days since 1970."""
_DAY = 86_400_000_000


def refuse_unheld(
    batch: pa.RecordBatch, there: Mapping[str, TypeEngine[Any]], dialect: str, table: str
) -> None:
    """`there` are the columns of the table, as far as they are known."""
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        flaw = _flaw(column, there.get(name), dialect)
        if flaw:
            raise Precondition(
                f"{name} of {table} cannot hold {flaw} ({dialect}).",
                hint="Nothing was delivered. Write null or a text in its place, or another column.",
            )


def _flaw(column: pa.Array, there: TypeEngine[Any] | None, dialect: str) -> str:
    import pyarrow.types as kinds

    if kinds.is_floating(column.type):
        return _number(column, there, dialect)
    if kinds.is_decimal(column.type):
        return _digits(column, _scale(there, dialect))
    if kinds.is_date(column.type) or kinds.is_timestamp(column.type):
        return _time(column, there, dialect)
    return ""


def _number(column: pa.Array, there: TypeEngine[Any] | None, dialect: str) -> str:
    from pyarrow import compute as pc

    if odd := _odd(column, finite=dialect in _FINITE) if dialect in (*_FINITE, "sqlite") else "":
        return odd
    scale = _scale(there, dialect)
    if scale is None:
        return ""
    lost = pc.and_(pc.is_finite(column), pc.not_equal(pc.round(column, scale), column))
    return _first(column, lost, f"with {scale} digits behind the point")


def _odd(column: pa.Array, *, finite: bool) -> str:
    """The first value that is NaN, or with `finite` an infinity."""
    from pyarrow import compute as pc

    odd = pc.invert(pc.is_finite(column)) if finite else pc.is_nan(column)
    return NO_NUMBERS.get(_first(column, odd), "")


def _digits(column: pa.Array, scale: int | None) -> str:
    import pyarrow as pa
    from pyarrow import compute as pc

    if scale is None or column.type.scale <= scale:
        return ""
    wide = column.cast(pa.decimal256(76, column.type.scale))  # 9.99 rounded has a digit more
    lost = pc.not_equal(pc.round(wide, scale), wide)
    return _first(column, lost, f"with {scale} digits behind the point")


def _scale(there: TypeEngine[Any] | None, dialect: str) -> int | None:
    """Where the column rounds."""
    from sqlalchemy import types

    rounds = isinstance(there, types.Numeric) and not isinstance(there, types.Float)
    return there.scale if rounds and dialect != "sqlite" else None  # type: ignore[union-attr]


def _time(column: pa.Array, there: TypeEngine[Any] | None, dialect: str) -> str:
    import pyarrow as pa
    import pyarrow.types as kinds
    from pyarrow import compute as pc

    is_day = kinds.is_date(column.type)
    count = column.cast(pa.int32() if is_day else pa.timestamp("us", column.type.tz))
    count = count.cast(pa.int64())
    first, last = _DAYS if is_day else (_DAYS[0] * _DAY, (_DAYS[1] + 1) * _DAY - 1)
    bounds = pc.min_max(count).as_py()
    if bounds["min"] is not None and (bounds["min"] < first or bounds["max"] > last):
        return "days outside the years 1 to 9999"
    digits = 6 if is_day else _fraction(there, dialect)
    unit = 10 ** (6 - digits)
    lost = pc.not_equal(pc.multiply(pc.divide(count, unit), unit), count)
    if digits < 6 and pc.any(lost).as_py():
        return f"fractions of a second with more than {digits} digits"
    return ""


def _fraction(there: TypeEngine[Any] | None, dialect: str) -> int:
    if there is None:
        return 6
    if dialect in ("mysql", "mariadb"):
        return getattr(there, "fsp", None) or 0
    found = getattr(there, "precision", None)
    return 6 if found is None or dialect != "postgresql" else int(found)


def _first(column: pa.Array, chosen: pa.Array, more: str = "") -> str:
    from pyarrow import compute as pc

    found = pc.index(chosen, True).as_py()
    return f"{column[found].as_py()} {more}".strip() if found >= 0 else ""
