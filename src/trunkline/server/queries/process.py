"""A process for people's queries on DuckDB: it runs one at a time, within a bound of its own.

Run as a module it is the zygote: it imports what a query needs, and forks itself for each process
that is wanted. It opens nothing and runs nothing, so that a copy of it is whole. A process is told
by lines of JSON what to ask and when to stop, and answers in frames of JSON and Arrow: nothing is
unpickled. It ends when its server does.
"""

from __future__ import annotations

import io
import json
import os
import resource
import shutil
import signal
import socket
import struct
import sys
import tempfile
import traceback
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any, NoReturn

from trunkline.engine.environ import keep_to_itself
from trunkline.errors import Failed, TooLarge, TrunklineError
from trunkline.model.access import LAKE, Permission, Principal
from trunkline.model.commits import RepoName
from trunkline.query.kept import Kept
from trunkline.query.lookup import Source
from trunkline.query.result import Result, Stop
from trunkline.sdk.wire.arrow import PIECE, stepped, value_from_json
from trunkline.sdk.wire.values import adapter
from trunkline.server.queries.query import error_facts, known

if TYPE_CHECKING:
    import pyarrow as pa

    from trunkline.sdk.lake import Lake

FRAME = struct.Struct("<cI")
HEAD, ROWS, END = b"H", b"R", b"E"
"""Columns and sources, once; rows as a stream of Arrow; an error or none."""
READY = b"\n"
STOP: None = None
MIB = 1 << 20
MOST_BATCH = 64 * MIB
MOST_FRAME = 64 * MIB
LEAST_BUFFERS = 64 * MIB
SOURCES = tuple[Source, ...]
_STACK = 8 * MIB
_SLACK = 64 * MIB


@dataclass(frozen=True, slots=True)
class Greeting:
    """What a process is told first, in private."""

    lake: str
    folder: str
    """For what it writes: of one that is killed nothing is left elsewhere."""
    memory: int
    """Bytes that a query may take, in buffers of DuckDB and in values together."""
    reserve: int | None = None
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def as_line(message: Any) -> bytes:
    return json.dumps(message).encode() + b"\n"


def main() -> None:
    # Where the machine has no memory left, one that is forked is to end, and not the server. Once
    # a process keeps to itself, this file is root's.
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("500")
    keep_to_itself()
    for number in (signal.SIGINT, signal.SIGTERM):  # these are for the server
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # so that nobody need wait for the dead
    _import_all()
    server = socket.socket(fileno=int(sys.argv[1]))
    while True:
        data, doors, _, _ = socket.recv_fds(server, 1, 1)
        if not data:
            return
        if os.fork() == 0:
            server.close()
            try:
                _Process(socket.socket(fileno=doors[0])).run()
            finally:
                os._exit(1)
        os.close(doors[0])


def _import_all() -> None:
    import duckdb  # noqa: F401
    import pyarrow.parquet  # noqa: F401

    import trunkline.query.duckdb_engine
    import trunkline.sdk.lake  # noqa: F401
    from trunkline.query.names import parse

    parse("SELECT 1", "duckdb")  # which imports, too
    adapter(Principal)
    adapter(SOURCES)


