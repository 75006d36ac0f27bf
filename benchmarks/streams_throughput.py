"""From repo to repo, batch by batch, against Spark's own file source and Parquet sink.

Ten commits of one file each, a commit a batch, against the same ten files, a file a batch. The
rows are passed through, or columns are computed (neither keeps state), or counted by window and
user, with state in RocksDB. Ours makes a commit of each batch, durable and with fingerprints and
statistics of its files; the sink does not sync.

Our own time of a batch is what the whole takes less all calls of Spark: the clock that opens a
job, its claim, finding out what is new, the tree, the commit. Starting a query, and finding out
whether it keeps state, are calls of Spark; the peer starts one too.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import trunkline as tl
from benchmarks.measure import Bench, Cost, Run, in_turns, remove
from benchmarks.report import Result
from benchmarks.spark import warm_session
from benchmarks.streams_common import (
    PEER,
    Ran,
    bare_drain,
    bare_input,
    bare_session,
    drain,
    middle,
    speed,
    stream,
)
from trunkline.sdk import Lake

CLAIM = "streams_throughput"
BUDGET = 0.95
DELAY = "2s"
WINDOW = """
SELECT window.start AS start, user, count(*) AS times, sum(amount) AS amount
FROM events GROUP BY window(ts, '1 second'), user
"""
PROJECTION = """
SELECT id, user, ts, amount * 0.908 AS euro, upper(note) AS note, year(ts) AS year
FROM events WHERE id % 100 <> 7
"""


@dataclass(frozen=True, slots=True)
class Work:
    """What is done: the same SQL for both."""

    name: str
    what: str
    query: str


WORKS = (
    Work("passed", "pass through", "SELECT * FROM events"),
    Work("projected", "a projection", PROJECTION),
    Work("counted", "a windowed count", WINDOW),
)


def run(bench: Bench) -> Iterator[Result]:
    os.chdir(bench.folder)
    each, batches = bench.size(100_000, 2_000), bench.size(10, 3)
    files = bench.folder / "events"
    write_events(files, batches, each)
    with warm_session() as session, tl.init(bench.folder / "lake") as lake:
        put_each(lake, "events", files)
        for work in WORKS:
            ours = _Ours(lake, work)
            bare = _Bare(bare_session(session), work, files, bench.folder / f"bare_{work.name}")
            runs: dict[str, Run] = {"ours": ours, "bare": bare}
            in_turns(runs, 1)  # both are warm now: code is generated and compiled
            one, other = ours.runs.pop(), bare.runs.pop()
            assert one.rows == other.rows, f"{work.name}: {one.rows} rows, Spark has {other.rows}"
            assert len(one.batches) == len(other.batches), (one.batches, other.batches)
            in_turns(runs, bench.median_rounds)
            yield from _results(work, batches * each, middle(ours.runs), middle(bare.runs))
            ours.end()


def _results(work: Work, rows: int, ours: Ran, bare: Ran) -> Iterator[Result]:
    ratio = bare.seconds / ours.seconds
    count = len(ours.batches)
    yield Result(
        CLAIM, f"{work.what}, {rows:,} rows in {count} batches", speed(rows, ours), PEER,
        speed(rows, bare), ratio, budget=f"≥ {BUDGET:g}x", met=ratio >= BUDGET,
    )  # fmt: skip
    mine, theirs = median(ours.batches), median(bare.batches)
    yield Result(
        CLAIM, f"{work.what}: the batch in the middle, no start of a query in it",
        f"{mine * 1000:.0f} ms", PEER, f"{theirs * 1000:.0f} ms", theirs / mine,
    )  # fmt: skip
    publishing = ours.publishing / count * 1000
    yield Result(
        CLAIM, f"{work.what}: a batch, our own time", f"{publishing:.1f} ms of it to publish",
        "the whole batch", f"{ours.seconds / count * 1000:.0f} ms", ours.own * 1000, "ms",
    )  # fmt: skip


def write_events(folder: Path, files: int, rows: int) -> None:
    """Files of ten seconds each. Spark takes files by their age: each is older than the next."""
    import duckdb

    folder.mkdir()
    for number in range(files):
        path = folder / f"{number:06}.parquet"
        first = number * rows
        duckdb.sql(
            f"COPY (SELECT range AS id, 'user ' || hash(range) % 100 AS user, "
            f"make_timestamptz(1767225600000000 + range * {10_000_000 // rows}) AS ts, "
            f"(hash(range + 1) % 100000) / 100 AS amount, 'note ' || hash(range) AS note "
            f"FROM range({first}, {first + rows})) TO '{path}' (FORMAT parquet)"
        )
        os.utime(path, (1_700_000_000 + number,) * 2)


def put_each(lake: Lake, repo: str, folder: Path) -> None:
    """A commit for each file, of the very same files."""
    lake.create_repo(repo)
    for path in sorted(folder.glob("*.parquet")):
        with lake.commit(f"{repo}@main") as commit:
            commit.put(f"/{path.name}", path)


class _Ours:
    """The stream from the start, without state: each round does everything again."""

    def __init__(self, lake: Lake, work: Work) -> None:
        self.runs: list[Ran] = []
        self._lake = lake
        self._name = work.name
        watermark = {"column": "ts", "delay": DELAY}
        lake.apply(
            stream(
                work.name, ["events"], work.query, watermark=watermark, limit={"commits": 1}
            )
        )  # fmt: skip

    def __call__(self, number: int) -> Cost:
        self._lake.restart_stream(self._name)
        self.runs.append(drain(self._lake))
        return self.runs[-1].cost

    def end(self) -> None:
        self._lake.pause_pipeline(self._name)


class _Bare:
    """The query from the start, with a new checkpoint."""

    def __init__(self, spark: Any, work: Work, files: Path, out: Path) -> None:
        self.runs: list[Ran] = []
        self._spark = spark
        self._query = work.query
        self._out = out
        bare_input(spark, "events", files, 1, ("ts", "2 seconds"))

    def __call__(self, number: int) -> Cost:
        remove(self._out)
        self.runs.append(bare_drain(self._spark, self._query, self._out))
        return self.runs[-1].cost
