"""How long a row is on its way, at 10,000 events a second and an interval of a second.

Every 100 ms a file of a thousand events is committed to a repo, and a stream takes them to
another: from the end of the commit at the source to the end of the commit at the output. The peer
is Spark's file source with `processingTime` of a second: from the moment a file is in its folder
to the moment the sink's log lists what was made of it, which is when readers see it. The events
are made beforehand; who writes them is a thread of the same process, on both sides.

A batch that waits for the next second waits for half of it in the middle: both do.
"""

from __future__ import annotations

import io
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import trunkline as tl
from benchmarks.measure import Bench, cpu_seconds
from benchmarks.report import Result
from benchmarks.spark import warm_session
from benchmarks.streams_common import (
    PEER,
    bare_input,
    bare_query,
    bare_session,
    quantile,
    stream,
    watching,
)
from trunkline.engine.session import Session
from trunkline.jobs.streaming.positions import commit_of
from trunkline.sdk import Lake

CLAIM = "streams_latency"
RATE = 10_000
EVERY = 0.1
WARM = 5.0
"""Seconds at the beginning that do not count: the query starts, and catches up."""
LONGEST_WAIT = 60.0
QUERY = "SELECT id, user, ts, amount * 0.908 AS euro FROM {} WHERE id % 100 <> 7"


@dataclass(frozen=True, slots=True)
class Fed:
    """What became of a run: seconds from source to output, file by file; how long the last rows
    were waited for when nothing more came; processor time.
    """

    waits: list[float]
    behind: float
    cpu: float
    events: int

    def quantile(self, share: float) -> float:
        return quantile(self.waits, share)

    @property
    def core_seconds(self) -> float:
        """Of processor for a million events, with whoever wrote them."""
        return self.cpu / self.events * 1_000_000


def run(bench: Bench) -> Iterator[Result]:
    os.chdir(bench.folder)
    seconds = float(bench.size(60, 6))
    with warm_session() as session, tl.init(bench.folder / "lake") as lake:
        # The first of each is not counted: with it code is generated and compiled.
        _ours(lake, "warm", 1.0)
        _bare(session, bench.folder / "warm", 1.0)
        ours = _ours(lake, "events", seconds)
        bare = _bare(session, bench.folder / "bare", seconds)
    what = f"{RATE:,} events/s for {seconds:g} s, interval 1 s"
    for name, share in (("p50", 0.5), ("p99", 0.99)):
        mine, theirs = ours.quantile(share), bare.quantile(share)
        yield Result(
            CLAIM, f"{name}, {what}", f"{mine * 1000:.0f} ms", PEER, f"{theirs * 1000:.0f} ms",
            mine / theirs,
        )  # fmt: skip
    yield Result(
        CLAIM, "from the last event to its output", f"{ours.behind:.1f} s", PEER,
        f"{bare.behind:.1f} s", ours.behind / bare.behind,
    )  # fmt: skip
    yield Result(
        CLAIM, "core seconds for a million events", f"{ours.core_seconds:.1f} s", PEER,
        f"{bare.core_seconds:.1f} s", ours.core_seconds / bare.core_seconds,
    )  # fmt: skip


def _feed(seconds: float, put: Callable[[int, bytes], None]) -> float:
    """A file every tenth of a second, by the clock; how far behind it the feeder was at most."""
    each = int(RATE * EVERY)
    files = [_file(number, each) for number in range(round((WARM + seconds) / EVERY))]
    began, worst = time.monotonic(), 0.0
    for number, data in enumerate(files):
        late = time.monotonic() - began - number * EVERY
        worst = max(worst, late)
        if late < 0:
            time.sleep(-late)
        put(number, data)
    return worst


def _file(number: int, rows: int) -> bytes:
    import numpy as np
    import pyarrow as pa
    from pyarrow import parquet

    ids = np.arange(number * rows, (number + 1) * rows)
    table = pa.table(
        {
            "id": ids,
            "user": pa.array([f"user {one % 100}" for one in ids]),
            "ts": pa.array(1_767_225_600_000_000 + ids * 100).cast(pa.timestamp("us", "UTC")),
            "amount": (ids * 7919 % 100_000) / 100,
        }
    )
    out = io.BytesIO()
    parquet.write_table(table, out)
    return out.getvalue()


