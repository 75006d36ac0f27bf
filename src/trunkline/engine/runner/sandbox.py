"""`/pfs` and a `/tmp` of its own for every command: a view of the file system."""

from __future__ import annotations

import marshal
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from trunkline.engine.runner import zygote
from trunkline.engine.runner.failure import DatumFailed
from trunkline.engine.runner.folder import Folder
from trunkline.engine.runner.log import Log
from trunkline.engine.runner.process import Processes
from trunkline.engine.runner.task import Work
from trunkline.engine.runner.workspace import Workspace
from trunkline.model.pipelines import Sandbox as Choice
from trunkline.settings import LAKE_FOLDER

SCRATCH = ("/tmp", "/var/tmp")
"""Folders of the machine that a command has to itself."""

_words = re.compile(r"""/[^\s"'`;:,=|&<>(){}$*?\[\]\\]+""").findall


def choose_sandbox(
    work: Work, space: Workspace, folder: Folder, processes: Processes, log: Log
) -> View | None:
    """The sandbox of a job, or None if it is not wanted or none can be had."""
    if work.sandbox is Choice.OFF:
        return None
    try:
        return View(work, space, folder, processes)
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

    def __init__(self, work: Work, space: Workspace, folder: Folder, processes: Processes) -> None:
        self._space = space
        self._folder = folder
        self._processes = processes
        self._kept = _kept(work, space)
        words = {_top(word) for word in _words_of(work) if os.path.exists(_top(word))}
        self.hidden = sorted(one for one in words if not self._kept.get(one))
        self._holder = self._hold()

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

    def _hold(self) -> _Holder:
        scratch = {os.path.realpath(place) for place in SCRATCH if os.path.isdir(place)}
        shown = {"/pfs": self._folder.pfs, **dict.fromkeys(sorted(scratch), self._space.scratch)}
        made_of = self._made_of()
        if _last and _last[0].made_of == made_of and _last[0].is_alive:
            return _last[0]
        while _last:
            _last.pop().close()
        self._space.clear(_inside(self._kept, shown, self._space))
        holder = _Holder(made_of, self._space.path + "/root", shown, self._kept)
        _last.append(holder)
        self._processes.adopt(holder.pid)
        return holder

    def _made_of(self) -> object:
        """What the view is of: it shows folders, not what comes in their place."""
        space, folder = self._space, self._folder
        return os.getpid(), space.path, space.scratches, folder.generation, self._kept


class _Holder:
    """The process that has the view."""

    def __init__(
        self, made_of: object, root: str, shown: Mapping[str, str], kept: Mapping[str, bool]
    ) -> None:
        self.made_of = made_of
        os.makedirs(root, exist_ok=True)
        ours, theirs = socket.socketpair()
        given = marshal.dumps((root, dict(shown), dict(kept)))
        with theirs:
            try:
                self._process = subprocess.Popen(
                    [sys.executable, "-I", "-S", zygote.__file__, given.hex()],
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
            raise _Unusable(f"a view of the file system cannot be had: {why}")

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
