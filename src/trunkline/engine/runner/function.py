"""A datum whose work is done by a Python function in this process."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from trunkline import errors
from trunkline.engine.runner.alarm import Alarm, TimedOut
from trunkline.engine.runner.code import Code
from trunkline.engine.runner.datum import Datum
from trunkline.engine.runner.environment import add_datum, common_environment
from trunkline.engine.runner.failure import DatumFailed, timeout_error
from trunkline.engine.runner.folder import Folder
from trunkline.engine.runner.inputs import InputReader
from trunkline.engine.runner.log import ERR, Log
from trunkline.engine.runner.modules import Function, LoadFailed, describe, load_function, trace
from trunkline.engine.runner.outputs import Collector, Outputs, checked_path
from trunkline.engine.runner.sink import Sink
from trunkline.engine.runner.task import DatumInput, DatumResult, DatumTask, Work
from trunkline.engine.runner.ticker import Ticker
from trunkline.model.entries import FileBytes, text_path
from trunkline.storage.objects.whole import store_stream

_T = TypeVar("_T")


class Functions:
    """Calls the function of a job. Files are made only for those who ask for them."""

    def __init__(
        self,
        work: Work,
        code: Code,
        folder: Callable[[], Folder],
        reader: InputReader,
        collector: Callable[[], Collector],
        sink: Sink,
        log: Log,
        alarm: Alarm,
        ticker: Ticker,
    ) -> None:
        self._work = work
        self._code = code
        self._log = log
        self._alarm = alarm
        self._ticker = ticker
        self._collector = collector
        self._host = _Direct(work, folder, reader, sink, alarm)
        self._function: Function | DatumFailed | None = None

    def run(self, datum: DatumTask, result: DatumResult) -> None:
        """One try. What was stored and how long it took goes into the result."""
        host = self._host
        found: Outputs | None = None
        host.begin(datum)
        began = time.perf_counter()
        self._ticker.begin(result)
        try:
            function = self._function or self._load()
            if isinstance(function, DatumFailed):
                raise function
            try:
                self._alarm.start()
                try:
                    function(Datum(host, datum))
                finally:
                    self._alarm.stop()
            except TimedOut:
                self._alarm.stop()
                raise DatumFailed(timeout_error(self._work.datum_timeout or 0)) from None
            except DatumFailed:
                raise
            except BaseException as error:
                if host.trouble is None:
                    self._log.feed(ERR, trace(error, skip=1).encode(errors="backslashreplace"))
                    raise DatumFailed(describe(error)) from None
            if host.trouble is not None:
                raise host.trouble
            found = self._collect(datum.id) if host.has_folder else Outputs()
            result.outputs, result.bytes_out = self._outputs(datum.id, found)
        finally:
            self._ticker.end()
            self._log.end()
            result.bytes_in = host.bytes_in
            result.down += host.down
            result.up += host.up
            result.process += time.perf_counter() - began - host.down - host.up
            host.end(found)

    def _load(self) -> Function | DatumFailed:
        try:
            self._function = load_function(self._code.folder, self._work.python)
        except LoadFailed as failed:
            # Said once: it is the same for all datums.
            self._log.feed(ERR, failed.trace.encode(errors="backslashreplace"))
            self._function = failed
        except DatumFailed as failed:
            self._function = failed
        return self._function

    def _collect(self, owner: str) -> Outputs:
        """Store what is in the out folder."""
        began = time.perf_counter()
        try:
            return self._collector().collect(self._host.folder.out, owner)
        finally:
            self._host.up += time.perf_counter() - began

    def _outputs(self, owner: str, found: Outputs) -> tuple[list[str], int]:
        """The lines of all that was written, and their size."""
        host = self._host
        tail = "\t" + owner
        for line in found.lines:
            path = text_path(line)
            if path in host.lines:
                raise DatumFailed(f"wrote {path!r} twice: by datum.write and into datum.out")
        own = [line + tail for line in host.lines.values()]
        return own + found.lines, host.bytes_out + found.size


class _Direct:
    """The function's files straight from and to the store."""

    def __init__(
        self,
        work: Work,
        folder: Callable[[], Folder],
        reader: InputReader,
        sink: Sink,
        alarm: Alarm,
    ) -> None:
        self._work = work
        self._make_folder = folder
        self._reader = reader
        self._sink = sink
        self._alarm = alarm
        self._limit = work.pack_limit
        self.job = work.job
        self._task: DatumTask | None = None
        self._folder: Folder | None = None
        self.begin(None)

    def begin(self, task: DatumTask | None) -> None:
        self._task = task
        self.lines: dict[str, str] = {}
        self._sizes: dict[str, int] = {}
        self.bytes_in = self.bytes_out = 0
        self.down = self.up = 0.0
        self.trouble: Exception | None = None
        self.has_folder = self._is_laid_out = False

    def end(self, outputs: Outputs | None) -> None:
        if self.has_folder:
            self.folder.sweep(outputs)

    @property
    def folder(self) -> Folder:
        if self._folder is None:
            self._folder = self._make_folder()
        return self._folder

    @property
    def out(self) -> Path:
        self._lay_out(())
        return Path(self.folder.out)

    def environment(self, datum: DatumTask) -> Mapping[str, str]:
        return text_environment(self._work, self.folder, datum)

    def read(self, one: DatumInput, fields: FileBytes) -> bytes:
        began = time.perf_counter()
        try:
            data = self._reader.read(fields)
        except (errors.TrunklineError, OSError) as error:
            self.trouble = error
            raise
        self.bytes_in += fields.size
        self.down += time.perf_counter() - began
        return data

    def place(self, one: DatumInput, fields: FileBytes) -> Path:
        assert self._task is not None
        if not self._is_laid_out:
            self._is_laid_out = True
            self._lay_out(self._task.inputs)
        return Path(f"{self.folder.pfs}/{one.name}{fields.path}")

    def _lay_out(self, inputs: Sequence[DatumInput]) -> None:
        if inputs or not self.has_folder:
            self.has_folder = True
            began = time.perf_counter()
            self.bytes_in += self._ours(lambda: self.folder.lay_out(inputs))
            self.down += time.perf_counter() - began

    def write(self, path: str, data: bytes) -> None:
        began = time.perf_counter()
        path = checked_path(path if path.startswith("/") else "/" + path)
        if self._alarm.is_on:
            with self._alarm.held_back():
                line = self._ours(lambda: self._store(path, data))
        else:
            line = self._ours(lambda: self._store(path, data))
        size = len(data)
        if path in self.lines:
            self.bytes_out -= self._sizes[path]
        self.lines[path] = line.decode()
        self._sizes[path] = size
        self.bytes_out += size
        self.up += time.perf_counter() - began

    def _store(self, path: str, data: bytes) -> bytes:
        if len(data) > self._limit:
            return store_stream(self._sink.store, self._sink.keys, path, data, ())
        return self._sink.pack(path.encode(), data)

    def _ours(self, do: Callable[[], _T]) -> _T:
        """Do something whose failure is not the function's, even if that catches it."""
        try:
            return do()
        except (errors.TrunklineError, OSError) as error:
            self.trouble = error
            raise


def text_environment(work: Work, folder: Folder, datum: DatumTask) -> dict[str, str]:
    found = common_environment(work, folder.root, folder.scratch)
    add_datum(found, datum, folder.path_of)
    return {os.fsdecode(name): os.fsdecode(value) for name, value in found.items()}
