"""Queries on DuckDB: in this process, at once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from trunkline.errors import Failed, InvalidQuery, NotAllowed, TrunklineError, Unavailable, Usage
from trunkline.lake.core import Core
from trunkline.query.edits import Edited
from trunkline.query.kept import Kept
from trunkline.query.result import CHUNK, Answer, Row, unique
from trunkline.query.tokens import wrong
from trunkline.tables.reading.duck import Duck, View
from trunkline.tables.reading.duck_errors import broken_file, said

if TYPE_CHECKING:
    import pyarrow as pa
    from duckdb import DuckDBPyConnection, DuckDBPyRelation

# Where the query as such is at fault, and not what it met in the data.
_OWN_FAULT = {"Parser", "Syntax", "Binder", "Catalog", "Parameter Not Resolved"}
_SAID = '"exception_message"'
_DRY = "EXPLAIN "
_RESERVED_COLUMNS = """SELECT schema_name, table_name, column_name
    FROM duckdb_columns() JOIN duckdb_keywords() ON keyword_name = lower(column_name)
    WHERE keyword_category IN ('reserved', 'type_function')"""
_SCHEMA = re.compile(r'"?tl_[0-9a-f]{16}"?\.')
_NAMES = {
    "VARCHAR": "string",
    "INTEGER": "int",
    "BLOB": "binary",
    "TIMESTAMP WITH TIME ZONE": "timestamp",
    "TIMESTAMP": "timestamp_ntz",
    "TIMESTAMP_NS": "timestamp_ntz",
    '"NULL"': "void",
}


class _Bound:
    """A query on a cursor of its own."""

    def __init__(self, cursor: DuckDBPyConnection, relation: DuckDBPyRelation) -> None:
        self.cursor = cursor
        self.relation = relation


class DuckAnswer(Answer):
    """Every reader has a cursor of its own: one that is left half read is in nobody's way."""

    def __init__(
        self, core: Core, duck: Duck, edited: Edited, params: Mapping[str, Any] | None
    ) -> None:
        self._core = core
        self._duck = duck
        self._edited = edited
        self._params = dict(params) if params else None
        self._bound: list[_Bound] = []
        self._read: WeakSet[_Bound] = WeakSet()
        with self._explained():
            bound = self._relation()
            relation = bound.relation
            self.names = tuple(map(str, relation.columns))
            self.types = tuple(type_text(str(one)) for one in relation.types)
        # For the first who reads: to bind it again may take longer than to run it.
        self._bound.append(bound)

    def chunks(self, limit: int | None = None) -> Iterator[list[Row]]:
        with self._explained():
            bound = self._relation()
            relation = bound.relation
            if limit is not None:
                relation = relation.limit(limit)
            rows: list[Row] = []
            for row in relation.iter_rows(batch_size=CHUNK):
                rows.append(row)
                if len(rows) == CHUNK:
                    yield rows
                    rows = []
            if rows:
                yield rows

    def batches(self) -> pa.RecordBatchReader:
        import pyarrow as pa

        with self._explained():
            bound = self._relation()
            reader = bound.relation.to_arrow_reader()
            schema = reader.schema
        names = unique(tuple(schema.names))
        renamed = pa.schema(
            [field.with_name(name) for field, name in zip(schema, names, strict=True)]
        )

        def read(held: _Bound) -> Iterator[pa.RecordBatch]:
            with self._explained():
                for batch in reader:
                    yield batch.rename_columns(names)

        return pa.RecordBatchReader.from_batches(renamed, read(bound))

    def cancel(self) -> None:
        for bound in list(self._read):
            bound.cursor.interrupt()

    def _relation(self) -> _Bound:
        """The query on a cursor, for one who reads it; while they hold it, it can be stopped."""
        try:
            bound: _Bound | None = self._bound.pop()
        except IndexError:
            bound = None
        if bound is None:
            cursor = self._duck.cursor()
            relation = cursor.sql(self._edited.text, params=self._params)
            if relation is None:
                raise NotAllowed("SQL may only read, and this gives no rows.")
            bound = _Bound(cursor, relation)
        self._read.add(bound)
        return bound

    @contextmanager
    def _explained(self) -> Iterator[None]:
        import duckdb

        try:
            yield
        except (duckdb.Error, OSError) as error:
            # Through a stream of Arrow its errors come as those of a file.
            if isinstance(error, OSError) and _SAID not in str(error):
                raise
            for source in self._duck.sources.values():
                if source.error is not None:
                    raise source.error from None
            if (broken := broken_file(self._core, self._duck.files, error)) is not None:
                raise broken from None
            found, before = self._placed(error)
            told = explain(found, self._edited, before)
            if said(found).kind in ("Parser", "Syntax") and isinstance(told, InvalidQuery):
                told.hint = told.hint or self._quoting(found, before)
            raise told from None
        except RuntimeError as error:
            if "interrupted" in str(error).lower():
                raise KeyboardInterrupt from None
            raise

    def _quoting(self, error: Exception, before: int) -> str:
        """How a column is written whose name is a word of SQL, if that is what went wrong."""
        location = said(error).location
        if location is None:
            return ""
        raw = self._edited.text.encode()[: sum(location) - before].decode(errors="ignore")
        words = [one.casefold() for one in re.findall(r"[\w\"]+", raw)[-2:]]
        rows = self._duck.connection.cursor().execute(_RESERVED_COLUMNS).fetchall()
        mine = {name for schema, view, name in rows if (schema, view) in self._duck.views}
        found = next(
            (one for word in reversed(words) for one in mine if one.casefold() == word), ""
        )
        return f'{found} is a word of SQL: quote the column, as in "{found}".' if found else ""

    def _placed(self, error: Exception) -> tuple[Exception, int]:
        """The same error with its place, which only `execute` tells, and what stands before it."""
        if _SAID in str(error):
            return error, 0
        import duckdb

        try:
            self._duck.cursor().execute(f"{_DRY}{self._edited.text}", self._params)
        except duckdb.Error as placed:
            if type(placed) is type(error):
                return placed, len(_DRY)
        return error, 0


