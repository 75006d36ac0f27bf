"""`trunkline serve`: the API's process. It answers, and keeps its workers alive.

Spark is in the workers alone, so what becomes of it is nothing to who asks.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import signal
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import anyio.to_thread
import uvicorn
import uvloop

from trunkline import notices
from trunkline.engine.environ import keep_to_itself
from trunkline.lake.access import issue_setup_token
from trunkline.sdk.lake import Lake
from trunkline.sdk.running import SERVER_VARIABLE
from trunkline.sdk.secrets import secret_reader
from trunkline.server import tracing
from trunkline.server.app import create_app
from trunkline.server.child import Greeting, start_logging
from trunkline.server.children import Child, Children
from trunkline.server.listening import address_of, check_host, listen
from trunkline.server.presence import Presence
from trunkline.server.protocol import Protocol
from trunkline.server.queries.keeper import keeper_of
from trunkline.server.service import Service
from trunkline.server.stopping import end_threads
from trunkline.server.worker_environment import split
from trunkline.settings import Settings

log = logging.getLogger("trunkline.server")

WARM_SECONDS = 2.0
"""So long after it answers a process for SQL is made ready."""
REQUEST_GRACE_SECONDS = 5
"""How long requests may go on when the server is told to stop."""


@dataclass(frozen=True, slots=True)
class Options:
    """What serve is told: by flags, else by settings. `worker_options` are for its workers."""

    host: str
    port: int
    s3_port: int
    workers: int
    authenticated: bool
    worker_options: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Ready:
    """That the server answers, and where."""

    lake: str
    url: str
    s3_url: str
    workers: int
    auth: bool
    setup_token: str = field(default="", repr=False)
    pid: int = field(default_factory=os.getpid)


def serve(
    folder: Path,
    found: Settings,
    options: Options,
    open_lake: Callable[[], Lake],
    ready: Callable[[Ready], None],
) -> None:
    """Serve the lake in a folder until a signal comes. Errors come before `ready` is called."""
    check_host(options.host, authenticated=options.authenticated)
    keep_to_itself()
    start_logging(folder, found)
    with ExitStack() as stack:
        presence = Presence(folder)
        presence.take()
        stack.callback(presence.leave)
        listener = listen(options.host, options.port, "--port")
        stack.callback(listener.close)
        s3_listener = None
        if options.s3_port and _has_s3():
            s3_listener = listen(options.host, options.s3_port, "--s3-port")
            stack.callback(s3_listener.close)
        lake = stack.enter_context(open_lake())
        stack.push(end_threads)  # before the lake is closed, which would wait for them
        service = Service(lake, found, authenticated=options.authenticated)
        # Both doors write to it, and either may close first.
        stack.callback(service.journal.close)
        service.local_token = f"tl_local_{secrets.token_urlsafe(32)}"
        told = notices.start(lake._core, found, secret_reader(folder), lake.location)
        stack.callback(told.stop)
        stack.callback(tracing.stop)
        runner = stack.enter_context(asyncio.Runner(loop_factory=uvloop.new_event_loop))
        running = _Serving(folder, service, options, presence, listener, s3_listener)
        runner.run(running.run(ready))


class _Serving:
    """One server while it runs."""

    def __init__(
        self,
        folder: Path,
        service: Service,
        options: Options,
        presence: Presence,
        listener: socket.socket,
        s3_listener: socket.socket | None,
    ) -> None:
        self._folder = folder
        self._service = service
        self._options = options
        self._presence = presence
        self._address = address_of(listener)
        self._s3_address = address_of(s3_listener) if s3_listener else ""
        service.s3_address = self._s3_address
        self._doors = [(_server(create_app(service)), listener)]
        if s3_listener is not None:
            self._doors.append((_server(_s3_app(service)), s3_listener))
        self._told_to_stop = asyncio.Event()
        self._children: Children | None = None

    async def run(self, ready: Callable[[Ready], None]) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._signalled)
        limiter = anyio.to_thread.current_default_thread_limiter()
        limiter.total_tokens = max(1, self._service.settings.number("server.threads"))
        answering = [
            asyncio.create_task(server.serve(sockets=[listener]))
            for server, listener in self._doors
        ]
        children = self._children = Children(
            self._options.workers,
            self._service.lake._core,
            self._folder,
            self._options.worker_options,
            self._changed,
        )
        try:
            await self._first(answering, *(server.ready for server, _ in self._doors))
            begun, told = split({**os.environ, SERVER_VARIABLE: self._public_address()})
            children.start(self._greeting(told), begun)
            self._presence.announce(self._address, self._service.local_token)
            ready(self._facts())
            loop.call_later(WARM_SECONDS, loop.run_in_executor, None, self._warm)
            await self._first(answering, self._told_to_stop)
        finally:
            self._presence.hide()
            self._service.stop()
            for server, _ in self._doors:
                server.should_exit = True
            await asyncio.gather(children.stop(), *answering)

    def _warm(self) -> None:
        if not self._told_to_stop.is_set():
            keeper_of(self._service).warm()

    async def _first(self, answering: Sequence[asyncio.Task[None]], *events: asyncio.Event) -> None:
        """Wait for all of the events; should a door fall shut meanwhile, say why."""
        waiting = asyncio.gather(*(event.wait() for event in events))
        try:
            all_: list[asyncio.Future[Any]] = [waiting, *answering]
            await asyncio.wait(all_, return_when=asyncio.FIRST_COMPLETED)
            for door in answering:
                if door.done():
                    door.result()
        finally:
            waiting.cancel()
            with suppress(asyncio.CancelledError):
                await waiting

    def _signalled(self) -> None:
        """The first asks politely; whoever sends a second does not want to wait."""
        if not self._told_to_stop.is_set():
            log.info("stopping; jobs that run may end first, a second signal does not wait")
            self._told_to_stop.set()
            return
        for server, _ in self._doors:
            server.force_exit = True
        if self._children is not None:
            self._children.hurry()

    def _changed(self, children: Sequence[Child]) -> None:
        self._service.workers = tuple(child.name for child in children)
        # Where all are being started again, who asks is told to try again.
        living = [child for child in children if child.process is not None]
        self._service.engine = (living or children)[0].socket

    def _facts(self) -> Ready:
        return Ready(
            lake=self._service.lake.location,
            url=self._public_address(),
            s3_url=self._s3_address,
            workers=self._options.workers,
            auth=self._options.authenticated,
            setup_token=_setup_token(self._service),
        )

    def _public_address(self) -> str:
        """The address that others reach it by, where that is another than ours."""
        return self._service.settings.text("server.url") or self._address

    def _greeting(self, told: Mapping[str, str]) -> Greeting:
        token = self._service.local_token
        return Greeting(self._address, self._options.authenticated, token, told)


class _Server(uvicorn.Server):
    """Leaves signals to us, since there may be two of them, and tells when it answers."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()


def _server(app: Any) -> _Server:
    return _Server(
        uvicorn.Config(
            app,
            http=Protocol,
            lifespan="on",
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=REQUEST_GRACE_SECONDS,
        )
    )


def _has_s3() -> bool:
    return _is_there("trunkline.server.s3.app")


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _s3_app(service: Service) -> Any:
    from trunkline.server.s3.app import create_s3_app

    return create_s3_app(service)


def _setup_token(service: Service) -> str:
    """The one-time token with which the first admin is made; "" where there are users."""
    return (issue_setup_token(service.lake._core) or "") if service.authenticated else ""
