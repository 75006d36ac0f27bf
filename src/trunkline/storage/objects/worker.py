"""A helper process: takes batches of small files on stdin, answers on stdout.

It imports little, because it must be at work in a few hundredths of a second. When its parent
goes away it sees the end of stdin, discards its open pack and ends.
"""

from __future__ import annotations

import json
import os
import signal
from typing import Any, BinaryIO, Protocol

from trunkline import errors
from trunkline.storage.objects.exporter import Exporter
from trunkline.storage.objects.frames import (
    ANSWER,
    BATCH,
    ERROR,
    FINISH,
    SETUP,
    encode_error,
    receive,
    send,
)
from trunkline.storage.objects.keys import KeyMaker
from trunkline.storage.objects.open import open_store
from trunkline.storage.objects.packer import Packer


class Task(Protocol):
    def batch(self, payload: bytes) -> bytes: ...

    def finish(self) -> None: ...

    def abort(self) -> None: ...


class IntakeTask:
    """Batches are (path, local path, known hash) separated by NUL; answers a size and lines."""

    def __init__(self, setup: dict[str, Any]) -> None:
        store = open_store(setup["url"], setup["options"])
        keys = KeyMaker(setup["txn"], setup["prefix"])
        self._packer = Packer(store, keys, setup["pack_limit"], setup["pack_size"])

    def batch(self, payload: bytes) -> bytes:
        fields = iter(payload.split(b"\0"))
        lines, size = self._packer.add_files(list(zip(fields, fields, fields, strict=True)))
        return b"%d\n" % size + b"\n".join(lines)

    def finish(self) -> None:
        self._packer.publish()

    def abort(self) -> None:
        self._packer.discard()


class OutletTask:
    """Batches are lines of packed files; answers are the bytes written."""

    def __init__(self, setup: dict[str, Any]) -> None:
        store = open_store(setup["url"], setup["options"])
        self._exporter = Exporter(
            store, os.fsencode(setup["dest"]), setup["strip"].encode(), setup["overwrite"]
        )

    def batch(self, payload: bytes) -> bytes:
        return b"%d" % self._exporter.write_packed(payload.split(b"\n"))

    def finish(self) -> None:
        return

    def abort(self) -> None:
        return


TASKS: dict[str, type[IntakeTask] | type[OutletTask]] = {
    "intake": IntakeTask,
    "outlet": OutletTask,
}


def main() -> None:
    # Ctrl-C reaches the whole group; the parent decides what becomes of the helpers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _stop)
    with os.fdopen(0, "rb", closefd=False) as inbox, os.fdopen(os.dup(1), "wb") as outbox:
        os.dup2(2, 1)
        try:
            _serve(inbox, outbox)
        except BrokenPipeError:
            os._exit(1)


def _serve(inbox: BinaryIO, outbox: BinaryIO) -> None:
    task: Task | None = None
    try:
        while (message := receive(inbox)) is not None:
            kind, payload = message
            if kind == SETUP:
                setup = json.loads(payload)
                task = TASKS[setup["task"]](setup)
            elif task is not None and kind == BATCH:
                send(outbox, ANSWER, task.batch(payload))
            elif task is not None and kind == FINISH:
                task.finish()
                task = None
                send(outbox, ANSWER)
    except errors.TrunklineError as error:
        _abort(task)
        send(outbox, ERROR, encode_error(error))
    except Exception as error:
        _abort(task)
        failed = errors.Failed(f"A helper process failed: {type(error).__name__}: {error}.")
        send(outbox, ERROR, encode_error(failed))
    except BaseException:
        _abort(task)
        raise
    else:
        _abort(task)


def _abort(task: Task | None) -> None:
    if task is not None:
        task.abort()


def _stop(signum: int, frame: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise SystemExit(1)