def ask(
    core: Core,
    kept: Kept,
    views: Sequence[View],
    edited: Edited,
    params: Mapping[str, Any] | None,
) -> DuckAnswer:
    import duckdb

    try:
        duck = kept.ducks.get(views, kept.erased())
    except duckdb.Error as error:
        raise explain(error, None) from None
    return DuckAnswer(core, duck, edited, params)


def explain(error: Exception, edited: Edited | None, before: int = 0) -> TrunklineError:
    """What went wrong in one line; with the place, if it is in the query."""
    kind, message, location = said(error)
    message = _SCHEMA.sub("", " ".join(message.split()).replace("! ", ". "))
    if kind == "Out of Memory":
        return Unavailable(
            "The query needs more memory than there is.",
            hint="Read fewer columns or rows, or ask Spark: --engine spark.",
        )
    if kind == "Permission":
        return NotAllowed("SQL may only read tables of the lake.")
    if "parameter" in message.lower() and kind in ("Invalid Input", "Binder"):
        return Usage(f"{message.rstrip('.!')}.", hint="Values are given by name: params={…} for $…")
    if edited is None or kind not in _OWN_FAULT:
        return Failed(f"The query failed: {message.rstrip('.!')}.")
    if location is None:
        return InvalidQuery(f"{message.rstrip('.!')}.")
    typed, start, length = placed(edited, location[0] - before, location[1])
    return wrong(typed, start, length, message)


def placed(edited: Edited, start: int, length: int) -> tuple[str, int, int]:
    """A place in what the engine was given, as one in the text that was typed."""
    raw = edited.text.encode()
    first = len(raw[:start].decode(errors="ignore"))
    last = len(raw[: start + length].decode(errors="ignore"))
    begin = edited.original(first)
    end = edited.original(max(first, last - 1)) + 1
    typed = edited
    while typed.before is not None:
        typed = typed.before
    return typed.text, begin, max(1, end - begin)


def type_text(duckdb_type: str) -> str:
    """A type of DuckDB as tables name it, where they have it."""
    if duckdb_type.endswith("[]"):
        return f"array<{type_text(duckdb_type[:-2])}>"
    return _NAMES.get(duckdb_type, duckdb_type.lower())
