"""Which files a condition in SQL rules out by their statistics. When in doubt, none."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from trunkline.model.tables import ScanFile, Schema
from trunkline.tables.reading.conditions import Condition, may_match

if TYPE_CHECKING:
    from sqlglot import exp

_SIGNS = {"EQ": "=", "LT": "<", "LTE": "<=", "GT": ">", "GTE": ">="}
_TURNED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
# Of these, bounds and literals compare as DuckDB does, whatever its time zone.
_SAFE = ("tinyint", "smallint", "int", "bigint", "decimal", "float", "double", "date", "string")


def pruner(condition: str, schema: Schema) -> Callable[[str], bool]:
    """Whether a file with the given statistics may hold rows that meet the condition."""
    import sqlglot

    tree = sqlglot.parse_one(condition, dialect="duckdb")
    parts = [found for one in _joined(tree) for found in _simple(one, schema)]
    scan = _empty_scan()
    return lambda stats: may_match(parts, ScanFile("", 0, stats=stats), scan, schema)


def _joined(tree: Any) -> list[Any]:
    """The parts of a condition that must all be true."""
    from sqlglot import exp

    tree = tree.unnest()
    if isinstance(tree, exp.And):
        return [*_joined(tree.left), *_joined(tree.right)]
    return [tree]


def _simple(tree: exp.Expression, schema: Schema) -> list[Condition]:
    """A comparison of a column with a constant; nothing for all else."""
    from sqlglot import exp

    if isinstance(tree, exp.Between):
        return [
            *_compared(tree.this, ">=", tree.args["low"], schema),
            *_compared(tree.this, "<=", tree.args["high"], schema),
        ]
    sign = _SIGNS.get(type(tree).__name__)
    if sign is None or not isinstance(tree, exp.Binary):
        return []
    if isinstance(tree.right, exp.Column):
        return _compared(tree.right, _TURNED[sign], tree.left, schema)
    return _compared(tree.left, sign, tree.right, schema)


def _compared(column: Any, sign: str, value: Any, schema: Schema) -> list[Condition]:
    from sqlglot import exp

    if not isinstance(column, exp.Column):
        return []
    found = schema.find(column.name)
    kind = found.type.partition("(")[0] if found else ""
    if isinstance(value, exp.Cast) and kind == "date" and value.to.this == exp.DataType.Type.DATE:
        value = value.this
    negative = isinstance(value, exp.Neg)
    literal = value.this if negative else value
    if found is None or kind not in _SAFE or not isinstance(literal, exp.Literal):
        return []
    if literal.is_string:
        return [(found.name, sign, literal.this)] if kind in ("string", "date") else []
    try:
        number = Decimal(literal.this)
    except InvalidOperation:
        return []
    return [(found.name, sign, -number if negative else number)] if kind != "date" else []


def _empty_scan() -> Any:
    from trunkline.model.tables import Format, Scan

    return Scan("", Format.PARQUET, Schema(), Schema(), ())
