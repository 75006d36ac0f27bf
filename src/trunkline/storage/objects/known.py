"""What was found out about objects outside of the lake: facts that no listing tells.

By the hash of an entry: the hash of its bytes, from the first time that they were read whole, and
the stamp that its file had then, or had when it was referred to. A few objects of the store hold
all of it, so that executors, servers and commands learn from each other. Facts are a help: where
they cannot be written, and when one is lost, the next who reads finds out again.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from trunkline.errors import TrunklineError
from trunkline.storage.objects.keys import KNOWN

if TYPE_CHECKING:
    from trunkline.storage.objects.port import ObjectStore

_STALE_SECONDS = 1.0


class Fact(NamedTuple):
    """`stamp` is empty where a store tells versions apart by itself, `content` until it is read."""

    stamp: str
    content: str = ""


class Known:
    """The facts of one lake, by the first letter of the hash that each is about."""

    def __init__(self, store: ObjectStore | None = None) -> None:
        self._store = store
        self._lock = threading.RLock()
        self._parts: dict[str, tuple[float, dict[str, Fact]]] = {}
        self._fresh: dict[str, Fact] = {}
        self._gathering = 0

    def get(self, digest: str) -> Fact | None:
        with self._lock:
            if digest in self._fresh:
                return self._fresh[digest]
            read, facts = self._parts.get(digest[0], (0.0, {}))
            found = facts.get(digest)
            # Others may have found out more since.
            if (found is None or not found.content) and time.monotonic() - read > _STALE_SECONDS:
                facts = self._read(digest[0])
                self._parts[digest[0]] = time.monotonic(), facts
                found = facts.get(digest)
            return found

    def learn(self, digest: str, fact: Fact) -> None:
        with self._lock:
            self._fresh[digest] = fact
            if not self._gathering:
                self._write()

    @contextmanager
    def gathering(self) -> Iterator[None]:
        """What is learned meanwhile is written at the end, all at once."""
        with self._lock:
            self._gathering += 1
        try:
            yield
        finally:
            with self._lock:
                self._gathering -= 1
                if not self._gathering:
                    self._write()

    def _read(self, part: str) -> dict[str, Fact]:
        if self._store is None:
            return {}
        try:
            return _decoded(self._store.get(KNOWN + part))
        except FileNotFoundError:
            return {}

    def _write(self) -> None:
        fresh, self._fresh = self._fresh, {}
        for part in {digest[0] for digest in fresh}:
            facts = {digest: fact for digest, fact in fresh.items() if digest[0] == part}
            known = {**self._parts.get(part, (0.0, {}))[1], **facts}
            self._parts[part] = time.monotonic(), known
            if self._store is None:
                continue
            with suppress(TrunklineError):  # read-only, full or away: it is found out again
                _add(self._store, KNOWN + part, facts)


def _add(store: ObjectStore, key: str, facts: Mapping[str, Fact]) -> None:
    def changed(data: bytes) -> bytes:
        known = _decoded(data)
        for digest, fact in facts.items():
            before = known.get(digest)
            # The first content that was read is what the reference stands for.
            if before is None or before.content in ("", fact.content):
                known[digest] = fact
        return json.dumps(known, sort_keys=True, separators=(",", ":")).encode()

    try:
        store.edit(key, changed)
    except FileNotFoundError:
        store.put(key, changed(b"{}"))


def _decoded(data: bytes) -> dict[str, Fact]:
    try:
        return {digest: Fact(*fact) for digest, fact in json.loads(data).items()}
    except (ValueError, TypeError, AttributeError):
        return {}
