"""The rows of a query as bytes of an answer: Arrow, CSV or JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool

from trunkline.sdk.wire.arrow import PIECE, rows_of
from trunkline.sdk.wire.sql import QueryState
from trunkline.server.queries.query import Query

if TYPE_CHECKING:
    import pyarrow as pa

CSV = "text/csv"
JSON = "application/json"


async def followed(query: Query) -> AsyncIterator[bytes]:
    """The stream on disk, also while it is written.

    If the query fails on the way the stream has no end: that tells whoever reads it.
    """
    place = 0
    with open(query.spool.path, "rb") as file:
        while True:
            await query.until(lambda seen=place: query.spool.size > seen)  # type: ignore[misc]
            done = query.state is QueryState.DONE
            while place < query.spool.size:
                piece = await run_in_threadpool(file.read, min(PIECE, query.spool.size - place))
                if not piece:
                    return
                place += len(piece)
                yield piece
            if query.final and (not done or place >= query.spool.size):
                return


def begun(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The first piece now: most of what can go wrong does so before, and is answered as such."""
    first = next(pieces, b"")

    def all_of_it() -> Iterator[bytes]:
        yield first
        yield from pieces

    return all_of_it()


def csv_bytes(columns: Iterable[str], batches: Iterable[pa.RecordBatch]) -> Iterator[bytes]:
    """As spreadsheets read it: null is empty, lists and structs are JSON."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for batch in batches:
        for row in rows_of(batch):
            writer.writerow([_csv_cell(one) for one in row])
        yield text.getvalue().encode()
        text.seek(0)
        text.truncate()
    yield text.getvalue().encode()


def _csv_cell(value: object) -> object:
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value


def json_bytes(
    columns: Iterable[str], types: Iterable[str], batches: Iterable[pa.RecordBatch]
) -> Iterator[bytes]:
    """{"columns", "types", "rows"}; cells as `cell` has them."""
    head = json.dumps({"columns": list(columns), "types": list(types)}, ensure_ascii=False)
    yield f'{head[:-1]}, "rows": ['.encode()
    before = ""
    for batch in batches:
        rows = (json.dumps(row, ensure_ascii=False) for row in rows_of(batch))
        if lines := ",\n".join(rows):
            yield (before + lines).encode()
            before = ",\n"
    yield b"]}\n"
