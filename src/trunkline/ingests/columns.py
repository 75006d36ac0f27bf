"""Values as JSON and Python have them, made columns of a table: exactly, or not at all.

Arrow alone would cut 1.5 to 1 for a column of whole numbers, and take true for 1.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from trunkline.model.types import INTEGERS, DataType, parse_type
from trunkline.tables.types import from_arrow_type, to_arrow_type

if TYPE_CHECKING:
    import pyarrow as pa

Bad = dict[int, str]
"""By its place, why a value does not fit."""

_FAILURES = (ValueError, TypeError, OverflowError, ArithmeticError)
"""Arrow's own are among them: ArrowInvalid is a ValueError, ArrowTypeError a TypeError."""


def without(table: pa.Table, bad: Bad) -> pa.Table:
    """The rows that fit; none may be left."""
    import pyarrow as pa

    good = [at for at in range(table.num_rows) if at not in bad] if bad else None
    return table if good is None else table.take(pa.array(good, pa.int64()))


def column(values: Sequence[Any], type_: str) -> tuple[pa.Array, Bad]:
    """A column of the table's type; null, and named among the bad, where a value does not fit."""
    import pyarrow as pa

    kind = parse_type(type_)
    try:
        return _whole(values, kind), {}
    except _FAILURES:
        pass
    good, bad = list(values), Bad()
    for place, value in enumerate(values):
        if value is None:
            continue
        try:
            _whole([value], kind)
        except _FAILURES:
            good[place] = None
            bad[place] = f"{_shown(value)} is no {type_}"
    try:
        return _whole(good, kind), bad
    except _FAILURES as error:
        # Each fits alone and all of them do not: whole numbers past 2^53 beside fractions.
        reason = str(error).splitlines()[0]
        places = [place for place, value in enumerate(good) if value is not None]
        nulls = pa.nulls(len(values), to_arrow_type(type_))
        return nulls, {**dict.fromkeys(places, reason), **bad}


def guessed(values: Sequence[Any]) -> str | None:
    """The type of a column nobody has described; None while it has nothing but nulls.

    Text stays text: whether it is a time is for a schema to say. The first value decides where
    they differ.
    """
    import pyarrow as pa

    try:
        found = pa.array(values)
    except _FAILURES:
        try:
            found = pa.array([next(value for value in values if value is not None)])
        except _FAILURES:
            return "string"
    try:
        settled = _settled(from_arrow_type(found.type))
    except ValueError:
        return "string"
    return str(settled) if settled is not None else None


def _settled(kind: DataType) -> DataType | None:
    """Without what is null so far, which may become anything."""
    if kind.name == "void":
        return None
    if not kind.fields and kind.name not in ("struct", "array", "map"):
        return kind
    fields = [(name, _settled(type_)) for name, type_ in kind.fields]
    if kind.name != "struct" and any(type_ is None for _, type_ in fields):
        return None
    known = tuple((name, type_) for name, type_ in fields if type_ is not None)
    return DataType(kind.name, kind.precision, kind.scale, known) if known else None


def _whole(values: Sequence[Any], kind: DataType) -> pa.Array:
    """All of them at once. Raises one of `_FAILURES`."""
    import pyarrow as pa
    import pyarrow.types as kinds
    from pyarrow import compute

    wanted = to_arrow_type(str(kind))
    if kind.fields:
        return pa.array([_nested(value, kind) for value in values], wanted)
    if kind.name in ("string", "binary", "decimal"):
        return pa.array([_scalar(value, kind) for value in values], wanted)
    found = pa.array(values)
    if kinds.is_null(found.type) or found.type == wanted:
        return found.cast(wanted)
    if kinds.is_boolean(found.type) or kind.name == "boolean":
        raise TypeError("a truth value is no number")
    if kinds.is_string(found.type) and kind.name in ("date", "timestamp", "timestamp_ntz"):
        return _times(found, kind, wanted)
    numbers = kinds.is_integer(found.type) or kinds.is_floating(found.type)
    if numbers != (kind.name in (*INTEGERS, "float", "double")):
        raise TypeError("a number is no time")
    if kind.name == "float" and kinds.is_floating(found.type):
        return found.cast(wanted, safe=False)
    options = compute.CastOptions(target_type=wanted, allow_time_truncate=True)
    return compute.cast(found, options=options)


def _times(found: pa.Array, kind: DataType, wanted: pa.DataType) -> pa.Array:
    """Texts of ISO 8601. A moment without a zone is one of UTC, as sessions of Spark have it."""
    import pyarrow as pa
    from pyarrow import compute

    try:
        return compute.cast(found, wanted)
    except pa.ArrowInvalid:
        if kind.name == "date":
            raise
    moments = [None if text is None else _moment(text) for text in found.to_pylist()]
    if kind.name == "timestamp_ntz":
        moments = [None if one is None else one.replace(tzinfo=None) for one in moments]
    return pa.array(moments, wanted)


def _moment(text: str) -> datetime:
    from datetime import UTC

    found = datetime.fromisoformat(text)
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


def _nested(value: Any, kind: DataType) -> Any:
    """A value with all that is in it. What a struct does not name is left out."""
    if value is None:
        return None
    if kind.name == "struct":
        if not isinstance(value, Mapping):
            raise TypeError(f"{_shown(value)} is no object")
        return {name: _nested(value.get(name), type_) for name, type_ in kind.fields}
    if kind.name == "map":
        if not isinstance(value, Mapping):
            raise TypeError(f"{_shown(value)} is no object")
        key, item = (type_ for _, type_ in kind.fields)
        return [(_nested(k, key), _nested(v, item)) for k, v in value.items()]
    if kind.name == "array":
        if isinstance(value, str | bytes | Mapping) or not hasattr(value, "__iter__"):
            raise TypeError(f"{_shown(value)} is no list")
        return [_nested(one, kind.fields[0][1]) for one in value]
    return _whole([value], kind)[0].as_py()


def _scalar(value: Any, kind: DataType) -> Any:
    if value is None:
        return None
    if kind.name == "string":
        return value if isinstance(value, str) else as_text(value)
    if kind.name == "binary":
        return base64.b64decode(value, validate=True) if isinstance(value, str) else bytes(value)
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
        raise TypeError(f"{_shown(value)} is no number")
    return Decimal(str(value))


def as_text(value: Any) -> str:
    """Any value as JSON; what JSON has no word for, as text."""
    return json.dumps(value, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> Any:
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(value).decode()
    if hasattr(value, "tolist"):
        return value.tolist()
    return str(value)


def _shown(value: Any) -> str:
    text = as_text(value)
    return text if len(text) <= 60 else text[:57] + "…"
