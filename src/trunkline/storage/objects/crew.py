"""Helper processes that share out batches of work.

They are plain subprocesses with pipes. `multiprocessing` would import the user's `__main__`
again, and a fork would copy the locks of other threads.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import BinaryIO, TypeVar, cast

from trunkline import errors
from trunkline.storage.objects.frames import (
    BATCH,
    ERROR,
    FINISH,
    SETUP,
    decode_error,
    receive,
    send,
)

_PROGRAM = (
    "import sys; sys.path[:] = sys.argv[1:]; "
    "from trunkline.storage.objects.worker import main; main()"
)
_ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 3))
_PATIENCE = 5.0

T = TypeVar("T")
_Event = tuple[int, bytes] | BaseException | None


def share_out(
    setups: Sequence[Mapping[str, object]], batches: Sequence[T], encode: Callable[[T], bytes]
) -> Generator[tuple[int, bytes], None, None]:
    """Start a helper per setup; yield (number of batch, answer) as they are done.

    When the last one is yielded, every helper has finished its task. On an error, and when the
    iterator is closed early, all helpers are stopped and have cleaned up.
    """
    helpers: list[_Helper] = []
    events: queue.SimpleQueue[_Event] = queue.SimpleQueue()
    numbers = iter(range(len(batches)))
    lock = threading.Lock()

    def take() -> tuple[int, bytes] | None:
        with lock:
            number = next(numbers, None)
        return None if number is None else (number, encode(batches[number]))

    def work(helper: _Helper) -> None:
        try:
            task = take()
            while task is not None:
                helper.tell(BATCH, task[1])
                # The next one is made ready while the helper is busy.
                number, task = task[0], take()
                events.put((number, helper.hear()))
            helper.tell(FINISH)
            helper.hear()
            events.put(None)
        except BaseException as error:
            events.put(error)

    try:
        # One after the other: a start takes milliseconds, and each must be stopped if one fails.
        for setup in setups:
            helpers.append(_Helper(setup))
        for helper in helpers:
            threading.Thread(target=work, args=(helper,), daemon=True).start()
        working = len(helpers)
        while working:
            event = events.get()
            if event is None:
                working -= 1
            elif isinstance(event, BaseException):
                raise event
            else:
                yield event
    finally:
        for helper in helpers:
            helper.stop()
        for helper in helpers:
            helper.wait()


class _Helper:
    def __init__(self, setup: Mapping[str, object]) -> None:
        paths = [_ROOT, *(path for path in sys.path if path)]
        self._process = subprocess.Popen(
            # Without `site`: the search path is given, and half the start-up time saved.
            [sys.executable, "-S", "-c", _PROGRAM, *paths],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._inbox = cast(BinaryIO, self._process.stdin)
        self._outbox = cast(BinaryIO, self._process.stdout)
        self._setup = json.dumps(setup).encode()

    def tell(self, kind: bytes, payload: bytes = b"") -> None:
        try:
            if self._setup:
                send(self._inbox, SETUP, self._setup)
                self._setup = b""
            send(self._inbox, kind, payload)
        except OSError:
            # It may have said why before it ended: `hear` finds out.
            return

    def hear(self) -> bytes:
        answer = receive(self._outbox)
        if answer is None:
            raise errors.Unavailable(
                f"A helper process ended unexpectedly (status {self._process.wait()}).",
                hint="Try again; nothing was changed.",
            )
        if answer[0] == ERROR:
            raise decode_error(answer[1])
        return answer[1]

    def stop(self) -> None:
        self._process.terminate()

    def wait(self) -> None:
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        # Its thread may be blocked on these; the process is gone, so that ends first.
        self._outbox.close()
        try:
            self._inbox.close()
        except OSError:
            return
