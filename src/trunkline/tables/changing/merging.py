"""Upsert: rows of a source replace those of a table with the same key, or are added to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trunkline.errors import Precondition, Usage
from trunkline.lake.core import Core
from trunkline.lake.manifests import Tree
from trunkline.lake.transaction import Transaction
from trunkline.model.entries import Entry
from trunkline.model.refs import Ref
from trunkline.model.suggest import did_you_mean
from trunkline.model.tables import Column, Schema
from trunkline.tables.changing.candidates import candidates
from trunkline.tables.changing.expressions import differ, explained, expression
from trunkline.tables.changing.rewriting import (
    ROW,
    TARGET,
    Rewrite,
    RowChange,
    change_table,
    count,
    load,
    load_file,
    numbered,
    parquet_table,
    rows,
    rows_of,
    streaming,
)
from trunkline.tables.describe import recorded_spec
from trunkline.tables.reading.duck import connect, quoted
from trunkline.tables.types import from_arrow, to_duckdb_type
from trunkline.tables.writing.sources import batches_of
from trunkline.tables.writing.writing import check_schema, data_lines, plan_write

if TYPE_CHECKING:
    import pyarrow as pa
    from duckdb import DuckDBPyConnection

SOURCE = "__tl_source"
_RAW, _HITS = "__tl_raw", "__tl_hits"
_ID, _DELETE = "__tl_id", "__tl_delete"


@dataclass(frozen=True, slots=True)
class MergeRule:
    """What becomes of rows whose key is in the table, and of those whose key is not.

    `delete_when` is a condition on the source: such rows delete, and are never inserted. Columns
    that only it needs and the table lacks do not become columns of the table. `update` None means
    every column of the source.
    """

    on: tuple[str, ...]
    delete_when: str | None = None
    update: tuple[str, ...] | None = None
    insert: bool = True
    nulls_match: bool = False
    """Whether a key that is null is a key like any other, as in a GROUP BY."""
    partition_by: tuple[str, ...] = ()
    """How a table is laid out that is not there yet."""


def merge_table(
    core: Core, target: Ref, source: Any, rule: MergeRule, *, author: str, message: str = ""
) -> RowChange:
    """Merge a source into a table by key. A key that the source has twice is refused."""
    if not rule.on:
        raise Usage("A merge needs a key.", hint='Name its columns, as in on=["id"].')
    reader = batches_of(source)
    incoming = from_arrow(reader.schema, "the source")
    check_schema(incoming, "the table")
    with connect(core, {}).connection as connection:
        # Read once, whatever happens to the branch: a stream cannot be read again.
        load(connection, numbered(reader, _ID), _RAW)

        def work(
            transaction: Transaction, tree: Tree, path: str, name: str
        ) -> tuple[Rewrite, RowChange]:
            merge = _Merge(core, connection, rule, incoming, tree, path, name)
            return merge.into(transaction)

        on = ", ".join(rule.on)
        return change_table(core, author, target, message or f"Merge by {on}", work)


def merged(
    transaction: Transaction,
    tree: Tree,
    path: str,
    name: str,
    source: pa.RecordBatchReader,
    rule: MergeRule,
) -> tuple[Rewrite, RowChange]:
    """What a merge makes of the table of a tree; it is the caller's to commit."""
    core = transaction.core
    incoming = from_arrow(source.schema, "the source")
    with connect(core, {}).connection as connection:
        load(connection, numbered(source, _ID), _RAW)
        return _Merge(core, connection, rule, incoming, tree, path, name).into(transaction)


