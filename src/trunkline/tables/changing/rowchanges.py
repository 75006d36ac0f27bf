"""Rows deleted and updated by a condition: only files that hold such rows are written anew."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from trunkline.errors import Usage
from trunkline.lake.core import Core
from trunkline.lake.manifests import Tree
from trunkline.lake.transaction import Transaction
from trunkline.model.entries import Entry
from trunkline.model.refs import Ref
from trunkline.model.suggest import did_you_mean
from trunkline.tables.changing.expressions import Expression, differ, explained, expression
from trunkline.tables.changing.pruning import may_hold
from trunkline.tables.changing.rewriting import (
    ROW,
    TARGET,
    Rewrite,
    RowChange,
    change_table,
    count,
    load_file,
    parquet_table,
    rows,
    rows_of,
    streaming,
)
from trunkline.tables.describe import Table
from trunkline.tables.reading.duck import connect, quoted
from trunkline.tables.types import to_duckdb_type

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


def delete_from(
    core: Core, target: Ref, where: str, *, author: str, message: str = ""
) -> RowChange:
    """Delete the rows that meet a condition."""

    def work(
        transaction: Transaction, tree: Tree, path: str, name: str
    ) -> tuple[Rewrite, RowChange]:
        table = parquet_table(core, tree, path, name)
        rewrite = Rewrite(transaction, tree, path, name, table.spec)
        condition = expression(where, table.schema.names, "The condition")
        deleted = 0
        with connect(core, {}).connection as connection, explained("The condition"):
            for entry, matching in _holding(core, connection, table, condition):
                deleted += matching
                if matching == entry.rows:
                    rewrite.replace(entry, None)
                    continue
                load_file(core, connection, entry, path, table.spec)
                rest = (
                    f"SELECT * EXCLUDE ({ROW}) FROM {TARGET} "
                    f"WHERE {condition.sql} IS NOT TRUE ORDER BY {ROW}"
                )
                rewrite.replace(entry, rows(connection, rest))
        return rewrite, RowChange(None, deleted=deleted)

    return change_table(core, author, target, message or f"Delete where {where}", work)


def update_table(
    core: Core,
    target: Ref,
    values: Mapping[str, str],
    where: str | None,
    *,
    author: str,
    message: str = "",
) -> RowChange:
    """Give columns new values, in the rows that meet a condition or in all."""

    def work(
        transaction: Transaction, tree: Tree, path: str, name: str
    ) -> tuple[Rewrite, RowChange]:
        table = parquet_table(core, tree, path, name)
        rewrite = Rewrite(transaction, tree, path, name, table.spec)
        names = table.schema.names
        condition = expression(where or "true", names, "The condition")
        fresh = _new_values(table, values)
        differs = " OR ".join(
            differ(quoted(c.name), fresh[c.name], c.type) for c in table.schema if c.name in fresh
        )
        chosen = ", ".join(
            f"CASE WHEN {condition.sql} THEN {fresh[c]} ELSE {quoted(c)} END AS {quoted(c)}"
            if c in fresh
            else quoted(c)
            for c in names
        )
        updated = 0
        with connect(core, {}).connection as connection, explained("The update"):
            for entry, _ in _holding(core, connection, table, condition):
                load_file(core, connection, entry, path, table.spec)
                changed = f"SELECT count(*) FROM {TARGET} WHERE {condition.sql} AND ({differs})"
                if not (found := count(connection, changed)[0]):
                    continue
                updated += found
                fresh_rows = f"SELECT {chosen} FROM {TARGET} ORDER BY {ROW}"
                rewrite.replace(entry, rows(connection, fresh_rows))
        return rewrite, RowChange(None, updated=updated)

    if not values:
        raise Usage("There is no column to update.", hint='As in set={"status": "\'paid\'"}.')
    shown = ", ".join(f"{column} = {value}" for column, value in values.items())
    return change_table(core, author, target, message or f"Update {shown}", work)


def _new_values(table: Table, values: Mapping[str, str]) -> dict[str, str]:
    """SQL for each column that changes, with the column's type."""
    fresh = {}
    for name, text in values.items():
        column = table.schema.find(name)
        if column is None:
            raise Usage(
                f'{table.name} has no column "{name}".{did_you_mean(name, table.schema.names)}',
                hint=f"It has: {', '.join(table.schema.names[:20])}.",
            )
        value = expression(text, table.schema.names, f"The value of {column.name}", changing=True)
        fresh[column.name] = f"CAST({value.sql} AS {to_duckdb_type(column.type)})"
    return fresh


def _holding(
    core: Core, connection: DuckDBPyConnection, table: Table, condition: Expression
) -> Iterator[tuple[Entry, int]]:
    """The files that hold rows which meet the condition, and how many."""
    columns = condition.columns or table.schema.names[:1]
    for entry in may_hold(connection, table.entries, condition.text, table.schema):
        with streaming(connection, rows_of(core, entry, table.path, table.spec, columns)) as stream:
            met = f"count(*) FILTER (WHERE {condition.sql})"
            total, matching = count(connection, f"SELECT count(*), {met} FROM {stream}")
        if matching:
            yield replace(entry, rows=total), matching
