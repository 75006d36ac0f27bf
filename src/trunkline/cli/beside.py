"""A command of ours that goes on beside this one, and never outlives it."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping

STOP_SECONDS = 20.0


class Beside:
    """A command, as in another terminal. What it says is kept until somebody asks."""

    def __init__(self, *arguments: str, environ: Mapping[str, str] | None = None) -> None:
        # A session of its own: Ctrl-C is for us, who then end it.
        self._process = subprocess.Popen(
            [sys.executable, "-m", "trunkline", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            env={**os.environ, **(environ or {})},
        )
        self._said: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, name="beside-output", daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._said.put(line.rstrip("\n"))

    def lines(self) -> Iterator[str]:
        """What it has said since this was last asked."""
        with contextlib.suppress(queue.Empty):
            while True:
                yield self._said.get_nowait()

    @property
    def is_over(self) -> bool:
        return self._process.poll() is not None

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def stop(self) -> None:
        """Politely; if that takes too long, not."""
        if not self.is_over:
            self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()


@contextlib.contextmanager
def ended_politely() -> Iterator[None]:
    """A polite kill ends us as Ctrl-C does, so that we can end what goes on beside."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
