"""A real server on a real port, in a thread of the test's process."""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Literal

import uvicorn
from fastapi import FastAPI

import trunkline as tl
from trunkline.sdk.lake import Lake
from trunkline.sdk.remote.lake import RemoteLake
from trunkline.server.app import create_app
from trunkline.server.queries.keeper import close_queries
from trunkline.server.service import Service


@contextmanager
def served(lake: Lake, **options: Any) -> Iterator[str]:
    """Serve a lake; the address of its server."""
    service = Service(lake, lake._settings, **options)
    with answering(create_app(service), "on") as url:
        yield url


@contextmanager
def answering(app: FastAPI, lifespan: Literal["on", "off"]) -> Iterator[str]:
    config = uvicorn.Config(app, port=0, log_level="warning", lifespan=lifespan)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the server did not start"
        time.sleep(0.005)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()


class Door:
    """One server for one lake after the other: starting one takes longer than most tests.

    Nobody listens to events here.
    """

    def __init__(self) -> None:
        self.lake: Lake | None = None
        self._service: Service | None = None
        self._url = ""

    @contextmanager
    def to(self, lake: Lake, **options: Any) -> Iterator[str]:
        """The address, where this lake is served for now."""
        if self._service is None:
            self._service = Service(lake, lake._settings, **options)
            ending = ExitStack()
            self._url = ending.enter_context(answering(create_app(self._service), "off"))
            atexit.register(ending.close)
        else:
            # The application holds on to its service, so that one is made anew in place.
            self._service.__dict__.clear()
            self._service.__init__(lake, lake._settings, **options)  # type: ignore[misc]
        self.lake = lake
        try:
            yield self._url
        finally:
            self.lake = None
            self._service.stop()
            self._service.journal.close()
            close_queries(self._service)


DOOR = Door()


@contextmanager
def through_door(lake: Lake, author: str = "ada") -> Iterator[Lake]:
    """A lake as those have it who only know the address of its server."""
    with DOOR.to(lake) as url, tl.open(url, author=author) as remote:
        yield remote


def home(lake: Lake) -> Lake:
    """The lake itself, for tests that look behind the interface or under the files."""
    if not isinstance(lake, RemoteLake):
        return lake
    assert DOOR.lake is not None
    return DOOR.lake
