"""What a datum prints, line by line: bounded, free of secrets, and always text."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping

from trunkline.engine.runner.masking import masker
from trunkline.engine.runner.sink import Sink

OUT = "out"
ERR = "err"
NOTE = "note"

# A line without an end is not held back for longer than this.
_LONGEST_LINE = 64 << 10

_encode = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode


class Log:
    """The log of the datum that runs now; `begin` and `end` enclose it."""

    def __init__(self, sink: Sink, limit: int, secrets: Mapping[str, str]) -> None:
        self.lock = sink.lock
        self._sink = sink
        self._limit = limit
        self._mask: Callable[[str], str] = masker(secrets)
        self._datum = ""
        self._left = limit
        self._rest = {OUT: b"", ERR: b""}
        self.names_pfs = False

    def begin(self, datum: str) -> None:
        self._datum = datum
        self.names_pfs = False
        self._left = self._limit

    def feed(self, stream: str, data: bytes) -> None:
        """More bytes of a stream. An unfinished line waits for its end."""
        self.names_pfs = self.names_pfs or b"/pfs/" in data
        if self._left <= 0:
            return
        is_cut = len(data) >= self._left
        data = data[: self._left]
        self._left -= len(data)
        *lines, rest = (self._rest[stream] + data).split(b"\n")
        if len(rest) > _LONGEST_LINE:
            lines.append(rest)
            rest = b""
        self._rest[stream] = rest
        for line in lines:
            self._write(stream, line)
        if is_cut:
            # Half a line could hold half a secret.
            self._rest[stream] = b""
            self.note(f"the log is cut here: it has reached {self._limit:,} bytes")

    def end(self) -> None:
        """No more bytes come: the datum, or a try at it, is over."""
        for stream, rest in self._rest.items():
            if rest:
                self._write(stream, rest)
                self._rest[stream] = b""

    def note(self, text: str) -> None:
        """Something that Trunkline has to say about the datum."""
        self._emit(NOTE, self.mask(text))

    def mask(self, text: str) -> str:
        """The text without the values of secrets."""
        return self._mask(text)

    def _write(self, stream: str, line: bytes) -> None:
        self._emit(stream, self.mask(line.removesuffix(b"\r").decode(errors="backslashreplace")))

    def _emit(self, stream: str, text: str) -> None:
        at = time.time_ns() // 1000
        self._sink.add_log(
            _encode({"at": at, "datum": self._datum, "stream": stream, "text": text})
        )
