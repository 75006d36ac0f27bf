"""A real server on a real port, in a thread of the test's process."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from trunkline.sdk.lake import Lake
from trunkline.server.app import create_app
from trunkline.server.service import Service


@contextmanager
def served(lake: Lake, **options: object) -> Iterator[str]:
    """Serve a lake; the address of its server."""
    service = Service(lake, lake._settings, **options)  # type: ignore[arg-type]
    config = uvicorn.Config(create_app(service), port=0, log_level="warning", lifespan="on")
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
