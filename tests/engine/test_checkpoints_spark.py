"""State that a real Spark wrote: cut at any batch, it goes on as if nothing had happened."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import trunkline as tl
from trunkline.engine.session import Session
from trunkline.engine.tables import classes
from trunkline.lake import checkpoints, savepoints
from trunkline.lake.branches import add_repo
from trunkline.lake.checkpointfiles import Checkpoint
from trunkline.model.commits import RepoKind, RepoName
from trunkline.model.ids import new_id
from trunkline.model.streams import Batch
from trunkline.storage.objects import open_store
from trunkline.storage.objects.loose import loose

pytestmark = pytest.mark.slow

PROVIDERS = "org.apache.spark.sql.execution.streaming.state."
CONF = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.stateStore.providerClass": PROVIDERS + "RocksDBStateStoreProvider",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.streaming.minBatchesToRetain": "1000",
    "spark.sql.streaming.stateStore.maintenanceInterval": "200ms",
    "spark.sql.streaming.stateStore.minDeltasForSnapshot": "3",
    "spark.sql.session.timeZone": "UTC",
}
SCHEMA = "ts timestamp, user string, v int"
BATCHES = 8
START = 1_767_225_600

Rows = list[tuple[Any, ...]]


def query(kind: str, spark: Any, feed: str) -> tuple[Any, str]:
    import pandas as pd
    import pyspark.sql.functions as F
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor

    class Sums(StatefulProcessor):
        def init(self, handle: Any) -> None:
            self.count = handle.getValueState("count", "n long")
            self.seen = handle.getListState("seen", "v int")

        def handleInputRows(self, key: Any, rows: Any, timers: Any) -> Iterator[Any]:
            count = self.count.get()[0] if self.count.exists() else 0
            for part in rows:
                count += len(part)
                for value in part["v"]:
                    self.seen.appendValue((int(value),))
            self.count.update((count,))
            total = sum(value[0] for value in self.seen.get())
            yield pd.DataFrame({"user": [key[0]], "n": [count], "s": [total]})

        def close(self) -> None: ...

    def rows(name: str) -> Any:
        reader = spark.readStream.format("io.trunkline.LakeStream").schema(SCHEMA)
        found = reader.option("feed", feed).option("input", name).load()
        return found.withWatermark("ts", "4 seconds")

    a = rows("a")
    if kind in ("windows", "hdfs"):
        found = a.groupBy(F.window("ts", "6 seconds"), "user").agg(F.sum("v").alias("v"))
        return found.selectExpr("string(window.start)", "user", "v"), "append"
    if kind == "sessions":
        grouped = a.groupBy(F.session_window("ts", "2 seconds"), "user").agg(F.sum("v").alias("v"))
        return grouped.selectExpr("string(session_window.start)", "user", "v"), "append"
    if kind == "duplicates":
        found = a.dropDuplicatesWithinWatermark(["user"])
        return found.selectExpr("string(ts)", "user", "v"), "append"
    if kind == "join":
        near = F.expr("a.user = b.user AND b.ts BETWEEN a.ts - interval 3 seconds AND a.ts")
        found = a.alias("a").join(rows("b").alias("b"), near, "leftOuter")
        return found.selectExpr("a.user AS u", "a.v AS av", "b.v AS bv"), "append"
    assert kind == "processor"
    shape = "user string, n long, s long"
    return a.groupBy("user").transformWithStateInPandas(Sums(), shape, "Update", "None"), "update"


class Runs:
    """Runs queries on batches of the same input, in checkpoints of one store."""

    def __init__(self, session: Session, folder: Path) -> None:
        self.folder = folder
        self.store = open_store(str(folder / "objects"))
        self.files = loose(self.store)
        self.spark: Any = session.spark.newSession()
        for name, value in CONF.items():
            self.spark.conf.set(name, value)
        classes(session)
        context: Any = session.context
        jvm = context._jvm
        self._feeds = jvm.io.trunkline.LakeStream
        # Maintenance has the interval of the first query of a JVM, which may not be ours.
        states = getattr(jvm.org.apache.spark.sql.execution.streaming.state, "StateStore$")
        getattr(states, "MODULE$").stop()
        for number in range(BATCHES):
            for name in "ab":
                self._write(name, number)
        self.done: dict[str, tuple[str, dict[int, Rows]]] = {}

    def reference(self, kind: str) -> tuple[str, dict[int, Rows]]:
        """A run without interruption: its checkpoint, and what each batch gave."""
        if kind not in self.done:
            place = self.place()
            self.done[kind] = place, self.run(kind, place, 0, snapshots=True)
        place, found = self.done[kind]
        assert sum(map(len, found.values())) > 3, "a query that gives nothing shows nothing"
        return place, found

    def place(self) -> str:
        return f"streams/7/{new_id()}"

    def run(
        self,
        kind: str,
        place: str,
        start: int,
        *,
        snapshots: bool = False,
        after: Callable[[int], object] = lambda number: None,
    ) -> dict[int, Rows]:
        """Give a query its batches from `start` on, in a checkpoint that is at that batch."""
        provider = "HDFSBacked" if kind == "hdfs" else "RocksDB"
        self.spark.conf.set(
            "spark.sql.streaming.stateStore.providerClass",
            f"{PROVIDERS}{provider}StateStoreProvider",
        )
        feed, found = new_id(), {}

        def sink(rows: Any, number: int) -> None:
            assert number not in found
            found[number] = sorted((tuple(row) for row in rows.collect()), key=repr)

        self._feeds.open(feed, start)
        frame, mode = query(kind, self.spark, feed)
        writer = frame.writeStream.foreachBatch(sink).outputMode(mode)
        running = writer.option("checkpointLocation", self.store.uri(place)).start()
        try:
            for number in range(start, BATCHES):
                self._feeds.release(feed, {name: self._read(name, number) for name in "ab"})
                while not self._feeds.idle(feed, 200):
                    assert running.isActive, str(running.exception())
                if snapshots and kind != "hdfs" and number in (3, 6):
                    self._await_snapshots(place, number - 1)
                after(number)
        finally:
            running.stop()
            self._feeds.close(feed)
        assert sorted(found) == list(range(start, BATCHES))
        return found

    def _await_snapshots(self, place: str, oldest: int) -> None:
        until = time.monotonic() + 60
        while True:
            stores = Checkpoint(self.files, place).stores.values()
            if all(max(store.whole, default=0) >= oldest for store in stores):
                return
            assert time.monotonic() < until, "Spark made no snapshots"
            time.sleep(0.1)

    def _write(self, name: str, number: int) -> None:
        count, shift = 5, 1 if name == "b" else 0
        rows = {
            "ts": [(START + number * 4 + k % 3 + shift) * 1_000_000 for k in range(count)],
            "user": [f"u{(number * k + shift) % 4}" for k in range(count)],
            "v": [number * 10 + k for k in range(count)],
        }
        schema = pa.schema({"ts": pa.timestamp("us", "UTC"), "user": pa.string(), "v": pa.int32()})
        pq.write_table(pa.table(rows, schema), self.folder / f"{name}{number}.parquet")

    def _read(self, name: str, number: int) -> Any:
        path = str(self.folder / f"{name}{number}.parquet")
        return self.spark.read.schema(SCHEMA).parquet(path)._jdf


@pytest.fixture(scope="module")
def runs(spark: Session, tmp_path_factory: pytest.TempPathFactory) -> Runs:
    return Runs(spark, tmp_path_factory.mktemp("runs"))


def later(found: dict[int, Rows], batch: int) -> dict[int, Rows]:
    return {number: rows for number, rows in found.items() if number > batch}


def forked(runs: Runs, source: str, batches: Sequence[int]) -> dict[int, str]:
    places = {}
    for batch in batches:
        checkpoints.check(runs.store, source, batch)
        places[batch] = runs.place()
        checkpoints.fork(runs.store, source, batch, places[batch])
        checkpoints.check(runs.store, places[batch], batch)
    return places


@pytest.mark.parametrize(
    ("kind", "batches"),
    [
        ("windows", range(BATCHES - 1)),
        ("sessions", (1, 5)),
        ("duplicates", (0, 4)),
        ("join", (1, 4, 6)),
        ("processor", (0, 3, 6)),
        ("hdfs", (2, 5)),
    ],
)
def test_a_fork_goes_on_as_the_query_did_whatever_batch_it_is_cut_at(
    runs: Runs, kind: str, batches: Sequence[int]
):
    source, expected = runs.reference(kind)
    places = forked(runs, source, batches)
    # What the forks need they have: the folder they came from is somewhere else from now on.
    away = runs.folder / "away"
    shutil.move(runs.folder / "objects" / source, away)
    try:
        for batch, place in places.items():
            assert runs.run(kind, place, batch + 1) == later(expected, batch), f"cut at {batch}"
    finally:
        shutil.move(away, runs.folder / "objects" / source)


def test_forks_start_from_snapshots_and_changes_alike(runs: Runs):
    source, _ = runs.reference("windows")
    found = Checkpoint(runs.files, source)
    ends = [{name.rpartition(".")[2] for name in found.needed(batch)} for batch in (0, 6)]
    assert "changelog" in ends[0] and "zip" not in ends[0]
    assert {"zip", "sst"} <= ends[1]


def test_a_fork_of_a_fork_goes_on_and_its_source_is_untouched(runs: Runs):
    source, expected = runs.reference("windows")
    before = Checkpoint(runs.files, source).sizes
    first, second = runs.place(), runs.place()
    checkpoints.fork(runs.store, source, 1, first)
    assert runs.run("windows", first, 2) == later(expected, 1)
    checkpoints.fork(runs.store, first, 4, second)
    assert runs.run("windows", second, 5) == later(expected, 4)
    assert Checkpoint(runs.files, source).sizes == before
    checkpoints.check(runs.store, source, BATCHES - 1)


@pytest.mark.parametrize("kind", ["windows", "join"])
def test_what_pruning_keeps_goes_on(runs: Runs, kind: str):
    original, expected = runs.reference(kind)
    repo = f"streams/{new_id()}/"
    source = repo + original.rpartition("/")[2]
    shutil.copytree(runs.folder / "objects" / original, runs.folder / "objects" / source)
    before = Checkpoint(runs.files, source).sizes
    assert checkpoints.prune(runs.store, repo, {(source, 4), (source, 6)}) > 0
    assert Checkpoint(runs.files, source).sizes.keys() < before.keys()
    for batch, place in forked(runs, source, (4, 6)).items():
        assert runs.run(kind, place, batch + 1) == later(expected, batch)


def test_pruning_while_the_query_runs_harms_neither_it_nor_what_is_kept(runs: Runs):
    _, expected = runs.reference("windows")
    repo = f"streams/{new_id()}/"
    place, removed = repo + new_id(), []

    def prune(number: int) -> None:
        keep = {(place, batch) for batch in (number - 1, number) if batch >= 0}
        removed.append(checkpoints.prune(runs.store, repo, keep))

    assert runs.run("windows", place, 0, snapshots=True, after=prune) == expected
    assert sum(removed) > 0
    (batch, fork), *_ = forked(runs, place, (BATCHES - 2,)).items()
    assert runs.run("windows", fork, batch + 1) == later(expected, batch)


@pytest.mark.parametrize("kind", ["windows", "processor"])
def test_a_savepoint_goes_on_when_its_checkpoint_is_gone(runs: Runs, tmp_path: Path, kind: str):
    source, expected = runs.reference(kind)
    store = tmp_path / "objects"
    with tl.init(tmp_path / "lake", store=str(store)) as lake:
        core, name = lake._core, RepoName("default", "stream")
        with core.database.write() as session:
            add_repo(session, name, "", RepoKind.OUTPUT, "me")
        mine, target = runs.place(), runs.place()
        shutil.copytree(runs.folder / "objects" / source, store / mine)
        state = {"checkpoint": mine, "batch": 4, "generation": 5}
        batch = Batch(new_id(), 1, 5, 5, {}, {"a": "x"}, state=state)
        commit = savepoints.savepoint(core, name, batch, "me")
        shutil.rmtree(store / mine)
        assert savepoints.restore(core, commit, target) == {**state, "checkpoint": target}
    shutil.copytree(store / target, runs.folder / "objects" / target)
    checkpoints.check(runs.store, target, 4)
    assert runs.run(kind, target, 5) == later(expected, 4)
