"""Types of columns, from SQL to Arrow and from Arrow to SQL.

What tables of the lake have no type for comes as text: uuid, time, interval and enum as they are
written, json and arrays as JSON. A number without a precision is decimal(38,18).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa
    from sqlalchemy.types import TypeEngine

WIDEST = 38
_SCALE = 18
NO_NUMBERS = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def arrow_of(given: TypeEngine[Any], dialect: str) -> pa.DataType | None:
    """The type of a column that was looked up; None where only its values tell."""
    import pyarrow as pa
    from sqlalchemy import types

    sqlite = dialect == "sqlite"
    match given:
        case types.NullType():
            return None if sqlite else pa.string()
        case types.Boolean():
            return pa.bool_()
        case types.Integer():
            return _integer(given, sqlite)
        case types.Float():
            narrow = isinstance(given, types.REAL) or (given.precision or 53) <= 24
            return pa.float32() if narrow and not sqlite else pa.float64()
        case types.Numeric():
            return decimal(given.precision, given.scale)
        case types.DateTime():
            return pa.timestamp("us", "UTC" if given.timezone else None)
        case types.Date():
            return pa.date32()
        case types.LargeBinary() | types._Binary():
            return pa.binary()
    return pa.string()


def _integer(given: Any, sqlite: bool) -> pa.DataType:
    import pyarrow as pa
    from sqlalchemy import types

    unsigned = bool(getattr(given, "unsigned", False))
    if isinstance(given, types.BigInteger):
        return pa.decimal128(20, 0) if unsigned else pa.int64()
    if sqlite or unsigned:
        return pa.int64()
    return pa.int16() if isinstance(given, types.SmallInteger) else pa.int32()


def decimal(precision: int | None, scale: int | None) -> pa.DataType:
    import pyarrow as pa

    if precision is None:
        return pa.decimal128(WIDEST, _SCALE)
    if precision > WIDEST or (scale or 0) < 0 or (scale or 0) > precision:
        return pa.string()
    return pa.decimal128(precision, scale or 0)


def arrow_of_postgres(code: int, precision: int | None, scale: int | None) -> pa.DataType:
    """The type of a column of a query, by PostgreSQL's number for it."""
    import pyarrow as pa

    if code == 1700:
        return decimal(precision, scale)
    known: dict[int, pa.DataType] = {
        16: pa.bool_(),
        17: pa.binary(),
        20: pa.int64(),
        21: pa.int16(),
        23: pa.int32(),
        26: pa.int64(),
        700: pa.float32(),
        701: pa.float64(),
        1082: pa.date32(),
        1114: pa.timestamp("us"),
        1184: pa.timestamp("us", "UTC"),
    }
    return known.get(code, pa.string())


def plain(values: Sequence[Any], wanted: pa.DataType | None) -> Sequence[Any]:
    """Values as drivers give them, as Arrow takes them for a type."""
    import pyarrow.types as kinds

    if wanted is None:
        return [_text(one) if isinstance(one, dict | list) else one for one in values]
    if kinds.is_string(wanted):
        return [one if one is None or isinstance(one, str) else _text(one) for one in values]
    if kinds.is_decimal(wanted):
        return [_decimal(one) for one in values]
    if kinds.is_boolean(wanted):
        return [bool(one) if isinstance(one, int) and one in (0, 1) else one for one in values]
    if kinds.is_timestamp(wanted):
        return [_moment(one, wanted.tz is None) for one in values]
    if kinds.is_date(wanted):
        return [_day(one) for one in values]
    if kinds.is_binary(wanted):
        return [bytes(one) if isinstance(one, memoryview | bytearray) else one for one in values]
    return values


def _text(value: Any) -> str:
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, default=str)
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).decode(errors="backslashreplace")
    return str(value)


def _decimal(value: Any) -> Any:
    return Decimal(str(value)) if isinstance(value, int | float) else value


def _moment(value: Any, naive: bool) -> Any:
    """SQLite keeps times as text. One without a zone is meant in UTC."""
    from datetime import UTC

    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return value
    elif isinstance(value, date) and not isinstance(value, datetime):
        value = datetime.combine(value, time())
    if isinstance(value, datetime) and value.tzinfo is not None and naive:
        return value.astimezone(UTC).replace(tzinfo=None)
    if isinstance(value, datetime) and value.tzinfo is None and not naive:
        return value.replace(tzinfo=UTC)
    return value


