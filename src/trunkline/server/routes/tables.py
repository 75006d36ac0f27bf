"""Tables: described, read, written and changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from fastapi import Query, Request
from fastapi.responses import StreamingResponse
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from trunkline.errors import Usage
from trunkline.model.access import Permission
from trunkline.model.commits import DEFAULT_BRANCH, Commit
from trunkline.model.refs import parse_ref
from trunkline.sdk.laketable import LakeTable, TableInfo
from trunkline.sdk.tablehistory import TableVersion, versions_page
from trunkline.sdk.wire.arrow import PIECE, checked_stream, rows_of, stepped, stream_bytes
from trunkline.sdk.wire.sql import RowsPage
from trunkline.sdk.wire.tables import (
    COMMIT,
    Merge,
    NewCompaction,
    RowsDeletion,
    RowsUpdate,
    TableSetting,
    names_of,
    where_of,
)
from trunkline.sdk.wire.values import ARROW, Page, adapter
from trunkline.server.calls import ANYBODY, READ_REPO, WRITE_REPO, Call, Caller, Routes
from trunkline.server.hidden_inputs import shown_commits
from trunkline.server.paging import (
    MOST,
    Cursor,
    Limit,
    decoded,
    encoded,
    page_by_number,
    row_of,
)
from trunkline.server.queries.answers import begun
from trunkline.server.uploads.arrowsizes import check_sizes
from trunkline.server.uploads.bodies import spooled
from trunkline.server.uploads.parts import FOLDER
from trunkline.tables.changing.compacting import Compaction
from trunkline.tables.changing.rewriting import RowChange
from trunkline.tables.types import from_arrow

if TYPE_CHECKING:
    import pyarrow as pa

routes = Routes(tags=["tables"])

Done = TypeVar("Done")
Names = Annotated[str | None, Query(description="Names with commas between, or a JSON list.")]
Where = Annotated[str | None, Query(description='As JSON: [["day", ">=", "2026-01-01"]]')]
_ARROW_BODY = {
    "requestBody": {
        "required": True,
        "content": {ARROW: {"schema": {"type": "string", "format": "binary"}}},
    }
}
_ROWS = {200: {"model": RowsPage, "content": {ARROW: {}}, "description": "The rows."}}


@routes.GET("/tables", ANYBODY)
def list_all_tables(
    call: Caller,
    project: str | None = None,
    at: Annotated[str | None, Query(description="As of this commit set: its id.")] = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Page[TableInfo]:
    """The tables of a project at main, or as of a set, of those repos that the caller may read."""
    if project is not None:
        call.require_project_seen(project)
    lake = call.lake.bound(project=project)
    seen = call.visible(lake._table_repos(), lambda repo: repo)
    found = lake._all_tables(seen, at, lambda repo: call.may(Permission.READ, repo))
    return page_by_number(found, limit, cursor)


@routes.GET("/repos/{project}/{repo}/tables", READ_REPO)
def list_tables(
    call: Caller,
    project: str,
    repo: str,
    at: str = DEFAULT_BRANCH,
    path: str | None = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Page[TableInfo]:
    """The tables of a repo at a commit. One that cannot be read says why."""
    return page_by_number(call.lake.tables(_ref(project, repo, at, path)), limit, cursor)


@routes.GET("/repos/{project}/{repo}/table", READ_REPO)
def describe_table(
    call: Caller,
    response: Response,
    project: str,
    repo: str,
    at: str = DEFAULT_BRANCH,
    path: str | None = None,
) -> TableInfo:
    """A table's columns, format, rows and size, without its rows. A header names the commit."""
    info, commit = call.lake._described_at(_ref(project, repo, at, path))
    response.headers[COMMIT] = commit
    return info


