"""The online shop's pipelines as one PySpark script: `python spark_shop.py INCOMING SQL OUT`.

It reads the same files, computes the same tables from all days at once, and writes Parquet. No
versions, no lineage, no quarantine, nothing kept for the next day.
"""

from __future__ import annotations

import sys

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as f

CLICK = (
    "event_id STRING, ts TIMESTAMP, visitor STRING, device STRING, campaign STRING, "
    "step STRING, item STRING"
)
CLEAN = """
    WITH prices AS (
      SELECT *, lead(since) OVER (PARTITION BY item ORDER BY since) AS until FROM catalogue)
    SELECT orders.day, order_id, line, country, item, category, quantity, state,
           CAST(quantity * CAST(unit_price AS DECIMAL(10, 2)) * CAST(1 - discount AS DECIMAL(4, 2))
                * CAST(euros AS DECIMAL(10, 6)) AS DECIMAL(12, 2)) AS amount
    FROM orders JOIN rates USING (day, currency) JOIN prices USING (item)
    WHERE quantity > 0 AND orders.day >= since AND (until IS NULL OR orders.day < until)
"""
STEPS = ("view", "cart", "checkout", "pay")


def recommended(lines: DataFrame) -> DataFrame:
    lines = lines.select("order_id", "item").distinct()
    sold = lines.groupBy("item").agg(f.count("*").alias("sold"))
    pairs = lines.join(lines.withColumnRenamed("item", "other"), "order_id").where("item <> other")
    together = pairs.groupBy("item", "other").agg(f.count("*").alias("together"))
    baskets = lines.agg(f.countDistinct("order_id").alias("baskets"))
    found = (
        together.where("together >= 3")
        .join(sold, "item")
        .join(sold.toDF("other", "other_sold"), "other")
        .crossJoin(baskets)
        .withColumn("lift", f.expr("together * baskets / (sold * other_sold)"))
        .where("lift > 1")
    )
    best = Window.partitionBy("item").orderBy(f.desc("lift"), f.desc("together"), "other")
    return found.withColumn("place", f.row_number().over(best)).where("place <= 5")


def visits(clicks: DataFrame) -> DataFrame:
    visit = f.session_window("ts", "30 minutes").alias("visit")
    steps = [f.count_if(f.col("step") == step).alias(f"{step}s") for step in STEPS]
    once = clicks.dropDuplicates(["event_id"])
    found = once.groupBy("visitor", "device", "campaign", visit).agg(*steps)
    return found.select("*", "visit.start", "visit.end").drop("visit")


def main() -> None:
    incoming, query, out = sys.argv[1:]
    spark = SparkSession.builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
    read = spark.read.option("header", True).option("inferSchema", True)

    def write(name: str, table: DataFrame) -> None:
        table.write.parquet(f"{out}/{name}")
        spark.read.parquet(f"{out}/{name}").createOrReplaceTempView(name)

    for name in ("orders", "rates", "catalogue"):
        read.csv(f"{incoming}/{name}").createOrReplaceTempView(name)
    clicks = spark.read.schema(CLICK).json(f"{incoming}/clicks").where("event_id IS NOT NULL")
    write("clicks", clicks)
    write("clean_orders", spark.sql(CLEAN))
    kept = spark.table("clean_orders").where("state = 'paid'")
    euros = f.sum("amount").alias("euros")
    write("revenue", kept.groupBy("day", "country", "category").agg(euros))
    write("recommendations", recommended(spark.table("clean_orders")))
    write("sessions", visits(spark.table("clicks")))
    reached = [f.count_if(f.col(f"{step}s") > 0).alias(step) for step in STEPS]
    people = spark.table("sessions").where("views < 100")
    write("funnel", people.groupBy(f.to_date("start").alias("day"), "device").agg(*reached))
    with open(query, encoding="utf-8") as text:
        *views, answer = text.read().replace("${unusual}", "-2.5").split(";\n")
    for view in views:
        spark.sql(view.replace("CREATE TEMP VIEW", "CREATE OR REPLACE TEMP VIEW"))
    write("conversion", spark.sql(answer))
    spark.stop()


if __name__ == "__main__":
    main()
