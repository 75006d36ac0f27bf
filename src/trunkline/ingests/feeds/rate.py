"""Rows out of nothing, so many a second: for trials.

As Spark's rate source: `timestamp` and `value`, which counts from 0. When a row is due follows
from its value and from when the ingest first ran, so the same rows come whoever makes them. What
was due while nobody ran it is made up for, as Spark does, a batch at a time.
"""

from __future__ import annotations

import time

from trunkline.ingests.feeds.base import Columns, Feed, Gathered, Site
from trunkline.model.streams import Position

MICROS = 1_000_000


class RateFeed(Feed):
    def __init__(self, site: Site) -> None:
        super().__init__(site)
        self._per_second = float(site.options.get("rows_per_second", 1))
        with site.core.database.read() as session:
            self._opened = session.now()
        self._ticks = time.monotonic()

    def gather(self, position: Position, *, drain: bool) -> Gathered | None:
        if drain:
            return None
        begun = dict(position)
        if begun.get("rows_per_second") != self._per_second:
            # Another pace counts on from here.
            begun = {
                "value": begun.get("value", 0),
                "from": begun.get("value", 0),
                "start": self._now(),
                "rows_per_second": self._per_second,
            }
        self.site.stop.wait(self.site.source.interval)
        if self.site.stop.is_set():
            return None
        passed = (self._now() - begun["start"]) / MICROS
        first = int(begun["value"])
        last = begun["from"] + int(max(passed, 0.0) * self._per_second)
        last = min(last, first + self.site.source.rows)
        end = {**begun, "value": max(last, first)}
        pieces = [self._rows(begun, first, last)] if last > first else []
        return Gathered(pieces, end)

    def _now(self) -> int:
        """The time of the catalog, which a clock that is set does not move while this runs."""
        return self._opened + int((time.monotonic() - self._ticks) * MICROS)

    def _rows(self, begun: dict[str, float], first: int, last: int) -> Columns:
        import numpy
        import pyarrow as pa

        values = numpy.arange(first, last, dtype=numpy.int64)
        since = (values - int(begun["from"])) * (MICROS / self._per_second)
        times = int(begun["start"]) + since.astype(numpy.int64)
        table = pa.table(
            {
                "timestamp": pa.array(times, pa.int64()).cast(pa.timestamp("us", "UTC")),
                "value": pa.array(values),
            }
        )
        return Columns(table, "rate")
