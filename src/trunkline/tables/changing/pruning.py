"""Which files a condition in SQL rules out by their bounds. When in doubt, none.

DuckDB compares the bounds with the very literals of the condition, in the types of the columns: so
whatever it makes of `p = 0.1` for a float, files and rows are judged alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trunkline.model.entries import Entry
from trunkline.model.tables import Column, Schema
from trunkline.model.types import INTEGERS, DataType, parse_type
from trunkline.tables.types import to_arrow_type
from trunkline.tables.values import MOMENTS, ORDERED, parse_stats, point, read_bounds

if TYPE_CHECKING:
    import pyarrow as pa
    from duckdb import DuckDBPyConnection

BOUNDS = "__tl_bounds"
_SIGNS = {"EQ": "=", "NEQ": "<>", "LT": "<", "LTE": "<=", "GT": ">", "GTE": ">="}
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_MAY = {
    "=": "{0} >= least{1} AND {0} <= greatest{1}",
    "<>": "NOT ({0} = least{1} AND {0} = greatest{1})",
    "<": "least{1} < {0}",
    "<=": "least{1} <= {0}",
    ">": "greatest{1} > {0}",
    ">=": "greatest{1} >= {0}",
}
_NUMBERS = (*INTEGERS, "decimal", "float", "double")
_TIMES = ("date", *MOMENTS)
_NUMBER_CASTS = ("TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL")
_TIME_CASTS = ("DATE", "TIMESTAMP", "TIMESTAMPTZ")


def may_hold(
    connection: DuckDBPyConnection, entries: Sequence[Entry], condition: str, schema: Schema
) -> list[Entry]:
    """The files that may hold rows which meet a condition, as their bounds have it."""
    import duckdb
    import sqlglot
    from sqlglot import exp

    tree = sqlglot.parse_one(condition, dialect="duckdb")
    named = {one.name.casefold() for one in tree.find_all(exp.Column) if not one.table}
    columns = [one for one in schema if one.name.casefold() in named]
    columns = [one for one in columns if parse_type(one.type).name in ORDERED]
    kinds = {one.name.casefold(): (n, parse_type(one.type)) for n, one in enumerate(columns)}
    sql = _may(tree, kinds)
    if sql == "true":
        return list(entries)
    connection.register(BOUNDS, bounds_table(entries, columns))
    try:
        rows = connection.execute(f"SELECT place FROM {BOUNDS} WHERE NOT ({sql})").fetchall()
    except duckdb.Error:
        return list(entries)  # what is wrong with the condition is told by who reads the rows
    finally:
        connection.unregister(BOUNDS)
    outside = {int(row[0]) for row in rows}
    return [entry for place, entry in enumerate(entries) if place not in outside]


def bounds_table(entries: Sequence[Entry], columns: Sequence[Column]) -> pa.Table:
    """A row for each file: its `place`, and `least`, `greatest` and `nulls` of each column."""
    import pyarrow as pa

    stats = [parse_stats(entry.stats) for entry in entries]
    arrays: dict[str, Any] = {"place": pa.array(range(len(entries)), pa.int64())}
    for number, column in enumerate(columns):
        kind, type_ = parse_type(column.type), to_arrow_type(column.type)
        found = [read_bounds(kind, one.get(column.name.casefold())) for one in stats]
        arrays[f"least{number}"] = _array([_fitting(one.least, kind) for one in found], type_)
        arrays[f"greatest{number}"] = _array([_fitting(one.greatest, kind) for one in found], type_)
        arrays[f"nulls{number}"] = pa.array([one.nulls for one in found], pa.int64())
    return pa.table(arrays)


def _fitting(bound: Any, kind: DataType) -> Any:
    """A bound that the type holds, as files of an older and wider one may not have it."""
    if bound is None or kind.name not in (*INTEGERS, "decimal"):
        return bound
    found = point(bound, kind)
    return found.value if found.exact else None


def _array(values: list[Any], type_: pa.DataType) -> pa.Array:
    import pyarrow as pa

    if pa.types.is_date(type_):
        return pa.array(values, pa.int32()).cast(type_)
    if pa.types.is_timestamp(type_):
        return pa.array(values, pa.int64()).cast(type_)
    return pa.array(values, type_)


Kinds = Mapping[str, tuple[int, DataType]]


def _may(tree: Any, kinds: Kinds) -> str:
    """SQL over bounds that is true wherever the condition may be."""
    from sqlglot import exp

    tree = tree.unnest()
    if isinstance(tree, exp.And | exp.Or):
        left, right = _may(tree.left, kinds), _may(tree.right, kinds)
        word = "AND" if isinstance(tree, exp.And) else "OR"
        if left == right == "true" or (word == "OR" and "true" in (left, right)):
            return "true"
        return f"({left} {word} {right})"
    if isinstance(tree, exp.Between) and not tree.args.get("symmetric"):
        low = _compared(tree.this, ">=", tree.args["low"], kinds)
        return f"({low} AND {_compared(tree.this, '<=', tree.args['high'], kinds)})"
    if isinstance(tree, exp.In) and tree.expressions:
        parts = [_compared(tree.this, "=", one, kinds) for one in tree.expressions]
        return "true" if "true" in parts else f"({' OR '.join(parts)})"
    if isinstance(tree, exp.Is) and isinstance(tree.expression, exp.Null):
        place = _place(tree.this, kinds)
        return "true" if place is None else f"nulls{place[0]} IS DISTINCT FROM 0"
    sign = _SIGNS.get(type(tree).__name__)
    if sign is None or not isinstance(tree, exp.Binary):
        return "true"
    if isinstance(tree.right, exp.Column):
        return _compared(tree.right, _TURNED.get(sign, sign), tree.left, kinds)
    return _compared(tree.left, sign, tree.right, kinds)


def _compared(column: Any, sign: str, value: Any, kinds: Kinds) -> str:
    place = _place(column, kinds)
    literal = None if place is None else _literal(value.unnest(), place[1].name)
    if place is None or literal is None:
        return "true"
    # Null, where a bound says nothing, is a yes.
    return f"coalesce({_MAY[sign].format(literal, place[0])}, true)"


def _place(column: Any, kinds: Kinds) -> tuple[int, DataType] | None:
    """Of a plain column: `s.a` is a field of the struct `s`, not the column `a`."""
    from sqlglot import exp

    if not isinstance(column, exp.Column) or column.table:
        return None
    return kinds.get(column.name.casefold())


def _literal(value: Any, kind: str) -> str | None:
    """A constant as SQL, if DuckDB compares it in an order that the column's has, too."""
    from sqlglot import exp

    plain = value.this if isinstance(value, exp.Neg) else value
    if isinstance(plain, exp.Cast) and isinstance(plain.this, exp.Literal):
        to = plain.to.this.name
        fits = (kind in _NUMBERS and to in _NUMBER_CASTS) or (kind in _TIMES and to in _TIME_CASTS)
    elif isinstance(plain, exp.Boolean):
        fits = kind == "boolean"
    elif isinstance(plain, exp.Literal):
        # The text of a number is taken for a number, that of a text for what it is.
        fits = plain.is_string or kind in _NUMBERS
    else:
        return None
    return f"({value.sql(dialect='duckdb')})" if fits else None