@routes.GET("/repos/{project}/{repo}/table/history", READ_REPO)
def table_history(
    call: Caller,
    project: str,
    repo: str,
    at: str = DEFAULT_BRANCH,
    path: str | None = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[TableVersion]:
    """The commits along first parents that changed a table, newest first; rows are not read.

    A page may be short or empty: `next` alone tells whether there are more.
    """
    ref = parse_ref(_ref(project, repo, at, path))
    found = versions_page(call.lake._core, ref, limit, decoded(cursor))
    messages = [one.message for one in shown_commits(call, found.commits)]
    versions = [
        replace(one, message=message) for one, message in zip(found.versions, messages, strict=True)
    ]
    return Page(versions, encoded(found.rest) if found.rest else None)


@routes.PUT("/repos/{project}/{repo}/table", WRITE_REPO)
def set_table(
    call: Caller,
    project: str,
    repo: str,
    body: TableSetting,
    at: str = DEFAULT_BRANCH,
    path: str | None = None,
) -> Commit:
    """Record how a folder is read, as one commit, if its files can be read that way."""
    return call.lake.set_table(
        _ref(project, repo, at, path),
        format=body.format,
        options=body.options,
        schema=body.schema,
        key=body.key,
        message=body.message,
    )


@routes.GET(
    "/repos/{project}/{repo}/table/rows", READ_REPO, response_model=RowsPage, responses=_ROWS
)
def get_rows(
    call: Caller,
    request: Request,
    project: str,
    repo: str,
    at: str = DEFAULT_BRANCH,
    path: str | None = None,
    columns: Names = None,
    where: Where = None,
    limit: Annotated[int | None, Query(ge=0, description="How many rows at most.")] = None,
    cursor: Cursor = None,
    malformed: Annotated[bool, Query(description="Those that are left out instead.")] = False,
) -> RowsPage | Response:
    """Rows of a table: a page of JSON, or with that Accept header all of them as Arrow."""
    table = call.lake.table(_ref(project, repo, at, path))
    names, conditions = names_of(columns), where_of(where)
    if malformed:
        return _left_out(table, request, limit)
    if ARROW in request.headers.get("accept", ""):
        if limit is not None and not conditions:
            reader = table.peek(limit, names).to_reader()
        else:
            reader = _limited(table.batches(names, conditions), limit)
        return StreamingResponse(begun(stream_bytes(reader)), media_type=ARROW)
    count = min(limit if limit is not None else 100, MOST)
    start = row_of(cursor)
    rows = _cut(table.batches(names, conditions), start, count + 1)
    shown = [row for batch in rows for row in rows_of(batch)]
    info = table.info
    chosen = info.columns.names if names is None else tuple(names)
    types = tuple(one.type for name in chosen if (one := info.columns.find(name)) is not None)
    more = encoded(str(start + count)) if len(shown) > count else None
    return RowsPage(chosen, types, shown[:count], more)


def _left_out(table: LakeTable, request: Request, limit: int | None) -> RowsPage | Response:
    if ARROW in request.headers.get("accept", ""):
        reader = table.malformed(limit).to_reader()
        return StreamingResponse(begun(stream_bytes(reader)), media_type=ARROW)
    found = table.malformed(min(limit if limit is not None else 100, MOST))
    rows = [row for batch in found.to_batches() for row in rows_of(batch)]
    types = tuple(one.type for one in from_arrow(found.schema))
    return RowsPage(tuple(found.column_names), types, rows, None)


@routes.POST(
    "/repos/{project}/{repo}/table/rows", WRITE_REPO, status_code=201, openapi_extra=_ARROW_BODY
)
async def write_table(
    call: Caller,
    request: Request,
    project: str,
    repo: str,
    at: str = DEFAULT_BRANCH,
    path: str | None = None,
    mode: str = "append",
    partition_by: Names = None,
    message: str = "",
    key: str | None = None,
    evolve: bool = True,
) -> Commit:
    """Write rows, a stream of Arrow, in one commit. A key that is sent again writes nothing."""

    def write(rows: pa.RecordBatchReader) -> Commit:
        return call.lake.write_table(
            _ref(project, repo, at, path),
            rows,
            mode=mode,
            partition_by=names_of(partition_by),
            message=message,
            key=key,
            evolve=evolve,
        )

    return await _with_rows(call, request, write)


@routes.POST("/repos/{project}/{repo}/table/merge", WRITE_REPO, openapi_extra=_ARROW_BODY)
async def merge_table(
    call: Caller,
    request: Request,
    project: str,
    repo: str,
    rule: Annotated[str, Query(description='As JSON: {"on": ["id"]}')],
    at: str = DEFAULT_BRANCH,
    path: str | None = None,
) -> RowChange:
    """Upsert: rows, a stream of Arrow, replace those with the same key; others are added."""
    try:
        asked: Merge = adapter(Merge).validate_json(rule)
    except ValueError:
        raise Usage(f"{rule} is no rule of a merge.", hint='As in {"on": ["id"]}.') from None

    def merge(rows: pa.RecordBatchReader) -> RowChange:
        return call.lake.merge_table(
            _ref(project, repo, at, path),
            rows,
            on=asked.on,
            delete_when=asked.delete_when,
            update=asked.update,
            insert=asked.insert,
            message=asked.message,
        )

    return await _with_rows(call, request, merge)


@routes.POST("/repos/{project}/{repo}/table/delete", WRITE_REPO)
def delete_rows(
    call: Caller,
    project: str,
    repo: str,
    body: RowsDeletion,
    at: str = DEFAULT_BRANCH,
    path: str | None = None,
) -> RowChange:
    """Delete the rows that meet a condition."""
    ref = _ref(project, repo, at, path)
    return call.lake.delete_from(ref, body.where, message=body.message)


@routes.POST("/repos/{project}/{repo}/table/update", WRITE_REPO)
def update_rows(
    call: Caller,
    project: str,
    repo: str,
    body: RowsUpdate,
    at: str = DEFAULT_BRANCH,
    path: str | None = None,
) -> RowChange:
    """Give columns new values in the rows that meet a condition."""
    ref = _ref(project, repo, at, path)
    return call.lake.update_table(ref, body.set, body.where, message=body.message)


@routes.POST("/repos/{project}/{repo}/table/compact", WRITE_REPO)
def compact(
    call: Caller,
    project: str,
    repo: str,
    body: NewCompaction,
    at: str = DEFAULT_BRANCH,
    path: str | None = None,
) -> Compaction:
    """Join the small files of each partition. Rows stay as they are."""
    return call.lake.compact(
        _ref(project, repo, at, path),
        target_size=body.target_size,
        partitions=body.partitions,
        message=body.message,
    )


def _ref(project: str, repo: str, at: str, path: str | None) -> str:
    place = f"{project}/{repo}@{at}"
    return place if path is None else f"{place}:{path}"


async def _with_rows(
    call: Call, request: Request, use: Callable[[pa.RecordBatchReader], Done]
) -> Done:
    """Take all rows in, then use them: no thread waits for a client, nothing is half written."""
    if not request.headers.get("content-type", "").startswith(ARROW):
        raise Usage("Rows are sent as a stream of Arrow.", hint=f"Content-Type: {ARROW}")
    async with spooled(request, call.lake._folder / FOLDER) as file:

        def work() -> Done:
            check_sizes(file)
            pieces: Iterator[bytes] = iter(partial(file.read, PIECE), b"")
            return use(checked_stream(pieces))

        return await run_in_threadpool(work)


def _limited(reader: pa.RecordBatchReader, limit: int | None) -> pa.RecordBatchReader:
    import pyarrow as pa

    if limit is None:
        return reader
    return pa.RecordBatchReader.from_batches(reader.schema, _cut(reader, 0, limit))


def _cut(reader: pa.RecordBatchReader, start: int, count: int) -> Iterator[Any]:
    """The rows from one on, at most so many."""
    left = count
    for batch in stepped(reader):
        skipped = min(start, batch.num_rows)
        start -= skipped
        some = batch.slice(skipped, left)
        left -= some.num_rows
        if some.num_rows:
            yield some
        if left <= 0:
            return
