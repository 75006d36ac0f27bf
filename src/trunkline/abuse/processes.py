"""Servers and workers as operators start them: processes of their own, started again when dead."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from typing import Self
from urllib.request import urlopen

from trunkline.errors import Failed

START_SECONDS = 300.0
STOP_SECONDS = 60.0
_LAST_LINES = 3


class Process:
    """One server or worker. `url` is a server's address, the same in every life."""

    def __init__(
        self,
        name: str,
        home: Path,
        log: Path,
        environ: Mapping[str, str],
        port: int = 0,
        clock: Path | None = None,
    ) -> None:
        self.name = name
        self.url = f"http://127.0.0.1:{port}" if port else ""
        serving = ["serve", "--port", str(port), "--s3-port", "0", "--workers", "0"]
        program = ["trunkline"] if clock is None else ["trunkline.abuse.skew", str(clock)]
        self._command = [sys.executable, "-m", *program, *(serving if port else ["worker"])]
        self._command += ["--lake", str(home), "--json"]
        self._environ = {**environ, **os.environ}
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    @property
    def pid(self) -> int:
        return self._process.pid if self._process else 0

    @property
    def lives(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        with self._lock, self._log.open("ab") as log:
            if not self.lives:
                # A Ctrl-C is ours to answer: they are stopped when all is compared.
                self._process = subprocess.Popen(
                    self._command, stdout=log, stderr=log, env=self._environ, start_new_session=True
                )

    def kill(self) -> None:
        """As the system does when memory runs out: it alone, and at once."""
        with self._lock:
            if self._process is not None:
                self._process.kill()
                self._process.wait()

    def pause(self, seconds: float) -> None:
        """As a machine that stands still for a while."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGSTOP)
            time.sleep(seconds)
            os.kill(self.pid, signal.SIGCONT)

    def stop(self) -> None:
        if self._process is not None and self.lives:
            self._process.terminate()
            try:
                self._process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def answers(self) -> bool:
        with suppress(OSError, HTTPException), urlopen(f"{self.url}/healthz", timeout=5) as answer:
            return bool(answer.status == 200)
        return False

    def last_words(self) -> str:
        said = self._log.read_text(errors="replace").splitlines()
        return " / ".join(said[-_LAST_LINES:])

    def spark(self) -> list[int]:
        """The process ids of its Spark, if it has one."""
        found = subprocess.run(
            ["ps", "-A", "-o", "pid=,ppid=,comm="], capture_output=True, text=True, check=True
        )
        rows = [line.split(None, 2) for line in found.stdout.splitlines()]
        return [int(pid) for pid, ppid, name in rows if int(ppid) == self.pid and "java" in name]


class Processes:
    """All of them. Whoever dies, by a fault or by itself, is started again."""

    def __init__(self, servers: list[Process], workers: list[Process]) -> None:
        self.servers = servers
        self.workers = workers
        self.start_seconds = 0.0
        self._over = threading.Event()
        self._keeper = threading.Thread(target=self._keep, name="keeper", daemon=True)

    @property
    def all(self) -> list[Process]:
        return [*self.servers, *self.workers]

    def __enter__(self) -> Self:
        began = time.monotonic()
        try:
            for one in self.all:
                one.start()
            self.wait()
            self.start_seconds = time.monotonic() - began
        except BaseException:
            self._end()
            raise
        self._keeper.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def wait(self) -> None:
        """Until every server answers."""
        end = time.monotonic() + START_SECONDS
        for one in self.servers:
            while not one.answers():
                if time.monotonic() > end:
                    raise Failed(f"The {one.name} does not answer: {one.last_words()}")
                time.sleep(0.1)

    def _end(self) -> None:
        self._over.set()
        if self._keeper.is_alive():
            self._keeper.join()
        threads = [threading.Thread(target=one.stop) for one in self.all]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _keep(self) -> None:
        while not self._over.wait(1.0):
            for one in self.all:
                one.start()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
    return port
