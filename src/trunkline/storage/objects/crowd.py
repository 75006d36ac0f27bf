"""Large files in threads: hashing and I/O release the interpreter, so they use every core."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Generic, Self, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

Progress = Callable[[int, int], None]
"""Called with the files and bytes done since the last call."""

_BEAT = 0.1

T = TypeVar("T")


class Tally:
    """Work done in any thread, reported in the one that asked for it."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self._lock = threading.Lock()
        self._files = 0
        self._bytes = 0

    def add(self, files: int, size: int) -> None:
        with self._lock:
            self._files += files
            self._bytes += size

    def report(self) -> None:
        if self._progress is None:
            return
        with self._lock:
            files, size, self._files, self._bytes = self._files, self._bytes, 0, 0
        if files or size:
            self._progress(files, size)


class Stopped(Exception):
    """Raised in a thread whose work nobody wants any more."""


class Crowd(Generic[T]):
    """Threads for one call. Leaving the context waits for them; on an error they stop early."""

    def __init__(self, workers: int, tally: Tally) -> None:
        self._workers = workers
        self._pool: ThreadPoolExecutor | None = None
        self._tally = tally
        self._stop = threading.Event()
        self._futures: dict[Future[T], int] = {}

    def submit(self, number: int, call: Callable[[], T]) -> None:
        from concurrent.futures import ThreadPoolExecutor  # slow to load, for large files only

        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._workers)
        self._futures[self._pool.submit(call)] = number

    def wrote(self, size: int) -> None:
        """For the threads to call after each piece."""
        if self._stop.is_set():
            raise Stopped
        self._tally.add(0, size)

    def results(self) -> Sequence[tuple[int, T]]:
        """Wait for everything submitted; (number, result) of each."""
        if not self._futures:
            return []
        from concurrent.futures import FIRST_EXCEPTION, wait

        waiting = set(self._futures)
        while waiting:
            done, waiting = wait(waiting, _BEAT, FIRST_EXCEPTION)
            for future in done:
                future.result()
            self._tally.add(len(done), 0)
            self._tally.report()
        return [(number, future.result()) for future, number in self._futures.items()]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            self._stop.set()
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
