"""A real `trunkline serve`, in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

TIMEOUT = 60


class Serving:
    """A server that answers. `log` is what it has written to stderr so far."""

    def __init__(
        self, process: subprocess.Popen[str], facts: dict[str, Any], stderr: IO[str]
    ) -> None:
        self.process = process
        self.facts = facts
        self.url: str = facts["url"]
        self._stderr = stderr

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def log(self) -> str:
        self._stderr.seek(0)
        return self._stderr.read()

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(TIMEOUT)

    def children(self) -> list[int]:
        """The workers' process ids; what answers queries is a child too."""
        return [pid for pid in children_of(self.pid) if "worker" in command_of(pid)]


@contextmanager
def serving(
    folder: Path, *args: str, environ: Mapping[str, str] | None = None
) -> Iterator[Serving]:
    """Serve the lake in a folder on a free port; without workers unless they are asked for."""
    with tempfile.TemporaryFile("w+") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-m", "trunkline", "serve", "--lake", str(folder), "--json",
             "--port", "0", "--s3-port", "0", "--workers", "0", *args],
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            env={**os.environ, **(environ or {})},
        )  # fmt: skip
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            stderr.seek(0)
            assert line, stderr.read()
            # Workers write what they do to the same pipe.
            threading.Thread(target=process.stdout.read, daemon=True).start()
            yield Serving(process, json.loads(line), stderr)
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()


def children_of(pid: int) -> list[int]:
    """Those that any of its threads started."""
    found: list[int] = []
    for thread in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(FileNotFoundError, ProcessLookupError):
            found += [int(word) for word in thread.read_text().split()]
    return found


def command_of(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    except (FileNotFoundError, ProcessLookupError):
        return []


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that only waits to be buried does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
