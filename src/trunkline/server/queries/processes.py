"""The processes that people's queries on DuckDB run in: one for each query at a time, kept warm."""

from __future__ import annotations

import json
import logging
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any

from trunkline.errors import Failed, Precondition, TrunklineError, Unavailable
from trunkline.model.access import Principal
from trunkline.query.lookup import Source
from trunkline.query.result import Answer, Result, Row, Stop
from trunkline.sdk.remote.results import error_of_query
from trunkline.sdk.wire.arrow import PIECE, read_stream
from trunkline.sdk.wire.sql import NewQuery
from trunkline.sdk.wire.values import adapter
from trunkline.server.queries import process as child
from trunkline.server.worker_environment import split

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger("trunkline.server")

UNHEARD_SECONDS = 1.0
"""A process that goes on for so long with a query that was stopped is ended."""
START_SECONDS = 60.0


class _Zygote:
    """The process that forks the others."""

    def __init__(self) -> None:
        self._door, theirs = socket.socketpair()
        with theirs:
            begun, _ = split(os.environ)
            # Neither numpy nor Arrow is to have threads or arenas in what is forked.
            begun |= {"OPENBLAS_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}
            self._process = subprocess.Popen(
                (sys.executable, "-m", child.__name__, str(theirs.fileno())),
                stdin=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                env=begun,
                start_new_session=True,
            )

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def fork(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(self._door, [child.READY], [theirs.fileno()])
        return ours


_zygote: _Zygote | None = None
_starting = Lock()


def _the_zygote() -> _Zygote:
    global _zygote
    with _starting:
        if _zygote is None or not _zygote.is_alive:
            _zygote = _Zygote()
        return _zygote


class Process:
    """One process, and the way to it."""

    def __init__(self, lake: Path, memory: int, reserve: int | None) -> None:
        if not hasattr(os, "pidfd_open"):
            raise Precondition(
                "A server asks DuckDB on Linux only.",
                hint="Ask Spark: --engine spark. Or stop the server: a lake itself asks anywhere.",
            )
        self._folder = tempfile.mkdtemp(prefix="trunkline-sql-")
        self._descriptor = -1
        self._closing = Lock()
        self.renewed = 0
        try:
            self._door = _the_zygote().fork()
            self._door.settimeout(START_SECONDS)
            _, environ = split(os.environ)
            greeting = child.Greeting(str(lake), self._folder, memory, reserve, environ)
            data, found, _, _ = socket.recv_fds(self._door, 1, 1)
            if not data:
                raise ConnectionError
            self._descriptor = found[0]
            self._door.settimeout(None)
            self._frames = self._door.makefile("rb", PIECE)
            self.send(greeting.to_dict())
        except OSError as error:
            self.close()
            log.warning("cannot start a process for queries: %s", error)
            raise _gone() from None

    def send(self, message: Any) -> None:
        self._door.sendall(child.as_line(message))

    def frame(self) -> tuple[bytes, bytes]:
        """The next frame; without one the process has ended."""
        try:
            head = self._frames.read(child.FRAME.size)
            kind, size = child.FRAME.unpack(head)
            if size > child.MOST_FRAME:
                raise ValueError
            payload = self._frames.read(size)
        except (OSError, ValueError, struct.error):
            raise _gone() from None
        if len(payload) < size:
            raise _gone()
        return kind, payload

    @property
    def is_idle(self) -> bool:
        """Whether it is there and says nothing, as one does that is asked nothing."""
        poll = select.poll()
        poll.register(self._door, select.POLLIN)
        return not poll.poll(0)

    def kill(self) -> None:
        with self._closing, suppress(OSError):
            if self._descriptor >= 0:
                signal.pidfd_send_signal(self._descriptor, signal.SIGKILL)

    def close(self) -> None:
        self.kill()
        with self._closing:
            if self._descriptor >= 0:
                os.close(self._descriptor)
                self._descriptor = -1
        for one in (getattr(self, "_frames", None), getattr(self, "_door", None)):
            if one is not None:
                one.close()
        shutil.rmtree(self._folder, ignore_errors=True)


class Processes:
    """Those of one lake. A query takes the one that was used last: it has most at hand."""

    def __init__(self, lake: Path, memory: int, reserve: int | None) -> None:
        self._new = lake, memory, reserve
        self._idle: list[Process] = []
        self._lock = Lock()
        self._renewed = 0
        self._closed = False

    def ask(self, who: Principal, asked: NewQuery, project: str, stop: Stop) -> Result:
        answer = ProcessAnswer(self, who, asked, project, stop)
        return Result(answer, asked.text, answer.sources)

    def warm(self) -> None:
        """Have one, so that the first who asks need not wait for it."""
        self.give_back(self.take())

    def take(self) -> Process:
        while True:
            with self._lock:
                process = self._idle.pop() if self._idle else None
            if process is None:
                process = Process(*self._new)
                process.renewed = self._renewed
                return process
            if process.is_idle:
                return process
            process.close()

    def give_back(self, process: Process) -> None:
        with self._lock:
            if not self._closed and process.renewed == self._renewed:
                self._idle.append(process)
                return
        process.close()

    def renew(self) -> None:
        """Use none of those that there are again: they may have what was erased."""
        with self._lock:
            self._renewed += 1
            idle, self._idle = self._idle, []
        for process in idle:
            process.close()

    def close(self) -> None:
        self._closed = True
        self.renew()


class ProcessAnswer(Answer):
    """A query that a process runs. Its rows are read once."""

    def __init__(
        self, processes: Processes, who: Principal, asked: NewQuery, project: str, stop: Stop
    ) -> None:
        self._processes = processes
        self._process: Process | None = processes.take()
        self._stopped: float | None = None
        self._lock = Lock()
        stop.cancel = self.cancel
        message = {
            "who": adapter(Principal).dump_python(who, mode="json"),
            "project": project,
            "text": asked.text,
            "at": asked.at,
            "params": asked.params,
        }
        try:
            with self._lock, suppress(OSError):  # that it is gone is seen by what it does not say
                self._process.send(message)
            kind, payload = self._process.frame()
            if kind != child.HEAD:
                raise self._ended(payload) or _gone()
            head = json.loads(payload)
        except BaseException:
            self.close()
            raise
        self.names, self.types = tuple(head["columns"]), tuple(head["types"])
        self.sources: tuple[Source, ...] = adapter(child.SOURCES).validate_python(head["sources"])
        stop.spill = head["spill"]

    def chunks(self, limit: int | None = None) -> Iterator[list[Row]]:
        for batch in self.batches():
            yield list(zip(*(column.to_pylist() for column in batch.columns), strict=True))

    def batches(self) -> pa.RecordBatchReader:
        import pyarrow as pa

        reader = read_stream(self._pieces(), _gone)

        def rows() -> Iterator[pa.RecordBatch]:
            yield from reader
            if (error := self._ended(self._frame()[1])) is not None:
                raise error

        return pa.RecordBatchReader.from_batches(reader.schema, rows())

    def _pieces(self) -> Iterator[bytes]:
        while True:
            kind, payload = self._frame()
            if kind != child.ROWS:
                raise self._ended(payload) or _gone()
            yield payload

    def _frame(self) -> tuple[bytes, bytes]:
        if self._process is None:
            raise _gone()
        return self._process.frame()

    def _ended(self, payload: bytes) -> TrunklineError | None:
        """It is done; what went wrong, if something did."""
        said = json.loads(payload)
        with self._lock:
            process, self._process = self._process, None
        if process is not None:
            (process.close if said["last"] else partial(self._processes.give_back, process))()
        error = said["error"]
        if error is None:
            return None
        if "bug" in error:
            log.error("bug in a query\n%s", error["bug"])
            return Failed(f"The query failed: {error['kind']}.")
        return error_of_query(error)

    def cancel(self) -> None:
        """Stop it. It is told again and again, and ended if it does not hear."""
        with self._lock:
            if self._process is None:
                return
            now = monotonic()
            self._stopped = self._stopped or now
            if now - self._stopped >= UNHEARD_SECONDS:
                self._process.kill()
            else:
                with suppress(OSError):
                    self._process.send(child.STOP)

    def close(self) -> None:
        """Let go of the process; one that still has rows to give ends."""
        with self._lock:
            process, self._process = self._process, None
        if process is not None:
            process.close()


def _gone() -> Unavailable:
    return Unavailable(
        "The process of this query has ended: the machine may have no memory left.",
        hint="Read fewer columns or rows, or ask Spark: --engine spark.",
    )
