"""Twenty chained materialized views in Spark Declarative Pipelines, on a server that stays warm.

`python declarative_chain.py FOLDER STEPS ROUNDS CONF`; prints what each round took as JSON. A
round is what `spark-pipelines run` does between making its session and stopping it. Each has a
database of its own: with the default catalog a second run over the same tables fails.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import time
from pathlib import Path
from typing import Any

import pyspark
from pyspark import SparkContext
from pyspark.pipelines import cli
from pyspark.sql import SparkSession
from pyspark.sql import functions as f
from spark_jobs import add, jobs_so_far

STEPS = """
from pyspark import pipelines as dp
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

spark = SparkSession.active()


def declare(number):
    @dp.materialized_view(name=f"p{number}")
    def step():
        if number == 1:
            rows = spark.read.parquet("FOLDER/p0")
        else:
            rows = spark.read.table(f"p{number - 1}")
        return rows.withColumn("n", f.col("n") + 1)


for number in range(1, COUNT + 1):
    declare(number)
"""
SPEC = """
name: chain
storage: file://{folder}/storage
database: {database}
libraries:
  - glob:
      include: steps.py
"""


def main(folder: str, steps: int, rounds: int, conf: dict[str, str]) -> None:
    builder = SparkSession.builder.remote(conf.pop("spark.master"))
    for name, value in conf.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    context = SparkContext._active_spark_context
    source = STEPS.replace("FOLDER", folder).replace("COUNT", str(steps))
    (Path(folder) / "steps.py").write_text(source)
    took: list[dict[str, float]] = []
    for number in range(rounds):
        rows = spark.range(1000).selectExpr(f"id + {number} AS n")
        rows.coalesce(1).write.mode("overwrite").parquet(f"{folder}/p0")
        spark.sql(f"CREATE DATABASE round{number}").collect()
        place = Path(folder) / "spark-pipeline.yml"
        place.write_text(SPEC.format(folder=folder, database=f"round{number}"))
        before, began = jobs_so_far(context), time.perf_counter()
        with contextlib.redirect_stdout(io.StringIO()):
            run(spark, place)
        add(took, context, time.perf_counter() - began, before)
    least = spark.read.table(f"round{rounds - 1}.p{steps}").agg(f.min("n")).first()
    assert least is not None
    assert least[0] == rounds - 1 + steps, least
    print(json.dumps({"version": pyspark.__version__, "rounds": took}))
    spark.stop()


def run(spark: Any, place: Path) -> None:
    """As `pyspark.pipelines.cli.run`, in a session that is there."""
    spec = cli.load_pipeline_spec(place)
    graph = cli.create_dataflow_graph(
        spark, default_catalog=spec.catalog, default_database=spec.database, sql_conf={}
    )
    registry = cli.SparkConnectGraphElementRegistry(spark, graph)
    cli.register_definitions(place, registry, spec, spark, graph)
    events = cli.start_run(
        spark, graph, full_refresh=[], full_refresh_all=False, refresh=[], dry=False,
        storage=spec.storage,
    )  # fmt: skip
    cli.handle_pipeline_events(events)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), json.loads(sys.argv[4]))
