"""Rows into a table of a SQL database, in the transaction of whoever asks.

Into PostgreSQL they go by COPY, elsewhere by INSERT of many rows at once. SQLite gets what it has
no type for as text: times, and decimals, which it keeps as numbers where that is exact.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from trunkline.connect.databases import Database, TableName
from trunkline.connect.sqlholding import refuse_unheld
from trunkline.connect.sqltypes import as_json, fits, python_values, sql_of
from trunkline.errors import NotFound, Precondition, SchemaClash
from trunkline.model.suggest import did_you_mean, shown

if TYPE_CHECKING:
    import pyarrow as pa
    from sqlalchemy import Connection

_AT_ONCE = 5_000
Batches = Iterable["pa.RecordBatch"]


class SqlTable:
    """A table that is written. Names in its statements are quoted, values are parameters."""

    def __init__(self, database: Database, connection: Connection, name: TableName) -> None:
        self.database = database
        self.connection = connection
        self.name = name
        self.place = database.quoted_table(name)
        self._types: dict[str, Any] = {}

    # -- the table itself ------------------------------------------------------------------

    def exists(self) -> bool:
        from sqlalchemy import inspect

        return inspect(self.connection).has_table(self.name.table, schema=self.name.schema)

    def create(self, schema: pa.Schema, key: Sequence[str] = ()) -> None:
        """Make it, unless it is there, for rows of Arrow. A key is its primary key."""
        from sqlalchemy import Column, MetaData, Table

        wanted = set(key)
        columns = [
            Column(
                field.name,
                sql_of(field.type, key=field.name in wanted),
                primary_key=field.name in wanted,
                nullable=field.name not in wanted,
                autoincrement=False,
                quote=True,
            )
            for field in schema
        ]
        made = Table(
            self.name.table, MetaData(), *columns, schema=self.name.schema, quote=True,
            quote_schema=True,
        )  # fmt: skip
        made.create(self.connection, checkfirst=True)

    def check(self, schema: pa.Schema, key: Sequence[str] = ()) -> None:
        """That rows fit into it; what does not is told column by column."""
        from sqlalchemy import inspect

        inspector = inspect(self.connection)
        if not self.exists():
            raise NotFound(
                f"{self.database.name} has no table {shown(str(self.name))}.",
                hint="Make it, or write create: true.",
            )
        there = {
            str(one["name"]): one
            for one in inspector.get_columns(self.name.table, schema=self.name.schema)
        }
        self._types = {name: one["type"] for name, one in there.items()}
        diff = []
        for field in schema:
            found = there.get(field.name)
            if found is None:
                # A column that has its counterpart is no other's misspelling.
                near = did_you_mean(field.name, there.keys() - set(schema.names))
                asked = f"; did{near.removeprefix(' Did')}" if near else ""
                diff.append(f"+ {field.name} {field.type} (is not there{asked})")
            elif not fits(field.type, found["type"]):
                diff.append(f"~ {field.name} {field.type} (is {found['type']} there)")
        for name, one in there.items():
            needed = not one["nullable"] and one.get("default") is None
            made = one.get("autoincrement") is True or one.get("identity") or one.get("computed")
            if name not in schema.names and needed and not made:
                diff.append(f"- {name} {one['type']} (must not be null there)")
        if diff:
            raise SchemaClash(
                f"The rows do not fit {self.name}: {'; '.join(diff)}.",
                hint="Change the table, or the output's columns.",
                diff=diff,
                table=[f"{name} {one['type']}" for name, one in there.items()],
                given=[f"{field.name} {field.type}" for field in schema],
            )
        for column in key:
            if column not in schema.names:
                raise NotFound(
                    f"The output has no column {shown(column)} for key."
                    f"{did_you_mean(column, schema.names)}",
                    hint=f"It has: {', '.join(schema.names[:20])}.",
                )

    # -- rows ------------------------------------------------------------------------------

    def clear(self) -> None:
        # Not TRUNCATE: who reads meanwhile would wait, or see nothing.
        self._run(f"DELETE FROM {self.place}")

    def insert(self, batches: Batches, columns: Sequence[str]) -> Iterator[int]:
        """Add rows; how many there are so far, after each batch."""
        yield from self._load(self.place, batches, columns)

    def merge(self, batches: Batches, columns: Sequence[str], key: Sequence[str]) -> Iterator[int]:
        """Rows in the place of those with their key; how many there are so far."""
        if self.database.dialect not in _STAGING:
            yield from self._merge_plainly(batches, columns, key)
            return
        staged = self._stage("trunkline_staged", columns)
        yield from self._load(staged, batches, columns)
        self._check_keys(staged, key)
        others = [name for name in columns if name not in key]
        same = self._same("s", self.place, key)
        if others:
            changes = ", ".join(f"{self._q(one)} = s.{self._q(one)}" for one in others)
            self._run(f"UPDATE {self.place} SET {changes} FROM {staged} s WHERE {same}")
        names = ", ".join(map(self._q, columns))
        chosen = ", ".join(f"s.{self._q(one)}" for one in columns)
        self._run(
            f"INSERT INTO {self.place} ({names}) SELECT {chosen} FROM {staged} s "
            f"WHERE NOT EXISTS (SELECT 1 FROM {self.place} WHERE {same})"
        )

    def delete_others(self, key: Sequence[str]) -> int:
        """After `merge`: delete rows whose key it did not have."""
        self._need_staging()
        same = self._same("s", self.place, key)
        return self._run(
            f"DELETE FROM {self.place} WHERE NOT EXISTS "
            f"(SELECT 1 FROM {self._q('trunkline_staged')} s WHERE {same})"
        )

    def delete(self, batches: Batches, key: Sequence[str]) -> int:
        """After `merge`: delete rows by their key, but those that it had."""
        self._need_staging()
        gone = self._stage("trunkline_gone", key)
        for _ in self._load(gone, batches, key):
            pass
        same = self._same("s", self.place, key)
        return self._run(
            f"DELETE FROM {self.place} WHERE EXISTS (SELECT 1 FROM {gone} s WHERE {same}) AND "
            f"NOT EXISTS (SELECT 1 FROM {self._q('trunkline_staged')} s WHERE {same})"
        )

    # -- how -------------------------------------------------------------------------------

    def _q(self, name: str) -> str:
        return self.database.quoted(name)

    def _same(self, alias: str, place: str, key: Sequence[str]) -> str:
        return " AND ".join(f"{place}.{self._q(one)} = {alias}.{self._q(one)}" for one in key)

    def _run(self, sql: str, values: Any = None) -> int:
        from sqlalchemy import text

        return self.connection.execute(text(sql.replace(":", "\\:")), values).rowcount

    def _need_staging(self) -> None:
        if self.database.dialect not in _STAGING:
            raise Precondition(
                f"delete does not go with {self.database.dialect}.", hint="Write mode: replace."
            )

    def _stage(self, name: str, columns: Sequence[str]) -> str:
        """A table of this transaction's own, with columns as the target has them."""
        place = self._q(name)
        names = ", ".join(map(self._q, columns))
        end = " ON COMMIT DROP" if self.database.dialect == "postgresql" else ""
        self._run(
            f"CREATE TEMPORARY TABLE {place}{end} AS SELECT {names} FROM {self.place} WHERE 1 = 0"
        )
        return place

    def _check_keys(self, staged: str, key: Sequence[str]) -> None:
        from sqlalchemy import text

        keys = ", ".join(map(self._q, key))
        some = " OR ".join(f"{self._q(one)} IS NULL" for one in key)
        for asked, what in (
            (f"SELECT {keys} FROM {staged} WHERE {some}", "a key that is null"),
            (f"SELECT {keys} FROM {staged} GROUP BY {keys} HAVING count(*) > 1",
             "the same key more than once"),
        ):  # fmt: skip
            with self.connection.execute(text(asked.replace(":", "\\:"))) as result:
                found = result.first()
            if found is not None:
                raise _unfit(what, key, found)

    def _load(self, place: str, batches: Batches, columns: Sequence[str]) -> Iterator[int]:
        names = ", ".join(map(self._q, columns))
        sent = 0
        if self.database.engine.driver == "psycopg":
            raw: Any = self.connection.connection.driver_connection
            asked = f"COPY {place} ({names}) FROM STDIN (FORMAT csv)"
            with raw.cursor() as cursor, cursor.copy(asked) as copy:
                for batch in batches:
                    self._refuse_unheld(batch, columns)
                    copy.write(_csv(batch.select(columns)))
                    sent += batch.num_rows
                    yield sent
            return
        marks = ", ".join(f"\0p{at}" for at in range(len(columns)))
        sql = f"INSERT INTO {place} ({names}) VALUES ({marks})".replace(":", "\\:")
        for batch in batches:
            self._refuse_unheld(batch, columns)
            for rows in _rows(batch.select(columns), self.database.dialect):
                self._many(sql, rows)
            sent += batch.num_rows
            yield sent

    def _refuse_unheld(self, batch: pa.RecordBatch, columns: Sequence[str]) -> None:
        chosen = batch.select(columns)
        refuse_unheld(chosen, self._types, self.database.dialect, str(self.name))

    def _many(self, sql: str, rows: Sequence[dict[str, Any]]) -> None:
        from sqlalchemy import text

        self.connection.execute(text(sql.replace("\0", ":")), rows)

    def _merge_plainly(
        self, batches: Batches, columns: Sequence[str], key: Sequence[str]
    ) -> Iterator[int]:
        """Without a table to stage in: each row is deleted by its key, then inserted.

        The keys are kept in memory, to see that each is there once.
        """
        self._refuse_others(columns)
        marks = ", ".join(f"\0p{at}" for at in range(len(columns)))
        names = ", ".join(map(self._q, columns))
        add = f"INSERT INTO {self.place} ({names}) VALUES ({marks})".replace(":", "\\:")
        places = {name: at for at, name in enumerate(columns)}
        same = " AND ".join(f"{self._q(one)} = \0p{places[one]}" for one in key)
        drop = f"DELETE FROM {self.place} WHERE {same}".replace(":", "\\:")
        sent, seen = 0, set[tuple[Any, ...]]()
        for batch in batches:
            self._refuse_unheld(batch, columns)
            for rows in _rows(batch.select(columns), self.database.dialect):
                for row in rows:
                    found = tuple(row[f"p{places[one]}"] for one in key)
                    if None in found:
                        raise _unfit("a key that is null", key, found)
                    if found in seen:
                        raise _unfit("the same key more than once", key, found)
                    seen.add(found)
                self._many(drop, rows)
                self._many(add, rows)
            sent += batch.num_rows
            yield sent

    def _refuse_others(self, columns: Sequence[str]) -> None:
        """What is deleted and inserted loses what the output does not have."""
        from sqlalchemy import inspect

        there = inspect(self.connection).get_columns(self.name.table, schema=self.name.schema)
        others = [
            str(one["name"])
            for one in there
            if one["name"] not in columns and not one.get("computed")
        ]
        if others:
            raise Precondition(
                f"{self.name} has columns that the output does not have: {', '.join(others)}. A "
                f"merge would lose what is in them, with {self.database.dialect}.",
                hint="Add them to the output, or deliver to a table of its own.",
            )


