"""A lake with streams in it: rows by the second, queries as text, and a worker that stays."""

from __future__ import annotations

import textwrap
import threading
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

import trunkline as tl
from tests.flows import flow_of
from trunkline import Lake
from trunkline.engine.options import SparkOptions
from trunkline.jobs.runner import RunnerOptions
from trunkline.jobs.spark import SparkEngine
from trunkline.jobs.worker import Worker
from trunkline.model.jobs import Job, JobState
from trunkline.model.streams import Batch, Flow
from trunkline.schedule.ticker import Ticker

Rows = list[tuple[Any, ...]]
Row = tuple[Any, ...]
ZERO = datetime(2026, 1, 1, tzinfo=UTC)
WINDOWS = """
from pyspark.sql import functions as F

def f(clicks):
    w = F.window("ts", "10 seconds")
    return clicks.groupBy(w.alias("w")).agg(F.count("*").alias("n"), F.sum("v").alias("v")) \\
        .select(F.col("w.start").alias("start"), "n", "v")
"""
TOTALS = """
from pyspark.sql import functions as F

def f(clicks):
    return clicks.groupBy("user").agg(F.count("*").alias("n"), F.sum("v").alias("v"))
"""
_OF_TRANSFORM = (
    *("partition_by", "params", "requirements", "trigger", "output", "retain", "env"),
)  # fmt: skip


def at(seconds: float) -> datetime:
    return ZERO + timedelta(seconds=seconds)


def second(moment: datetime | None) -> float | None:
    """The other way round, so that rows can be written short."""
    if moment is None:
        return None
    found = (moment.replace(tzinfo=moment.tzinfo or UTC) - ZERO).total_seconds()
    return int(found) if found == int(found) else found


def clicks(*rows: Row) -> pa.Table:
    """Rows of (second, user, value)."""
    return pa.table(
        {
            "ts": pa.array([at(row[0]) for row in rows], pa.timestamp("us", "UTC")),
            "user": pa.array([row[1] for row in rows], pa.string()),
            "v": pa.array([row[2] for row in rows], pa.int64()),
        }
    )


def marked(delay: str = "0s", repo: str = "clicks", **fields: Any) -> dict[str, Any]:
    """An input with a watermark on its time."""
    return tl.pfs(repo, watermark=("ts", delay), **fields)


class Streams:
    """Short words for what tests do with streams. Its worker keeps queries alive until told."""

    def __init__(self, lake: Lake, code: Path) -> None:
        self.lake = lake
        self.code = code
        self.engine = SparkEngine(SparkOptions.of(lake._settings, lake._core.objects.address))
        self.ticker = Ticker(lake._core)

    def close(self) -> None:
        for repo in list(self.engine._streams):
            self.engine.end_stream(repo)

    # -- declaring ---------------------------------------------------------------------------

    def stream(self, name: str, query: str, input: Any = None, **fields: Any) -> None:
        """A stream of a function f, given as source, or of SQL."""
        if "def f(" in query:
            folder = self.code / name
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "work.py").write_text(textwrap.dedent(query))
            transform: dict[str, Any] = {"stream": "work.py:f", "code": str(folder)}
        else:
            transform = {"stream": query}
        if "interval" in fields:
            fields["trigger"] = {"interval": fields.pop("interval")}
        if "upsert" in fields:
            fields["output"] = {"upsert": fields.pop("upsert")}
        transform |= {key: fields.pop(key) for key in _OF_TRANSFORM if key in fields}
        self._apply(name, input or tl.pfs("clicks"), transform, fields)

    def batch(self, name: str, sql: str, input: Any, **fields: Any) -> None:
        """A table pipeline."""
        self._apply(name, input, {"sql": sql}, fields)

    def _apply(self, name: str, input: Any, transform: Any, fields: dict[str, Any]) -> None:
        spec = {"pipeline": {"name": name}, "input": input, "transform": transform, **fields}
        self.lake.apply(spec)

    # -- feeding and running -----------------------------------------------------------------

    def put(self, *rows: Row, repo: str = "clicks") -> str:
        """One commit with these rows more. Its id."""
        return self.write(clicks(*rows), repo)

    def write(self, table: pa.Table, repo: str = "clicks", mode: str = "append") -> str:
        self.lake.write_table(f"{repo}@main", table, mode=mode)
        return self.head(repo)

    def drain(self) -> list[Job]:
        """Run until nothing is left, with queries that go on where they are."""
        worker = Worker(self.lake._core, self.engine, RunnerOptions())
        while True:
            before = self.ticker.fired
            self.ticker.fire_due(waits=False)
            worker.run(watch=False, stop=threading.Event())
            if self.ticker.fired == before:
                return worker.ended

    def drain_well(self) -> list[Job]:
        jobs = self.drain()
        for job in jobs:
            assert job.state is JobState.SUCCESS, f"{job.pipeline}: {job.reason}"
        return jobs

    def work(self) -> list[Job]:
        """Run the jobs that there are; the clock opens none."""
        worker = Worker(self.lake._core, self.engine, RunnerOptions())
        worker.run(watch=False, stop=threading.Event())
        return worker.ended

    def fail(self, name: str) -> str:
        """Run until nothing is left; why the stream's one job failed."""
        (job,) = [one for one in self.drain() if str(one.pipeline) == name]
        assert job.state is JobState.FAILURE, job.state
        assert "Traceback" not in job.reason and "\n" not in job.reason, job.reason
        return job.reason

    def forget_queries(self) -> None:
        """As when the worker dies between two batches."""
        self.close()

    # -- looking -----------------------------------------------------------------------------

    def head(self, repo: str) -> str:
        found = next(one.head for one in self.lake.branches(repo) if one.name == "main")
        assert found is not None
        return found

    def rows(self, ref: str, *columns: str) -> Rows:
        """The rows of a table, sorted; times as seconds."""
        table = self.lake.table(ref).arrow()
        names = columns or table.column_names
        found = zip(*[_plain(table.column(name).to_pylist()) for name in names], strict=True)
        return sorted(found, key=repr)

    def flow(self, name: str) -> Flow:
        return flow_of(self.lake, name)

    def batches(self, name: str) -> list[Batch]:
        """Oldest first."""
        return self.lake.stream_batches(name, None)[::-1]

    def commits(self, name: str) -> list[str]:
        """Oldest first, without those that ended in error."""
        return [one.id for one in self.lake.log(name) if one.error is None][::-1]


def _plain(values: Sequence[Any]) -> list[Any]:
    return [second(one) if isinstance(one, datetime) else one for one in values]