class _Merge:
    """A merge on one tree."""

    def __init__(
        self,
        core: Core,
        connection: DuckDBPyConnection,
        rule: MergeRule,
        incoming: Schema,
        tree: Tree,
        path: str,
        name: str,
    ) -> None:
        self._core = core
        self._connection = connection
        self._tree, self._path, self._name = tree, path, name
        self._entries: tuple[Entry, ...] = ()
        recorded = recorded_spec(core, tree, path)
        there = recorded.schema if recorded is not None else Schema()
        if next(data_lines(tree, path), None) is not None:
            table = parquet_table(core, tree, path, name)
            self._entries, there = table.entries, table.schema
        self._given = _kept(incoming, rule, there)
        parts = None if recorded or self._entries else rule.partition_by or None
        self.plan = plan_write(
            core, tree, path, self._given, name=name, partition_by=parts, checked=True
        )
        self._keys = [self._column(column, "key") for column in rule.on]
        self._updated = [
            self._column(column, "source")
            for column in (self._given.names if rule.update is None else rule.update)
        ]
        self._inserts = rule.insert
        self._nulls_match = rule.nulls_match
        equals = "IS NOT DISTINCT FROM" if rule.nulls_match else "="
        self._join = " AND ".join(f"t.{quoted(k)} {equals} s.{quoted(k)}" for k in self._keys)
        self._prepare(incoming, rule)

    def _column(self, name: str, what: str) -> str:
        """The table's spelling of a column that the source has."""
        found = self.plan.schema.find(name)
        if found is None or self._given.find(name) is None:
            raise Usage(
                f'The source has no column "{name}".{did_you_mean(name, self._given.names)}',
                hint=f"The {what} has: {', '.join(self._given.names[:20])}.",
            )
        return found.name

    def _prepare(self, incoming: Schema, rule: MergeRule) -> None:
        """The source in the table's types, with a mark on rows that delete."""
        mark = "false"
        if rule.delete_when is not None:
            condition = expression(rule.delete_when, incoming.names, "delete_when")
            mark = f"coalesce({condition.sql}, false)"
        chosen = [f"{self._cast(column)} AS {quoted(column.name)}" for column in self.plan.schema]
        with explained("The source"):
            self._connection.execute(
                f"CREATE OR REPLACE TEMP TABLE {SOURCE} AS SELECT {', '.join(chosen)}, "
                f"{_ID}, {mark} AS {_DELETE} FROM {_RAW}"
            )
        self._connection.execute(f"CREATE OR REPLACE TEMP TABLE {_HITS} ({_ID} BIGINT)")
        keys = ", ".join(map(quoted, self._keys))
        present = " AND ".join(f"{quoted(key)} IS NOT NULL" for key in self._keys)
        if rule.nulls_match:
            present = "true"
        twice = self._connection.execute(
            f"SELECT {keys} FROM {SOURCE} WHERE {present} GROUP BY ALL HAVING count(*) > 1 "
            f"ORDER BY ALL LIMIT 1"
        ).fetchall()
        if twice:
            shown = ", ".join(f"{k} = {v}" for k, v in zip(self._keys, twice[0], strict=True))
            raise Precondition(
                f"The source has the key {shown} more than once, so it is not clear which row "
                "is meant.",
                hint="Keep one row for each key, such as the newest.",
            )

    def _cast(self, column: Column) -> str:
        """A column of the source in the table's type, or an error for a number it cannot hold."""
        name, type_ = quoted(column.name), to_duckdb_type(column.type)
        given = self._given.find(column.name)
        if given is None:
            return f"CAST(NULL AS {type_})"
        cast = f"CAST({name} AS {type_})"
        if (given.type, column.type) != ("bigint", "double"):
            return cast
        words = f"{column.name} has numbers that a double does not hold".replace("'", "''")
        exact = f"CAST({cast} AS HUGEINT) = {name} OR {name} IS NULL"
        return f"CASE WHEN {exact} THEN {cast} ELSE error('{words}') END"

    def into(self, transaction: Transaction) -> tuple[Rewrite, RowChange]:
        rewrite = Rewrite(
            transaction, self._tree, self._path, self._name, self.plan.spec, alone=True
        )
        updated = deleted = 0
        for entry in self._matching():
            load_file(self._core, self._connection, entry, self._path, self.plan.spec)
            changed, gone = self._count()
            if changed or gone:
                updated, deleted = updated + changed, deleted + gone
                rewrite.replace(entry, self._merged())
        inserted = self._insert(rewrite) if self._inserts else 0
        return rewrite, RowChange(None, inserted, updated, deleted)

    def _matching(self) -> Iterator[Entry]:
        """The files that hold a key of the source. Notes which rows of the source they hit."""
        for entry in self._candidates():
            keys = rows_of(self._core, entry, self._path, self.plan.spec, self._keys)
            with streaming(self._connection, keys) as stream:
                hits = count(
                    self._connection,
                    f"INSERT INTO {_HITS} SELECT DISTINCT s.{_ID} "
                    f"FROM {stream} t JOIN {SOURCE} s ON {self._join}",
                )
            if hits[0]:
                yield entry

    def _candidates(self) -> Iterable[Entry]:
        # Bounds say nothing about nulls.
        some = " OR ".join(f"{quoted(key)} IS NULL" for key in self._keys)
        query = f"SELECT count(*) FROM {SOURCE} WHERE {some}"
        if self._nulls_match and count(self._connection, query)[0]:
            return self._entries
        return candidates(self._connection, SOURCE, self._entries, self.plan.schema, self._keys)

    def _count(self) -> tuple[int, int]:
        """How many rows of the file that is loaded change, and how many go."""
        differs = " OR ".join(
            differ(f"t.{quoted(c.name)}", f"s.{quoted(c.name)}", c.type)
            for c in self.plan.schema
            if c.name in self._updated
        )
        changed, gone = count(
            self._connection,
            f"SELECT count(*) FILTER (WHERE NOT s.{_DELETE} AND ({differs or 'false'})), "
            f"count(*) FILTER (WHERE s.{_DELETE}) FROM {TARGET} t JOIN {SOURCE} s ON {self._join}",
        )
        return changed, gone

    def _merged(self) -> Iterable[pa.RecordBatch]:
        chosen = ", ".join(
            f"CASE WHEN s.{_ID} IS NULL THEN t.{quoted(c)} ELSE s.{quoted(c)} END AS {quoted(c)}"
            if c in self._updated
            else f"t.{quoted(c)}"
            for c in self.plan.schema.names
        )
        return rows(
            self._connection,
            f"SELECT {chosen} FROM {TARGET} t LEFT JOIN {SOURCE} s ON {self._join} "
            f"WHERE s.{_ID} IS NULL OR NOT s.{_DELETE} ORDER BY t.{ROW}",
        )

    def _insert(self, rewrite: Rewrite) -> int:
        fresh = f"FROM {SOURCE} ANTI JOIN {_HITS} USING ({_ID}) WHERE NOT {_DELETE}"
        (inserted,) = count(self._connection, f"SELECT count(*) {fresh}")
        if inserted:
            columns = ", ".join(map(quoted, self.plan.schema.names))
            rewrite.write(rows(self._connection, f"SELECT {columns} {fresh} ORDER BY {_ID}"))
        return inserted


def _kept(incoming: Schema, rule: MergeRule, there: Schema) -> Schema:
    """The columns of the source that are the table's, or become so."""
    if rule.delete_when is None:
        return incoming
    used = expression(rule.delete_when, incoming.names, "delete_when").columns
    keys = {key.casefold() for key in rule.on}
    only = tuple(c for c in used if there.find(c) is None and c.casefold() not in keys)
    return incoming.without(only)
