"""One set of datums, from what the driver sent to parts in the store."""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Callable
from contextlib import ExitStack
from functools import cached_property

from trunkline.engine.runner.alarm import Alarm
from trunkline.engine.runner.capture import captured
from trunkline.engine.runner.code import Code, code_folder
from trunkline.engine.runner.command import Commands
from trunkline.engine.runner.confined import ConfinedFunctions
from trunkline.engine.runner.environment import scratch_in
from trunkline.engine.runner.failure import DatumFailed
from trunkline.engine.runner.folder import Folder
from trunkline.engine.runner.function import Functions
from trunkline.engine.runner.inputs import InputReader
from trunkline.engine.runner.isolated import IsolatedFunctions
from trunkline.engine.runner.log import Log
from trunkline.engine.runner.modules import deactivate
from trunkline.engine.runner.outputs import Collector
from trunkline.engine.runner.process import Processes
from trunkline.engine.runner.sink import Sink
from trunkline.engine.runner.task import DatumResult, DatumTask, SetReport, SetTask, Work
from trunkline.engine.runner.ticker import Ticker
from trunkline.engine.runner.workspace import Workspace, workspace
from trunkline.model.pipelines import Sandbox
from trunkline.storage.objects.open import open_store
from trunkline.storage.objects.outside import outside_of
from trunkline.storage.objects.port import ObjectStore

_stores: dict[tuple[int, str, str], ObjectStore] = {}


def run_set(
    work: Work, task: SetTask, *, attempt: int, unique: str, isolate: bool = False
) -> SetReport:
    """Run the datums of a set; when this returns their results are in the store.

    `attempt` > 0 looks for what earlier attempts finished, and does not do it again. `unique`
    is in the names of all objects: no two calls for one set may have the same. `isolate` runs
    each Python function in a process of its own. What the user's code does wrong is in the
    results; DiskFull and the errors of the store are raised, and a later attempt goes on.
    """
    store = _open(work)
    sink = Sink(work, store, task.number, unique)
    done = sink.take_over(work) if attempt else set()
    with ExitStack() as stack:
        stack.callback(os.chdir, _current_folder())
        # The datums of the set are many objects that stay: they need not be looked at again.
        gc.freeze()
        stack.callback(gc.unfreeze)
        stack.enter_context(outside_of(store).known.gathering())
        try:
            runner = _Runner(work, store, sink, stack, isolate)
            for datum in task.datums:
                if datum.key not in done:
                    sink.add(runner.run(datum))
            sink.close()
        except BaseException:
            sink.abandon()
            raise
    return sink.report


class _Runner:
    """Runs datums one by one, by whatever the transform is."""

    def __init__(
        self, work: Work, store: ObjectStore, sink: Sink, stack: ExitStack, isolate: bool
    ) -> None:
        self._work = work
        self._sink = sink
        self._stack = stack
        self._tries = max(1, work.datum_tries)
        self._log = Log(sink, work.log_limit, work.secrets)
        self._space = workspace(work.folder)
        self._reader = InputReader(store)
        self._code = code_folder(self._space, self._reader, work.code, work.code_hash)
        self._try = self._choose(isolate)

    def run(self, datum: DatumTask) -> DatumResult:
        result = DatumResult(datum.key, datum.content, datum.id, "success", datum.reason)
        log = self._log
        log.begin(datum.id)
        for number in range(1, self._tries + 1):
            result.tries = number
            try:
                try:
                    self._try(datum, result)
                finally:
                    self._space.clear()
            except DatumFailed as failed:
                result.error = log.mask(failed.error)
                result.code = failed.code
                if failed.is_final:
                    break
                if number < self._tries:
                    log.note(f"try {number} of {self._tries} failed: {failed.error}")
            else:
                result.error = ""
                return result
        result.state = "failed"
        result.outputs, result.bytes_out = [], 0
        log.note(f"failed: {result.error}")
        if self._work.err_cmd:
            if self._commands.recover(datum, result):
                result.state = "recovered"
            self._space.clear()
        return result

    def _choose(self, isolate: bool) -> Callable[[DatumTask, DatumResult], None]:
        work = self._work
        if not work.python:
            return self._commands.run
        if work.sandbox is Sandbox.ON:
            return ConfinedFunctions(self._commands, *self._alone()).run
        self._stack.callback(deactivate)
        self._stack.enter_context(scratch_in(self._space.scratch))
        if isolate:
            return IsolatedFunctions(*self._alone()).run
        alarm = Alarm(work.datum_timeout)
        self._stack.callback(alarm.close)
        ticker = Ticker(self._sink, work.heartbeat, work.datum_timeout)
        self._stack.callback(ticker.close)
        self._stack.enter_context(captured(self._log, alarm))
        return Functions(
            work,
            self._code,
            lambda: self._folder,
            self._reader,
            lambda: self._collector,
            self._sink,
            self._log,
            alarm,
            ticker,
        ).run

    def _alone(self) -> tuple[Work, Code, Workspace, Folder, Processes, Collector]:
        """What a function in a process of its own needs."""
        return (
            self._work,
            self._code,
            self._space,
            self._folder,
            self._processes,
            self._collector,
        )

    # Made when they are needed: a function that only reads and writes needs none of them.

    @cached_property
    def _folder(self) -> Folder:
        links = {} if self._work.python else self._code.links
        space = self._space
        working_dir = self._work.working_dir
        folder = Folder(space.datum, self._reader, space.spares, links, working_dir, space.scratch)
        self._stack.callback(folder.close)
        return folder

    @cached_property
    def _collector(self) -> Collector:
        folder = self._folder
        return Collector(self._sink, folder.root, self._work.pack_limit, folder.names)

    @cached_property
    def _processes(self) -> Processes:
        processes = Processes(self._space, self._sink, self._log)
        self._stack.callback(processes.close)
        return processes

    @cached_property
    def _commands(self) -> Commands:
        return Commands(
            self._work,
            self._space,
            self._folder,
            self._processes,
            self._collector,
            self._code,
            self._log,
        )


def _current_folder() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        return "/"


def _open(work: Work) -> ObjectStore:
    """The store of a job, opened once in a process."""
    key = (os.getpid(), work.store, json.dumps(dict(work.options), sort_keys=True))
    if key not in _stores:
        _stores[key] = open_store(work.store, work.options)
    return _stores[key]
