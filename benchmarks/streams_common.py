"""What claims about streams share: ours drained in this process, and Spark's own beside it.

Both run in one warm session, with the same number of shuffle partitions and with RocksDB. Ours is
a whole job for each batch, from the clock that opens it to the commit. Spark's own is a query from
a folder of Parquet files to Spark's Parquet sink, with a checkpoint. Processor time is of this
process and all below it, Spark with them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.measure import Cost, cpu_seconds
from trunkline.engine.session import Session
from trunkline.engine.streaming.live import LiveStream
from trunkline.jobs.spark import SparkEngine
from trunkline.jobs.streaming.publishing import Publisher
from trunkline.model.jobs import JobState, RunEvent
from trunkline.sdk import Lake

ROCKS = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
PEER = "Spark's file source and Parquet sink"
_IN_SPARK = (
    (SparkEngine, "run_tables"),
    (SparkEngine, "stateful"),
    (SparkEngine, "start_stream"),
    (LiveStream, "run"),
)


@dataclass(frozen=True, slots=True)
class Ran:
    """A stream that was run until nothing was left. `spark` and `publishing` are seconds of ours
    that were spent in calls of Spark, and in putting trees together and committing.
    """

    seconds: float
    cpu: float
    batches: tuple[float, ...]
    rows: int
    spark: float = 0.0
    publishing: float = 0.0

    @property
    def cost(self) -> Cost:
        return Cost(self.seconds, self.cpu)

    @property
    def own(self) -> float:
        """Seconds of a batch outside of Spark: the clock, the claim, planning, the commit."""
        return (self.seconds - self.spark) / len(self.batches)

    @property
    def share(self) -> float:
        """Of all time, what was spent on publishing."""
        return self.publishing / self.seconds


# -- ours ----------------------------------------------------------------------------------------


def stream(
    name: str, sources: Sequence[str], query: str, *, trigger: object = None, **leaf: object
) -> dict[str, Any]:
    """The spec of a stream; one at an interval of a second unless told. `leaf` is of each input."""
    inputs = [{"pfs": {"repo": repo, "glob": "/", **leaf}} for repo in sources]
    return {
        "pipeline": {"name": name},
        "input": inputs[0] if len(inputs) == 1 else {"cross": inputs},
        "transform": {"stream": query, "trigger": trigger or {"interval": "1s"}},
    }


def drain(lake: Lake) -> Ran:
    """Run all that is due, without waiting for intervals, until nothing is left."""
    ends: list[float] = []

    def told(event: RunEvent) -> None:
        if is_end(event):
            ends.append(time.perf_counter())

    with timed(*_IN_SPARK) as spark, timed((Publisher, "publish")) as publishing:
        cpu, began = cpu_seconds(), time.perf_counter()
        report = lake.run(listener=told)
        seconds, cpu = time.perf_counter() - began, cpu_seconds() - cpu
    for job in report.jobs:
        assert job.state is JobState.SUCCESS, f"{job.pipeline}: {job.reason}"
    return Ran(
        seconds,
        cpu,
        tuple(now - before for before, now in zip([began, *ends], ends, strict=False)),
        sum(job.counts.rows_out or 0 for job in report.jobs),
        sum(spark),
        sum(publishing),
    )


def is_end(event: RunEvent) -> bool:
    """Whether it tells of a batch that is done, with a commit or without."""
    if event.kind == "empty":
        return True
    return event.kind == "job" and event.job is not None and event.job.state.is_over


@contextmanager
def watching(lake: Lake, told: Callable[[RunEvent], None] = lambda event: None) -> Iterator[None]:
    """A worker that runs what comes, in a thread, as `trunkline run --watch` does."""
    stop = threading.Event()
    worker = threading.Thread(target=lambda: lake.run(watch=True, listener=told, stop=stop))
    worker.start()
    try:
        yield
    finally:
        stop.set()
        worker.join()


@contextmanager
def timed(*calls: tuple[type, str]) -> Iterator[list[float]]:
    """Notes how long each call of these methods takes."""
    seconds: list[float] = []
    with ExitStack() as stack:
        for owner, name in calls:
            real = getattr(owner, name)
            setattr(owner, name, _noting(real, seconds))
            stack.callback(setattr, owner, name, real)
        yield seconds


def _noting(real: Callable[..., Any], seconds: list[float]) -> Callable[..., Any]:
    def call(*args: Any, **options: Any) -> Any:
        began = time.perf_counter()
        try:
            return real(*args, **options)
        finally:
            seconds.append(time.perf_counter() - began)

    return call


# -- Spark's own ---------------------------------------------------------------------------------


def bare_session(session: Session) -> Any:
    """A SQL session with the settings that our streams have, as far as they change the work."""
    spark = session.spark.newSession()
    settings = {
        "spark.sql.shuffle.partitions": str(max(session.cores, 1)),
        "spark.sql.streaming.stateStore.providerClass": ROCKS,
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
        "spark.sql.streaming.numRecentProgressUpdates": "10000",
        # What a batch was made of is looked up afterwards: nothing is to be cleared meanwhile.
        "spark.sql.streaming.minBatchesToRetain": "10000",
    }
    for name, value in settings.items():
        spark.conf.set(name, value)
    return spark


def bare_input(
    spark: Any, name: str, folder: Path, files: int, watermark: tuple[str, str] | None = None
) -> None:
    """A folder of Parquet files as a stream of so many a batch, under a name for SQL."""
    some = next(folder.glob("*.parquet"))
    schema = spark.read.parquet(str(some)).schema
    reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", files)
    frame = reader.parquet(str(folder))
    if watermark is not None:
        frame = frame.withWatermark(*watermark)
    frame.createOrReplaceTempView(name)


def bare_query(frame: Any, out: Path, **trigger: Any) -> Any:
    """The query, started: to Spark's own Parquet sink, with a checkpoint."""
    writer = (
        frame.writeStream.format("parquet")
        .outputMode("append")
        .option("path", str(out / "rows"))
        .option("checkpointLocation", str(out / "checkpoint"))
    )
    return (writer.trigger(**trigger) if trigger else writer).start()


def bare_drain(spark: Any, text: str, out: Path) -> Ran:
    """Run a query over all that is there, batch by batch."""
    cpu, began = cpu_seconds(), time.perf_counter()
    query = bare_query(spark.sql(text), out, availableNow=True)
    query.awaitTermination()
    seconds, cpu = time.perf_counter() - began, cpu_seconds() - cpu
    batches = tuple(one["batchDuration"] / 1000 for one in query.recentProgress)
    return Ran(seconds, cpu, batches, spark.read.parquet(str(out / "rows")).count())


# -- figures -------------------------------------------------------------------------------------


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest value that so large a share of all does not exceed."""
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


def middle(runs: Sequence[Ran]) -> Ran:
    """The run of the median time; of an even number, the slower of the two."""
    return sorted(runs, key=lambda one: one.seconds)[len(runs) // 2]


def speed(rows: int, ran: Ran) -> str:
    return f"{rows / ran.seconds:,.0f} rows/s ({ran.cpu / rows * 1_000_000:.1f} core s/million)"


def milliseconds(values: Sequence[float]) -> str:
    return f"{median(values) * 1000:.0f} ms"
