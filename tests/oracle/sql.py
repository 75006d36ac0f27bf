"""Conditions of the model as an engine spells them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from tests.oracle.model import Both, Column, Condition, Not, Test
from tests.oracle.values import (
    Kind,
    Value,
    duckdb_literal,
    spark_literal,
    to_arrow,
    to_python,
)


class Spark:
    """Spark's SQL."""

    def name(self, text: str) -> str:
        return "`" + text.replace("`", "``") + "`"

    def literal(self, kind: Kind, value: Value) -> str:
        return spark_literal(kind, value)

    def same(self, term: str, value: str) -> str:
        return f"{term} <=> {value}"

    def write(self, condition: Condition, columns: Sequence[Column]) -> str:
        if isinstance(condition, Not):
            return f"NOT ({self.write(condition.inner, columns)})"
        if isinstance(condition, Both):
            first, second = (
                self.write(one, columns) for one in (condition.first, condition.second)
            )
            return f"({first}) {condition.word} ({second})"
        return self._test(condition, columns)

    def _test(self, test: Test, columns: Sequence[Column]) -> str:
        kind = test.term.kind(columns)
        term = ".".join(map(self.name, test.term.names(columns)))
        if test.sign == "is null":
            return f"{term} IS NULL"
        if test.sign == "starts":
            start = test.values[0].replace("'", self.quote)
            return f"{term} LIKE '{start}%'"
        values = ["NULL" if one is None else self.literal(kind, one) for one in test.values]
        match test.sign:
            case "<=>":
                return self.same(term, values[0])
            case "in":
                return f"{term} IN ({', '.join(values)})"
            case "between":
                return f"{term} BETWEEN {values[0]} AND {values[1]}"
        return f"{term} {test.sign} {values[0]}"

    quote = "\\'"


class DuckDB(Spark):
    """DuckDB's. `plain` writes numbers as people do."""

    quote = "''"

    def __init__(self, plain: bool = False) -> None:
        self.plain = plain

    def name(self, text: str) -> str:
        return '"' + text.replace('"', '""') + '"'

    def literal(self, kind: Kind, value: Value) -> str:
        return duckdb_literal(kind, value, self.plain)

    def same(self, term: str, value: str) -> str:
        return f"{term} IS NOT DISTINCT FROM {value}"


_ARROW = {"=": "=", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "in": "in"}


def arrow_conditions(condition: Condition, columns: Sequence[Column]) -> list[Any] | None:
    """As `arrow(where=)` takes it; None for what it does not have."""
    if isinstance(condition, Both) and condition.word == "AND":
        parts = [arrow_conditions(one, columns) for one in (condition.first, condition.second)]
        return None if None in parts else [*(parts[0] or ()), *(parts[1] or ())]
    if not isinstance(condition, Test) or condition.term.path or None in condition.values:
        return None
    column = columns[condition.term.place]
    values = [to_python(column.kind, one) for one in condition.values]
    if condition.sign == "between":
        return [(column.name, ">=", values[0]), (column.name, "<=", values[1])]
    if condition.sign not in _ARROW:
        return None
    return [(column.name, _ARROW[condition.sign], values if condition.sign == "in" else values[0])]


_PYARROW: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge,
}  # fmt: skip


def arrow_expression(condition: Condition, columns: Sequence[Column]) -> Any:
    """As pyarrow's own datasets take it; None for what they see otherwise: NaN, and -0.0."""
    import pyarrow.compute as pc

    if isinstance(condition, Not):
        inner = arrow_expression(condition.inner, columns)
        return None if inner is None else ~inner
    if isinstance(condition, Both):
        parts = [arrow_expression(one, columns) for one in (condition.first, condition.second)]
        if parts[0] is None or parts[1] is None:
            return None
        return parts[0] & parts[1] if condition.word == "AND" else parts[0] | parts[1]
    kind, column = condition.term.kind(columns), columns[condition.term.place]
    if condition.term.path or None in condition.values or kind.name in ("float", "double"):
        return None
    field = pc.field(column.name)
    if condition.sign == "is null":
        return field.is_null()
    values = [to_arrow(kind, [one])[0] for one in condition.values]
    match condition.sign:
        case "between":
            return (field >= values[0]) & (field <= values[1])
        case sign if sign in _PYARROW:
            return _PYARROW[sign](field, values[0])
    return None


def iceberg_filter(condition: Condition, columns: Sequence[Column]) -> Any:
    """As pyiceberg takes it; None for what it sees otherwise: NaN, and null where it is not."""
    from pyiceberg import expressions

    found: Any = expressions
    if isinstance(condition, Both):
        parts = [iceberg_filter(one, columns) for one in (condition.first, condition.second)]
        if parts[0] is None or parts[1] is None:
            return None
        return (found.And if condition.word == "AND" else found.Or)(*parts)
    if isinstance(condition, Not) or condition.term.path or None in condition.values:
        return None
    kind, column = condition.term.kind(columns), columns[condition.term.place]
    # It takes a dot for a step into a struct, and cannot compare decimals of other precisions.
    if kind.is_nested or kind.name in ("float", "double", "decimal") or "." in column.name:
        return None
    if condition.sign == "is null":
        return found.IsNull(column.name)
    values = [to_python(kind, one) for one in condition.values]
    tests = {
        "=": found.EqualTo, "<": found.LessThan, "<=": found.LessThanOrEqual,
        ">": found.GreaterThan, ">=": found.GreaterThanOrEqual,
    }  # fmt: skip
    match condition.sign:
        case "in":
            return found.In(column.name, values)
        case "between":
            least = found.GreaterThanOrEqual(column.name, values[0])
            return found.And(least, found.LessThanOrEqual(column.name, values[1]))
        case sign if sign in tests:
            return tests[sign](column.name, values[0])
    return None
