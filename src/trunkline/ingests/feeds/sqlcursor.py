"""Rows in the order of a growing column, given out batch by batch, without those that are in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from trunkline.connect.sqlreading import Block
from trunkline.ingests.feeds.sqlwindow import Window, behind, row_hashes


class Reading:
    """A cursor over rows in the order of a column, which several batches may take from."""

    def __init__(
        self,
        blocks: Iterator[Block],
        by: str,
        lag: float,
        identity: tuple[str, ...],
        last: Any,
        known: Window | None,
        close: Callable[[], None],
    ) -> None:
        self._blocks = blocks
        self._by = by
        self._lag = lag
        self._identity = identity
        self._known = known.hashes() if known is not None else None
        self._left: Block | None = None
        self._close = close
        self.last = last
        self.window = Window(identity)
        self.end: dict[str, Any] | None = None
        self.over = False
        self.enough = False
        """Whether the batch is full: it ends where the next value begins."""

    def close(self) -> None:
        self._close()

    def blocks(self, rows: int) -> Iterator[Block]:
        """New rows until there are so many, then to the end of those with one value."""
        taken, self.enough = 0, False
        while not self.over:
            block = self._next()
            if block is None:
                self.over = True
                return
            cut = self._end_of_batch(block.of(self._by), rows - taken)
            if cut < block.rows:
                self._left = block.slice(cut)
            full = cut < block.rows
            block = block.slice(0, cut)
            if block.rows:
                fresh = self._fresh(block)
                self._note(block)
                taken += fresh.rows
                if fresh.rows:
                    yield fresh
            if full and taken:
                return

    def _next(self) -> Block | None:
        block, self._left = self._left, None
        return block if block is not None else next(self._blocks, None)

    def _end_of_batch(self, values: Any, room: int) -> int:
        """How many rows of a block are of this batch."""
        if self.enough:
            room = 0
        if room >= len(values):
            return len(values)
        last = values[room - 1] if room > 0 else self.last
        for at in range(max(room, 0), len(values)):
            if values[at] != last:
                return at
        return len(values)

    def _fresh(self, block: Block) -> Block:
        """Without the rows that are in already."""
        known = self._known
        if not known:
            return block
        places = []
        for at, one in enumerate(row_hashes(block, self._identity)):
            if known[one] > 0:
                known[one] -= 1
            else:
                places.append(at)
        self._known = +known or None
        return block if len(places) == block.rows else block.take(places)

    def _note(self, block: Block) -> None:
        """Keep what may be met again: rows with the last value, and those as far as the lag."""
        values = block.of(self._by)
        self.last = values[-1]
        horizon = behind(self.last, self._lag)
        if self._lag:
            first = next(at for at, one in enumerate(values) if one >= horizon)
            kept = [one for one in self.window.values if one[0] >= horizon]
        else:
            first = next(at for at, one in enumerate(values) if one == horizon)
            kept = [one for one in self.window.values if one[0] == horizon]
        self.window = Window(self._identity, kept)
        near = block.slice(first)
        hashes = row_hashes(near, self._identity)
        for value, one in zip(near.of(self._by), hashes, strict=True):
            self.window.add(value, [one])
