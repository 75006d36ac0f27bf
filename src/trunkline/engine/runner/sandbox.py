"""Where commands run: in a view of the file system with `/pfs` and a `/tmp` of its own, which is
no wall (`auto`), or behind one (`on`)."""

from __future__ import annotations

import json
import marshal
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from trunkline import errors
from trunkline.engine.runner import zygote
from trunkline.engine.runner.failure import DatumFailed
from trunkline.engine.runner.folder import Folder
from trunkline.engine.runner.log import Log
from trunkline.engine.runner.process import Processes
from trunkline.engine.runner.task import Work
from trunkline.engine.runner.wall import outermost
from trunkline.engine.runner.workspace import Workspace
from trunkline.model.pipelines import Sandbox as Choice
from trunkline.settings import LAKE_FOLDER

SCRATCH = ("/tmp", "/var/tmp")
"""Folders of the machine that a command has to itself."""

PACKAGES = str(Path(errors.__file__).resolve().parent.parent)
_BEGIN = (
    "import sys; sys.path.append(sys.argv[1]); from trunkline.engine.runner.wall import main; "
    "main(sys.argv[2])"
)
_BEHIND_A_WALL = (sys.executable, "-I", "-c", _BEGIN, PACKAGES)
_PLACES = (
    "import json, sys; print(json.dumps([sys.prefix, sys.exec_prefix, sys.base_prefix, "
    "sys.base_exec_prefix, sys.executable, *sys.path]))"
)

_SHOWN = 5

_words = re.compile(r"""/[^\s"'`;:,=|&<>(){}$*?\[\]\\]+""").findall


def choose_sandbox(
    work: Work, space: Workspace, folder: Folder, processes: Processes, code: str, log: Log
) -> View | None:
    """The sandbox of a job, or None if it is not wanted or none can be had."""
    if work.sandbox is Choice.OFF:
        return None
    kind = Wall if work.sandbox is Choice.ON else View
    try:
        return kind(work, space, folder, processes, code)
    except _Unusable as unusable:
        why = str(unusable)
    if work.sandbox is Choice.ON:
        raise DatumFailed(f"no sandbox can be had: {why}", is_final=True)
    log.note(
        "there is no /pfs here, only pfs/ in the working folder, and /tmp is the machine's "
        f"(TMPDIR is the datum's own): {why}"
    )
    return None


class _Unusable(Exception):
    pass


class View:
    """Starts commands in a process that has the view, which stays for the next job."""

    def __init__(
        self, work: Work, space: Workspace, folder: Folder, processes: Processes, code: str
    ) -> None:
        self._work = work
        self._space = space
        self._folder = folder
        self._processes = processes
        self._code = code
        self._kept = self._places()
        self._holder = self._hold()

    @property
    def hint(self) -> str:
        """What a command that failed may have looked for in vain."""
        words = {_top(word) for word in _words_of(self._work) if os.path.exists(_top(word))}
        hidden = sorted(one for one in words if not self._kept.get(one))
        if not hidden:
            return ""
        return (
            f"/tmp is the datum's own: {', '.join(hidden[:_SHOWN])} of this machine cannot be "
            "written to, or is not there; put what it needs into code, or say sandbox: off"
        )

    def start(
        self,
        program: str,
        arguments: list[str],
        environment: Mapping[bytes, bytes],
        descriptors: Sequence[int],
    ) -> int:
        if self._holder.made_of != self._made_of() or not self._holder.is_alive:
            self._holder = self._hold()
        if not all(environment) or b"=" in b"".join(environment):
            raise ValueError("illegal environment variable name")
        request = (self._folder.cwd, program, arguments, dict(environment))
        answer = self._holder.ask(request, descriptors)
        if answer < 0:
            raise OSError(-answer, os.strerror(-answer))
        return answer

    def reap(self, pid: int) -> int:
        return self._holder.ask(pid)

    def _places(self) -> dict[str, bool]:
        """What stays as it is: True where it can be written to."""
        return _kept(self._work, self._space)

    def _starting(self, root: str, shown: Mapping[str, str]) -> list[str]:
        """The process that has the view, as a command."""
        given = marshal.dumps((root, dict(shown), self._kept))
        return [sys.executable, "-I", "-S", zygote.__file__, given.hex()]

    def _hold(self) -> _Holder:
        scratch = {os.path.realpath(place) for place in SCRATCH if os.path.isdir(place)}
        shown = {"/pfs": self._folder.pfs, **dict.fromkeys(sorted(scratch), self._space.scratch)}
        made_of = self._made_of()
        if _last and _last[0].made_of == made_of and _last[0].is_alive:
            return _last[0]
        while _last:
            _last.pop().close()
        self._space.clear(_inside(self._kept, shown, self._space))
        root = self._space.path + "/root"
        os.makedirs(root, exist_ok=True)
        holder = _Holder(made_of, self._starting(root, shown))
        _last.append(holder)
        self._processes.adopt(holder.pid)
        return holder

    def _made_of(self) -> object:
        """What the view is of: it shows folders, not what comes in their place."""
        space, folder = self._space, self._folder
        return type(self), os.getpid(), space.path, space.scratches, folder.generation, self._kept


