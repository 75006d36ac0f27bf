"""A datum whose work is done by a command."""

from __future__ import annotations

import errno
import os
import shlex
import time
from collections.abc import Mapping, Sequence

from trunkline.engine.runner.code import Code
from trunkline.engine.runner.environment import add_datum, common_environment
from trunkline.engine.runner.failure import DatumFailed, exit_error, timeout_error
from trunkline.engine.runner.folder import Folder
from trunkline.engine.runner.log import Log
from trunkline.engine.runner.outputs import Collector, Outputs
from trunkline.engine.runner.process import Processes, with_memory
from trunkline.engine.runner.sandbox import View, choose_sandbox
from trunkline.engine.runner.task import DatumInput, DatumResult, DatumTask, Work
from trunkline.engine.runner.workspace import Workspace

_SHOWN = 5


class Commands:
    """Runs the commands of a job, each try in a clean folder."""

    def __init__(
        self,
        work: Work,
        space: Workspace,
        folder: Folder,
        processes: Processes,
        collector: Collector,
        code: Code,
        log: Log,
    ) -> None:
        self._work = work
        self._space = space
        self._code = code.folder
        self._folder = folder
        self._processes = processes
        self._collector = collector
        self._log = log
        self._common = common_environment(work, folder.root, folder.scratch)
        self._stdin = _stdin_file(space, "stdin", work.stdin)
        self._err_stdin = _stdin_file(space, "err_stdin", work.err_stdin)
        self._accepted = {0, *work.accept_return_code}
        self._lines: dict[Sequence[str], tuple[str, list[str]]] = {}
        self._scrubs = -1
        self._sandbox: View | None = None
        self._no_sandbox: DatumFailed | None = None
        self._is_first = True

    def run(self, datum: DatumTask, result: DatumResult) -> None:
        """One try. What was stored and how long it took goes into the result."""
        outputs: Outputs | None = None
        try:
            code, ended = self._execute(datum, result, self._work.cmd, self._stdin)
            result.code = code
            if code not in self._accepted:
                self._hint()
                raise DatumFailed(exit_error(code), code)
            outputs = self._collector.collect(self._folder.out, datum.id)
            if outputs.hollow:
                self._log.note(
                    f"{', '.join(map(_shown, outputs.hollow[:_SHOWN]))}: empty, as all copies of "
                    "inputs with empty_files; a link (ln -s) stands for the whole file"
                )
            result.outputs = outputs.lines
            result.bytes_out = outputs.size
            result.up += time.perf_counter() - ended
        finally:
            if lost := self._folder.sweep(outputs):
                self._report_lost(lost)

    def recover(self, datum: DatumTask, result: DatumResult) -> bool:
        """Run the error command; whether it says that all is well."""
        try:
            code, _ = self._execute(datum, result, self._work.err_cmd, self._err_stdin)
            if code:
                raise DatumFailed(exit_error(code), code)
        except DatumFailed as failed:
            self._log.note(f"the error command failed: {failed.error}")
            return False
        finally:
            if lost := self._folder.sweep():
                self._report_lost(lost)
        return True

    def _hint(self) -> None:
        """Say what it may have looked for in vain."""
        if self._sandbox is None and self._log.names_pfs:
            self._log.note("there is no /pfs here, only pfs/ in the working folder")
        if self._sandbox is not None and (hint := self._sandbox.hint):
            self._log.note(hint)

    def _report_lost(self, lost: list[str]) -> None:
        names = ", ".join(map(_shown, lost[:_SHOWN])) + (", …" if lost[_SHOWN:] else "")
        files = "1 file was" if len(lost) == 1 else f"{len(lost):,} files were"
        end = "is" if len(lost) == 1 else "are"
        self._log.note(f"{files} written outside pfs/out and {end} lost: {names}")

    def _execute(
        self, datum: DatumTask, result: DatumResult, command: Sequence[str], stdin: str
    ) -> tuple[int, float]:
        """Lay the datum out and run a command in it; its exit code, and when it ended."""
        began = time.perf_counter()
        result.bytes_in = self._folder.lay_out(datum.inputs)
        ready = time.perf_counter()
        result.down += ready - began
        try:
            code = self.execute(datum, command, stdin)
        finally:
            ended = time.perf_counter()
            result.process += ended - ready
        return code, ended

    def execute(
        self,
        datum: DatumTask,
        command: Sequence[str],
        stdin: str,
        defaults: Mapping[bytes, bytes] | None = None,
    ) -> int:
        """Run a command in a datum that is laid out; its exit code."""
        pid = self._start(datum, command, stdin, defaults or {})
        code = self._processes.wait(pid, self._work.datum_timeout)
        if code is None:
            raise DatumFailed(timeout_error(self._work.datum_timeout or 0))
        return code

    def _start(
        self, datum: DatumTask, command: Sequence[str], stdin: str, defaults: Mapping[bytes, bytes]
    ) -> int:
        folder = self._folder
        sandbox = self._choose_sandbox() if self._is_first else self._sandbox
        environment = {**defaults, **self._common}
        add_datum(environment, datum, self._path_inside if sandbox else folder.path_of)
        program, arguments = self._lines.get(command) or self._complete(command)
        try:
            if sandbox is None and self._scrubs != folder.scrubs:
                os.chdir(folder.cwd)
                self._scrubs = folder.scrubs
            return self._processes.spawn(program, arguments, environment, stdin, sandbox)
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            is_final = isinstance(error, ValueError) or error.errno != errno.EAGAIN
            self._hint()
            raise DatumFailed(
                f"cannot start {shlex.quote(command[0])}: {why}", is_final=is_final
            ) from None

    def _complete(self, command: Sequence[str]) -> tuple[str, list[str]]:
        """The program that a command starts, and its arguments, with all that is around it."""
        program, arguments = command[0], list(command)
        if "/" not in program:
            program = _which(program, os.fsdecode(self._common[b"PATH"]))
        if self._work.memory is not None:
            arguments = with_memory(self._work.memory, [program, *arguments[1:]])
            program = arguments[0]
        self._lines[command] = program, arguments
        return program, arguments

    def _choose_sandbox(self) -> View | None:
        """What the commands run in, tried once for all datums."""
        if self._no_sandbox is not None:
            raise self._no_sandbox
        try:
            self._sandbox = choose_sandbox(
                self._work, self._space, self._folder, self._processes, self._code, self._log
            )
        except DatumFailed as failed:
            self._no_sandbox = failed
            raise
        self._is_first = False
        self._collector.pfs_link = self._sandbox is not None
        return self._sandbox

    def _path_inside(self, one: DatumInput) -> str:
        return f"/pfs/{one.name}{one.path}".rstrip("/")


def _which(name: str, path: str) -> str:
    for folder in path.split(os.pathsep):
        place = f"{folder or '.'}/{name}"
        if os.access(place, os.X_OK) and not os.path.isdir(place):
            return place
    raise DatumFailed(f"there is no program {name!r} in {path}", is_final=True)


def _stdin_file(space: Workspace, name: str, lines: Sequence[str]) -> str:
    """The lines as a file: whoever reads it gets the same as from a pipe, and nobody has to."""
    if not lines:
        return "/dev/null"
    path = f"{space.path}/{name}"
    with open(path, "wb") as stream:
        stream.write("".join(line.rstrip("\n") + "\n" for line in lines).encode())
    return path


def _shown(path: str) -> str:
    return path if path.isprintable() else repr(path)
