"""A Python function in a process of its own: whatever happens there fails one datum only."""

from __future__ import annotations

import faulthandler
import io
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from trunkline.engine.runner.code import Code
from trunkline.engine.runner.datum import Datum, Host
from trunkline.engine.runner.failure import DatumFailed, exit_error, timeout_error
from trunkline.engine.runner.folder import Folder
from trunkline.engine.runner.function import text_environment
from trunkline.engine.runner.modules import LoadFailed, describe, load_function, trace
from trunkline.engine.runner.outputs import Collector, Outputs, checked_path
from trunkline.engine.runner.process import Processes, die_with_parent, limit_memory
from trunkline.engine.runner.task import DatumInput, DatumResult, DatumTask, Work
from trunkline.engine.runner.workspace import Workspace
from trunkline.model.entries import FileBytes

_LONGEST_ANSWER = 64 << 10


class IsolatedFunctions:
    """Forks for each datum. Slower, and unmoved by crashes and by memory that runs out."""

    def __init__(
        self,
        work: Work,
        code: Code,
        space: Workspace,
        folder: Folder,
        processes: Processes,
        collector: Collector,
    ) -> None:
        self._work = work
        self._code = code
        self._space = space
        self._folder = folder
        self._processes = processes
        self._collector = collector
        self._answer = space.path + "/answer"

    def run(self, datum: DatumTask, result: DatumResult) -> None:
        """One try. What was stored and how long it took goes into the result."""
        outputs: Outputs | None = None
        try:
            began = time.perf_counter()
            # A client of a store does not survive a fork: the child reads files.
            result.bytes_in = self._folder.lay_out(datum.inputs)
            result.down += time.perf_counter() - began
            began = time.perf_counter()
            code = self._call(datum)
            result.process += time.perf_counter() - began
            result.code = code
            if code:
                raise self._failure(code)
            began = time.perf_counter()
            outputs = self._collector.collect(self._folder.out, datum.id)
            result.outputs, result.bytes_out = outputs.lines, outputs.size
            result.up += time.perf_counter() - began
        finally:
            self._folder.sweep(outputs)

    def _call(self, datum: DatumTask) -> int:
        with suppress(FileNotFoundError):
            os.unlink(self._answer)
        pid = os.fork()
        if not pid:
            self._child(datum)
        self._space.started(pid)
        code = self._processes.wait(pid, self._work.datum_timeout)
        if code is None:
            raise DatumFailed(timeout_error(self._work.datum_timeout or 0))
        return code

    def _failure(self, code: int) -> DatumFailed:
        try:
            # Whoever wrote it is not trusted: it may be a pipe, or a link, or without an end.
            fd = os.open(self._answer, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with open(fd, "rb") as stream:
                answer = json.loads(stream.read(_LONGEST_ANSWER))
            return DatumFailed(str(answer["error"]), is_final=bool(answer["final"]))
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            return DatumFailed(exit_error(code), code)

    def _child(self, datum: DatumTask) -> NoReturn:
        code = 1
        try:
            self._enter()
            code = self._answer_of(datum)
        finally:
            os._exit(code)

    def _enter(self) -> None:
        os.setsid()
        die_with_parent()
        os.close(self._space.guard)
        nothing = os.open("/dev/null", os.O_RDONLY)
        for fd, place in ((nothing, 0), (self._processes.out, 1), (self._processes.err, 2)):
            os.dup2(fd, place)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        sys.stdout, sys.stderr = printer(1), printer(2)
        # A crash says where it was.
        faulthandler.enable(2, all_threads=False)
        if self._work.memory is not None:
            limit_memory(self._work.memory)

    def _answer_of(self, datum: DatumTask) -> int:
        """Call the function; the exit code for it."""
        work, folder = self._work, self._folder
        host = OnDisk(work.job, folder.pfs, lambda datum: text_environment(work, folder, datum))
        return call(self._code.folder, work.python, host, datum, self._answer)


def call(folder: str, entry: str, host: Host, datum: DatumTask, answer: str) -> int:
    """Call a function; the exit code for it. What it failed with goes to the file `answer`."""
    error, is_final = "", False
    try:
        load_function(folder, entry)(Datum(host, datum))
    except LoadFailed as failed:
        sys.stderr.write(failed.trace)
        error, is_final = failed.error, True
    except DatumFailed as failed:
        error, is_final = failed.error, failed.is_final
    except BaseException as failure:
        sys.stderr.write(trace(failure, skip=1))
        error = describe(failure)
    if not error:
        return 0
    with open(answer, "w", encoding="utf-8") as stream:
        json.dump({"error": error, "final": is_final}, stream)
    return 1


def printer(fd: int) -> io.TextIOWrapper:
    """Text to a descriptor, at once: a crash loses none of it."""
    raw = io.FileIO(fd, "wb", closefd=False)
    return io.TextIOWrapper(
        raw,
        encoding="utf-8",
        errors="backslashreplace",
        write_through=True,
    )


class OnDisk:
    """The function's files from and to the working folder."""

    def __init__(
        self, job: str, pfs: str, environment: Callable[[DatumTask], Mapping[str, str]]
    ) -> None:
        self.job = job
        self.out = Path(pfs + "/out")
        self.environment = environment
        self._pfs = pfs

    def read(self, one: DatumInput, fields: FileBytes) -> bytes:
        return self.place(one, fields).read_bytes()

    def place(self, one: DatumInput, fields: FileBytes) -> Path:
        return Path(f"{self._pfs}/{one.name}{fields.path}")

    def write(self, path: str, data: bytes) -> None:
        place = checked_path(path if path.startswith("/") else "/" + path)
        target = Path(f"{self.out}{place}")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
