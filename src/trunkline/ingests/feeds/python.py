"""A generator of the user's: `file.py:function` among the files that travel with the ingest.

It is called with the position that was committed last, None at first, and yields dicts, lists of
them, Arrow tables or DataFrames; None says that there is nothing now. With
`Offered(rows, position)` it says itself where it has come to: that position is committed with
the rows and handed to it when it is called again, so that each row is in once. Without, the
position is how many items were taken so far: a function that wants each row once skips as many.
A function without a parameter is not told, and what it yields is new whenever it is called.

A generator that ends is called again after the interval if it offers positions, for it knows
what it gave; one that does not has said all it has to say.
"""

from __future__ import annotations

import json
import logging
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trunkline.engine.environ import plain_environment
from trunkline.errors import TransformFailed
from trunkline.ingests.feeds.base import Columns, Feed, Gathered, Piece, Records, Site, Written
from trunkline.ingests.feeds.messages import Ended, Idle, Item, Message, receive
from trunkline.model.best_effort import BestEffort

log = logging.getLogger("trunkline.ingests")

_AHEAD = 16
"""How many items may wait here; some more wait in the pipe."""
_START = "import sys; from trunkline.ingests.feeds.child import main; main(*sys.argv[1:])"
_ROW = 256
"""Bytes that a dict is taken for."""


class PythonFeed(Feed):
    def __init__(self, site: Site) -> None:
        super().__init__(site)
        self._entry = str(site.options["function"])
        self._caller: _Caller | None = None
        self._at: Mapping[str, Any] | None = None
        self._failure: TransformFailed | None = None
        self._over = False

    def gather(self, position: Mapping[str, Any], *, drain: bool) -> Gathered | None:
        if self._over:
            if not drain:
                self.site.stop.wait(self.site.source.interval)
            return None
        caller = self._caller
        if caller is None or self._at != position:
            # What it yielded since then was not committed: it is asked again from there.
            self.close()
            caller = self._caller = _Caller(self.site, self._entry, position)
            self._at = position
        taken, why = self._collect(caller, drain)
        if self._failure is not None and not taken:
            failure = self._failure
            self.close()
            raise failure
        # It has said that there is no more now, and is not to be asked again.
        self._over = drain and why is not None
        if not taken:
            if isinstance(why, Ended):
                self._ended(position)
            return None
        pieces, end = _joined(taken, self._entry), taken[-1].position
        return Gathered(pieces, end, origin=lambda: self._entry, token=why)

    def committed(self, batch: Gathered, written: Written) -> None:
        self._at = batch.end
        if isinstance(batch.token, Ended):
            self._ended(batch.end)

    def refused(self, batch: Gathered, error: Exception) -> None:
        self.close()

    def close(self) -> None:
        self._failure = self._at = None
        if self._caller is not None:
            self._caller.stop()
            self._caller = None

    def _collect(self, caller: _Caller, drain: bool) -> tuple[list[Item], Idle | Ended | None]:
        """Items until the interval is over, there are enough of them, or there are no more."""
        source = self.site.source
        until = time.monotonic() + source.interval
        taken: list[Item] = []
        rows = size = 0
        while rows < source.rows and size < source.bytes and self._failure is None:
            left = until - time.monotonic()
            if self.site.stop.is_set() or (left <= 0 and not (drain and not taken)):
                break
            item = caller.next(max(min(left, 0.1), 0.01))
            if isinstance(item, Item):
                taken.append(item)
                rows += len(item.rows)
                size += getattr(item.rows, "nbytes", 0) or _ROW * len(item.rows)
            elif isinstance(item, Ended) and item.error:
                # What it gave before is good: that is taken first.
                self._failure = TransformFailed(item.error, hint=item.hint)
            elif isinstance(item, Ended) or (item is not None and (drain or taken)):
                return taken, item
        return taken, None

    def _ended(self, position: Mapping[str, Any]) -> None:
        self.close()
        if "position" not in position:
            self._over = True
        elif not self._over:
            self.site.stop.wait(self.site.source.interval)


class _Caller:
    """The process of the generator, which may wait for long before it yields."""

    def __init__(self, site: Site, entry: str, position: Mapping[str, Any]) -> None:
        params = dict(site.spec.transform.params)
        self._entry = entry
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-c", _START),
                *(str(site.code()), entry, json.dumps(dict(position)), json.dumps(params)),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**plain_environment(os.environ), **site.env},
        )
        self._items: queue.Queue[Message] = queue.Queue(_AHEAD)
        self._stopped = threading.Event()
        self._last = ""
        for target in (self._read, self._log):
            threading.Thread(target=target, name=f"ingest-{entry}", daemon=True).start()

    def next(self, seconds: float) -> Message | None:
        try:
            return self._items.get(timeout=seconds)
        except queue.Empty:
            return None

    def stop(self) -> None:
        self._stopped.set()
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with BestEffort(f"Reading what {self._entry} yields"):
            while not self._stopped.is_set():
                item = receive(self._process.stdout)
                self._give(item)
                if isinstance(item, Ended):
                    return
        # Whatever it wrote, it is no item.
        if not self._stopped.is_set():
            assert self._process.stdin is not None
            self._process.stdin.close()  # which ends it, if it has not ended
        code = self._process.wait()
        self._give(Ended(f"{self._entry}: its process ended with {code}. {self._last}".strip()))

    def _log(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as lines:
            for line in lines:
                self._last = line.decode(errors="backslashreplace").rstrip()
                log.info("%s: %s", self._entry, self._last)

    def _give(self, item: Message) -> None:
        while not self._stopped.is_set():
            try:
                self._items.put(item, timeout=0.2)
                return
            except queue.Full:
                continue


def _joined(items: Sequence[Item], source: str) -> Iterator[Piece]:
    """Rows that were yielded one by one, together."""
    rows: list[Any] = []
    for item in items:
        if isinstance(item.rows, list):
            rows += item.rows
            continue
        if rows:
            yield Records(rows, source)
            rows = []
        yield Columns(item.rows, source)
    if rows:
        yield Records(rows, source)
