"""Which input columns each column of a SQL pipeline is made from, told by its text alone.

Values only: what rows are filtered, joined or grouped by is no part of it. Views of the script
and CTEs are looked through. Where a `*` stands for columns that nobody knows, they are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.lineage import Node

    from trunkline.model.tables import Schema
    from trunkline.pipelines.sqltext import Step

Columns = dict[str, list[tuple[str, str]]]
"""By column, the pairs of an input and a column of it."""


def sql_columns(
    steps: Sequence[Step], schemas: Mapping[str, Schema | None]
) -> dict[str, Columns] | None:
    """By output table ("" for the result), what its columns are made from.

    None if the text cannot be followed; whether it is right is for the engine to say.
    """
    from sqlglot.errors import SqlglotError

    try:
        return _columns(steps, schemas)
    except (SqlglotError, ValueError, KeyError, RecursionError):
        return None


def _columns(steps: Sequence[Step], schemas: Mapping[str, Schema | None]) -> dict[str, Columns]:
    import sqlglot
    from sqlglot import exp

    known: dict[str, object] = {
        name: {one.name: one.type for one in schema}
        for name, schema in schemas.items()
        if schema is not None
    }
    earlier: dict[str, exp.Query] = {}
    found: dict[str, Columns] = {}
    for step in steps:
        tree = sqlglot.parse_one(step.sql, dialect="spark")
        if not isinstance(tree, exp.Query):
            raise ValueError(step.sql)
        if step.kind != "view":
            found[step.name] = _of_query(tree, known, earlier, schemas)
        if step.name:
            earlier[step.name] = tree
    return found


def _of_query(
    tree: exp.Query,
    known: Mapping[str, object],
    earlier: Mapping[str, exp.Query],
    inputs: Mapping[str, Schema | None],
) -> Columns:
    from sqlglot.lineage import lineage

    nodes = lineage(None, tree, dict(known), sources=dict(earlier), dialect="spark")
    names = {name.casefold(): name for name in inputs}
    return {
        column: sorted(_leaves(node, names, inputs))
        for column, node in nodes.items()
        if column != "*"
    }


def _leaves(
    node: Node, names: Mapping[str, str], inputs: Mapping[str, Schema | None]
) -> set[tuple[str, str]]:
    from sqlglot import exp

    found = set()
    for one in node.walk():
        if one.downstream or not isinstance(one.expression, exp.Table):
            continue
        table = names.get(one.expression.name.casefold())
        if table is None:
            continue
        column = one.name.rpartition(".")[2].strip('`"')
        schema = inputs[table]
        exact = schema.find(column) if schema is not None else None
        found.add((table, exact.name if exact is not None else column))
    return found