def _day(value: Any) -> Any:
    if isinstance(value, str):
        try:
            return date.fromisoformat(value)
        except ValueError:
            return value
    return value.date() if isinstance(value, datetime) else value


# To SQL ------------------------------------------------------------------------------------


def sql_of(given: pa.DataType, *, key: bool = False) -> TypeEngine[Any]:
    """The type of a column that is made for values of Arrow. Nested ones are kept as JSON.

    Of a key it has a length, without which some databases have no index.
    """
    import pyarrow.types as kinds
    from sqlalchemy import types
    from sqlalchemy.dialects import mysql, oracle, postgresql

    if kinds.is_boolean(given):
        return types.Boolean()
    if kinds.is_int8(given) or kinds.is_int16(given):
        return types.SmallInteger()
    if kinds.is_int32(given):
        return types.Integer()
    if kinds.is_integer(given):
        return types.BigInteger()
    if kinds.is_float32(given):
        return types.REAL()
    if kinds.is_floating(given):
        return types.Double()
    if kinds.is_decimal(given):
        exact = types.Numeric(given.precision, given.scale)
        # A number of SQLite has no more digits: it would round the others away.
        return exact.with_variant(types.Text(), "sqlite") if given.precision > 15 else exact
    if kinds.is_timestamp(given):
        zoned = given.tz is not None
        return (
            types.DateTime(timezone=zoned)
            .with_variant(mysql.DATETIME(fsp=6), "mysql", "mariadb")
            .with_variant(oracle.TIMESTAMP(timezone=zoned), "oracle")
        )
    if kinds.is_date(given):
        return types.Date()
    if kinds.is_binary(given) or kinds.is_large_binary(given):
        return types.LargeBinary()
    if kinds.is_nested(given):
        return types.JSON().with_variant(postgresql.JSONB(), "postgresql")
    if key:
        return types.String(255).with_variant(types.Text(), "postgresql", "sqlite")
    return types.Text()


def python_values(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """A column as drivers take it. Nested values are JSON."""
    import pyarrow.types as kinds

    values: list[Any] = column.to_pylist()
    if kinds.is_nested(column.type):
        return [None if one is None else as_json(one) for one in values]
    return values


def as_json(value: Any) -> str:
    """What is no number is a text: JSON has no word for it."""
    try:
        return json.dumps(value, ensure_ascii=False, default=_json, allow_nan=False)
    except ValueError:
        return json.dumps(_spelt(value), ensure_ascii=False, default=_json)


def _spelt(value: Any) -> Any:
    if isinstance(value, float):
        return NO_NUMBERS.get(str(value), value)
    if isinstance(value, dict):
        return {name: _spelt(one) for name, one in value.items()}
    return [_spelt(one) for one in value] if isinstance(value, list | tuple) else value


def _json(value: Any) -> Any:
    import base64

    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return str(value)


def fits(given: pa.DataType, there: TypeEngine[Any]) -> bool:
    """Whether a column of a table that is there is of a kind that takes such values."""
    import pyarrow.types as kinds
    from sqlalchemy import types

    if isinstance(there, types.NullType | types.String | types.JSON):
        return not (
            isinstance(there, types.JSON) and not kinds.is_nested(given) and not _is_text(given)
        )
    if kinds.is_boolean(given):
        return isinstance(there, types.Boolean | types.Integer)
    if kinds.is_integer(given):
        return isinstance(there, types.Integer | types.Numeric | types.Float)
    if kinds.is_floating(given):
        return isinstance(there, types.Float | types.Numeric)
    if kinds.is_decimal(given):
        return isinstance(there, types.Numeric | types.Float)
    if kinds.is_timestamp(given):
        return isinstance(there, types.DateTime)
    if kinds.is_date(given):
        return isinstance(there, types.Date | types.DateTime)
    if kinds.is_binary(given) or kinds.is_large_binary(given):
        return isinstance(there, types.LargeBinary | types._Binary)
    # Text goes into uuid, enum, inet … if the database takes it for one.
    return _is_text(given) and not isinstance(
        there, types.Integer | types.Numeric | types.Float | types.Boolean | types.DateTime
        | types.Date | types.LargeBinary
    )  # fmt: skip


def _is_text(given: pa.DataType) -> bool:
    import pyarrow.types as kinds

    return bool(kinds.is_string(given) or kinds.is_large_string(given))
