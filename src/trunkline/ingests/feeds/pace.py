"""Sources that are asked now and then, and rows that come as a stream of batches."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from trunkline.ingests.feeds.base import Columns

if TYPE_CHECKING:
    import pyarrow as pa

PIECE_BYTES = 64 << 20
"""Rows that are written together; a file of the table is not smaller, if there are enough."""
_LONGEST = 5.0


class Pace:
    """When a source is asked again: every so many seconds."""

    def __init__(self, stop: threading.Event, every: float) -> None:
        self._stop = stop
        self._every = every
        self._next = float("-inf")

    def is_due(self, *, drain: bool) -> bool:
        """Whether to ask now. Waits a while if not; who drains never waits."""
        left = self._next - time.monotonic()
        if drain or left <= 0:
            return True
        self._stop.wait(min(left, _LONGEST))
        return False

    def asked(self) -> None:
        self._next = time.monotonic() + self._every


def pieces(batches: Iterable[pa.RecordBatch], source: str) -> Iterator[Columns]:
    """Batches put together, so that small ones make no small files."""
    import pyarrow as pa

    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        held.append(batch)
        size += batch.nbytes
        if size >= PIECE_BYTES:
            yield Columns(pa.Table.from_batches(held), source)
            held, size = [], 0
    if held:
        yield Columns(pa.Table.from_batches(held), source)
