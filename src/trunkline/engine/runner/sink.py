"""Where results and logs go: gathered, and made durable every few seconds."""

from __future__ import annotations

import threading
import time
from contextlib import suppress

import zstandard

from trunkline import errors
from trunkline.engine.runner.task import DatumResult, SetReport, Work, read_lines
from trunkline.storage.objects.keys import KeyMaker
from trunkline.storage.objects.packer import Packer
from trunkline.storage.objects.port import ObjectStore

# What a killed worker may have to do again.
_PART_SECONDS = 2.0
_PART_BYTES = 64 << 20
_PART_DATUMS = 2000
_LOG_CHARACTERS = 8 << 20


class Sink:
    """The parts, packs and logs of one attempt at a set. Safe in two threads.

    Nothing is reported before it can be read: the pack is published before the part that
    names its files. `lock` is held while the packer is in use.
    """

    def __init__(self, work: Work, store: ObjectStore, number: int, unique: str) -> None:
        self.lock = threading.RLock()
        self.keys = KeyMaker(work.txn, f"{number:x}x{unique}x")
        self.packer = Packer(store, self.keys, work.pack_limit, work.pack_size)
        self.report = SetReport(number)
        self.store = store
        self.error: Exception | None = None
        self._stem = f"{work.parts}{work.txn}-{number:x}x{unique}x"
        self._next = 0
        self._heartbeat = work.heartbeat
        self._lines: list[str] = []
        self._bytes = 0
        self._since = 0.0
        self._log: list[str] = []
        self._log_size = 0
        self._log_since = 0.0

    def take_over(self, work: Work) -> set[str]:
        """Count what earlier attempts at this set have done; the keys of those datums."""
        start = f"{work.parts}{work.txn}-{self.report.number:x}x"
        done: set[str] = set()
        for key in sorted(info.key for info in self.store.list(work.parts)):
            if key.startswith(start) and key.endswith(".log"):
                self.report.logs.append(key)
            if not (key.startswith(start) and key.endswith(".part")):
                continue
            self.report.parts.append(key)
            for line in read_lines(self.store.get(key)):
                result = DatumResult.decode(line)
                if result.key not in done:
                    done.add(result.key)
                    self.report.count(result)
        self.report.repeated = len(done)
        return done

    def add(self, result: DatumResult) -> None:
        with self.lock:
            self._check()
            now = time.monotonic()
            if not self._lines:
                self._since = now
            self._lines.append(result.encode())
            self._bytes += result.bytes_out
            self.report.count(result)
            if (
                now - self._since >= _PART_SECONDS
                or self._bytes >= _PART_BYTES
                or len(self._lines) >= _PART_DATUMS
            ):
                self.close_part()
            if self._log and now - self._log_since >= self._heartbeat:
                self.close_log()

    def add_log(self, line: str) -> None:
        with self.lock:
            if not self._log:
                self._log_since = time.monotonic()
            self._log.append(line)
            self._log_size += len(line)
            if self._log_size >= _LOG_CHARACTERS:
                self.close_log()

    def due(self) -> float | None:
        """When `tick` has something to do, by the monotonic clock."""
        part = self._since + _PART_SECONDS if self._lines else None
        log = self._log_since + self._heartbeat if self._log else None
        return min(part, log) if part and log else part or log

    def tick(self) -> None:
        """Write what has waited long enough, while a datum runs on."""
        with self.lock:
            now = time.monotonic()
            if self._log and now - self._log_since >= self._heartbeat:
                self.close_log()
            if self._lines and now - self._since >= _PART_SECONDS:
                self.close_part()

    def close(self) -> None:
        with self.lock:
            self._check()
            self.close_log()
            self.close_part()
            # A failed datum's bytes may be all that is in it.
            self.packer.discard()

    def abandon(self) -> None:
        """After an error of ours: keep what is finished if that is still possible."""
        with self.lock, suppress(errors.TrunklineError, OSError):
            self.close_part()
            self.close_log()
        self.packer.discard()

    def close_part(self) -> None:
        if not self._lines:
            return
        lines, self._lines, self._bytes = self._lines, [], 0
        # The lines are gone before this can fail: no part may name a pack that is not there.
        self.packer.publish()
        self.report.parts.append(self._put(lines, "part"))

    def close_log(self) -> None:
        if not self._log:
            return
        lines, self._log, self._log_size = self._log, [], 0
        self.report.logs.append(self._put(lines, "log"))

    def pack(self, path: bytes, data: bytes) -> bytes:
        """Add a small file to the open pack; its line."""
        with self.lock:
            try:
                return self.packer.add(path, data)
            except errors.TrunklineError:
                # The pack is lost, and so are the results that name it.
                self._lines = []
                raise

    def _check(self) -> None:
        """Raise what went wrong in the other thread."""
        if self.error is not None:
            raise self.error

    def _put(self, lines: list[str], kind: str) -> str:
        key = f"{self._stem}{self._next:x}.{kind}"
        self._next += 1
        text = "\n".join(lines).encode() + b"\n"
        self.store.put(key, zstandard.ZstdCompressor(level=3, write_checksum=True).compress(text))
        return key
