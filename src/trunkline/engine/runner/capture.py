"""print() of a pipeline's function, on its way to the datum's log."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from trunkline.engine.runner.log import ERR, OUT, Log

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

    from trunkline.engine.runner.alarm import Alarm


class _Raw(io.RawIOBase):
    """Bytes to the log of whichever datum runs. Lives as long as the process.

    A handler of `logging` that was made when a module was loaded keeps it.
    """

    def __init__(self, stream: str) -> None:
        self._stream = stream
        self.log: Log | None = None
        self.alarm: Alarm | None = None

    def writable(self) -> bool:
        return True

    def write(self, data: ReadableBuffer) -> int:
        raw = bytes(data)
        if self.log is not None and self.alarm is not None:
            with self.alarm.held_back(), self.log.lock:
                self.log.feed(self._stream, raw)
        return len(raw)


class _Text(io.TextIOBase):
    """Text straight to the log: a print costs no more than its characters."""

    encoding = "utf-8"

    def __init__(self, raw: _Raw) -> None:
        self.buffer = raw

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.buffer.write(text.encode(errors="backslashreplace"))
        return len(text)


_out = _Text(_Raw(OUT))
_err = _Text(_Raw(ERR))


@contextmanager
def captured(log: Log, alarm: Alarm) -> Iterator[None]:
    """Have everything that is printed go to the log."""
    before = sys.stdout, sys.stderr
    for text in (_out, _err):
        text.buffer.log, text.buffer.alarm = log, alarm
    sys.stdout, sys.stderr = _out, _err
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
        for text in (_out, _err):
            text.buffer.log = None
