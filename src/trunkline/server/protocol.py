"""HTTP as uvicorn speaks it, with an end to the patience with heads that are long or slow."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

LARGEST_HEAD = 64 << 10
"""Bytes of the address and the headers of a request."""
HEAD_SECONDS = 20.0
"""In so long a connection, once made or spoken on, must have told a whole head."""


class Protocol(HttpToolsProtocol):
    _in_head = True
    _size = 0
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._heard()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self._in_head or self.transport.is_closing():
            return
        self._size += len(data)
        if self._size > LARGEST_HEAD:
            self.send_400_response("The head of the request is too large.")
        elif self._timer is None:
            self._wait()

    def on_message_begin(self) -> None:
        self._in_head = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._heard()
        told = sum(len(name) + len(value) for name, value in self.headers)
        if told + len(self.url) > LARGEST_HEAD:
            raise ValueError("the head of the request is too large")  # answered with 400
        super().on_headers_complete()

    def _wait(self) -> None:
        self._timer = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def _heard(self) -> None:
        self._in_head, self._size = False, 0
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self._timer = None
        self.transport.close()
