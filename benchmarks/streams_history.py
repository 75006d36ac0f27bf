"""A long history as a source: 1,000 small commits, and what a batch costs after each.

Live: a commit at a time, and the time from there to the end of its batch, for the first fifty
against the last fifty. The peer is Spark's file source, which lists its folder: a file at a time,
until its query says that all is done. Each is compared with itself, and then both at the end.
As a backlog: the commits are all there, and are read ten a batch.

Output grows too, as streams do it: ours is compacted, Spark's log of its sink is.
"""

from __future__ import annotations

import os
import queue
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import trunkline as tl
from benchmarks.measure import Bench
from benchmarks.report import Result
from benchmarks.spark import warm_session
from benchmarks.streams_common import (
    PEER,
    bare_drain,
    bare_input,
    bare_query,
    bare_session,
    drain,
    is_end,
    milliseconds,
    quantile,
    stream,
    watching,
)
from benchmarks.streams_throughput import write_events
from trunkline.engine.session import Session
from trunkline.jobs.streaming.steps import steps
from trunkline.model.commits import RepoName
from trunkline.model.inputs import Pfs
from trunkline.model.jobs import RunEvent
from trunkline.sdk import Lake

CLAIM = "streams_history"
BUDGET = 1.2
ROWS = 100
LONGEST_WAIT = 120.0
TOGETHER = 10


def run(bench: Bench) -> Iterator[Result]:
    os.chdir(bench.folder)
    commits, some = bench.size(1_000, 40), bench.size(50, 8)
    warm = bench.size(200, 3)  # else the last would be faster for being compiled better
    files = bench.folder / "files"
    write_events(files, commits + warm, ROWS)
    paths = sorted(files.glob("*.parquet"))
    with warm_session() as session, tl.init(bench.folder / "lake") as lake:
        _live(lake, "warm", paths[commits:])
        ours = _live(lake, "events", paths[:commits])
        _bare_live(session, bench.folder / "warm", paths[commits:])
        bare = _bare_live(session, bench.folder / "live", paths[:commits])
        yield from _live_results(commits, some, ours, bare)
        yield _steps(lake, commits, some)
        for path in paths[commits:]:
            path.unlink()
        yield _backlog(bench, lake, session, files)


def _live_results(
    commits: int, some: int, ours: list[float], bare: list[float]
) -> Iterator[Result]:
    grown, theirs = (median(one[-some:]) / median(one[:some]) for one in (ours, bare))
    ends = f"{commits - some + 1:,} to {commits:,} against 1 to {some}"
    yield Result(
        CLAIM, f"a batch for each commit, {ends}",
        f"{milliseconds(ours[-some:])} against {milliseconds(ours[:some])}", PEER,
        f"{milliseconds(bare[-some:])} against {milliseconds(bare[:some])}, {theirs:.2f}x",
        grown, budget=f"≤ {BUDGET:g}x", met=grown <= BUDGET,
    )  # fmt: skip
    yield Result(
        CLAIM, f"a batch after {commits:,} commits, of the last {some}",
        f"{milliseconds(ours[-some:])}, p99 {quantile(ours[-some:], 0.99) * 1000:.0f} ms", PEER,
        f"{milliseconds(bare[-some:])}, p99 {quantile(bare[-some:], 0.99) * 1000:.0f} ms",
        median(ours[-some:]) / median(bare[-some:]),
    )  # fmt: skip


# -- live ----------------------------------------------------------------------------------------


def _live(lake: Lake, repo: str, paths: list[Path]) -> list[float]:
    """Seconds from each commit to the end of its batch."""
    lake.create_repo(repo)
    name = f"{repo}_out"
    lake.apply(stream(name, [repo], f"SELECT * FROM {repo}", trigger="on_commit"))
    ended: queue.Queue[RunEvent] = queue.Queue()

    def told(event: RunEvent) -> None:
        if is_end(event):
            ended.put(event)

    def put(path: Path) -> None:
        with lake.commit(f"{repo}@main") as commit:
            commit.put(f"/{path.name}", path)

    def wait() -> None:
        event = ended.get(timeout=LONGEST_WAIT)
        assert event.job is not None
        assert event.text == "success", event.job.reason

    with watching(lake, told):
        found = [_after(put, path, wait) for path in paths]
    lake.pause_pipeline(name)
    return found


def _bare_live(session: Session, folder: Path, paths: list[Path]) -> list[float]:
    events, out = folder / "events", folder / "out"
    events.mkdir(parents=True)
    spark = bare_session(session)
    bare_input(spark, "events", paths[0].parent, 1)
    schema = spark.table("events").schema
    frame = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(events))
    query: Any = bare_query(frame, out)

    def put(path: Path) -> None:
        half = events / f".{path.name}"
        half.write_bytes(path.read_bytes())
        half.rename(events / path.name)

    try:
        return [_after(put, path, query.processAllAvailable) for path in paths]
    finally:
        query.stop()


def _after(put: Callable[[Path], None], path: Path, wait: Callable[[], None]) -> float:
    put(path)
    began = time.perf_counter()
    wait()
    return time.perf_counter() - began


# -- finding out what is new ---------------------------------------------------------------------


def _steps(lake: Lake, commits: int, some: int) -> Result:
    """What a job does to find the next commit, near the beginning and near the end."""
    ids = [commit.id for commit in lake.commits("events@main")][::-1]
    leaf = Pfs("events", RepoName("default", "events"), "/")

    def find(number: int) -> float:
        began = time.perf_counter()
        found = list(steps(lake._core, leaf, ids[number - 1], ids[number], "bench"))
        assert [one.commit for one in found] == [ids[number]]
        return time.perf_counter() - began

    first = [find(number) for number in range(1, some)]
    last = [find(number) for number in range(commits - some + 1, commits)]
    first += [find(number) for number in range(1, some)]
    return Result(
        CLAIM, f"finding what is new, after {commits - some + 1:,} commits",
        f"{median(last) * 1000:.2f} ms", "after the first", f"{median(first) * 1000:.2f} ms",
        median(last) / median(first),
    )  # fmt: skip


# -- a backlog -----------------------------------------------------------------------------------


def _backlog(bench: Bench, lake: Lake, session: Session, files: Path) -> Result:
    spec = stream("backlog", ["events"], "SELECT * FROM events", limit={"commits": TOGETHER})
    lake.apply(spec)
    ours = drain(lake)
    spark = bare_session(session)
    bare_input(spark, "events", files, TOGETHER)
    bare = bare_drain(spark, "SELECT * FROM events", bench.folder / "backlog")
    assert ours.rows == bare.rows, f"{ours.rows} rows, Spark has {bare.rows}"
    tenth = max(len(ours.batches) // 10, 1)
    # The first batch starts the query.
    some = slice(1, 1 + tenth)
    return Result(
        CLAIM, f"a backlog, {TOGETHER} commits a batch: the last tenth against the first",
        f"{milliseconds(ours.batches[-tenth:])} against {milliseconds(ours.batches[some])}", PEER,
        f"{milliseconds(bare.batches[-tenth:])} against {milliseconds(bare.batches[some])}",
        median(ours.batches[-tenth:]) / median(ours.batches[some]),
    )  # fmt: skip
