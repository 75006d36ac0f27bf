"""What was acknowledged: a line each, on disk before the client goes on."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any, Self

from blake3 import blake3

Part = tuple[str, int]
"""Bytes by what they are made from: a text that nobody else uses, and how many."""
Parts = tuple[Part, ...]
MARK: Part = ("what follows is a secret", 32)
"""Bytes that all secrets begin with, so that they are found in one pass."""
Tree = dict[str, Parts]
"""Path to what the file must hold."""
Changes = Mapping[str, Parts | None]
"""The same, None for what is removed."""


def data_of(parts: Parts) -> bytes:
    return b"".join(Random(text).randbytes(size) for text, size in parts)


@lru_cache(1 << 16)
def hash_of(parts: Parts) -> str:
    return blake3(data_of(parts)).hexdigest()


def hashes(tree: Tree) -> dict[str, str]:
    return {path: hash_of(parts) for path, parts in tree.items()}


def changed(tree: Tree, changes: Changes) -> Tree:
    after = {path: parts for path, parts in tree.items() if path not in changes}
    return after | {path: parts for path, parts in changes.items() if parts is not None}


class Memory:
    """Facts of all clients in one file, in the order in which they were acknowledged."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._file = path.open("x", encoding="utf-8")
        self.lines = 0

    def note(self, kind: str, **fact: Any) -> None:
        line = json.dumps({"kind": kind, **fact}, separators=(",", ":"))
        with self._lock:
            self._file.write(line + "\n")
            self._file.flush()
            os.fsync(self._file.fileno())
            self.lines += 1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def remembered(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def told(changes: Changes) -> dict[str, Any]:
    """Changes as JSON has them."""
    return dict(changes)


def heard(changes: Mapping[str, Iterable[Any] | None]) -> Changes:
    return {
        path: None if parts is None else tuple((text, size) for text, size in parts)
        for path, parts in changes.items()
    }
