"""A running query with state. It does nothing by itself: each batch is given to it.

Spark's thread waits in our source for the next batch (`LakeStream.java`). When it waits again,
all that Spark keeps of the batch before is written, and so are the rows: where they stay, but
listed in no commit. Whoever gave the batch publishes it, or throws the query away.
"""

from __future__ import annotations

import contextlib
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from trunkline.engine import sqlerrors, tables, transform
from trunkline.engine.buckets import spark_uri
from trunkline.engine.columns import column_lineage
from trunkline.engine.sessions import judged_session, new_session, releasing
from trunkline.engine.sparktypes import refuse_types
from trunkline.engine.streaming.failures import in_words
from trunkline.engine.streaming.task import BatchResult, StreamTask
from trunkline.engine.submit import JobCancelled, explained
from trunkline.engine.transform import Lineage, Source, TableResult
from trunkline.errors import Failed, TransformFailed
from trunkline.model.best_effort import BestEffort
from trunkline.model.streams import StreamOutput
from trunkline.pipelines.promise_words import WORDS, several_in_a_stream
from trunkline.storage.crashpoints import crashpoint

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from trunkline.engine.session import Session

_FORMAT = "io.trunkline.LakeStream"
_LOOK_MILLIS = 200
_MICROS = 1000
_BETWEEN = -2
_MODES = {StreamOutput.APPEND: "append", StreamOutput.UPSERT: "update"}
_FILES = (
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
)
# All that keep state from batch to batch. Others would be run on each batch alone.
_STATEFUL = frozenset(
    (
        *("Aggregate", "Distinct", "Deduplicate", "DeduplicateWithinWatermark", "Join"),
        *("TransformWithState", "TransformWithStateInPySpark", "FlatMapGroupsWithState"),
        *("FlatMapGroupsInPandasWithState", "GlobalLimit", "LocalLimit"),
    )
)
_ROCKS = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def stateful_operators(session: Session, task: StreamTask) -> tuple[str, ...]:
    """What keeps state in a query, by Spark's names; none if every batch stands alone."""
    with explained(session), sqlerrors.in_words({}), in_words(task.call.pipeline):
        spark = _own_session(session, task)
        feed = f"plan-{uuid.uuid4().hex}"
        with releasing(session, spark):
            frames = _frames(session, spark, task, feed)
            found = _output(session, spark, task, frames)
            if not found.isStreaming:
                return ()
            names = str(_classes(session).StreamPlans.stateful(found._jdf))
    found_names = tuple(names.split("\n")) if names else ()
    for name in found_names:
        if name not in _STATEFUL:
            said = several_in_a_stream(WORDS.get(name, name))
            raise TransformFailed(said.text, hint=said.hint)
    return found_names


