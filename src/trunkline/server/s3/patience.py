"""Answers that take long: what tells a client that somebody is still at work.

To complete an upload is to write all of it once more, which may take longer than a client waits
for a first byte. As S3 does, the answer then begins, and blanks come until there is something to
say. Its status is 200 by then, whatever the document says; clients of S3 know that of this one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio
from starlette.types import Scope, Send

from trunkline.server.s3.documents import HEAD
from trunkline.server.s3.visits import XML, Answer

SECONDS = 10.0


def may_take_long(scope: Scope) -> bool:
    return scope["method"] == "POST" and b"uploadId=" in scope["query_string"]


async def patiently(
    work: Callable[[], Awaitable[Answer]], request_id: str, send: Send
) -> Answer | None:
    """The answer, or None if it took long and has been sent."""
    found: list[Answer] = []
    done = anyio.Event()
    begun = False

    async def run() -> None:
        found.append(await work())
        done.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        while not done.is_set():
            with anyio.move_on_after(SECONDS):
                await done.wait()
                break
            if not begun:
                await _begin(request_id, send)
                begun = True
            await send({"type": "http.response.body", "body": b" ", "more_body": True})
    if not begun:
        return found[0]
    body = found[0].body
    assert isinstance(body, bytes)
    await send({"type": "http.response.body", "body": body.removeprefix(HEAD.encode())})
    return None


async def _begin(request_id: str, send: Send) -> None:
    headers = [(b"content-type", XML.encode()), (b"x-amz-request-id", request_id.encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    # Nothing may come before the declaration, so that comes first.
    await send({"type": "http.response.body", "body": HEAD.encode(), "more_body": True})
