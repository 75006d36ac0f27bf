"""SQL: asked, waited for, paged, cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any

from anyio import CancelScope
from fastapi import Query as Parameter
from fastapi import Request
from fastapi.responses import StreamingResponse
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from trunkline.errors import Precondition, Usage
from trunkline.model.access import Permission
from trunkline.model.commits import Commit
from trunkline.model.refs import Ref, parse_ref
from trunkline.sdk.wire.arrow import rows_of, stream_bytes
from trunkline.sdk.wire.sql import (
    MOST_WAIT,
    Into,
    NewInto,
    NewQuery,
    QueryInfo,
    RowsPage,
)
from trunkline.sdk.wire.values import ARROW, Page
from trunkline.server.calls import ANYBODY, Call, Caller, Needs, On, Routes
from trunkline.server.paging import Cursor, Limit, encoded, page, row_of
from trunkline.server.queries.answers import CSV, JSON, begun, csv_bytes, followed, json_bytes
from trunkline.server.queries.keeper import Keeper, keeper_of
from trunkline.server.queries.query import Query

routes = Routes(tags=["sql"])

Wait = Annotated[float, Parameter(ge=0, le=MOST_WAIT, description="Seconds to wait for its end.")]
Start = Annotated[
    int | None, Parameter(ge=0, le=2**53, description="The row to begin at, instead of a cursor.")
]
_SOMETHING = Needs(On.SOMEWHERE, Permission.READ)
_ROWS = {200: {"content": {ARROW: {}}, "description": "The rows."}}
_RUN = {200: {"content": {CSV: {}, JSON: {}, ARROW: {}}, "description": "The rows."}}


@routes.POST("/sql", _SOMETHING)
async def ask(call: Caller, body: NewQuery) -> QueryInfo:
    """Ask a query, and wait a little for its end.

    Tables that the caller may not read are not found. One that fails is answered too: `state` is
    failed, and `error` says why.
    """
    if not 0 <= body.wait <= MOST_WAIT:
        raise Usage(f"wait is from 0 to {MOST_WAIT:g} seconds.")
    query = keeper_of(call.service).ask(call.who, body)
    await query.until(lambda: False, body.wait)
    return query.info()


@routes.GET("/sql", ANYBODY)
async def list_queries(call: Caller, limit: Limit = 100, cursor: Cursor = None) -> Page[QueryInfo]:
    """The caller's own queries, as long as they are kept: the oldest first."""
    found = [one.info() for one in keeper_of(call.service).of(call.who)]
    return page(found, lambda one: f"{one.created:020}-{one.id}", limit, cursor)


@routes.POST("/sql/run", _SOMETHING, response_class=Response, responses=_RUN)
async def run(call: Caller, request: Request, body: NewQuery) -> Response:
    """Ask a query and get its rows: CSV, JSON or Arrow, as the Accept header says."""
    keeper = keeper_of(call.service)
    kind = _accepted(request.headers.get("accept", ""))
    query = keeper.ask(call.who, body)
    try:
        await _ended(query, request)
        spool = await run_in_threadpool(query.rows)
    except BaseException:
        await _dropped(keeper, query)
        raise
    result = query.result
    assert result is not None
    if kind == ARROW:
        pieces: Any = followed(query)
    elif kind == CSV:
        pieces = csv_bytes(result.columns, spool.batches())
    else:
        pieces = json_bytes(result.columns, result.types, spool.batches())
    return _Dropping(pieces, keeper, query, kind)


@routes.POST("/sql/into", _SOMETHING, status_code=201)
async def run_into(call: Caller, request: Request, body: NewInto) -> Commit:
    """Ask a query and write its rows as a table, in one commit that says where they are from."""
    target = _target(call, body.target, body.project)
    keeper = keeper_of(call.service)
    query = keeper.ask(call.who, body)
    try:
        await _ended(query, request)
        return await run_in_threadpool(_written, call, query, target, body.mode)
    finally:
        await _dropped(keeper, query)


@routes.GET("/sql/{query}", ANYBODY)
async def get_query(
    call: Caller, query: str, wait: Wait = 0, columns: bool = False, rows: int | None = None
) -> QueryInfo:
    """How far a query is. Whoever waits is answered when it has ended; or before, as soon as its
    columns are known, or so many rows are there."""
    found = await run_in_threadpool(keeper_of(call.service).get, call.who, query)

    def ready() -> bool:
        known = columns and found.result is not None
        return known or (rows is not None and found.spool.rows >= rows)

    await found.until(ready, wait)
    return found.info()