class LiveStream:
    """One run of a query, from a checkpoint on. For one thread at a time."""

    def __init__(
        self, session: Session, task: StreamTask, name: str, uri: str, generation: int
    ) -> None:
        """Start it. The checkpoint has a name in the store, and a folder's URI for Spark;
        `generation` counts the batches that were given to it so far.
        """
        self.task = task
        self.checkpoint = name
        self.generation = generation
        self._uri = uri
        self.batch = -1
        self.owner = ""
        """Whose batch it runs, or ran last: nobody else may cancel it."""
        self._number = -1
        self._session = session
        self._feed = uuid.uuid4().hex
        self._spark = _own_session(session, task)
        self._stem = ""
        self._result: TableResult | None = None
        self._late: dict[str, TableResult] = {}
        self._late_rows = 0
        self._error: Exception | None = None
        self._cancelled = threading.Event()
        self._lineage: Lineage = {}
        self._query: Any = None
        _classes(session).LakeStream.open(self._feed, generation)
        with self._in_words({}):
            self._start()

    def _start(self) -> None:
        frames = _frames(self._session, self._spark, self.task, self._feed)
        found = _output(self._session, self._spark, self.task, frames)
        transform.check_columns("The output", tables.schema_of(found), self.task.call.partition_by)
        refuse_types("The output", found.schema)
        self._lineage = column_lineage(found, frames)
        self._query = (
            found.writeStream.foreachBatch(self._sink)
            .outputMode(_MODES[self.task.output])
            .option("checkpointLocation", spark_uri(self._uri))
            .queryName(f"{self.task.call.pipeline}-{self._feed[:8]}")
            .start()
        )

    # -- a batch ----------------------------------------------------------------------------

    def run(self, rows: Mapping[str, Source], stem: str) -> BatchResult:
        """Give it the rows of each input, none to those not named, and wait until it is done."""
        began = time.perf_counter()
        # It is at no batch until this one is done: nobody else may go on from where it was.
        self.batch = _BETWEEN
        self._stem, self._result, self._late, self._late_rows = stem, None, {}, 0
        before = self._watermark()
        with self._in_words(rows):
            given = {name: self._rows(name, source) for name, source in rows.items()}
            classes = _classes(self._session)
            self.generation = classes.LakeStream.release(self._feed, given)
            while not classes.LakeStream.idle(self._feed, _LOOK_MILLIS):
                self._look()
            self._look()
        crashpoint("stream.batch_done")
        self.batch = self._number
        return self._told(before, time.perf_counter() - began)

    def _rows(self, name: str, source: Source) -> Any:
        """The rows of a batch, from files that say which input they are of."""
        scans = [replace(scan, name=name) for scan in source.scans]
        schema = self.task.sources[name].schema
        return tables.read(self._session, scans, schema, self._spark)._jdf

    def _look(self) -> None:
        if self._cancelled.is_set():
            raise JobCancelled(f"{self.task.call.pipeline} was cancelled.")
        if self._query.isActive:
            return
        if self._error is not None:
            raise self._error
        error = self._query.exception()
        raise error or Failed(f"The query of {self.task.call.pipeline} ended by itself.")

    def _sink(self, frame: DataFrame, number: int) -> None:
        """In Spark's thread: write the rows of the batch, and those that it passed over."""
        try:
            crashpoint("stream.offsets_logged")
            task = replace(self.task.call, stem=self._stem)
            rules = [one for one in task.expectations if one.kind.of_rows]
            self._result = transform.write(self._session, self._spark, task, "", frame, {}, rules)
            crashpoint("stream.data_written")
            self._write_late()
            self._number = number
        except Exception as error:
            self._error = error
            raise

    def _write_late(self) -> None:
        """Only asked for where Spark says there are some: it takes another look at the batch."""
        plans = _classes(self._session).StreamPlans
        execution = self._execution().lastExecution()
        if not plans.dropped(execution.executedPlan()):
            return
        from pyspark.sql import DataFrame
        from pyspark.sql import functions as f

        before = execution.prevOffsetSeqMetadata()
        micros = before.get().batchWatermarkMs() * _MICROS if before.isDefined() else 0
        found = list(plans.late(self._spark._jsparkSession, execution.analyzed(), micros))
        for name, rows in zip(found[::2], found[1::2], strict=True):
            frame = _distinct(DataFrame(rows, self._spark))
            frame = frame.withColumn("_watermark", f.timestamp_micros(f.lit(micros)))
            report = tables.write(self._session, frame, stem=f"{self._stem}late-")
            if report.rows:
                key = name if name not in self._late else f"{name}-{len(self._late) + 1}"
                self._late[key] = TableResult(tables.schema_of(frame), report)
                self._late_rows += report.rows

    def _told(self, before: int, seconds: float) -> BatchResult:
        after = self._watermark()
        progress = self._query.lastProgress
        operators = progress["stateOperators"] if progress else []
        assert self._result is not None
        return BatchResult(
            replace(self._result, lineage=self._lineage),
            dict(self._late),
            self._late_rows,
            after * _MICROS if after else None,
            after > before,
            self.batch,
            self.generation,
            sum(one["numRowsTotal"] for one in operators),
            sum(one["memoryUsedBytes"] for one in operators),
            seconds,
        )

    def _execution(self) -> Any:
        return self._query._jsq.streamingQuery()

    def _watermark(self) -> int:
        """In milliseconds; 0 while there is none."""
        tracker = self._execution().watermarkTracker()
        return int(tracker.currentWatermark()) if tracker is not None else 0

    # -- its end ----------------------------------------------------------------------------

    def cancel(self) -> None:
        """From another thread: the batch that runs is given up, and the query with it."""
        self._cancelled.set()

    def alive(self) -> bool:
        with BestEffort("Asking a stream whether it runs"):  # its JVM may be gone
            return bool(self._query.isActive) and not self._cancelled.is_set()
        return False

    def close(self) -> None:
        with BestEffort("Stopping a stream"):
            if self._query is not None:
                self._query.stop()
        with BestEffort("Closing the source of a stream"):
            _classes(self._session).LakeStream.close(self._feed)

    @contextlib.contextmanager
    def _in_words(self, rows: Mapping[str, Source]) -> Iterator[None]:
        """Errors of Spark in words of ours; a query that has met one is over."""
        try:
            with (
                explained(self._session),
                sqlerrors.in_words(rows),
                in_words(self.task.call.pipeline),
            ):
                yield
        except BaseException:
            self.close()
            raise


