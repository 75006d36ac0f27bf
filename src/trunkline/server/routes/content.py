"""Bytes: files read whole, in part or as an archive, and commits made in one request."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Annotated, BinaryIO, Literal

from anyio import CancelScope
from fastapi import Query, Request, Response
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from trunkline.errors import Usage
from trunkline.lake import files
from trunkline.lake.core import resolve
from trunkline.lake.lease import pinned
from trunkline.model.access import Permission
from trunkline.model.commits import DEFAULT_PROJECT, Commit, RepoName
from trunkline.model.entries import Entry, line_size
from trunkline.model.paths import normalize_path
from trunkline.model.refs import Ref, parse_branch, parse_ref
from trunkline.pipelines.globs import Glob
from trunkline.sdk.getting import select
from trunkline.sdk.wire.files import ARCHIVE
from trunkline.sdk.wire.values import BUNDLE, IDEMPOTENCY
from trunkline.sdk.writer import CommitWriter, file_path
from trunkline.server.calls import READ_REPO, WRITE_REPO, Call, Caller, Routes
from trunkline.server.downloads import archives
from trunkline.server.downloads.blocks import first_two, sent
from trunkline.server.downloads.content import AS_BYTES, disposition, headers_of, is_known, wanted
from trunkline.server.failures import answer
from trunkline.server.routes.files import At, Place
from trunkline.server.uploads.bodies import check_length, pour, spooled
from trunkline.server.uploads.ending import author_of
from trunkline.server.uploads.parts import FOLDER
from trunkline.server.uploads.sink import ObjectSink
from trunkline.server.uploads.whole import write_body

routes = Routes(tags=["content"])
Format = Literal["tar", "bundle"]
_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            kind: {"schema": {"type": "string", "format": "binary"}}
            for kind in (BUNDLE, "application/x-tar")
        },
    }
}
_BYTES = {
    "responses": {
        "200": {
            "description": "The bytes.",
            "content": {"*/*": {"schema": {"type": "string", "format": "binary"}}},
        }
    }
}


@routes.GET(
    "/repos/{project}/{repo}/content", READ_REPO, response_class=Response, openapi_extra=_BYTES
)
async def read_content(
    call: Caller,
    request: Request,
    project: str,
    repo: str,
    path: Place,
    at: At = "main",
    start: Annotated[int, Query(ge=0)] = 0,
    length: Annotated[int | None, Query(ge=0)] = None,
) -> Response:
    """The bytes of a file, or one range of them.

    `start` and `length` cut as a slice does; a Range that lies outside of the file is refused.
    """
    name = RepoName(project, repo)
    entry, headers = await run_in_threadpool(_found, call, name, at, normalize_path(path))
    tag = headers["ETag"]
    if is_known(request, tag):
        return Response(None, 304, headers)
    part = wanted(request, tag, entry.size)
    if part is not None and part[0] == part[1]:
        refused = answer(request, Usage(f"{path} has {entry.size:,} bytes."), 416)
        refused.headers["Content-Range"] = f"bytes */{entry.size}"
        return refused
    if start or length is not None:
        stop = entry.size if length is None else min(entry.size, start + length)
        part = min(start, stop), stop
    first, stop = part or (0, entry.size)
    headers["Content-Length"] = str(stop - first)
    if part is not None and first < stop:
        headers["Content-Range"] = f"bytes {first}-{stop - 1}/{entry.size}"
    if request.method == "HEAD":
        return Response(None, 200, headers)
    blocks = files.read(call.lake._core, entry, first, stop - first if part else None)
    held = await run_in_threadpool(first_two, blocks)
    return StreamingResponse(
        sent(held, blocks), 206 if "Content-Range" in headers else 200, headers
    )


routes.HEAD(
    "/repos/{project}/{repo}/content",
    READ_REPO,
    name="head_content",
    response_class=Response,
    openapi_extra=_BYTES,
)(read_content)


@routes.GET(
    "/repos/{project}/{repo}/archive", READ_REPO, response_class=Response, openapi_extra=_BYTES
)
async def read_archive(
    call: Caller,
    project: str,
    repo: str,
    at: At = "main",
    path: Place = "/",
    format: Format = "tar",
    after: str | None = None,
    limit: Annotated[int, Query(ge=1, le=archives.PAGE)] = archives.PAGE,
) -> Response:
    """A file, a folder or what a pattern matches, in one answer.

    A tar archive holds everything. A bundle holds at most `limit` files; its header says after
    which path the next one goes on.
    """
    kept = ExitStack()
    where = normalize_path(path) if Glob(path).is_literal else f"/{path.lstrip('/')}"
    ref = Ref(RepoName(project, repo), at, where)
    try:
        blocks, headers = await run_in_threadpool(_archive, call, kept, ref, format, after, limit)
        held = await run_in_threadpool(first_two, blocks)
    except BaseException:
        await run_in_threadpool(kept.close)
        raise
    done = BackgroundTask(kept.close)
    return _Kept(sent(held, blocks), 200, headers, background=done)


@routes.PUT("/repos/{project}/{repo}/content", WRITE_REPO, status_code=201, openapi_extra=_BODY)
async def put_content(
    call: Caller,
    request: Request,
    project: str,
    repo: str,
    path: Place,
    branch: str = "main",
    message: str = "",
    if_head: str | None = None,
    key: str | None = None,
    append: bool = False,
) -> Commit:
    """Put one file, as one commit. The body is its bytes."""
    name = file_path(path)
    check_length(request, call.lake._folder)
    target = parse_branch(f"{project}/{repo}@{branch}")
    writer = await run_in_threadpool(_writer, call, target, message, if_head, _key(request, key))
    transaction = writer._transaction
    await run_in_threadpool(transaction.__enter__)
    sink = ObjectSink(call.lake._core, transaction.keys.branch(), name)

    def finish() -> Commit:
        line = sink.finish()
        if append:
            writer._draft.changes.append(line)
        else:
            writer._draft.changes.put_all([line])
        transaction.__exit__(None, None, None)
        return writer.result

    def undo() -> None:
        sink.discard()
        if not transaction.ended:
            transaction.abort()

    try:
        await pour(request, sink.write)
        return await run_in_threadpool(finish)
    except BaseException:
        with CancelScope(shield=True):
            await run_in_threadpool(undo)
        raise


@routes.POST("/repos/{project}/{repo}/commits", WRITE_REPO, status_code=201, openapi_extra=_BODY)
async def make_commit(
    call: Caller,
    request: Request,
    project: str,
    repo: str,
    branch: str = "main",
    path: Place = "/",
    message: str = "",
    if_head: str | None = None,
    key: str | None = None,
) -> Commit:
    """Commit all that a bundle or a tar archive holds."""
    target = parse_branch(f"{project}/{repo}@{branch}")
    kind, known = request.headers.get("content-type", ""), _key(request, key)
    async with spooled(request, call.lake._folder / FOLDER) as stream:
        return await run_in_threadpool(
            _commit, call, target, message, if_head, known, kind, stream, path
        )


def _commit(
    call: Call,
    target: Ref,
    message: str,
    if_head: str | None,
    key: str | None,
    kind: str,
    stream: BinaryIO,
    path: str,
) -> Commit:
    def may_read(ref: str) -> None:
        call.require(Permission.READ, parse_ref(ref).repo)

    with _writer(call, target, message, if_head, key) as writer:
        write_body(writer, kind, stream, path, may_read)
    return writer.result


def _key(request: Request, key: str | None) -> str | None:
    """The key of a commit; bytes are not kept to be compared, so the header means the same."""
    return key or request.headers.get(IDEMPOTENCY)


def _writer(
    call: Call, target: Ref, message: str, if_head: str | None, key: str | None
) -> CommitWriter:
    lake = call.lake.bound(project=DEFAULT_PROJECT, author=author_of(call, ""))
    return lake._following(target, message, if_head, key)


def _found(call: Call, repo: RepoName, at: str, path: str) -> tuple[Entry, dict[str, str]]:
    core = call.lake._core
    with core.database.read() as session:
        found = resolve(session, Ref(repo, at))
    entry = files.find(core.tree(found.commit), path, f"{repo}@{at}")
    return entry, headers_of(entry, found.id, at)


def _archive(
    call: Call, kept: ExitStack, ref: Ref, format: Format, after: str | None, limit: int
) -> tuple[Iterator[bytes], dict[str, str]]:
    core = call.lake._core
    with core.database.read() as session:
        found = resolve(session, ref)
    kept.enter_context(pinned(core, found))
    chosen = select(core, core.tree(found.commit), ref, single=format == "bundle")
    headers = {**AS_BYTES, "Cache-Control": "private, no-cache"}
    if format == "bundle":
        some = archives.listed(chosen, found.id, after, limit)
        return archives.bundle(core, some), {**headers, "Content-Type": BUNDLE}
    size = sum(line_size(line) for line in chosen.lines)
    return archives.tar(core, chosen), {
        **headers,
        "Content-Type": "application/x-tar",
        "Content-Disposition": disposition(f"{ref.repo.repo}.tar"),
        ARCHIVE: f"{len(chosen.lines)} {size} {chosen.erased}",
    }


class _Kept(StreamingResponse):
    """Lets go of what it reads also when the client goes away in the middle."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        background, self.background = self.background, None
        try:
            await super().__call__(scope, receive, send)
        finally:
            if background is not None:
                with CancelScope(shield=True):
                    await background()
