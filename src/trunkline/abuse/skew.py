"""The command line on a machine whose clock is wrong: `python -m trunkline.abuse.skew FILE ARGS…`,
or this process as one of that machine's.

The file holds how many seconds it is ahead, and may change at any moment. Clocks that only count
(`time.monotonic`) go on as they do on a machine whose time is set.
"""

from __future__ import annotations

import runpy
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

_EVERY = 0.05
_NANOS = 1_000_000_000


class Skew:
    def __init__(self, file: Path) -> None:
        self._file = file
        self._ahead = 0
        self._time, self._time_ns = time.time, time.time_ns
        self._over = threading.Event()
        self._look()

    def start(self) -> None:
        threading.Thread(target=self._follow, name="skew", daemon=True).start()
        time.time = lambda: self._time() + self._ahead
        time.time_ns = lambda: self._time_ns() + self._ahead * _NANOS

    def stop(self) -> None:
        self._over.set()
        time.time, time.time_ns = self._time, self._time_ns

    def _follow(self) -> None:
        while not self._over.wait(_EVERY):
            self._look()

    def _look(self) -> None:
        with suppress(OSError, ValueError):
            self._ahead = int(self._file.read_text())


def set_clock(file: Path, seconds: int) -> None:
    new = file.with_suffix(".new")
    new.write_text(f"{seconds}\n")
    new.replace(file)


if __name__ == "__main__":
    Skew(Path(sys.argv.pop(1))).start()
    runpy.run_module("trunkline", run_name="__main__", alter_sys=True)