@routes.GET("/sql/{query}/rows", ANYBODY)
async def get_rows(
    call: Caller,
    query: str,
    limit: Limit = 100,
    cursor: Cursor = None,
    start: Start = None,
    wait: Wait = MOST_WAIT,
) -> RowsPage:
    """A page of rows. Of a query that still runs they come as soon as they are there."""
    found = await run_in_threadpool(keeper_of(call.service).get, call.who, query)
    if start is None:
        start = row_of(cursor)
    elif cursor is not None:
        raise Usage("A page begins at a row or at a cursor, not at both.")
    if not await found.until(lambda: found.spool.rows >= start + limit, wait):
        raise Precondition(f"The query {query} still runs.", hint="Ask for its rows again later.")
    spool, result = await run_in_threadpool(found.rows), found.result
    assert result is not None
    rows = await run_in_threadpool(
        lambda: [row for batch in spool.batches(start, limit) for row in rows_of(batch)]
    )
    more = not found.final or spool.rows > start + limit
    following = encoded(str(start + len(rows))) if more else None
    return RowsPage(result.columns, result.types, rows, following)


@routes.GET("/sql/{query}/arrow", ANYBODY, response_class=Response, responses=_ROWS)
async def get_arrow(
    call: Caller,
    query: str,
    limit: Annotated[int | None, Parameter(ge=0)] = None,
    follow: bool = False,
) -> StreamingResponse:
    """The rows as a stream of Arrow, all or the first. It waits until they are there.

    With `follow` they come while the query runs: if it fails then, the stream has no end.
    """
    found = await run_in_threadpool(keeper_of(call.service).get, call.who, query)
    if limit is not None:
        await found.until(lambda: found.spool.rows >= limit and found.spool.schema is not None)
        spool = await run_in_threadpool(found.rows)
        rows = stream_bytes(spool.reader(limit))
        return StreamingResponse(await run_in_threadpool(begun, rows), media_type=ARROW)
    await found.until(lambda: follow and found.spool.rows > 0)
    await run_in_threadpool(found.rows)
    return StreamingResponse(followed(found), media_type=ARROW)


@routes.POST("/sql/{query}/into", Needs(On.BODY, Permission.WRITE), status_code=201)
async def into(call: Caller, query: str, body: Into) -> Commit:
    """Write the rows of a query that is done as a table."""
    found = await run_in_threadpool(keeper_of(call.service).get, call.who, query)
    target = _target(call, body.target, found.project)
    if not found.final:
        raise Precondition(f"The query {query} still runs.", hint="Wait until it is done.")
    return await run_in_threadpool(_written, call, found, target, body.mode)


@routes.DELETE("/sql/{query}", ANYBODY, status_code=204)
def cancel(call: Caller, query: str) -> None:
    """Cancel a query; of one that has ended the rows are forgotten."""
    keeper = keeper_of(call.service)
    keeper.drop(keeper.find(call.who, query))


class _Dropping(StreamingResponse):
    """Rows that are forgotten when they are sent, or nobody is there any more."""

    def __init__(self, pieces: Any, keeper: Keeper, query: Query, kind: str) -> None:
        super().__init__(pieces, media_type=kind)
        self._keeper = keeper
        self._query = query
        self.body_iterator = self._all(self.body_iterator)

    async def _all(self, pieces: Any) -> AsyncIterator[Any]:
        async for piece in pieces:
            yield piece
        # Before the end is sent: who has seen it finds nothing left.
        await _dropped(self._keeper, self._query)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            await _dropped(self._keeper, self._query)


async def _dropped(keeper: Keeper, query: Query) -> None:
    """In a thread: Spark is told to stop over HTTP, and may take its time to hear it."""
    with CancelScope(shield=True):
        await run_in_threadpool(keeper.drop, query)


async def _ended(query: Query, request: Request) -> None:
    """Wait for its end, or until nobody waits for it."""
    ending = asyncio.ensure_future(query.until(lambda: False))
    leaving = asyncio.ensure_future(_left(request))
    try:
        await asyncio.wait((ending, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not ending.done():
            raise Precondition("Nobody waits for this query any more.")
    finally:
        ending.cancel()
        leaving.cancel()


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        continue


def _accepted(text: str) -> str:
    wanted = [one.partition(";")[0].strip() for one in text.split(",")]
    for one in wanted:
        if one in (ARROW, CSV, JSON):
            return one
    if {"", "*/*", "application/*"}.isdisjoint(wanted):
        raise Usage(f"There is no answer as {text}.", hint=f"Accept: {CSV}, {JSON} or {ARROW}.")
    return JSON


def _target(call: Call, text: str, project: str | None) -> Ref:
    found = parse_ref(text, project=project or call.lake.project)
    call.require(Permission.WRITE, found.repo)
    return found


def _written(call: Call, query: Query, target: Ref, mode: str) -> Commit:
    spool, result = query.rows(), query.result
    assert result is not None
    place = f"{target.repo.project}/{target.repo.repo}@{target.ref}"
    where = place if target.path is None else f"{place}:{target.path}"
    return call.lake.write_table(where, spool.reader(), mode=mode, message=result.provenance)
