"""`python -m benchmarks.nexmark.plain [QUERY…]`: the queries in Spark alone, files to files.

Events lie in Parquet files, one for each batch and kind; a query reads a batch of files at a
time, writes Parquet, and is compared with what DuckDB says. Prints for each how many events it
takes in a second, and for how many seconds a million of them keeps a core busy.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.measure import cpu_seconds
from benchmarks.nexmark.answers import DELAY, answer, differences, final_watermark
from benchmarks.nexmark.generator import SCHEMAS, Generator, Views
from benchmarks.nexmark.queries import INPUTS, QUERIES, Sizes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CONF = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}
_DDL = {"int64": "BIGINT", "string": "STRING", "timestamp[us, tz=UTC]": "TIMESTAMP"}


@dataclass(frozen=True)
class Run:
    """What became of a query: its rows, and what it took."""

    query: str
    events: int
    rows: pa.Table
    seconds: float
    cpu: float
    watermark: int
    batches: tuple[float, ...]

    @property
    def per_second(self) -> float:
        return self.events / self.seconds

    @property
    def cpu_per_million(self) -> float:
        return self.cpu / self.events * 1_000_000


def write(generator: Generator, events: int, batch: int, folder: Path) -> None:
    """The events as files, by kind. Spark takes files by their age, so each is a second older
    than the next.
    """
    for number, views in enumerate(generator.blocks(events, batch)):
        for name, table in views.tables().items():
            path = folder / name / f"{number:06}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(table, path)
            os.utime(path, (1_700_000_000 + number,) * 2)


def run(spark: SparkSession, query: str, folder: Path, sizes: Sizes, out: Path) -> Run:
    """Read what `write` has written, a file of each input at a time, until there is no more."""
    inputs = [_read(spark, folder / name, name) for name in INPUTS[query]]
    frame = QUERIES[query](*inputs, sizes=sizes)
    started, cpu = time.perf_counter(), cpu_seconds()
    stream = (
        frame.writeStream.format("parquet")
        .outputMode("append")
        .option("path", str(out / "rows"))
        .option("checkpointLocation", str(out / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    stream.awaitTermination()
    seconds, cpu = time.perf_counter() - started, cpu_seconds() - cpu
    progress = stream.recentProgress
    marks = [p["eventTime"].get("watermark", "") for p in progress]
    files = sorted((out / "rows").glob("*.parquet"))
    return Run(
        query,
        sum(pq.read_metadata(path).num_rows for path in folder.glob("*/*.parquet")),
        pa.concat_tables([pq.read_table(path) for path in files]),
        seconds,
        cpu,
        _millis(max(marks)),
        tuple(p["batchDuration"] / 1000 for p in progress),
    )


def check(found: Run, views: Views, sizes: Sizes) -> str:
    """How many rows there are, if DuckDB has the same; `AssertionError` says which differ."""
    closed = final_watermark(found.query, views)
    wanted = answer(found.query, views, closed, sizes)
    missing, extra = differences(found.rows, wanted)
    assert not missing + extra, (
        f"{found.query}: of {wanted.num_rows} rows {len(missing)} are missing, as {missing[:3]}, "
        f"and {len(extra)} too many, as {extra[:3]}"
    )
    return f"{wanted.num_rows} rows"


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parse(arguments)
    generator = Generator(rate=options.rate, group=options.group)
    sizes = Sizes(generator.longest_life)
    views = generator.views(0, options.events)
    with tempfile.TemporaryDirectory(prefix="nexmark-") as place, _spark() as spark:
        folder = Path(place)
        write(generator, options.events, options.batch, folder / "events")
        print("query     events/s  core s/million  batches  median s  answer")
        failed = False
        for query in options.queries or QUERIES:
            found = run(spark, query, folder / "events", sizes, folder / query)
            try:
                said = check(found, views, sizes)
            except AssertionError as error:
                failed, said = True, str(error)
            middle = sorted(found.batches)[len(found.batches) // 2]
            print(
                f"{query:6} {found.per_second:11,.0f} {found.cpu_per_million:15.1f} "
                f"{len(found.batches):8} {middle:9.2f}  {said}",
                flush=True,
            )
    return 1 if failed else 0


@contextmanager
def _spark() -> Iterator[SparkSession]:
    """Spark as it comes, on all cores, with nothing of ours."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[*]")
    quiet = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
    for name, value in (CONF | quiet).items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    try:
        yield spark
    finally:
        spark.stop()


def _read(spark: SparkSession, folder: Path, name: str) -> DataFrame:
    ddl = ", ".join(f"{field.name} {_DDL[str(field.type)]}" for field in SCHEMAS[name])
    reader = spark.readStream.schema(ddl).option("maxFilesPerTrigger", 1)
    return reader.parquet(str(folder)).withWatermark("ts", f"{DELAY} milliseconds")


def _millis(text: str) -> int:
    import datetime

    if not text:
        return 0
    return round(datetime.datetime.fromisoformat(text).timestamp() * 1000)


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.nexmark.plain")
    parser.add_argument("queries", nargs="*", metavar="QUERY", help=", ".join(QUERIES))
    parser.add_argument("--events", type=int, default=50_000)
    parser.add_argument("--batch", type=int, default=10_000, help="events in a batch")
    parser.add_argument("--rate", type=int, default=500, help="events in a second of their time")
    parser.add_argument("--group", type=int, default=1, help="out of order within so many")
    options = parser.parse_args(arguments)
    for name in options.queries:
        if name not in QUERIES:
            parser.error(f"there is no {name!r}; choose from {', '.join(QUERIES)}")
    return options


if __name__ == "__main__":
    sys.exit(main())
