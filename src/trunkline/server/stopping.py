"""The end of a server: requests that it cuts off are answered, and their threads end with it."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
from types import TracebackType

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from trunkline.errors import CommitUnknown, Unavailable
from trunkline.server.failures import answer

log = logging.getLogger("trunkline.server")

THREAD_SECONDS = 1.0
_THREADS = "AnyIO worker thread"


class CutOff:
    """Says to whom the server has no time left for that they may ask again."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def sending(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, sending)
        except asyncio.CancelledError:
            if scope["type"] != "http" or begun or not scope["app"].state.service.stopping:
                raise
            await answer(Request(scope), _told(scope["method"]))(scope, receive, send)


def _told(method: str) -> Unavailable:
    if method in ("GET", "HEAD"):
        return Unavailable("The server stopped before it could answer.", hint="Ask again.")
    return CommitUnknown(
        "The server stopped while it did this: it may be done, or not.",
        hint="Look before you ask for it again.",
    )


def end_threads(
    kind: type[BaseException] | None,
    error: BaseException | None,
    trace: TracebackType | None,
) -> None:
    """End the process if threads of requests go on: nobody waits for them, and they might wait
    for ever. The next server must not meet them. What they do is done whole or not at all.
    """
    left = [one for one in threading.enumerate() if one.name == _THREADS and not one.daemon]
    for one in left:
        one.join(THREAD_SECONDS)
    if error is None and any(one.is_alive() for one in left):
        log.warning("requests were cut off: %d", sum(one.is_alive() for one in left))
        logging.shutdown()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)
