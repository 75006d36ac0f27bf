"""Transactions: files uploaded one by one or many at once, then committed together."""

from __future__ import annotations

from typing import Annotated, Any

from anyio import CancelScope
from fastapi import Header, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from trunkline.model.commits import Commit
from trunkline.model.entries import line_hash, line_size
from trunkline.sdk.wire.files import (
    LENGTH,
    OFFSET,
    Ending,
    NewTransaction,
    OpenTransaction,
    Receipt,
    Receipts,
    Upload,
)
from trunkline.sdk.wire.values import Page
from trunkline.sdk.writer import file_path
from trunkline.server.calls import WRITE_SOMETHING, Call, Caller, Routes
from trunkline.server.failures import answer
from trunkline.server.limits import LARGEST_MANY
from trunkline.server.uploads import leasing, receipts
from trunkline.server.uploads.bodies import check_length, pour, spooled
from trunkline.server.uploads.ending import end, own_keys
from trunkline.server.uploads.parts import FOLDER, Parts, WrongOffset, sweep
from trunkline.server.uploads.sink import ObjectSink
from trunkline.server.uploads.whole import store_bundle
from trunkline.storage.objects.intake import Intake

routes = Routes(tags=["transactions"])
_BYTES = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}


@routes.POST("/transactions", WRITE_SOMETHING, status_code=201)
def begin_transaction(call: Caller, body: NewTransaction) -> OpenTransaction:
    """Open a transaction, or say that an open one is still wanted."""
    sweep(call.lake._folder)
    return leasing.begin(call.lake._core, body.id, call.who.identity)


@routes.DELETE("/transactions/{txn}", WRITE_SOMETHING, status_code=204)
def drop_transaction(call: Caller, txn: str) -> None:
    """Throw away what was uploaded. What is not there, or another's, is no error."""
    parts = Parts(call.lake._folder, txn)
    if leasing.drop(call.lake._core, txn, call.who.identity):
        parts.remove()


@routes.POST("/transactions/{txn}/commit", WRITE_SOMETHING, largest=LARGEST_MANY)
def commit_transaction(call: Caller, txn: str, body: Ending) -> Page[Commit]:
    """Do everything, or nothing. Asked again, the answer is the same."""
    return Page(end(call, txn, body))


@routes.PUT("/transactions/{txn}/objects", WRITE_SOMETHING, openapi_extra=_BYTES)
async def put_object(call: Caller, request: Request, txn: str, path: str) -> Receipt:
    """Upload one file; the body is its bytes."""
    name = file_path(path)
    held = await run_in_threadpool(_Held, call, txn)
    check_length(request, call.lake._folder)
    sink = ObjectSink(call.lake._core, own_keys(txn), name)
    try:
        await pour(request, sink.write, held.keep)
        line = await run_in_threadpool(sink.finish)
    except BaseException:
        with CancelScope(shield=True):
            await run_in_threadpool(sink.discard)
        raise
    return held.receipt(line)


@routes.POST("/transactions/{txn}/bundle", WRITE_SOMETHING, openapi_extra=_BYTES)
async def put_bundle(call: Caller, request: Request, txn: str) -> Receipts:
    """Upload many files at once; their receipts, in order."""
    held = await run_in_threadpool(_Held, call, txn)
    async with spooled(request, call.lake._folder / FOLDER, held.keep) as stream:
        return await run_in_threadpool(held.store_bundle, stream)


@routes.POST("/transactions/{txn}/uploads", WRITE_SOMETHING, status_code=201)
def begin_upload(
    call: Caller, txn: str, path: str, size: Annotated[int, Query(ge=0, le=1 << 42)]
) -> Upload:
    """Begin to send a large file in parts."""
    _Held(call, txn)
    return Parts(call.lake._folder, txn).begin(file_path(path), size)


@routes.GET("/transactions/{txn}/uploads/{upload}", WRITE_SOMETHING)
def get_upload(call: Caller, txn: str, upload: str) -> Upload:
    """How much of a large file is here."""
    _Held(call, txn)
    return Parts(call.lake._folder, txn).find(upload)


@routes.HEAD("/transactions/{txn}/uploads/{upload}", WRITE_SOMETHING)
def head_upload(call: Caller, txn: str, upload: str) -> Response:
    """As GET, in headers."""
    found = get_upload(call, txn, upload)
    return Response(None, 200, {OFFSET: str(found.offset), LENGTH: str(found.size)})


@routes.PATCH(
    "/transactions/{txn}/uploads/{upload}", WRITE_SOMETHING, status_code=204, openapi_extra=_BYTES
)
async def put_part(
    call: Caller,
    request: Request,
    txn: str,
    upload: str,
    offset: Annotated[int, Header(alias=OFFSET, ge=0)],
) -> Response:
    """Send the bytes from an offset on. What arrives stays, also if the connection is lost."""
    held = await run_in_threadpool(_Held, call, txn)
    try:
        part = await run_in_threadpool(held.parts.open, upload, offset)
    except WrongOffset as error:
        told = answer(request, error)
        told.headers[OFFSET] = str(error.offset)
        return told
    try:
        check_length(request, call.lake._folder, part.left)
        await pour(request, part.write, held.keep, part.left)
    finally:
        part.close()
    return Response(None, 204, {OFFSET: str(part.offset)})


@routes.POST("/transactions/{txn}/uploads/{upload}/finish", WRITE_SOMETHING)
def finish_upload(call: Caller, txn: str, upload: str) -> Receipt:
    """All parts are here: the receipt of the file."""
    held = _Held(call, txn)
    return held.receipt(held.parts.finish(call.lake._core, upload, own_keys(txn)))


class _Held:
    """An open transaction of the caller's."""

    def __init__(self, call: Call, txn: str) -> None:
        self._call = call
        self._txn = txn
        self._core = call.lake._core
        self.parts = Parts(call.lake._folder, txn)
        started = leasing.hold(self._core, txn, call.who.identity)
        self._receipts = receipts.Receipts(call.lake._folder, txn, started)

    async def keep(self) -> None:
        await run_in_threadpool(leasing.hold, self._core, self._txn, self._call.who.identity)

    def receipt(self, line: bytes) -> Receipt:
        return Receipt(self._receipts.give(line), line_hash(line).decode(), line_size(line))

    def store_bundle(self, stream: Any) -> Receipts:
        options = self._core.options
        keys = own_keys(self._txn)
        with Intake(
            self._core.objects,
            keys,
            pack_limit=options.pack_limit,
            pack_size=options.pack_size,
        ) as intake:
            _, lines = store_bundle(intake, stream)
        return Receipts([self._receipts.give(line) for line in lines])
