"""The end of the demo: the console on its lake, for as long as somebody looks."""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path
from typing import Protocol

from trunkline.cli.beside import Beside, ended_politely
from trunkline.errors import Failed, Unavailable

HOST = "127.0.0.1"
PATIENCE = 60.0
LOOK_SECONDS = 0.1


class Stage(Protocol):
    """What the demo shows things with."""

    place: Path

    def say(self, sentence: str) -> None: ...
    def write(self, line: str) -> None: ...
    def prompt(self, command: str) -> None: ...


def show_console(stage: Stage, port: int | None, usual: int) -> None:
    """On a terminal, serve until Ctrl-C; elsewhere, see that it answers, and stop it.

    Where `port`, or else the usual one, is taken, another is.
    """
    stage.say("And all of it to look at:")
    wanted = usual if port is None else port
    if _is_taken(wanted):
        stage.write(f"# Port {wanted} is taken, so it is another one.")
        port = wanted = 0
    stage.prompt("trunkline serve" if port is None else f"trunkline serve --port {port}")
    somebody = sys.stdout.isatty()
    # Who clicks on "run" wants a worker; who only asks whether it answers does not.
    workers = 1 if somebody else 0
    options = ("--host", HOST, "--port", str(wanted), "--s3-port", "0", "--workers", str(workers))
    with ended_politely():
        server = Beside("serve", *options, environ={"TRUNKLINE_SERVER_AUTH": "no"})
        try:
            url = _address(server, stage.place)
            stage.write(_what_is_there(url))
            if somebody:
                _look(stage, server)
            else:
                again = f"cd {shlex.quote(str(stage.place))} && trunkline serve"
                stage.write("Nobody is at a terminal to look, so it was stopped. To see it:")
                stage.write(f"  {again}")
        finally:
            server.stop()


def _is_taken(port: int) -> bool:
    from trunkline.server.listening import listen

    try:
        listen(HOST, port, "--port").close()
    except Unavailable:
        return True
    return False


def _address(server: Beside, place: Path) -> str:
    """Where it answers, once it does."""
    from trunkline.sdk.places import server_of
    from trunkline.settings import named_lake

    lake = named_lake(str(place))
    deadline = time.monotonic() + PATIENCE
    while (found := server_of(lake, {})) is None:
        if server.is_over:
            raise Failed("The demo stopped: its server has ended. " + " ".join(server.lines()))
        if time.monotonic() > deadline:
            raise Failed(f"The demo stopped: its server did not answer in {PATIENCE:.0f} s.")
        time.sleep(LOOK_SECONDS)
    return found.url


def _what_is_there(url: str) -> str:
    import httpx2

    from trunkline.server.console import FOLDER

    answer = httpx2.get(url, trust_env=False, timeout=PATIENCE)
    if answer.status_code != 200:
        raise Failed(f"The demo stopped: {url} answers with {answer.status_code}.")
    if not (FOLDER / "index.html").is_file():
        return f"The API is at {url}. The console is not built here: make console"
    return f"The console is at {url}"


def _look(stage: Stage, server: Beside) -> None:
    stage.write("Ctrl-C stops it.")
    sys.stdout.flush()
    said = ""
    try:
        while not server.is_over:
            for line in server.lines():  # its log is for who serves in earnest
                said = line
            time.sleep(LOOK_SECONDS)
    except KeyboardInterrupt:
        stage.write("\nStopped.")
        return
    raise Failed(f"The server has ended. {said}".rstrip())