class Wall(View):
    """Starts commands that have nothing of the machine but its programs."""

    @property
    def hint(self) -> str:
        return (
            "its sandbox has no network, and of this machine only programs: put what it needs "
            "into code, or have an admin name its folder in sandbox.paths"
        )

    def _places(self) -> dict[str, bool]:
        return dict.fromkeys(self._read, False) | self._own

    @property
    def _own(self) -> dict[str, bool]:
        own = {self._space.datum: True, self._space.scratch: True}
        return own | ({self._code: False} if self._code else {})

    @property
    def _read(self) -> list[str]:
        """What can be read of the machine, beside what belongs to the system."""
        given = (os.path.realpath(place) for place in self._work.shown)
        return list(outermost((*_python_places(), *given)))

    def _starting(self, root: str, shown: Mapping[str, str]) -> list[str]:
        lake = os.path.dirname(self._work.store)
        hidden = [
            *self._work.hidden,
            lake if lake.endswith(f"/{LAKE_FOLDER}") else self._work.store,
        ]
        shown = {**shown, "/dev/shm": self._space.scratch}
        return [*_BEHIND_A_WALL, json.dumps((root, shown, self._read, hidden, self._own))]

    def _made_of(self) -> object:
        return super()._made_of(), self._work.store, self._work.shown, self._work.hidden


def why_no_wall() -> str:
    """Why no wall can be had on this machine; "" if one can."""
    root = tempfile.mkdtemp(prefix="trunkline-root-")
    given = json.dumps((root, {}, list(outermost(_python_places())), [], {}))
    try:
        _Holder(None, [*_BEHIND_A_WALL, given]).close()
    except _Unusable as unusable:
        return str(unusable)
    finally:
        os.rmdir(root)
    return ""


@cache
def _python_places() -> tuple[str, ...]:
    """Where this Python and what is installed for it are: links, and where they lead."""
    command = [sys.executable, "-I", "-c", _PLACES]
    found: list[str] = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    places = [os.path.normpath(place) for place in (*found, PACKAGES) if place.startswith("/")]
    real = [os.path.realpath(place) for place in places]
    return tuple(place for place in dict.fromkeys((*places, *real)) if place != "/")


