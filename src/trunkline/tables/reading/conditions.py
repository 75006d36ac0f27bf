"""Conditions on rows, and which files they rule out before any is opened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

from trunkline.errors import Usage
from trunkline.model.tables import Column, Scan, ScanFile, Schema
from trunkline.model.types import DataType, parse_type
from trunkline.tables.pathvalues import scalar_of
from trunkline.tables.types import to_arrow_type
from trunkline.tables.values import (
    ALWAYS,
    NEVER,
    ORDERED,
    Bounds,
    comparison,
    may,
    parse_stats,
    point,
    read_bounds,
)

if TYPE_CHECKING:
    import pyarrow as pa

Condition = tuple[str, str, Any]
"""A column, one of = != < <= > >= in, and a value: of the column's type, or its text."""

_ARROW = {
    "=": "equal",
    "!=": "not_equal",
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
}


@dataclass(frozen=True, slots=True)
class Predicate:
    """A condition in the type of its column: one of the comparisons must be true."""

    column: Column
    kind: DataType
    any_of: tuple[tuple[str, Any], ...]

    def may_hold(self, bounds: Bounds) -> bool:
        return any(may(sign, value, bounds) for sign, value in self.any_of)


def predicates(conditions: Sequence[Condition], schema: Schema) -> list[Predicate]:
    """The conditions made ready for the columns of a table; Usage for one that cannot be."""
    found = []
    for name, sign, value in conditions:
        if sign != "in" and sign not in _ARROW:
            known = ", ".join([*_ARROW, "in"])
            raise Usage(f'There is no comparison "{sign}".', hint=f"Use one of {known}.")
        column = schema.find(name)
        assert column is not None
        kind = parse_type(column.type)
        given = value if sign == "in" else [value]
        own = "=" if sign == "in" else sign
        # Null is equal to nothing.
        parts = tuple(_compared(own, one, column, kind) for one in given if one is not None)
        found.append(Predicate(column, kind, parts))
    return found


def may_match(conditions: Sequence[Predicate], file: ScanFile, scan: Scan) -> bool:
    """Whether a file may have rows that fulfil all conditions. When in doubt, it may."""
    if not conditions:
        return True
    stats = parse_stats(file.stats)
    folders = {
        column.name.casefold(): value
        for column, value in zip(scan.path_columns, file.values, strict=True)
    }
    for one in conditions:
        folded = one.column.name.casefold()
        if one.kind.name not in ORDERED:
            continue
        if folded in folders:
            bounds = _of_folder(folders[folded], one.column.type)
        else:
            bounds = read_bounds(one.kind, stats.get(folded))
        if not one.may_hold(bounds):
            return False
    return True


def row_filter(conditions: Sequence[Predicate], batch: pa.RecordBatch) -> Any:
    """Which rows of a batch fulfil all conditions; null never does."""
    from pyarrow import compute

    return reduce(compute.and_, (_rows(one, batch.column(one.column.name)) for one in conditions))


def _compared(sign: str, value: Any, column: Column, kind: DataType) -> tuple[str, Any]:
    import pyarrow as pa

    try:
        if kind.name in ORDERED:
            return comparison(sign, point(value, kind))
        return sign, pa.scalar(value).cast(to_arrow_type(column.type)).as_py()
    except (ValueError, TypeError, pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise Usage(
            f'"{value}" is not a value of the type {column.type}, which {column.name} has.'
        ) from None


def _of_folder(text: str | None, type_: str) -> Bounds:
    import pyarrow as pa

    try:
        found = scalar_of(text, type_)
    except ValueError:
        return Bounds()
    if pa.types.is_date(found.type) or pa.types.is_timestamp(found.type):
        found = found.cast(pa.int32() if pa.types.is_date(found.type) else pa.int64())
    return Bounds(found.as_py(), found.as_py())


def _rows(one: Predicate, values: Any) -> Any:
    import pyarrow as pa
    from pyarrow import compute

    never = compute.and_(compute.is_valid(values), False)
    found = [_mask(values, sign, value) for sign, value in one.any_of]
    return reduce(compute.or_, found, never) if found else pa.repeat(False, len(values))


def _mask(values: Any, sign: str, value: Any) -> Any:
    """As engines compare: NaN is the greatest of numbers, and equal to itself."""
    import pyarrow as pa
    from pyarrow import compute

    if sign in (ALWAYS, NEVER):
        return compute.and_(compute.is_valid(values), sign == ALWAYS)
    if pa.types.is_floating(values.type):
        strange = compute.is_nan(values)
        if value != value:
            if sign in ("=", ">="):
                return strange
            if sign in ("!=", "<"):
                return compute.invert(strange)
            return compute.and_(compute.is_valid(values), sign == "<=")
        found = compute.call_function(_ARROW[sign], [values, pa.scalar(value, values.type)])
        return compute.or_(found, strange) if sign[0] == ">" else found
    if pa.types.is_date(values.type):
        scalar = pa.scalar(value, pa.int32()).cast(values.type)
    elif pa.types.is_timestamp(values.type):
        scalar = pa.scalar(value, pa.int64()).cast(values.type)
    else:
        scalar = pa.scalar(value, values.type)
    return compute.call_function(_ARROW[sign], [values, scalar])