def _own_session(session: Session, task: StreamTask) -> SparkSession:
    ours = {
        "spark.sql.shuffle.partitions": str(max(session.cores, 1)),
        "spark.sql.streaming.stateStore.providerClass": _ROCKS,
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
        "spark.sql.streaming.noDataMicroBatches.enabled": "false",
        # The usual one starts a process for each file on a local disk, to be sure of renames.
        # A checkpoint that is not whole is none here, so nobody needs to be.
        "spark.sql.streaming.checkpointFileManagerClass": _FILES,
        # What may go is ours to say: batches that made no commit count there too.
        "spark.sql.streaming.minBatchesToRetain": str(max(10 * task.retain, 1000)),
        "spark.sql.streaming.numRecentProgressUpdates": "2",
        "spark.sql.streaming.metricsEnabled": "false",
    }
    make = judged_session if task.call.steps else new_session
    return make(session, {**ours, **task.call.conf})


def _frames(
    session: Session, spark: SparkSession, task: StreamTask, feed: str
) -> dict[str, DataFrame]:
    frames = {}
    for name, source in task.sources.items():
        if source.static is not None:
            given = source.static
            frames[name] = tables.read(session, given.scans, given.schema, spark)
            continue
        _classes(session)
        frame = (
            spark.readStream.format(_FORMAT)
            .schema(tables.ddl(source.schema))
            .option("feed", feed)
            .option("input", name)
            .load()
        )
        if source.watermark is not None:
            delay = f"{round(source.watermark.delay * 1000)} milliseconds"
            frame = frame.withWatermark(source.watermark.column, delay)
        frames[name] = frame
    return frames


def _output(
    session: Session, spark: SparkSession, task: StreamTask, frames: Mapping[str, DataFrame]
) -> DataFrame:
    outputs = transform.outputs(session, spark, task.call, frames)
    if set(outputs) != {""}:
        raise TransformFailed(
            f"A stream has one output, and {task.call.pipeline} gave {', '.join(outputs)}.",
            hint="Return one DataFrame; make a pipeline of its own for each further table.",
        )
    return outputs[""]


def _distinct(frame: DataFrame) -> DataFrame:
    """The same columns, none with the name of another: a join may have given it twice."""
    names: list[str] = []
    for name in frame.columns:
        taken = {one.lower() for one in names}
        free = (f"{name}_{count}" if count > 1 else name for count in range(1, len(taken) + 2))
        names.append(next(one for one in free if one.lower() not in taken))
    return frame.toDF(*names) if names != frame.columns else frame


def _classes(session: Session) -> Any:
    return tables.classes(session)