class _Holder:
    """The process that has the view, or is behind the wall."""

    def __init__(self, made_of: object, command: Sequence[str]) -> None:
        self.made_of = made_of
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self._process = subprocess.Popen(
                    command,
                    env={},
                    stdin=theirs.fileno(),
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    start_new_session=True,
                )
            except OSError as error:
                ours.close()
                raise _Unusable(f"cannot start {sys.executable}: {error.strerror}") from None
        self.pid = self._process.pid
        self._connection = ours
        self.is_alive = True
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        if self._process.stdout.readline() != zygote.READY:
            said = self._process.stderr.read().decode(errors="replace").strip().splitlines()
            self.close()
            why = said[-1] if said else "no reason was given"
            raise _Unusable(f"this machine lets its worker have no namespaces ({why})")

    def ask(self, request: Any, descriptors: Sequence[int] = ()) -> int:
        data = marshal.dumps(request)
        data = zygote.LENGTH.pack(len(data)) + data
        # Whatever happens in between, an answer that was not taken is not the next one's.
        is_alive, self.is_alive = self.is_alive, False
        try:
            if not is_alive:
                raise ConnectionError
            sent = socket.send_fds(self._connection, [data], descriptors)
            if sent < len(data):
                self._connection.sendall(data[sent:])
            answer = self._connection.recv(zygote.ANSWER.size, socket.MSG_WAITALL)
            if len(answer) < zygote.ANSWER.size:
                raise ConnectionError
        except ConnectionError:
            raise DatumFailed("the process that starts its commands was ended") from None
        self.is_alive = True
        return int(zygote.ANSWER.unpack(answer)[0])

    def close(self) -> None:
        self.is_alive = False
        self._connection.close()
        with self._process as process:  # closes the pipes
            process.kill()


_last: list[_Holder] = []
"""What this process has: it is made once for many sets of datums."""


def _kept(work: Work, space: Workspace) -> dict[str, bool]:
    """What stays as it is in the machine's folders for scratch: True where it can be written.

    That is our own, and what the command names: whatever lies there was made to be read. So
    `rm -rf /tmp/*` costs a command its own files, and nobody else's; unless it names the lake.
    """
    found = dict.fromkeys((top for path in _named(work) if (top := _top(path))), False)
    own = {space.path: False, space.datum: True, space.scratch: True}
    lake = os.path.dirname(work.store).removesuffix(f"/{LAKE_FOLDER}")
    texts = (*work.cmd, *work.stdin, *work.err_cmd, *work.err_stdin, *work.env.values())
    if _top(lake) and any(lake in text for text in texts):
        own[lake] = True
    found.update((path, can_write) for path, can_write in own.items() if _top(path))
    return dict(sorted(found.items()))


def _named(work: Work) -> Iterator[str]:
    """Paths of programs and files that a command is given, and that are there."""
    lists = (*work.env.values(), work.env.get("PATH") or os.environ.get("PATH", ""))
    given = [*work.cmd, *work.err_cmd, *(part for text in lists for part in text.split(":"))]
    given += [found for name in _programs(work) if (found := shutil.which(name))]
    yield from _real(path for path in given if path.startswith("/"))
    # Straight in /tmp is what somebody left there: a script that writes to it wants its own.
    words = _words_of(work)
    yield from _real(word for word in words if os.path.isfile(word) and _top(word) != word)


def _words_of(work: Work) -> list[str]:
    """Whatever looks like a path in the folders for scratch."""
    texts = (*work.cmd, *work.stdin, *work.err_cmd, *work.err_stdin)
    return [word for text in texts for word in _words(text) if _top(word)]


def _programs(work: Work) -> Iterator[str]:
    for command in (work.cmd, work.err_cmd):
        yield from command[:1]


def _real(paths: Iterable[str]) -> Iterator[str]:
    for path in paths:
        if os.path.exists(path):
            yield os.path.normpath(path)
            yield os.path.realpath(path)


def _top(path: str) -> str:
    """The file or folder straight in a folder for scratch that a path is in; "" for others."""
    for place in SCRATCH:
        if path.startswith(place + "/"):
            return "/".join(path.split("/")[: place.count("/") + 2])
    return ""


def _inside(kept: Iterable[str], shown: Mapping[str, str], space: Workspace) -> list[str]:
    """Where the places that are kept are in our folder for scratch."""
    return [
        space.scratch + path[len(place) :]
        for path in kept
        for place, folder in shown.items()
        if folder == space.scratch and path.startswith(place + "/")
    ]