class _Process:
    def __init__(self, door: socket.socket) -> None:
        self._door = door
        self._lines = door.makefile("rb")
        self._asked: SimpleQueue[Any] = SimpleQueue()
        self._stop: Stop | None = None
        self._folder = ""

    def run(self) -> None:
        from trunkline.sdk.lake import open as open_lake

        # A descriptor never means another process.
        descriptor = os.pidfd_open(os.getpid())
        socket.send_fds(self._door, [READY], [descriptor])
        os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        greeting = Greeting(**json.loads(self._lines.readline()))
        os.environ.update(greeting.environ)
        tempfile.tempdir = self._folder = greeting.folder
        Thread(target=self._listen, name="server", daemon=True).start()
        buffers = max(LEAST_BUFFERS, greeting.memory // 2)
        try:
            lake = open_lake(greeting.lake, direct=True)
        except Exception as caught:
            # Whoever asks reads it; one that waits to be asked is found not to be idle.
            self._send(END, as_line({"error": _facts(caught), "last": True}))
            self._leave()
        kept = Kept(lake._core, f"{buffers // MIB}MiB", apart=True, reserve=greeting.reserve)
        used_up = _bound(max(2 * LEAST_BUFFERS, greeting.memory))
        while True:
            error = self._answer(lake, kept, self._asked.get())
            # What a query leaves behind may be what the next lacks.
            is_last = _memory() > used_up
            self._send(END, as_line({"error": error, "last": is_last}))
            if is_last:
                self._leave()

    def _listen(self) -> None:
        with suppress(OSError):
            while line := self._lines.readline():
                message = json.loads(line)
                if message is not STOP:
                    self._asked.put(message)
                elif (stop := self._stop) is not None:
                    with suppress(Exception):
                        stop.cancel()
        self._leave()

    def _leave(self) -> NoReturn:
        shutil.rmtree(self._folder, ignore_errors=True)
        os._exit(0)

    def _answer(self, lake: Lake, kept: Kept, asked: dict[str, Any]) -> dict[str, Any] | None:
        """Send the rows. What went wrong, if something did."""
        from pyarrow import ipc

        self._stop = Stop()
        try:
            result = _result(lake, kept, asked, self._stop)
            head = {
                "columns": result.columns,
                "types": result.types,
                "sources": adapter(SOURCES).dump_python(result.sources, mode="json"),
                "spill": self._stop.spill,
            }
            self._send(HEAD, as_line(head))
            self._stop.cancel = result.cancel
            reader = result.batches()
            with io.BufferedWriter(_Rows(self._send), PIECE) as sink:
                with ipc.new_stream(sink, reader.schema) as writer:
                    sink.flush()
                    for batch in stepped(reader):
                        for part in _parts(batch):
                            writer.write_batch(part)
                            sink.flush()
        except BaseException as caught:
            return _facts(caught)
        finally:
            self._stop = None
        return None

    def _send(self, kind: bytes, payload: bytes | memoryview) -> None:
        self._door.sendall(FRAME.pack(kind, len(payload)))
        self._door.sendall(payload)


class _Rows(io.RawIOBase):
    """A file whose bytes are sent as frames."""

    def __init__(self, send: Any) -> None:
        self._send = send

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        for start in range(0, len(view), PIECE):
            self._send(ROWS, view[start : start + PIECE])
        return len(view)


def _parts(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The same rows in batches that the server, which is not bounded, can hold at once."""
    if batch.nbytes <= MOST_BATCH:
        yield batch
    elif batch.num_rows > 1:
        half = batch.num_rows // 2
        yield from _parts(batch.slice(0, half))
        yield from _parts(batch.slice(half))
    else:
        raise TooLarge(
            f"A row of the answer has more than {MOST_BATCH // MIB} MiB.",
            hint="Read a part of it.",
        )


def _result(lake: Lake, kept: Kept, asked: dict[str, Any], stop: Stop) -> Result:
    who: Principal = adapter(Principal).validate_python(asked["who"])
    given = asked["params"]

    def allowed(repo: RepoName) -> bool:
        return who.may_repo(Permission.READ, repo)

    return lake.bound(project=asked["project"])._query(
        kept,
        asked["text"],
        at=asked["at"],
        params={name: value_from_json(one) for name, one in given.items()} if given else None,
        allowed=allowed,
        places=who.may(Permission.ADMIN, LAKE),
        stop=stop,
    )


def _facts(caught: BaseException) -> dict[str, Any]:
    """An error as the server is told it; of a bug, where it is."""
    if isinstance(caught, KeyboardInterrupt):  # so ends what is stopped in an engine
        return error_facts(Failed("The query was stopped."))
    error: TrunklineError | None = known(caught)
    if error is None:
        return {"bug": "".join(traceback.format_exception(caught)), "kind": type(caught).__name__}
    return error_facts(error)


def _memory() -> int:
    """Bytes of memory that this process has and may write to, used or not."""
    fields = Path("/proc/self/statm").read_text().split()
    return int(fields[5]) * resource.getpagesize()


def _bound(memory: int) -> int:
    """Have the operating system refuse more than so much beyond what a process has by itself.

    Stacks of threads count, though little of them is used: DuckDB and Arrow have one a processor.
    Returns what it may have and be used again.
    """
    own = _memory() + (2 * (os.cpu_count() or 1) + 8) * _STACK + _SLACK
    resource.setrlimit(resource.RLIMIT_DATA, (own + memory, own + memory))
    return own + memory // 8


if __name__ == "__main__":
    main()