# -- ours ----------------------------------------------------------------------------------------


def _ours(lake: Lake, repo: str, seconds: float) -> Fed:
    name = f"{repo}_out"
    lake.create_repo(repo)
    lake.apply(stream(name, [repo], QUERY.format(repo)))

    def put(number: int, data: bytes) -> None:
        with lake.commit(f"{repo}@main") as commit:
            commit.put(f"/{number:06}.parquet", data)

    with watching(lake):
        cpu = cpu_seconds()
        late = _feed(seconds, put)
        ended = time.monotonic()
        while lake.stream(name).lag_commits:
            assert time.monotonic() - ended < LONGEST_WAIT, lake.stream(name)
            time.sleep(0.05)
        behind = time.monotonic() - ended
        cpu = cpu_seconds() - cpu
    lake.pause_pipeline(name)
    return _fed("ours", _waits_of_commits(lake, repo, name), behind, cpu, late)


def _waits_of_commits(lake: Lake, repo: str, name: str) -> list[float]:
    """For each commit of the source, oldest first, until the batch was there that has read it."""
    sources = lake.commits(f"{repo}@main")[::-1]
    place = {commit.id: number for number, commit in enumerate(sources)}
    waits: list[float] = []
    for batch in reversed(lake.stream_batches(name, None)):
        for commit in sources[len(waits) : place[commit_of(batch.end[repo])] + 1]:
            assert batch.at is not None
            assert commit.finished is not None
            waits.append((batch.at - commit.finished) / 1_000_000)
    assert len(waits) == len(sources), f"{len(waits)} of {len(sources)} commits were read"
    return waits


# -- the peer ------------------------------------------------------------------------------------


def _bare(session: Session, folder: Path, seconds: float) -> Fed:
    events, out = folder / "events", folder / "out"
    events.mkdir(parents=True)
    spark = bare_session(session)
    (events / "000000.parquet").write_bytes(_file(0, int(RATE * EVERY)))
    bare_input(spark, "events", events, 10_000)
    (events / "000000.parquet").unlink()
    written: dict[str, float] = {}

    def put(number: int, data: bytes) -> None:
        path = events / f"{number:06}.parquet"
        half = events / f".{path.name}"
        half.write_bytes(data)
        half.rename(path)
        written[path.name] = time.time()

    query: Any = bare_query(spark.sql(QUERY.format("events")), out, processingTime="1 second")
    try:
        cpu = cpu_seconds()
        late = _feed(seconds, put)
        ended = time.monotonic()
        query.processAllAvailable()
        behind = time.monotonic() - ended
        cpu = cpu_seconds() - cpu
    finally:
        query.stop()
    return _fed("Spark", _waits_of_files(out, written), behind, cpu, late)


def _waits_of_files(out: Path, written: dict[str, float]) -> list[float]:
    """For each file, oldest first, until the sink's log had the batch that has read it."""
    batches: dict[str, int] = {}
    for log in (out / "checkpoint" / "sources" / "0").iterdir():
        if log.name.startswith("."):
            continue
        for line in log.read_text().splitlines()[1:]:
            entry = json.loads(line)
            batches[Path(entry["path"]).name] = entry["batchId"]
    logs = (out / "rows" / "_spark_metadata").iterdir()
    done = {
        int(log.name.partition(".")[0]): log.stat().st_mtime
        for log in logs
        if not log.name.startswith(".")
    }
    return [done[batches[name]] - at for name, at in sorted(written.items())]


def _fed(who: str, waits: list[float], behind: float, cpu: float, late: float) -> Fed:
    if late > 1.0:
        told = f"    {who}: the feeder was {late:.1f} s late: fewer than {RATE:,} events/s"
        print(told, file=sys.stderr)
    events = int(len(waits) * RATE * EVERY)
    return Fed(waits[int(WARM / EVERY) :], behind, cpu, events)
