"""Every answer says which API it speaks, so that no client has to ask first."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from trunkline.sdk.wire.running import API_HEADER, API_VERSION

_header = (API_HEADER.lower().encode(), str(API_VERSION).encode())


class ApiVersion:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), _header]
            await send(message)

        await self._app(scope, receive, sending)
