"""Which lake is meant, and how it is reached: in its folder, or through a server.

--lake, or the argument of open     a folder, an address, or a context's name
TRUNKLINE_LAKE                      the same
the nearest .trunkline upwards
the context in use                  trunkline context use NAME
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from trunkline import settings
from trunkline.errors import NotFound, Precondition
from trunkline.sdk.contexts import Context, Contexts, is_address

LOCK_FILE = "server.lock"
SERVER_FILE = "server.json"
DIRECT = "TRUNKLINE_DIRECT"


@dataclass(frozen=True, slots=True)
class Place:
    """A lake's folder (`…/.trunkline`), or the address of a server. `context` named it, if any."""

    folder: Path | None = None
    url: str = ""
    token: str = field(default="", repr=False)
    project: str = ""
    context: str = ""

    def require_folder(self) -> Path:
        if self.folder is None:
            raise Precondition(
                f"This needs the folder of a lake, and {self.url} is a server.",
                hint="Run it where the lake is.",
            )
        return self.folder


@dataclass(frozen=True, slots=True)
class Served:
    """Where the server of a lake in a folder answers, and the token of its owner."""

    url: str
    token: str = field(repr=False)
    pid: int = 0


def find_place(
    explicit: str | Path | None = None,
    start: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> Place:
    """The lake that is meant; `NotFound` if none is."""
    environ = os.environ if environ is None else environ
    named = explicit or environ.get(settings.SETTINGS["lake"].variable)
    if named:
        return _named(str(named), environ)
    try:
        return Place(settings.find_lake(start, environ={}))
    except NotFound:
        chosen = Contexts(environ).current()
        if chosen is None:
            raise
        return _of_context(chosen)


def _named(text: str, environ: Mapping[str, str]) -> Place:
    if is_address(text):
        return Place(url=text.rstrip("/"))
    try:
        return Place(settings.named_lake(text))
    except NotFound:
        found = None if os.sep in text else Contexts(environ).find(text)
        if found is None:
            raise
        return _of_context(found)


def _of_context(context: Context) -> Place:
    if context.is_server:
        return Place(None, context.lake, context.token, context.project, context.name)
    try:
        folder = settings.named_lake(context.lake)
    except NotFound as error:
        raise NotFound(
            f'{error.message} The context "{context.name}" says it is one.',
            hint="trunkline context use --none leaves it.",
        ) from None
    return Place(folder, project=context.project, context=context.name)


def server_of(folder: Path, environ: Mapping[str, str] | None = None) -> Served | None:
    """The server of this computer that serves the lake in a folder now.

    It holds a lock for as long as it lives, so what a dead one has left is not believed. One that
    is somebody else's tells us nothing, and the lake is opened in its folder, if that is allowed.
    """
    if (os.environ if environ is None else environ).get(DIRECT, "") not in ("", "0"):
        return None
    if not is_locked(folder):
        return None
    try:
        told = json.loads((folder / SERVER_FILE).read_text())
        if told["host"] != os.uname().nodename or told["folder"] != folder_key(folder):
            return None  # of another machine, or copied along with a lake
        return Served(str(told["url"]), str(told["token"]), int(told["pid"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def folder_key(folder: Path) -> str:
    """What tells a folder from a copy of it on the same machine."""
    return f"{os.path.realpath(folder)}:{os.stat(folder).st_ino}"


def is_locked(folder: Path) -> bool:
    """Whether a server holds the lake's lock."""
    try:
        lock = os.open(folder / LOCK_FILE, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError as error:
        raise Precondition(
            f"The file system of {folder} refuses locks ({error.strerror}), so nobody can tell "
            "whether a server uses the lake.",
            hint=f"Stop all servers of the lake, then set {DIRECT}=1; or mount it with locks.",
        ) from None
    finally:
        os.close(lock)
    return False
