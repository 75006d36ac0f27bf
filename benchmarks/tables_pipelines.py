"""SQL and PySpark pipelines over TPC-H's lineitem against the hand-written PySpark script.

The script reads the same Parquet with `spark.read.parquet`, does the same and writes Parquet, in
the same session with the same settings. Ours is a whole job: claimed, planned, run, with
fingerprints and statistics of what it writes, committed. A group-by has a small output; a join
with orders writes every row of lineitem.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import trunkline as tl
from benchmarks import tpch
from benchmarks.measure import Bench, Cost, call, in_turns, typical
from benchmarks.report import Result, times_as_long
from benchmarks.spark import warm_session
from trunkline.sdk import Lake

CLAIM = "tables_pipelines"
BUDGET = 1.05
GROUPED = """
SELECT l_shipmode, l_returnflag, l_linestatus, year(l_shipdate) AS year,
  count(*) AS lines, sum(l_quantity) AS quantity,
  sum(l_extendedprice * (1 - l_discount)) AS revenue, avg(l_tax) AS tax
FROM lineitem
GROUP BY l_shipmode, l_returnflag, l_linestatus, year(l_shipdate)
"""
JOINED = """
SELECT l_orderkey, l_linenumber, l_partkey, l_suppkey, l_quantity, l_shipdate, l_shipmode,
  l_extendedprice * (1 - l_discount) AS revenue, o_custkey, o_orderdate, o_orderpriority
FROM lineitem JOIN orders ON l_orderkey = o_orderkey
"""
FUNCTIONS = '''
"""The same as the SQL, in PySpark: one file for the pipelines and for the script."""

from pyspark.sql import functions as F


def grouped(lineitem):
    return (
        lineitem.withColumn("year", F.year("l_shipdate"))
        .groupBy("l_shipmode", "l_returnflag", "l_linestatus", "year")
        .agg(
            F.count("*").alias("lines"),
            F.sum("l_quantity").alias("quantity"),
            F.sum(F.col("l_extendedprice") * (1 - F.col("l_discount"))).alias("revenue"),
            F.avg("l_tax").alias("tax"),
        )
    )


def joined(lineitem, orders):
    return lineitem.join(orders, F.col("l_orderkey") == F.col("o_orderkey")).select(
        "l_orderkey", "l_linenumber", "l_partkey", "l_suppkey", "l_quantity", "l_shipdate",
        "l_shipmode", (F.col("l_extendedprice") * (1 - F.col("l_discount"))).alias("revenue"),
        "o_custkey", "o_orderdate", "o_orderpriority",
    )
'''


@dataclass(frozen=True, slots=True)
class Work:
    """What is done: as a pipeline and, in `bare`, as people write it without us."""

    name: str
    what: str
    inputs: tuple[str, ...]
    transform: Mapping[str, object]
    bare: Callable[[Any, Mapping[str, Any]], Any]


def run(bench: Bench) -> Iterator[Result]:
    os.chdir(bench.folder)
    (bench.folder / "work.py").write_text(FUNCTIONS)
    scale = bench.tpch_scale()
    data = tpch.data(scale)
    with warm_session() as session, tl.init(bench.folder / "lake") as lake:
        tpch.put_tables(lake, data, ("lineitem", "orders"))
        for work in _works(bench.folder / "work.py"):
            ours = _Ours(lake, work)
            bare = _Bare(session.spark, work, data, bench.folder / f"bare_{work.name}")
            ours(-1)
            bare(-1)  # both are warm now: code is generated and compiled
            rows = session.spark.read.parquet(str(bare.out)).count()
            assert ours.rows == rows, f"{work.name}: {ours.rows} rows, the script has {rows}"
            costs = in_turns({"ours": ours, "bare": bare}, bench.median_rounds)
            what = f"{work.what}, TPC-H scale {scale:g}, {rows:,} rows out"
            yield times_as_long(
                CLAIM, what, typical(costs["ours"]), "the PySpark script, same session",
                typical(costs["bare"]), BUDGET,
            )  # fmt: skip


def _works(file: Path) -> Iterator[Work]:
    spec = importlib.util.spec_from_file_location("bench_work", file)
    assert spec is not None
    assert spec.loader is not None
    functions = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(functions)

    def ask(text: str) -> Callable[[Any, Mapping[str, Any]], Any]:
        return lambda spark, frames: spark.sql(text)

    one, two = ("lineitem",), ("lineitem", "orders")
    yield Work("sql_group", "SQL, group by", one, {"sql": GROUPED}, ask(GROUPED))
    yield Work("sql_join", "SQL, join", two, {"sql": JOINED}, ask(JOINED))
    yield Work(
        "spark_group", "PySpark, group by", one, {"spark": "work.py:grouped"},
        lambda spark, frames: functions.grouped(**frames),
    )  # fmt: skip
    yield Work(
        "spark_join", "PySpark, join", two, {"spark": "work.py:joined"},
        lambda spark, frames: functions.joined(**frames),
    )  # fmt: skip


class _Ours:
    """The pipeline, everything again: a job from claim to commit."""

    def __init__(self, lake: Lake, work: Work) -> None:
        self.rows = 0
        self._lake = lake
        leaves = [{"pfs": {"repo": name, "glob": "/"}} for name in work.inputs]
        self._spec = {
            "pipeline": {"name": work.name},
            "input": leaves[0] if len(leaves) == 1 else {"cross": leaves},
            "transform": dict(work.transform),
        }

    def __call__(self, number: int) -> Cost:
        self._lake.apply(self._spec, reprocess=True)

        def work() -> None:
            (job,) = self._lake.run(jobs=1).jobs
            assert str(job.state) == "success", job.reason
            self.rows = job.counts.rows_out or 0

        return call(work)


class _Bare:
    """The script: read, transform, write over what was there."""

    def __init__(self, spark: Any, work: Work, data: Path, out: Path) -> None:
        self.out = out
        self._spark = spark
        self._work = work
        self._data = data

    def __call__(self, number: int) -> Cost:
        def work() -> None:
            spark = self._spark.newSession()
            frames = {
                name: spark.read.parquet(str(self._data / f"{name}.parquet"))
                for name in self._work.inputs
            }
            for name, frame in frames.items():
                frame.createOrReplaceTempView(name)
            found = self._work.bare(spark, frames)
            found.write.mode("overwrite").parquet(str(self.out))

        return call(work)
