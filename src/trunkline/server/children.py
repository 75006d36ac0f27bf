"""The workers of a server: processes of their own, watched, and started again when they die.

Each has a pipe from the server for its stdin. It ends when that closes, so none outlives the
server, however that ends.

They are started by `subprocess`, in a thread. The event loop would fork, and run Python in the
copy before it becomes a worker: that closes the catalog's connections of threads that are not
there, and waits forever for a lock that one of them held. The server waited with it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from trunkline.errors import TrunklineError
from trunkline.jobs.claims import hand_back_all
from trunkline.lake.core import Core
from trunkline.model.backoff import Backoff
from trunkline.server.child import GRACE_SECONDS, Greeting

log = logging.getLogger("trunkline.server")

BACKOFF = Backoff(0.5, 30.0)
STEADY_SECONDS = 60.0
"""One that lived for so long may be started again at once when it dies."""
LAST_SECONDS = 15.0
"""How long a worker may take to hand its jobs back and stop Spark; then it is killed."""


@dataclass(eq=False)
class Child:
    """One worker: a process, or, while that is None, one that is about to be started."""

    name: str
    socket: Path
    process: subprocess.Popen[bytes] | None = None
    began: float = field(default_factory=time.monotonic)


class Children:
    """Keeps `count` workers alive. `changed` is told who they are, also those to come."""

    def __init__(
        self,
        count: int,
        core: Core,
        folder: Path,
        options: Sequence[str],
        changed: Callable[[Sequence[Child]], None],
    ) -> None:
        self._count = count
        self._core = core
        self._folder = folder
        self._options = options
        self._changed = changed
        self._sockets = Path()
        self._children: list[Child] = []
        self._keepers: list[asyncio.Task[None]] = []
        self._threads = ThreadPoolExecutor(max(count, 1), "worker-process")
        self._stopping = asyncio.Event()

    def start(self, greeting: Greeting, environ: Mapping[str, str]) -> None:
        if not self._count:
            return
        # The path of a socket has to be short, and a lake's may be long.
        self._sockets = Path(tempfile.mkdtemp(prefix="trunkline-serve-"))
        self._children = [self._next() for _ in range(self._count)]
        self._changed(self._children)
        for place in range(self._count):
            self._keepers.append(asyncio.create_task(self._keep(place, greeting, environ)))

    async def stop(self) -> None:
        """Let jobs go on for a while, then have them handed back; in the end none is left."""
        self._stopping.set()
        self._signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(GRACE_SECONDS + LAST_SECONDS):
                await asyncio.gather(*self._keepers)
        except TimeoutError:
            self._signal(signal.SIGKILL)
            await asyncio.gather(*self._keepers, return_exceptions=True)
        self._threads.shutdown(wait=False)
        if self._count:
            shutil.rmtree(self._sockets, ignore_errors=True)

    def hurry(self) -> None:
        """Do not wait for jobs: what they had in hand is handed back for them."""
        self._stopping.set()
        self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> None:
        for child in self._children:
            if child.process is not None:
                with suppress(ProcessLookupError):
                    child.process.send_signal(number)

    def _next(self) -> Child:
        """One to come. Its name is new: the jobs and leases of the one before are known by its."""
        short = os.urandom(4).hex()
        return Child(f"{os.uname().nodename}:{os.getpid()}:{short}", self._sockets / short)

    async def _keep(self, place: int, greeting: Greeting, environ: Mapping[str, str]) -> None:
        pauses = iter(BACKOFF)
        while not self._stopping.is_set():
            child = self._children[place]
            try:
                code = await self._lived(child, greeting, environ)
            except OSError as error:
                log.error("cannot start a worker: %s", error)
            else:
                self._children[place] = self._next()
                self._changed(self._children)
                await self._bury(child, code)
            if self._stopping.is_set():
                return
            if time.monotonic() - child.began > STEADY_SECONDS:
                pauses = iter(BACKOFF)
            pause = next(pauses)
            log.warning("a worker is started again in %.1f s", pause)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), pause)

    async def _lived(self, child: Child, greeting: Greeting, environ: Mapping[str, str]) -> int:
        """Start it, and wait for its end; how it ended."""
        loop = asyncio.get_running_loop()
        process = await loop.run_in_executor(self._threads, self._begin, child, environ)
        child.process, child.began = process, time.monotonic()
        if self._stopping.is_set():
            process.kill()
        self._changed(self._children)
        return await loop.run_in_executor(self._threads, _attend, process, greeting)

    def _begin(self, child: Child, environ: Mapping[str, str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            (
                *(sys.executable, "-m", "trunkline", "worker", "--lake", str(self._folder.parent)),
                *("--name", child.name, "--socket", str(child.socket), *self._options),
            ),
            stdin=subprocess.PIPE,
            env=dict(environ),
            # Ctrl-C on the terminal is for the server: it tells its workers itself.
            start_new_session=True,
        )

    async def _bury(self, child: Child, code: int) -> None:
        """What a dead worker had in hand is free at once, without waiting for its leases."""
        if not self._stopping.is_set():
            how = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
            log.warning("worker %s %s", child.name, how)
        child.socket.unlink(missing_ok=True)
        try:
            handed = await asyncio.to_thread(hand_back_all, self._core, child.name)
        except TrunklineError as error:
            log.warning("the jobs of worker %s wait for its lease to end: %s", child.name, error)
        else:
            if handed:
                log.warning("jobs of worker %s that are tried again: %d", child.name, handed)


def _attend(process: subprocess.Popen[bytes], greeting: Greeting) -> int:
    """Greet it, and wait for its end; how it ended."""
    assert process.stdin is not None
    with suppress(ConnectionError), process.stdin as stdin:
        stdin.write(json.dumps(asdict(greeting)).encode() + b"\n")
        stdin.flush()
        return process.wait()
    return process.wait()
