"""Who is told, on real ports: a web server that keeps what it gets, and a mail server."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tests.waiting import PATIENCE, until


@dataclass
class Got:
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Receiver:
    """What came, in order. `statuses` are the next answers; then all is well."""

    url: str = ""
    statuses: list[int] = field(default_factory=list)
    came: queue.Queue[Got] = field(default_factory=queue.Queue)
    refused: queue.Queue[Got] = field(default_factory=queue.Queue)

    def next(self) -> Got:
        return self.came.get(timeout=PATIENCE)

    async def take(self, request: Request) -> Response:
        got = Got(request.url.path, dict(request.headers), await request.body())
        if self.statuses and (status := self.statuses.pop(0)) >= 300:
            self.refused.put(got)
            return Response(status_code=status)
        self.came.put(got)
        return Response(status_code=200)


@contextmanager
def receiving() -> Iterator[Receiver]:
    found = Receiver()
    app = Starlette(routes=[Route("/{path:path}", found.take, methods=["POST"])])
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until(lambda: server.started)
    port = server.servers[0].sockets[0].getsockname()[1]
    found.url = f"http://127.0.0.1:{port}"
    try:
        yield found
    finally:
        server.should_exit = True
        thread.join()


@dataclass
class MailServer:
    port: int = 0
    mails: queue.Queue[str] = field(default_factory=queue.Queue)

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        def say(text: str) -> None:
            writer.write(f"{text}\r\n".encode())

        say("220 here")
        while line := (await reader.readline()).decode().strip():
            verb = line[:4].upper()
            if verb == "DATA":
                say("354 go on")
                data = await reader.readuntil(b"\r\n.\r\n")
                self.mails.put(data.decode())
                say("250 kept")
            elif verb == "QUIT":
                say("221 bye")
                break
            else:
                say("250 well")
        writer.close()


@contextmanager
def mail_server() -> Iterator[MailServer]:
    found = MailServer()
    loop = asyncio.new_event_loop()

    async def listen() -> asyncio.Server:
        return await asyncio.start_server(found.talk, "127.0.0.1", 0)

    server = loop.run_until_complete(listen())
    found.port = server.sockets[0].getsockname()[1]
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        loop.call_soon_threadsafe(server.close)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
