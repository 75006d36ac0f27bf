"""Twenty chained assets in Dagster: in this process, one Spark session, a stored instance.

`python dagster_chain.py FOLDER STEPS ROUNDS CONF`; prints what each round took as JSON.
DAGSTER_HOME is set by whoever starts this, so that runs and events are kept in SQLite.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import dagster
from pyspark.sql import SparkSession
from pyspark.sql import functions as f
from spark_jobs import add, jobs_so_far


def main(folder: str, steps: int, rounds: int, conf: dict[str, str]) -> None:
    builder = SparkSession.builder
    for name, value in conf.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()

    def asset(number: int) -> Any:
        @dagster.asset(name=f"p{number}", deps=[f"p{number - 1}"] if number > 1 else [])
        def step() -> None:
            rows = spark.read.parquet(f"{folder}/p{number - 1}")
            rows.withColumn("n", f.col("n") + 1).write.mode("overwrite").parquet(
                f"{folder}/p{number}"
            )

        return step

    assets = [asset(number) for number in range(1, steps + 1)]
    took: list[dict[str, float]] = []
    with dagster.DagsterInstance.get() as instance:
        for number in range(rounds):
            source = spark.range(1000).selectExpr(f"id + {number} AS n")
            source.coalesce(1).write.mode("overwrite").parquet(f"{folder}/p0")
            before, began = jobs_so_far(spark.sparkContext), time.perf_counter()
            result = dagster.materialize(assets, instance=instance)
            seconds = time.perf_counter() - began
            assert result.success
            add(took, spark.sparkContext, seconds, before)
    least = spark.read.parquet(f"{folder}/p{steps}").agg(f.min("n")).first()
    assert least is not None
    assert least[0] == rounds - 1 + steps, least
    print(json.dumps({"version": dagster.__version__, "rounds": took}))
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), json.loads(sys.argv[4]))
