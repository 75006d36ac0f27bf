"""What a query through a server gives: rows that wait there until they are read."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import finalize

from trunkline.errors import NotFound, TrunklineError
from trunkline.model.best_effort import BestEffort
from trunkline.query.result import CHUNK, Answer, Row, Stop
from trunkline.sdk.remote.client import Client
from trunkline.sdk.wire.arrow import PIECE, read_stream
from trunkline.sdk.wire.sql import MOST_WAIT, NewQuery, QueryInfo, QueryState
from trunkline.sdk.wire.values import decode, encode, error_of

if TYPE_CHECKING:
    import pyarrow as pa

# What DuckDB knows and Arrow does not: brought back by a cast.
_CAST = {"hugeint", "uhugeint", "uuid"}


class RemoteAnswer(Answer):
    """A query that a server runs. Its rows are read from there as often as they are wanted."""

    def __init__(self, client: Client, asked: NewQuery, stop: Stop | None = None) -> None:
        self._client = client
        self._asked = asked
        self._stop = stop
        self._id = ""
        self._done = False
        self._forget: finalize[Any, Any] | None = None
        self._ask()

    def _ask(self) -> None:
        # Without a key: to ask twice changes nothing, and there is no need to remember it.
        sent = encode(NewQuery, self._asked)
        kind = {"Content-Type": "application/json"}
        info: QueryInfo = decode(
            QueryInfo, self._client.upload("POST", "/sql", sent, headers=kind).content
        )
        self._id = info.id
        self._forget = finalize(self, _forget, self._client, info.id)
        if self._stop is not None:
            self._stop.cancel = partial(_end, self._client, info.id)
        info = self._wait(info, columns=True)
        if info.columns is None:
            raise told(info)
        assert info.types is not None
        self.names, self.types, self.sources = info.columns, info.types, info.sources

    @property
    def id(self) -> str:
        """The query's id, once the server has all its rows."""
        info = self._wait(self._info())
        if info.state is not QueryState.DONE:
            raise told(info)
        return self._id

    def cancel(self) -> None:
        _end(self._client, self._id)

    def chunks(self, limit: int | None = None) -> Iterator[list[Row]]:
        reader = self._stream(limit)
        if self._asked.engine == "duckdb":
            yield from _duckdb_rows(reader, self.types)
            return
        from trunkline.query.spark_engine import values

        for batch in reader:
            for start in range(0, batch.num_rows, CHUNK):
                columns = [values(column) for column in batch.slice(start, CHUNK).columns]
                yield list(zip(*columns, strict=True))

    def batches(self) -> pa.RecordBatchReader:
        return self._stream(None)

    def _info(self, **options: Any) -> QueryInfo:
        found: QueryInfo = self._client.get(QueryInfo, f"/sql/{self._id}", **options)
        return found

    def _wait(self, info: QueryInfo, columns: bool = False, rows: int | None = None) -> QueryInfo:
        """Ask until it has ended, or has what is wanted. Who interrupts this ends the query."""
        try:
            while not info.state.final:
                if (columns and info.columns is not None) or (rows and info.rows >= rows):
                    break
                info = self._info(wait=MOST_WAIT, columns=columns, rows=rows)
        except KeyboardInterrupt:
            self.cancel()
            raise
        self._done = info.state is QueryState.DONE
        return info

    def _stream(self, limit: int | None) -> pa.RecordBatchReader:
        """The rows as they come."""
        if self._done:
            with suppress(NotFound):
                return read_stream(self._pieces(limit), self._why_cut)
        self._again_if_gone(1 if limit is None else max(1, limit))
        return read_stream(self._pieces(limit), self._why_cut)

    def _why_cut(self) -> TrunklineError:
        """The query failed when some of its rows were sent already: it says why."""
        return told(self._info())

    def _pieces(self, limit: int | None) -> Iterator[bytes]:
        follow = None if limit is not None else True
        path = f"/sql/{self._id}/arrow"
        with self._client.stream("GET", path, limit=limit, follow=follow) as answer:
            yield from answer.iter_bytes(PIECE)

    def _again_if_gone(self, rows: int) -> None:
        """Wait for rows; if they are no longer kept, ask again for the same."""
        try:
            info = self._wait(self._info(), rows=rows)
        except NotFound:
            before = self.sources
            self._ask()
            if self.sources != before:
                raise NotFound(
                    "The rows of this query are no longer kept, and its tables have changed.",
                    hint="Ask it anew.",
                ) from None
            info = self._wait(self._info(), rows=rows)
        if info.error is not None:
            raise told(info)


def told(info: QueryInfo) -> TrunklineError:
    """What a query ended in, as the local lake would raise it."""
    return error_of_query(info.error or {})


def error_of_query(facts: dict[str, Any]) -> TrunklineError:
    error = error_of(500, {"error": facts})
    excerpt = facts.get("excerpt")
    if excerpt and excerpt not in getattr(error, "__notes__", ()):
        error.add_note(str(excerpt))
    return error


def _end(client: Client, query: str) -> None:
    with suppress(TrunklineError):
        client.upload("DELETE", f"/sql/{query}", None)


def _forget(client: Client, query: str) -> None:
    """Not here: this may be called anywhere, even inside the client."""

    def tell() -> None:
        with BestEffort("Forgetting a query"):
            client.upload("DELETE", f"/sql/{query}", None)

    with suppress(RuntimeError):  # there are no new threads while Python ends
        threading.Thread(target=tell, daemon=True).start()


def _duckdb_rows(reader: pa.RecordBatchReader, types: tuple[str, ...]) -> Iterator[list[Row]]:
    """Values of Python as DuckDB makes them, so that they are those of a local query."""
    import duckdb

    if not types:
        return
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    relation = connection.from_arrow(reader)
    if not _CAST.isdisjoint(types):
        relation = relation.project(
            ", ".join(
                f"#{number}::{type_}" if type_ in _CAST else f"#{number}"
                for number, type_ in enumerate(types, 1)
            )
        )
    rows: list[Row] = []
    for row in relation.iter_rows(batch_size=CHUNK):
        rows.append(row)
        if len(rows) == CHUNK:
            yield rows
            rows = []
    if rows:
        yield rows
