"""The way in: many files into a store, small ones packed, large ones as objects of their own."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from types import TracebackType
from typing import Self

from trunkline.storage.objects.crowd import Crowd, Progress, Tally
from trunkline.storage.objects.keys import KeyMaker
from trunkline.storage.objects.local import LocalStore
from trunkline.storage.objects.packer import LARGE, PACK_LIMIT, PACK_SIZE, Job, Packer
from trunkline.storage.objects.port import Buffer, ObjectStore
from trunkline.storage.objects.whole import store_file, store_stream

Files = Sequence[tuple[str, str | os.PathLike[str]]]
"""Each with its path in the repo and its place on this computer."""

Known = Mapping[bytes, tuple[bytes, int]]
"""Path to the hash and size it has already."""

MANY = 4000
"""From here on helper processes are worth their start-up time."""

_NOTHING = (b"", -1)
_BATCH = 1000
_Packed = tuple[int, int, list[bytes]]
_Prepare = Callable[[Files], list[Job]]


class Intake:
    """Stores the files of one transaction and gives back their entry lines.

    Small files of all calls share one pack until it is full. A line may therefore point into a
    pack that is still being written: it can be read after `flush` or `close`, not before, and
    it may be committed only after `close`. Objects written before an error or `abort` stay in
    the store; no line names them, and gc removes them by their transaction.

    Calls may come from several threads; they take turns.
    """

    def __init__(
        self,
        store: ObjectStore,
        keys: KeyMaker | str,
        *,
        pack_limit: int = PACK_LIMIT,
        pack_size: int = PACK_SIZE,
        workers: int | None = None,
    ) -> None:
        self._store = store
        self._keys = KeyMaker(keys) if isinstance(keys, str) else keys
        self._pack_limit = pack_limit
        self._pack_size = pack_size
        self._workers = workers or len(os.sched_getaffinity(0))
        # More threads than cores, as some wait for the disk; an upload holds several parts.
        local = isinstance(store, LocalStore)
        self._threads = min(self._workers + 2, 16) if local else min(self._workers, 4)
        self._packer = Packer(store, self._keys, pack_limit, pack_size)
        self._lock = threading.RLock()

    def add_bytes(self, path: str, data: bytes) -> bytes:
        with self._lock:
            if len(data) > self._pack_limit:
                return store_stream(self._store, self._keys, path, data, ())
            return self._packer.add(path.encode(), data)

    def add_stream(self, path: str, chunks: Iterable[Buffer]) -> bytes:
        """Store what `chunks` yields; its length need not be known, and it is never all held."""
        start = bytearray()
        rest = iter(chunks)
        for chunk in rest:
            start += chunk
            if len(start) > self._pack_limit:
                return store_stream(self._store, self._keys, path, bytes(start), rest)
        with self._lock:
            return self._packer.add(path.encode(), bytes(start))

    def add_file(self, path: str, local: str | os.PathLike[str]) -> bytes:
        (line,) = self.add_files([(path, local)])
        return line

    def add_files(
        self,
        files: Files,
        known: Known | None = None,
        progress: Progress | None = None,
    ) -> list[bytes]:
        """Store files given as (path, local path); their lines, in the order given.

        A file whose bytes `known` has under its path is not stored and has no line.
        """
        known = known or {}
        batches = [files[start : start + _BATCH] for start in range(0, len(files), _BATCH)]
        jobs = partial(_jobs, known)
        results: list[list[bytes]] = [[]] * len(batches)
        tally = Tally(progress)
        with self._lock, Crowd[bytes](self._threads, tally) as crowd:
            pack = self._pack_here if self._is_few(len(files)) else self._pack_out
            with closing(pack(batches, jobs)) as packed:
                for number, size, lines in packed:
                    results[number] = lines
                    large = lines.count(LARGE)
                    for place in _places(lines, large):
                        path, local = batches[number][place]
                        crowd.submit(
                            number * _BATCH + place,
                            partial(
                                store_file,
                                self._store,
                                self._keys,
                                path,
                                os.fsencode(local),
                                known.get(path.encode(), _NOTHING),
                                crowd.wrote,
                            ),
                        )
                    tally.add(len(lines) - large, size)
                    tally.report()
            for place, line in crowd.results():
                results[place // _BATCH][place % _BATCH] = line
        tally.report()
        return [line for lines in results for line in lines if line]

    def _is_few(self, files: int) -> bool:
        """Whether starting helpers would take longer than they save."""
        alone = self._workers < 2 or not sys.executable
        return alone or files < MANY or self._store.address is None

    def _pack_here(
        self, batches: Sequence[Files], jobs: _Prepare
    ) -> Generator[_Packed, None, None]:
        for number, batch in enumerate(batches):
            lines, size = self._packer.add_files(jobs(batch))
            yield number, size, lines

    def _pack_out(self, batches: Sequence[Files], jobs: _Prepare) -> Generator[_Packed, None, None]:
        """Pack in helper processes, each into packs of its own, durable when this ends."""
        from trunkline.storage.objects.crew import share_out  # slow to load, for many files only

        assert self._store.address is not None
        url, options = self._store.address
        setups = [
            {
                "task": "intake",
                "url": url,
                "options": dict(options),
                "txn": self._keys.txn,
                "prefix": self._keys.branch().prefix,
                "pack_limit": self._pack_limit,
                "pack_size": self._pack_size,
            }
            for _ in range(self._workers)
        ]
        # A batch is made ready while the helpers are busy with those before it.
        with closing(share_out(setups, batches, lambda batch: _encode(jobs(batch)))) as answers:
            for number, answer in answers:
                size, *lines = answer.split(b"\n")
                yield number, int(size), lines

    def flush(self) -> None:
        """Publish the open pack: every line returned so far can be read."""
        with self._lock:
            self._packer.publish()

    def close(self) -> None:
        """Publish the open pack. All lines are durable now."""
        self.flush()

    def abort(self) -> None:
        """Throw the open pack away."""
        with self._lock:
            self._packer.discard()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()


def _places(lines: list[bytes], count: int) -> Iterator[int]:
    """Where the large files are among the lines of a batch."""
    place = -1
    for _ in range(count):
        place = lines.index(LARGE, place + 1)
        yield place


def _jobs(known: Known, files: Files) -> list[Job]:
    return [
        (name := path.encode(), os.fsencode(local), known.get(name, _NOTHING)[0])
        for path, local in files
    ]


def _encode(batch: list[Job]) -> bytes:
    return b"\0".join([field for job in batch for field in job])
