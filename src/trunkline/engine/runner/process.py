"""Processes: started cheaply, waited for with what they print, and ended with all they started."""

from __future__ import annotations

import ctypes
import os
import resource
import select
import signal
import time
from collections.abc import Mapping
from contextlib import suppress

from trunkline import errors
from trunkline.engine.runner.log import ERR, OUT, Log
from trunkline.engine.runner.sink import Sink
from trunkline.engine.runner.workspace import Workspace

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_CHUNK = 64 << 10
_PATIENCE = 10.0

# Python ignores some of these, and ignored signals stay ignored in what it starts.
_DEFAULT_SIGNALS = [
    signal.SIGPIPE,
    signal.SIGXFSZ,
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGCHLD,
    signal.SIGALRM,
]


class Processes:
    """Runs one process at a time. What it prints goes to the log as it comes."""

    def __init__(self, space: Workspace, sink: Sink, log: Log) -> None:
        self._space = space
        self._sink = sink
        self._log = log
        # Kept for all processes: as nobody who writes is left, each finds them empty.
        self._out, self.out = os.pipe()
        self._err, self.err = os.pipe()
        self._poll = select.poll()
        for fd in (self._out, self._err):
            os.set_blocking(fd, False)
            self._poll.register(fd, select.POLLIN)
        _keep_descriptors()
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)
        # Such as the pool of a Python function that ran here before.
        self._others = _children()

    def close(self) -> None:
        for fd in (self._out, self.out, self._err, self.err):
            os.close(fd)

    def adopt(self, pid: int) -> None:
        """A child that is to stay."""
        self._others.add(pid)

    def spawn(
        self,
        program: str,
        arguments: list[str],
        environment: Mapping[bytes, bytes],
        stdin: str,
    ) -> int:
        """Start a program in the current folder, as the leader of a session of its own."""
        pid = os.posix_spawn(
            program,
            arguments,
            environment,
            file_actions=(
                (os.POSIX_SPAWN_OPEN, 0, stdin, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, self.out, 1),
                (os.POSIX_SPAWN_DUP2, self.err, 2),
            ),
            setsid=True,
            setsigmask=(),
            setsigdef=_DEFAULT_SIGNALS,
        )
        self._space.started(pid)
        return pid

    def wait(self, pid: int, timeout: float | None) -> int | None:
        """Wait for a process and end its group; its exit code, or None if it took too long.

        When this returns nothing that it started runs any more.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        try:
            handle = os.pidfd_open(pid)
        except OSError as error:
            kill_group(pid)
            self._end(pid)
            raise errors.Failed(f"Cannot watch a process: {error.strerror}.") from None
        is_over = False
        try:
            self._poll.register(handle, select.POLLIN)
            is_over = self._watch(handle, deadline)
        finally:
            self._poll.unregister(handle)
            os.close(handle)
            # Before its leader is reaped the group's number cannot be another's.
            kill_group(pid)
            code = self._end(pid)
        self._drain()
        return code if is_over else None

    def _drain(self) -> None:
        """Log what was printed last. Nobody is left who could print more."""
        for fd, _ in self._poll.poll(0):
            while data := _read(fd):
                self._log.feed(OUT if fd == self._out else ERR, data)
        self._log.end()

    def _watch(self, handle: int, deadline: float | None) -> bool:
        """Log what is printed until the process ends (True) or its time is up (False)."""
        while True:
            due = self._sink.due()
            wake = min(deadline, due) if deadline and due else deadline or due
            wait = None if wake is None else max(0.0, wake - time.monotonic()) * 1000 + 1
            events = self._poll.poll(wait)
            is_over = False
            for fd, _ in events:
                if fd == handle:
                    is_over = True
                else:
                    self._log.feed(OUT if fd == self._out else ERR, _read(fd))
            if is_over:
                return True
            if deadline is not None and time.monotonic() >= deadline:
                return False
            if due is not None:
                self._sink.tick()

    def _end(self, pid: int) -> int:
        """Reap a process and whatever it left behind."""
        _, status = os.waitpid(pid, 0)
        if not self._others:
            try:
                if os.waitpid(-1, os.WNOHANG) == (0, 0):
                    self._end_orphans()
            except ChildProcessError:
                return os.waitstatus_to_exitcode(status)
        self._end_orphans()
        return os.waitstatus_to_exitcode(status)

    def _end_orphans(self) -> None:
        """End processes that became our children when their parent ended."""
        limit = time.monotonic() + _PATIENCE
        pause = 0.0002
        while orphans := _children() - self._others:
            for pid in orphans:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
                with suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)
            if time.monotonic() > limit:
                raise errors.Failed(
                    f"Process {min(orphans)} of a datum cannot be ended.",
                    hint="It may hang in the system: look at the disk or network it uses.",
                )
            time.sleep(pause)
            pause = min(pause * 2, 0.05)


def kill_group(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def limit_memory(memory: int) -> None:
    """Have this process, and what it starts, get no more memory than this."""
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


def with_memory(memory: int, command: list[str]) -> list[str]:
    """A command that runs another with no more memory than this.

    The limit must be there before the program is: set from outside it comes too late.
    """
    return ["/bin/sh", "-c", 'ulimit -v "$0"; exec "$@"', str(max(1, memory >> 10)), *command]


def die_with_parent() -> None:
    """Have the system kill this process when its parent ends."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, _CHUNK)
    except BlockingIOError:
        return b""


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def _keep_descriptors() -> None:
    """Have nothing that is open here be open in what is started."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2:
            with suppress(OSError):
                os.set_inheritable(int(name), False)


def _children() -> set[int]:
    """The children of this process, of all its threads."""
    found: set[int] = set()
    for task in os.listdir("/proc/self/task"):
        with suppress(FileNotFoundError, ProcessLookupError):
            with open(f"/proc/self/task/{task}/children", "rb") as stream:
                found.update(map(int, stream.read().split()))
    return found
