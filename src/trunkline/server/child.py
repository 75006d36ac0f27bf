"""A worker under a server: it serves the same routes on a unix socket, where Spark is at hand."""

from __future__ import annotations

import io
import json
import logging
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from trunkline.errors import Usage
from trunkline.jobs.worker import GentleStop
from trunkline.sdk.lake import Lake
from trunkline.settings import Settings, Source

GRACE_SECONDS = 20.0
"""How long jobs may go on when the server stops."""
ORPHAN_SECONDS = 10.0
"""How long a worker whose server died may take to hand back what it has."""


@dataclass(frozen=True, slots=True)
class Greeting:
    """What a server tells a worker by its stdin: nothing that others may read."""

    url: str
    authenticated: bool
    token: str = field(default="", repr=False)
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)


def server_pipe() -> io.FileIO:
    """The pipe from the server, taken away from stdin: what we start must not read it."""
    pipe = io.FileIO(os.dup(0))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return pipe


def greeted(pipe: io.FileIO) -> Greeting:
    """The first line; who has no server behind has no use for the option."""
    try:
        return Greeting(**json.loads(pipe.readline()))
    except (ValueError, TypeError, OSError):
        raise Usage("--socket is for the workers that trunkline serve starts.") from None


def end_with(pipe: io.FileIO) -> GentleStop:
    """What stops the worker: gently when told, at once when the server and its pipe are gone."""
    stop = GentleStop(GRACE_SECONDS)

    def watch() -> None:
        with suppress(OSError, ValueError):
            while pipe.read(1):
                continue
        stop.at_once()
        late = threading.Timer(ORPHAN_SECONDS, os._exit, (1,))
        late.daemon = True
        late.start()

    threading.Thread(target=watch, name="server-watch", daemon=True).start()
    return stop


def start_logging(folder: Path, found: Settings) -> None:
    """The log of a server and of its workers; who set a level gets that one."""
    from trunkline.server import logs

    level = found["log.level"]
    asked = level.source is not Source.DEFAULT
    number = logging.getLevelNamesMapping()[str(level.value).upper()] if asked else logging.INFO
    logs.configure(found.text("server.log"), folder, level=number)


@contextmanager
def answering(path: Path, lake: Lake, found: Settings, greeting: Greeting) -> Iterator[None]:
    """Answer requests on a unix socket in a folder that only this user can open, in a thread."""
    over = threading.Event()
    thread = threading.Thread(
        target=_answer, args=(path, lake, found, greeting, over), name="answers", daemon=True
    )
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(5)
        path.unlink(missing_ok=True)
        with suppress(OSError):
            path.parent.rmdir()


def _answer(
    path: Path, lake: Lake, found: Settings, greeting: Greeting, over: threading.Event
) -> None:
    # All this takes a second to import: Spark starts meanwhile.
    import uvicorn

    from trunkline.server.app import create_app
    from trunkline.server.service import Service

    service = Service(lake, found, authenticated=greeting.authenticated)
    service.engine = "here"
    service.local_token = greeting.token
    config = uvicorn.Config(
        create_app(service),
        uds=str(path),
        lifespan="on",
        log_config=None,
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)

    def end() -> None:
        over.wait()
        server.should_exit = True

    threading.Thread(target=end, daemon=True).start()
    server.run()
