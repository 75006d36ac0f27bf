"""Queries on Spark: for what does not fit into one machine."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from trunkline.engine import sql
from trunkline.engine.sqlerrors import about_file, short
from trunkline.engine.statements import UnknownFunction
from trunkline.errors import Failed, InvalidQuery, TrunklineError, Unavailable
from trunkline.query.ducks import Version
from trunkline.query.edits import Edited
from trunkline.query.result import CHUNK, Answer, Row, unique
from trunkline.query.tokens import wrong
from trunkline.tables.describe import Table

if TYPE_CHECKING:
    import pyarrow as pa

# What Spark adds about its own settings.
_ADVICE = re.compile(r"\.\s+(?=Correct the |Use `|If necessary )")
_POSITION = re.compile(r"\(line (\d+), pos(?:ition)? (\d+)\)")


class SparkAnswer(Answer):
    def __init__(
        self,
        desk: sql.Desk,
        tables: Mapping[str, Table],
        versions: Mapping[str, Version],
        edited: Edited,
        params: Mapping[str, Any] | None,
        explains: bool = False,
    ) -> None:
        self._edited = edited
        self._desk = desk
        self._group = f"sql-{uuid4().hex}"
        self._views = views = {
            name: sql.View(versions[name], table.scans, table.schema)
            for name, table in tables.items()
        }
        with self._explained():
            self._frame = desk.ask(edited.text, views, params, explains)
            found = sql.columns(self._frame)
        self.names = tuple(name for name, _ in found)
        self.types = tuple(type_ for _, type_ in found)

    def chunks(self, limit: int | None = None) -> Iterator[list[Row]]:
        for batch in self._table(limit).to_batches(max_chunksize=CHUNK):
            columns = [values(column) for column in batch.columns]
            if batch.num_rows:
                yield list(zip(*columns, strict=True))

    def batches(self) -> pa.RecordBatchReader:
        return self._table(None).to_reader()

    def cancel(self) -> None:
        sql.cancel(self._frame, self._group)

    def frame(self) -> Any:
        self._desk.hand_out()
        return self._frame

    def _table(self, limit: int | None) -> pa.Table:
        with self._explained():
            found = sql.to_arrow(self._frame, limit, self._group)
        return found.rename_columns(unique(self.names))

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except UnknownFunction as error:
            raise _marked(self._edited, error.place, str(error)) from None
        except sql.errors() as error:
            raise explain(error, self._edited, self._views) from None


def explain(
    error: BaseException, edited: Edited, views: Mapping[str, sql.View] | None = None
) -> TrunklineError:
    """What went wrong in one line; with the place, if it is in the query."""
    if sql.is_gone(error):
        return Unavailable(
            "Spark died while it was at the query.", hint="Ask again: it is started anew."
        )
    text = str(error)
    message = _ADVICE.split(short(error))[0].rstrip(" .;") or "the query failed"
    if "OutOfMemoryError" in text or "OUT_OF_MEMORY" in text:
        return Unavailable(
            "The query needs more memory than Spark has.",
            hint="Raise it: trunkline config set spark.memory 8GiB.",
        )
    if not sql.is_analysis(error):
        if told := about_file(text, views or {}):
            return Failed(told.message, hint=told.hint)
        return Failed(f"The query failed: {message}.")
    found = sql.place(error) or _position(text, edited.text)  # type: ignore[arg-type]
    if found is None:
        return InvalidQuery(f"{message}.")
    return _marked(edited, found, message)


def _marked(edited: Edited, place: tuple[int, int], message: str) -> InvalidQuery:
    first, last = place
    start = edited.original(first)
    end = edited.original(max(first, last)) + 1
    typed = edited
    while typed.before is not None:
        typed = typed.before
    return wrong(typed.text, start, max(1, end - start), message)


def _position(message: str, text: str) -> tuple[int, int] | None:
    """From `(line 1, pos 9)`: the word that begins there."""
    found = _POSITION.search(message)
    if found is None:
        return None
    lines = text.split("\n")
    start = sum(len(line) + 1 for line in lines[: int(found[1]) - 1]) + int(found[2])
    word = re.match(r"\w+|.", text[start:])
    return start, start + max(0, len(word[0]) - 1 if word else 0)


def values(column: pa.Array) -> list[Any]:
    """Values of Python; a map as a dict, as DuckDB gives it."""
    import pyarrow.types as kinds

    found: list[Any] = column.to_pylist()
    if kinds.is_map(column.type):
        return [None if one is None else dict(one) for one in found]
    return found
