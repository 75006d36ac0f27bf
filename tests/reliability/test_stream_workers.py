"""Streams that go on while workers come and go: rows keep coming, and each counts once."""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import trunkline as tl
from tests.flows import flow_of
from tests.reliability.harness import SMALL, TIMEOUT, assert_no_orphans, finish, start
from tests.reliability.streams import assert_joined

ZERO = datetime(2026, 1, 1, tzinfo=UTC)
_CODE = """
import time
from pyspark.sql import functions as F

def windows(clicks):
    w = F.window("ts", "10 seconds").alias("w")
    rows = clicks.groupBy(w).agg(F.count("*").alias("n"), F.sum("v").alias("v"))
    return rows.select(F.col("w.start").alias("start"), "n", "v")

def users(feed):
    return feed.groupBy("user").agg(F.count("*").alias("n"), F.sum("v").alias("v"))

def slow(clicks):
    time.sleep(0.7)
    return clicks
"""


class Site:
    """A lake, a repo and an inbox that get rows, one number after the other."""

    def __init__(self, folder: Path) -> None:
        self.lake = tl.init(folder / "lake")
        self.code = folder / "work.py"
        self.inbox = folder / "inbox"
        self.numbers = iter(range(1_000_000))
        self.last = -1
        self.code.write_text(_CODE)
        self.inbox.mkdir()
        self.lake.create_repo("clicks")

    def stream(self, function: str, input: Any, **fields: Any) -> dict[str, Any]:
        transform = {"stream": f"work.py:{function}", "code": str(self.code), **fields}
        return {"pipeline": {"name": function}, "input": input, "transform": transform}

    def feed(self, rows: int = 3) -> None:
        """One commit, and one file in the inbox with the same rows."""
        numbers = [next(self.numbers) for _ in range(rows)]
        self.last = numbers[-1]
        times = [ZERO + timedelta(seconds=n) for n in numbers]
        table = pa.table(
            {"ts": pa.array(times, pa.timestamp("us", "UTC")), "v": pa.array(numbers, pa.int64())}
        )
        self.lake.write_table("clicks@main", table)
        lines = [json.dumps({"user": f"u{n % 7}", "v": n}) + "\n" for n in numbers]
        hidden = self.inbox / f".{self.last}"
        hidden.write_text("".join(lines))
        hidden.rename(self.inbox / f"{self.last}.jsonl")

    def feed_until(self, is_so: Callable[[], bool], what: str) -> None:
        until = time.monotonic() + TIMEOUT
        while not is_so():
            assert time.monotonic() < until, f"{what} did not come about"
            self.feed()
            time.sleep(0.2)

    def windows(self) -> set[tuple[datetime, int, int]]:
        """Those that a watermark of two seconds behind the newest row has closed."""
        found: Counter[int] = Counter()
        count: Counter[int] = Counter()
        for n in range(self.last + 1):
            found[n // 10] += n
            count[n // 10] += 1
        closed = [w for w in found if 10 * w + 10 <= self.last - 2]
        return {(ZERO + timedelta(seconds=10 * w), count[w], found[w]) for w in closed}

    def users(self) -> set[tuple[str, int, int]]:
        mine = {u: range(u, self.last + 1, 7) for u in range(7)}
        return {(f"u{u}", len(of), sum(of)) for u, of in mine.items()}

    def rows(self, ref: str, *columns: str) -> list[tuple[Any, ...]]:
        table = self.lake.table(ref).arrow()
        return list(zip(*(table[name].to_pylist() for name in columns), strict=True))

    def number(self, name: str) -> int:
        return flow_of(self.lake, name).number


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    found = Site(tmp_path)
    with found.lake:
        yield found


def wait(is_so: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + TIMEOUT
    while not is_so():
        assert time.monotonic() < until, f"{what} did not come about"
        time.sleep(0.1)


def test_workers_are_killed_while_rows_keep_coming(site: Site):
    """clicks -> windows, and an inbox -> feed -> users -> report."""
    chance = random.Random(7)
    clicks = {"pfs": {"repo": "clicks", "glob": "/", "watermark": {"column": "ts", "delay": "2s"}}}
    feed = {"pfs": {"repo": "feed", "glob": "/"}}
    every = {"interval": "200ms"}
    folder = {"path": str(site.inbox), "pattern": "*.jsonl", "settle": "0s"}
    source = {"folder": folder}
    site.feed()
    site.lake.apply(
        {"ingest": {"name": "feed"}, "source": source, "schema": "user STRING, v BIGINT",
         "interval": "200ms"},
        site.stream("windows", clicks, trigger=every),
        site.stream("users", feed, trigger=every, output={"upsert": ["user"]}),
        {"pipeline": {"name": "report"}, "input": {"pfs": {"repo": "users", "glob": "/"}},
         "transform": {"sql": "SELECT count(*) AS users, sum(n) AS n, sum(v) AS v FROM users"}},
    )  # fmt: skip
    for _ in range(2):
        before = {name: site.number(name) for name in ("windows", "users", "feed")}
        worker = start("-m", "trunkline", "worker", "--lake", site.lake.location, environ=SMALL)
        site.feed_until(
            lambda before=before: all(  # type: ignore[misc]
                site.number(name) > before[name] for name in before
            ),
            "a batch of each",
        )
        time.sleep(chance.uniform(0, 1))
        worker.kill()
        finish(worker)
        site.feed()
    worker = start("-m", "trunkline", "worker", "--lake", site.lake.location, environ=SMALL)
    site.feed_until(lambda: site.number("users") > before["users"] + 2, "two batches more")
    try:
        total = sum(range(site.last + 1))
        wait(
            lambda: site.rows("report", "users", "n", "v") == [(7, site.last + 1, total)],
            "the report of all rows",
        )
        wait(lambda: set(site.rows("windows", "start", "n", "v")) == site.windows(), "all windows")
    finally:
        worker.terminate()
        result = finish(worker)
    assert "Traceback" not in result.err
    found = site.rows("windows", "start", "n", "v")
    assert len(found) == len(site.windows()) > 1
    assert len(site.rows("users", "user", "n", "v")) == 7
    assert set(site.rows("users", "user", "n", "v")) == site.users()
    assert sorted(v for (v,) in site.rows("feed", "v")) == list(range(site.last + 1))
    for name in ("windows", "users"):
        assert_joined(site.lake, name)
    assert_no_orphans(site.lake)


def test_a_slow_stream_lets_no_jobs_pile_up(spark: object, site: Site):
    """Rows come faster than it takes them: each batch takes more of them."""
    clicks = {"pfs": {"repo": "clicks", "glob": "/"}}
    site.lake.apply(site.stream("slow", clicks, trigger={"interval": "100ms"}))
    stop = threading.Event()
    running = threading.Thread(target=site.lake.run, kwargs={"watch": True, "stop": stop})
    running.start()
    commits, open_jobs, lag = 20, [], []
    try:
        for _ in range(commits):
            site.feed()
            open_jobs.append(sum(not job.state.is_over for job in site.lake.jobs("slow")))
            (behind,) = site.lake.stream("slow").inputs
            lag.append(behind.commits)
            time.sleep(0.1)
        wait(lambda: site.lake.stream("slow").inputs[0].commits == 0, "the last row")
    finally:
        stop.set()
        running.join()
    assert max(open_jobs) == 1
    assert max(lag) > 1
    assert sorted(v for (v,) in site.rows("slow", "v")) == list(range(site.last + 1))
    assert site.number("slow") < commits
    assert_joined(site.lake, "slow")
    assert_no_orphans(site.lake)
