"""Processes: started cheaply, waited for with what they print, and ended with all they started."""

from __future__ import annotations

import ctypes
import os
import resource
import select
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Protocol

from trunkline import errors
from trunkline.engine.runner.log import ERR, OUT, Log
from trunkline.engine.runner.sink import Sink
from trunkline.engine.runner.workspace import Workspace
from trunkline.engine.runner.zygote import Starter
from trunkline.model.backoff import Backoff

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_CHUNK = 64 << 10
_PATIENCE = 10.0
# Milliseconds after which a process is one that takes its time.
_GLANCE = 20


class Sandbox(Protocol):
    """A place to run programs in that is not quite the one where the worker is."""

    def start(
        self,
        program: str,
        arguments: list[str],
        environment: Mapping[bytes, bytes],
        descriptors: Sequence[int],
    ) -> int:
        """Start a program in the current folder, as it is called in there; its process."""

    def reap(self, pid: int) -> int:
        """Wait for the end of a process that was started here; its status."""


class Processes:
    """Runs one process at a time. What it prints goes to the log as it comes."""

    def __init__(self, space: Workspace, sink: Sink, log: Log) -> None:
        self._space = space
        self._sink = sink
        self._log = log
        # Kept for all processes: as nobody who writes is left, each finds them empty.
        self._out, self.out = os.pipe()
        self._err, self.err = os.pipe()
        self._printed = select.poll()
        self._events = select.poll()
        self._handle = -1
        for fd in (self._out, self._err):
            os.set_blocking(fd, False)
            self._printed.register(fd, select.POLLIN)
            self._events.register(fd, select.POLLIN)
        _keep_descriptors()
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)
        # Such as the pool of a Python function that ran here before.
        self._others = _children()
        # Whoever loses its parent below us becomes a child of the main thread.
        self._orphans = _open_children(os.getpid())
        self._usual = self._listed()
        self._nothing = os.open(os.devnull, os.O_RDONLY)
        self._starter = Starter()
        self._reap: Callable[[int], int] = _reap

    def close(self) -> None:
        for fd in (self._out, self.out, self._err, self.err):
            os.close(fd)
        os.close(self._nothing)
        self._starter.close()
        if self._orphans is not None:
            os.close(self._orphans)

    def adopt(self, pid: int) -> None:
        """A child that is to stay."""
        self._others.add(pid)
        self._usual = self._listed()

    def _listed(self) -> bytes | None:
        """The children of the main thread, as the system writes them."""
        return None if self._orphans is None else os.pread(self._orphans, _CHUNK, 0)

    def spawn(
        self,
        program: str,
        arguments: list[str],
        environment: Mapping[bytes, bytes],
        stdin: str,
        sandbox: Sandbox | None = None,
    ) -> int:
        """Start a program in the current folder, as the leader of a session of its own."""
        # A stdin that can be read needs a place of its own to read from.
        source = self._nothing if stdin == os.devnull else os.open(stdin, os.O_RDONLY)
        try:
            descriptors = (source, self.out, self.err)
            starter = sandbox or self._starter
            pid = starter.start(program, arguments, environment, descriptors)
        finally:
            if source != self._nothing:
                os.close(source)
        self._reap = sandbox.reap if sandbox else _reap
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
            is_over = self._watch(handle, deadline)
        finally:
            os.close(handle)
            # Before its leader is reaped the group's number cannot be another's.
            kill_group(pid)
            code = self._end(pid)
        self._drain()
        return code if is_over else None

    def _drain(self) -> None:
        """Log what was printed last. Nobody is left who could print more."""
        for fd, _ in self._printed.poll(0):
            while data := _read(fd):
                self._log.feed(OUT if fd == self._out else ERR, data)
        self._log.end()

    def _watch(self, handle: int, deadline: float | None) -> bool:
        """Log what is printed until the process ends (True) or its time is up (False)."""
        if handle != self._handle:
            # It nearly always has the number of the one before.
            if self._handle >= 0:
                self._events.unregister(self._handle)
            self._events.register(handle, select.POLLIN)
            self._handle = handle
        is_over = self._take(_GLANCE)
        while not is_over:
            due = self._sink.due()
            wake = min(deadline, due) if deadline and due else deadline or due
            wait = None if wake is None else max(0.0, wake - time.monotonic()) * 1000 + 1
            is_over = self._take(wait)
            if is_over:
                break
            if deadline is not None and time.monotonic() >= deadline:
                return False
            if due is not None:
                self._sink.tick()
        return True

    def _take(self, wait: float | None) -> bool:
        """Log what is printed next; whether the process has ended."""
        is_over = False
        for fd, _ in self._events.poll(wait):
            if fd == self._handle:
                is_over = True
            else:
                self._log.feed(OUT if fd == self._out else ERR, _read(fd))
        return is_over

    def _end(self, pid: int) -> int:
        """Reap a process and whatever it left behind."""
        reap, self._reap = self._reap, _reap
        status = reap(pid)
        if self._usual is None or self._listed() != self._usual:
            self._end_orphans()
            self._usual = self._listed()
        return os.waitstatus_to_exitcode(status) if status else 0

    def _end_orphans(self) -> None:
        """End processes that became our children when their parent ended."""
        limit = time.monotonic() + _PATIENCE
        pauses = iter(Backoff(0.0002, 0.05))
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
            time.sleep(next(pauses))


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


def _reap(pid: int) -> int:
    return os.waitpid(pid, 0)[1]


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


def _open_children(thread: int) -> int | None:
    """The file with the children of a thread; None where the system has no such files."""
    with suppress(OSError):
        return os.open(f"/proc/self/task/{thread}/children", os.O_RDONLY | os.O_CLOEXEC)
    return None


def _children() -> set[int]:
    """The children of this process, of all its threads."""
    found: set[int] = set()
    for task in os.listdir("/proc/self/task"):
        with suppress(FileNotFoundError, ProcessLookupError):
            with open(f"/proc/self/task/{task}/children", "rb") as stream:
                found.update(map(int, stream.read().split()))
    return found
