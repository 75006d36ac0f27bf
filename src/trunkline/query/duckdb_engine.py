"""Queries on DuckDB: in this process, at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from weakref import WeakSet

from trunkline.errors import (
    DiskFull,
    Failed,
    InvalidQuery,
    NotAllowed,
    TrunklineError,
    Unavailable,
    Usage,
)
from trunkline.lake.core import Core
from trunkline.query.edits import Edited
from trunkline.query.judging import judge
from trunkline.query.kept import Kept
from trunkline.query.result import CHUNK, Answer, Row, Stop, unique
from trunkline.query.tokens import wrong
from trunkline.tables.reading.duck import Duck, View
from trunkline.tables.reading.duck_errors import broken_file, is_internal, is_invalidated, said
from trunkline.tables.reading.duck_tree import Misread

if TYPE_CHECKING:
    import pyarrow as pa
    from duckdb import DuckDBPyConnection, DuckDBPyRelation

T = TypeVar("T")

# Where the query as such is at fault, and not what it met in the data.
_OWN_FAULT = {"Parser", "Syntax", "Binder", "Catalog", "Parameter Not Resolved"}
_FULL = ("max_temp_directory_size", "No space left on device", "Disk quota exceeded")
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


class Asked(NamedTuple):
    """A query for DuckDB; `before` is an EXPLAIN that its text begins with."""

    edited: Edited
    before: str
    params: Mapping[str, Any] | None


class _Bound:
    """A query on a cursor of its own."""

    def __init__(self, cursor: DuckDBPyConnection, relation: DuckDBPyRelation) -> None:
        self.cursor = cursor
        self.relation = relation


class DuckAnswer(Answer):
    """Every reader has a cursor of its own: one that is left half read is in nobody's way."""

    def __init__(
        self,
        core: Core,
        opened: Callable[[], Duck],
        lost: Callable[[Duck], None],
        asked: Asked,
        stop: Stop,
    ) -> None:
        self._core = core
        self._opened = opened
        self._lost = lost
        self._edited = asked.edited
        self._before = asked.before
        self._params = dict(asked.params) if asked.params else None
        self._judged = False
        self._stop = stop
        self._bound: list[_Bound] = []
        self._read: WeakSet[_Bound] = WeakSet()
        with self._explained():
            self._duck = opened()
            bound, relation = self._begun(lambda bound: bound.relation)
            self.names = tuple(map(str, relation.columns))
            self.types = tuple(type_text(str(one)) for one in relation.types)
        # For the first who reads: to bind it again may take longer than to run it.
        self._bound.append(bound)

    def chunks(self, limit: int | None = None) -> Iterator[list[Row]]:
        def rows(bound: _Bound) -> Iterator[Row]:
            relation = bound.relation if limit is None else bound.relation.limit(limit)
            found = iter(relation.iter_rows(batch_size=CHUNK))
            return chain(list(islice(found, 1)), found)  # it runs from its first row on

        with self._explained():
            bound, found = self._begun(rows)
            while chunk := list(islice(found, CHUNK)):
                yield chunk
            del bound  # while it is held, it can be stopped

    def batches(self) -> pa.RecordBatchReader:
        import pyarrow as pa

        with self._explained():
            bound, reader = self._begun(lambda bound: bound.relation.to_arrow_reader())
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

    def _begun(self, read: Callable[[_Bound], T]) -> tuple[_Bound, T]:
        """Begin to read. If another query's internal error has ended the DuckDB, in a new one."""
        import duckdb

        try:
            bound = self._relation()
            return bound, read(bound)
        except (duckdb.Error, OSError) as error:
            if not is_invalidated(error):
                raise
        self._lost(self._duck)
        self._bound.clear()
        self._duck = self._opened()
        bound = self._relation()
        return bound, read(bound)

    def _relation(self) -> _Bound:
        """The query on a cursor, for one who reads it; while they hold it, it can be stopped."""
        try:
            bound: _Bound | None = self._bound.pop()
        except IndexError:
            bound = None
        if bound is None:
            cursor = self._duck.cursor()
            self._stop.cancel, self._stop.spill = cursor.interrupt, self._duck.spill
            if not self._judged:
                widths = {name: view.width for name, view in self._duck.views.items()}
                judge(cursor, self._edited.text, self._before, widths)
                self._judged = True
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
        except Misread as error:
            told = _misread(error, self._edited)
            told.hint = told.hint or self._quoting(error.location)
            raise told from None
        except (duckdb.Error, OSError) as error:
            # Through a stream of Arrow its errors come as those of a file.
            if isinstance(error, OSError) and _SAID not in str(error):
                raise
            if not hasattr(self, "_duck"):  # it could not be opened at all
                raise explain(error, None) from None
            for source in self._duck.sources.values():
                if source.error is not None:
                    raise source.error from None
            if (broken := broken_file(self._core, self._duck.files, error)) is not None:
                raise broken from None
            if is_internal(error):
                self._lost(self._duck)
                raise explain(error, None) from None
            found, before = self._placed(error)
            raise explain(found, self._edited, before) from None
        except RuntimeError as error:
            if "interrupted" in str(error).lower():
                raise KeyboardInterrupt from None
            raise

    def _quoting(self, location: tuple[int, int] | None) -> str:
        """How a column is written whose name is a word of SQL, if that is what went wrong."""
        if location is None:
            return ""
        raw = self._edited.text.encode()[: sum(location)].decode(errors="ignore")
        words = [one.casefold() for one in re.findall(r"[\w\"]+", raw)[-2:]]
        rows = self._duck.connection.cursor().execute(_RESERVED_COLUMNS).fetchall()
        mine = {name for schema, view, name in rows if (schema, view) in self._duck.views}
        found = next(
            (one for word in reversed(words) for one in mine if one.casefold() == word), ""
        )
        return f'{found} is a word of SQL: quote the column, as in "{found}".' if found else ""

    def _placed(self, error: Exception) -> tuple[Exception, int]:
        """The same error with its place, which only `execute` tells, and what stands before it."""
        if _SAID in str(error) or not self._judged:
            return error, 0
        import duckdb

        try:
            self._duck.cursor().execute(f"{_DRY}{self._edited.text}", self._params)
        except duckdb.Error as placed:
            if type(placed) is type(error):
                return placed, len(_DRY)
        return error, 0


def ask(core: Core, kept: Kept, views: Sequence[View], asked: Asked, stop: Stop) -> DuckAnswer:
    import duckdb

    def opened() -> Duck:
        return kept.ducks.get(views, kept.erased())

    try:
        return DuckAnswer(core, opened, kept.ducks.drop, asked, stop)
    except duckdb.Error as error:
        raise explain(error, None) from None


def _misread(error: Misread, edited: Edited) -> InvalidQuery:
    message = _SCHEMA.sub("", " ".join(error.message.split()))
    if error.location is None:
        return InvalidQuery(f"{message.rstrip('.!')}.")
    return wrong(*placed(edited, *error.location), message)


def explain(error: Exception, edited: Edited | None, before: int = 0) -> TrunklineError:
    """What went wrong in one line; with the place, if it is in the query."""
    kind, message, location = said(error)
    message = _SCHEMA.sub("", " ".join(message.split()).replace("! ", ". "))
    if is_internal(error):
        if is_invalidated(error):
            return Unavailable("DuckDB was started anew during the query.", hint="Ask again.")
        return Failed(f"DuckDB failed: {message.split(' This error signals')[0].rstrip('.!')}.")
    if any(sign in message for sign in _FULL):
        return DiskFull(
            "The query needs more space on disk than there is.",
            hint="Read fewer columns or rows, or free some space.",
        )
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