_STAGING = ("postgresql", "sqlite")
"""Dialects whose temporary tables and UPDATE … FROM we know."""


def _unfit(what: str, key: Sequence[str], values: Sequence[Any]) -> Precondition:
    told = ", ".join(f"{name} = {value}" for name, value in zip(key, values, strict=True))
    return Precondition(
        f"The output has {what}: {told}.",
        hint="Nothing was delivered. Merge by columns that tell rows apart.",
    )


def _csv(batch: pa.RecordBatch) -> bytes:
    """As PostgreSQL reads it: what is null is empty, all else in quotes."""
    import pyarrow as pa
    import pyarrow.types as kinds
    from pyarrow import csv

    arrays = []
    for column in batch.columns:
        if kinds.is_nested(column.type):
            texts = [None if one is None else as_json(one) for one in column.to_pylist()]
            column = pa.array(texts, pa.string())
        elif kinds.is_binary(column.type) or kinds.is_large_binary(column.type):
            texts = [None if one is None else f"\\x{one.hex()}" for one in column.to_pylist()]
            column = pa.array(texts, pa.string())
        arrays.append(column)
    sink = io.BytesIO()
    options = csv.WriteOptions(include_header=False, quoting_style="all_valid")
    csv.write_csv(pa.RecordBatch.from_arrays(arrays, names=batch.schema.names), sink, options)
    return sink.getvalue()


def _rows(batch: pa.RecordBatch, dialect: str) -> Iterator[list[dict[str, Any]]]:
    names = [f"p{at}" for at in range(batch.num_columns)]
    for start in range(0, batch.num_rows, _AT_ONCE):
        part = batch.slice(start, _AT_ONCE)
        columns = [_plain(python_values(column), dialect) for column in part.columns]
        yield [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _plain(values: list[Any], dialect: str) -> list[Any]:
    first = next((one for one in values if one is not None), None)
    if isinstance(first, datetime) and first.tzinfo is not None:
        # Databases without zones have their moments in UTC.
        values = [None if one is None else one.astimezone(UTC).replace(tzinfo=None)
                  for one in values]  # fmt: skip
    if dialect != "sqlite":
        return values
    if isinstance(first, datetime):
        return [None if one is None else one.isoformat(sep=" ") for one in values]
    if isinstance(first, date):
        return [None if one is None else str(one) for one in values]
    if isinstance(first, Decimal):
        return [None if one is None else format(one, "f") for one in values]
    return values
