"""A datum whose work is done by a command."""

from __future__ import annotations

import errno
import os
import shlex
import time
from collections.abc import Sequence

from trunkline.engine.runner.code import Code
from trunkline.engine.runner.environment import add_datum, common_environment
from trunkline.engine.runner.failure import DatumFailed, exit_error, timeout_error
from trunkline.engine.runner.folder import Folder
from trunkline.engine.runner.log import Log
from trunkline.engine.runner.outputs import Collector, Outputs
from trunkline.engine.runner.process import Processes, with_memory
from trunkline.engine.runner.sandbox import Sandbox, choose_sandbox
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
        code: Code,
        processes: Processes,
        collector: Collector,
        log: Log,
    ) -> None:
        self._work = work
        self._space = space
        self._folder = folder
        self._code = code
        self._processes = processes
        self._collector = collector
        self._log = log
        self._common = common_environment(work, folder.root)
        self._stdin = _stdin_file(space, "stdin", work.stdin)
        self._err_stdin = _stdin_file(space, "err_stdin", work.err_stdin)
        self._accepted = {0, *work.accept_return_code}
        self._programs: dict[str, str] = {}
        self._sandbox: Sandbox | None = None
        self._no_sandbox: DatumFailed | None = None
        self._is_sandbox_chosen = False

    def close(self) -> None:
        if self._sandbox is not None:
            self._sandbox.close()

    def run(self, datum: DatumTask, result: DatumResult) -> None:
        """One try. What was stored and how long it took goes into the result."""
        outputs: Outputs | None = None
        try:
            self._lay_out(datum, result)
            began = time.perf_counter()
            try:
                code = self._execute(datum, self._work.cmd, self._stdin)
            finally:
                result.process += time.perf_counter() - began
            result.code = code
            if code not in self._accepted:
                raise DatumFailed(exit_error(code), code)
            began = time.perf_counter()
            outputs = self._collector.collect(self._folder.out, datum.id)
            result.outputs = outputs.lines
            result.bytes_out = outputs.size
            result.up += time.perf_counter() - began
        finally:
            self._sweep(outputs)

    def recover(self, datum: DatumTask, result: DatumResult) -> bool:
        """Run the error command; whether it says that all is well."""
        try:
            self._lay_out(datum, result)
            began = time.perf_counter()
            try:
                code = self._execute(datum, self._work.err_cmd, self._err_stdin)
            finally:
                result.process += time.perf_counter() - began
            if code:
                raise DatumFailed(exit_error(code), code)
        except DatumFailed as failed:
            self._log.note(f"the error command failed: {failed.error}")
            return False
        finally:
            self._sweep(None)
        return True

    def _lay_out(self, datum: DatumTask, result: DatumResult) -> None:
        began = time.perf_counter()
        result.bytes_in = self._folder.lay_out(datum.inputs)
        result.down += time.perf_counter() - began

    def _sweep(self, outputs: Outputs | None) -> None:
        lost = self._folder.sweep(outputs)
        if lost:
            names = ", ".join(map(_shown, lost[:_SHOWN])) + (", …" if lost[_SHOWN:] else "")
            files = "1 file was" if len(lost) == 1 else f"{len(lost):,} files were"
            end = "is" if len(lost) == 1 else "are"
            self._log.note(f"{files} written outside pfs/out and {end} lost: {names}")

    def _execute(self, datum: DatumTask, command: Sequence[str], stdin: str) -> int:
        work = self._work
        environment = self._common.copy()
        sandbox = self._choose_sandbox()
        add_datum(environment, datum, self._path_inside if sandbox else self._folder.path_of)
        program, arguments = self._resolve(command[0], environment), list(command)
        if sandbox is not None:
            arguments = sandbox.wrap([program, *command[1:]])
            program = arguments[0]
        if work.memory is not None:
            arguments = with_memory(work.memory, [program, *arguments[1:]])
            program = arguments[0]
        try:
            os.chdir(self._folder.cwd)
            pid = self._processes.spawn(program, arguments, environment, stdin)
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            is_final = isinstance(error, ValueError) or error.errno != errno.EAGAIN
            raise DatumFailed(
                f"cannot start {shlex.quote(command[0])}: {why}", is_final=is_final
            ) from None
        code = self._processes.wait(pid, work.datum_timeout)
        if code is None:
            raise DatumFailed(timeout_error(work.datum_timeout or 0))
        return code

    def _resolve(self, name: str, environment: dict[bytes, bytes]) -> str:
        """The program a name stands for, by the PATH that the command will have."""
        if "/" in name:
            return name
        found = self._programs.get(name)
        if found is None:
            found = _which(name, os.fsdecode(environment[b"PATH"]))
            self._programs[name] = found
        return found

    def _choose_sandbox(self) -> Sandbox | None:
        """What the commands run in, tried once for all datums."""
        if not self._is_sandbox_chosen:
            self._is_sandbox_chosen = True
            try:
                self._sandbox = choose_sandbox(
                    self._work, self._code, self._space, self._folder, self._processes, self._log
                )
            except DatumFailed as failed:
                self._no_sandbox = failed
            self._collector.pfs_link = self._sandbox is not None
        if self._no_sandbox is not None:
            raise self._no_sandbox
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
