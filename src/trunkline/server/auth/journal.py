"""The audit log is written beside the requests, in batches, so that they need not wait for it."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from dataclasses import replace

from trunkline.errors import TrunklineError
from trunkline.lake.core import Core
from trunkline.model.access import AuditEntry
from trunkline.model.time import now_micros
from trunkline.storage.catalog import access

log = logging.getLogger("trunkline.server")

GATHER_SECONDS = 0.25
PRUNE_SECONDS = 3600.0
CLOSE_SECONDS = 5.0
"""So long the end of a server waits for a catalog that is locked or does not answer."""
MOST_WAITING = 50_000
KEEP_ENDED_MICROS = 7 * 86_400 * 1_000_000


class Journal:
    """Takes entries at once and writes them soon. `close` writes what is left."""

    def __init__(self, core: Core, keep_seconds: float) -> None:
        self._core = core
        self._keep = int(keep_seconds * 1_000_000)
        self._entries: list[AuditEntry] = []
        self._used: dict[str, int] = {}
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._something = threading.Event()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        self._pruned = 0.0
        self._is_given_up = False

    def add(self, entry: AuditEntry) -> None:
        with self._lock:
            self._entries.append(entry)
        self._wake()

    def used(self, token_id: str, at: int) -> None:
        """A token was used."""
        with self._lock:
            self._used[token_id] = at
        self._wake()

    def flush(self) -> None:
        """Write what waits, now."""
        with self._writing:
            with self._lock:
                entries, self._entries = self._entries, []
                used, self._used = self._used, {}
            if not entries and not used:
                return
            try:
                with self._core.database.write() as session:
                    access.add_audit(session, _merged(entries))
                    access.touch_tokens(session, used)
            except TrunklineError as error:
                self._keep_for_later(entries, error)

    def close(self) -> None:
        if self._is_given_up:
            return
        self._closing.set()
        self._something.set()
        if self._thread is not None:
            self._thread.join(CLOSE_SECONDS)
            if self._thread.is_alive():
                self._is_given_up = True
                log.error("the audit log cannot be written, and the server ends")
                return
            self._thread = None
        self.flush()

    def _keep_for_later(self, entries: list[AuditEntry], error: TrunklineError) -> None:
        with self._lock:
            self._entries = entries + self._entries
            lost = self._entries[MOST_WAITING:]
            del self._entries[MOST_WAITING:]
        log.warning("the audit log waits to be written: %s", error)
        for one in lost:
            log.error("not in the audit log: %s", one)

    def _wake(self) -> None:
        if self._thread is None and not self._closing.is_set():
            with self._lock:
                if self._thread is None:
                    self._thread = threading.Thread(target=self._run, name="audit", daemon=True)
                    self._thread.start()
        self._something.set()

    def _run(self) -> None:
        while not self._closing.is_set():
            self._something.wait(PRUNE_SECONDS)
            self._something.clear()
            self._closing.wait(GATHER_SECONDS)
            self.flush()
            self._prune()
        self.flush()

    def _prune(self) -> None:
        if self._pruned and time.monotonic() - self._pruned < PRUNE_SECONDS:
            return
        self._pruned = time.monotonic()
        try:
            self.prune(now_micros())
        except TrunklineError as error:
            log.warning("the audit log could not be shortened: %s", error)

    def prune(self, now: int) -> None:
        """Forget what is older than it is kept, and tokens of logins and jobs long over."""
        with self._core.database.write(durable=False) as session:
            access.prune_audit(session, now - self._keep)
            access.prune_tokens(session, now - KEEP_ENDED_MICROS)


def _merged(entries: list[AuditEntry]) -> list[AuditEntry]:
    """What nobody we know did over and over is told once: else they could fill the disk."""
    merged: dict[object, AuditEntry] = {}
    times: Counter[object] = Counter()
    for number, one in enumerate(entries):
        key: object = number if one.who else (one.address, one.action, one.outcome, one.detail)
        merged.setdefault(key, one)
        times[key] += 1
    return [
        one if times[key] == 1 else replace(one, detail=f"{one.detail} ({times[key]} times)")
        for key, one in merged.items()
    ]
