"""Conditions on rows, and which files they rule out before any is opened."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import reduce
from typing import TYPE_CHECKING, Any

from trunkline.errors import Usage
from trunkline.model.tables import Scan, ScanFile, Schema
from trunkline.tables.pathvalues import scalar_of
from trunkline.tables.types import to_arrow_type

if TYPE_CHECKING:
    import pyarrow as pa

Condition = tuple[str, str, Any]
"""A column, one of = != < <= > >= in, and a value: of the column's type, or its text."""

# Whether values between the least and the greatest of a file may fulfil a condition.
_MAY: dict[str, Callable[[Any, Any, Any], bool]] = {
    "=": lambda least, greatest, value: least <= value <= greatest,
    "<": lambda least, greatest, value: least < value,
    "<=": lambda least, greatest, value: least <= value,
    ">": lambda least, greatest, value: greatest > value,
    ">=": lambda least, greatest, value: greatest >= value,
    "!=": lambda least, greatest, value: True,
}
_ARROW = {
    "=": "equal",
    "!=": "not_equal",
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
}


def checked(conditions: Sequence[Condition]) -> list[Condition]:
    """Refuse comparisons that there are not."""
    for _, sign, _ in conditions:
        if sign != "in" and sign not in _ARROW:
            known = ", ".join([*_ARROW, "in"])
            raise Usage(f'There is no comparison "{sign}".', hint=f"Use one of {known}.")
    return list(conditions)


def may_match(conditions: Sequence[Condition], file: ScanFile, scan: Scan, schema: Schema) -> bool:
    """Whether a file may have rows that fulfil all conditions. When in doubt, it may."""
    if not conditions:
        return True
    stats = json.loads(file.stats, parse_float=Decimal) if file.stats else {}
    bounds = {name.casefold(): found for name, found in stats.items()}
    for column, value in zip(scan.path_columns, file.values, strict=True):
        if value is not None:
            plain = _plain(scalar_of(value, column.type))
            bounds[column.name.casefold()] = [plain, plain, 0]
    return all(_may(condition, bounds, schema) for condition in conditions)


def _may(condition: Condition, bounds: dict[str, list[Any]], schema: Schema) -> bool:
    name, sign, value = condition
    column = schema.find(name)
    found = bounds.get(name.casefold())
    if column is None or found is None or found[0] is None or found[1] is None:
        return True
    values = value if sign == "in" else [value]
    may = _MAY["=" if sign == "in" else sign]
    try:
        return any(may(found[0], found[1], _bound(one, column.type)) for one in values)
    except (TypeError, Usage):
        return True  # bounds of another kind than the value, or one that the type cannot hold


def _bound(value: Any, type_: str) -> Any:
    number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    return Decimal(value) if number else _plain(_scalar(value, type_))


def row_filter(conditions: Sequence[Condition], batch: pa.RecordBatch, schema: Schema) -> Any:
    """Which rows of a batch fulfil all conditions; null never does."""
    import pyarrow as pa
    from pyarrow import compute

    found = []
    for name, sign, value in conditions:
        column = schema.find(name)
        assert column is not None
        values = batch.column(column.name)
        if sign == "in":
            scalars = [_scalar(one, column.type).as_py() for one in value]
            given = pa.array(scalars, to_arrow_type(column.type))
            found.append(compute.is_in(values, value_set=given))
        else:
            found.append(compute.call_function(_ARROW[sign], [values, _scalar(value, column.type)]))
    return reduce(compute.and_, found)


def _scalar(value: Any, type_: str) -> pa.Scalar:
    """A value, or its text, in a column's type."""
    import pyarrow as pa

    wanted = to_arrow_type(type_)
    try:
        return pa.scalar(value).cast(wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        if isinstance(value, float | Decimal) and pa.types.is_integer(wanted):
            return pa.scalar(float(value))  # 2.5 is between 2 and 3, though no whole number
        raise Usage(f'"{value}" is not a value of the type {type_}.') from None


def _plain(value: pa.Scalar) -> Any:
    """As statistics have it: a day as text, a moment in microseconds."""
    found = value.as_py()
    if isinstance(found, datetime):
        moment = found if found.tzinfo else found.replace(tzinfo=UTC)
        since = moment - datetime(1970, 1, 1, tzinfo=UTC)
        return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
    if isinstance(found, date):
        return found.isoformat()
    return Decimal(found) if isinstance(found, float) and found == found else found
