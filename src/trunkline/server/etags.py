"""ETags: a JSON answer that the client has already is not sent again."""

from __future__ import annotations

from hashlib import blake2b

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST = 1 << 20
"""Longer answers, and those that come in pieces, are passed on as they come."""
_KEPT = (b"cache-control", b"content-location", b"date", b"vary", b"x-request-id")


class ETags:
    """Names each JSON answer to a GET by the hash of its bytes, and says 304 to who has it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return
        start: Message | None = None

        async def sending(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start" and _is_taggable(message):
                start = message
            elif start is None:
                await send(message)
            else:
                held, start = start, None
                if message["type"] == "http.response.body" and not message.get("more_body"):
                    held, message = _tagged(scope, held, message)
                await send(held)
                await send(message)

        await self._app(scope, receive, sending)


def _is_taggable(start: Message) -> bool:
    headers = Headers(raw=start["headers"])
    length = headers.get("content-length", "")
    return (
        start["status"] == 200
        and headers.get("content-type", "").startswith("application/json")
        and "etag" not in headers
        and length.isdigit()
        and int(length) <= LARGEST
    )


def _tagged(scope: Scope, start: Message, body: Message) -> tuple[Message, Message]:
    tag = f'"{blake2b(body.get("body", b""), digest_size=12).hexdigest()}"'
    headers = MutableHeaders(scope=start)
    headers["ETag"] = tag
    # It depends on who asks, and may be another a moment later.
    headers.setdefault("Cache-Control", "private, no-cache")
    known = Headers(scope=scope).get("if-none-match", "")
    if not known or not (known.strip() == "*" or tag in _tags(known)):
        return start, body
    kept = [(name, value) for name, value in start["headers"] if name in (*_KEPT, b"etag")]
    same = {"type": "http.response.start", "status": 304, "headers": kept}
    return same, {"type": "http.response.body", "body": b""}


def _tags(text: str) -> set[str]:
    return {one.strip().removeprefix("W/") for one in text.split(",")}
