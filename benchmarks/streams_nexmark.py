"""Nexmark: ten queries as streams of a lake, against plain Structured Streaming.

The same events in the same batches, a file of each kind: as commits of the repos person, auction
and bid, a commit a batch, and in folders for `nexmark/plain.py`. Both run in one warm session, and
the rows of both must be the same, and those that DuckDB gives over all the events at once.

Rows a second count all events, also of kinds that a query does not read. Times of our batches are
from the end of one to the end of the next; Spark's are what it notes itself. `--scale` is millions
of events. There are many queries, of many batches each: a third of `--rounds` is run.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import trunkline as tl
from benchmarks.measure import Bench, Cost, Run, in_turns
from benchmarks.nexmark import pipelines, plain
from benchmarks.nexmark.answers import answer, differences, final_watermark
from benchmarks.nexmark.generator import SCHEMAS, Generator, Views
from benchmarks.nexmark.queries import QUERIES, Sizes
from benchmarks.report import Result
from benchmarks.spark import warm_session
from benchmarks.streams_common import Ran, bare_session, drain, middle, quantile
from benchmarks.streams_throughput import put_each
from trunkline.sdk import Lake

CLAIM = "streams_nexmark"
PEER = "plain Structured Streaming"
SPAN = 100
"""Seconds of their own time that the events take: windows of 10 s close in every batch."""


def run(bench: Bench) -> Iterator[Result]:
    os.chdir(bench.folder)
    events = int(bench.scale * 1_000_000) or bench.size(100_000, 6_000)
    batches = bench.size(10, 3)
    generator = Generator(rate=max(events // SPAN, 1))
    sizes, views = Sizes(generator.longest_life), generator.views(0, events)
    files, code = bench.folder / "events", bench.folder / "code"
    plain.write(generator, events, -(-events // batches), files)
    pipelines.write_code(code, sizes)
    with warm_session() as session, tl.init(bench.folder / "lake") as lake:
        for name in SCHEMAS:
            put_each(lake, name, files / name)
        for query in QUERIES:
            ours = _Ours(lake, query, code)
            bare = _Bare(bare_session(session), query, files, sizes, bench.folder / f"bare_{query}")
            runs: dict[str, Run] = {"ours": ours, "bare": bare}
            in_turns(runs, 1)  # both are warm now, and are compared
            _check(query, lake, bare.rows, views, sizes)
            ours.runs.clear()
            bare.runs.clear()
            in_turns(runs, max(bench.rounds // 3, 1))
            yield _result(query, events, ours, middle(bare.runs))
            ours.end()


def _check(query: str, lake: Lake, theirs: Any, views: Views, sizes: Sizes) -> None:
    wanted = answer(query, views, final_watermark(query, views), sizes)
    for who, found in (("ours", lake.table(query).arrow()), ("Spark", theirs)):
        missing, extra = differences(found, wanted)
        assert not missing + extra, f"{query}, {who}: missing {missing[:3]}, too many {extra[:3]}"


def _result(query: str, events: int, ours: _Ours, bare: Ran) -> Result:
    mine = middle(ours.runs)
    told = f", {mine.share:.0%} to publish"
    if ours.state[0]:
        told += f", state {ours.state[0]:,} rows, {ours.state[1] / 1e6:.1f} MB"
    asked = (QUERIES[query].__doc__ or "").strip().partition(".")[0].partition(":")[0]
    return Result(
        CLAIM, f"{query}: {asked}; {events:,} events",
        _shown(events, mine) + told, PEER, _shown(events, bare), bare.seconds / mine.seconds,
    )  # fmt: skip


def _shown(events: int, ran: Ran) -> str:
    p50, p99 = (quantile(ran.batches, share) for share in (0.5, 0.99))
    return (
        f"{events / ran.seconds:,.0f} rows/s, {ran.cpu / events * 1_000_000:.1f} core s/million, "
        f"{len(ran.batches)} batches, p50 {p50:.2f} s, p99 {p99:.2f} s"
    )


class _Ours:
    """A query's stream from the start, without state. `state` is rows and bytes at the end."""

    def __init__(self, lake: Lake, query: str, code: Path) -> None:
        self.runs: list[Ran] = []
        self.state = (0, 0)
        self._lake = lake
        self._query = query
        spec = pipelines.spec(query, trigger={"interval": "1s"})
        spec["transform"]["code"] = str(code)
        for leaf in spec["input"].get("cross", [spec["input"]]):
            leaf["pfs"]["limit"] = {"commits": 1}
        lake.apply(spec)

    def __call__(self, number: int) -> Cost:
        self._lake.restart_stream(self._query)
        self.runs.append(drain(self._lake))
        status = self._lake.stream(self._query)
        self.state = (status.state_rows, status.state_bytes)
        return self.runs[-1].cost

    def end(self) -> None:
        self._lake.pause_pipeline(self._query)


class _Bare:
    """The query in Spark alone, each time with a new checkpoint."""

    def __init__(self, spark: Any, query: str, files: Path, sizes: Sizes, out: Path) -> None:
        self.runs: list[Ran] = []
        self.rows: Any = None
        self._spark = spark
        self._query = query
        self._files = files
        self._sizes = sizes
        self._out = out
        self._number = 0

    def __call__(self, number: int) -> Cost:
        self._number += 1
        out = self._out / str(self._number)
        found = plain.run(self._spark, self._query, self._files, self._sizes, out)
        self.rows = found.rows
        self.runs.append(Ran(found.seconds, found.cpu, found.batches, found.rows.num_rows))
        return self.runs[-1].cost
