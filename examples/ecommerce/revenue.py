"""What was earned, and what is bought together. `trunkline pipeline apply revenue.py`"""

from pyspark.sql import Window
from pyspark.sql import functions as f

import trunkline as tl

BEST = 5
SEEN = 3  # pairs that were bought less often say nothing


@tl.pipeline(
    input=tl.pfs("clean_orders", glob="/day=*/"),
    partition_by=["day"],
    description="Revenue of each day by country and category, without what was returned",
    expectations=[tl.expect.unique("day", "country", "category"), tl.expect("euros >= 0")],
)
def revenue(clean_orders):
    kept = clean_orders.where("state = 'paid'")
    return kept.groupBy("day", "country", "category").agg(
        f.sum("amount").alias("euros"),
        f.countDistinct("order_id").alias("orders"),
        f.sum("quantity").alias("pieces"),
    )


@tl.pipeline(
    input=tl.pfs("clean_orders", glob="/"),
    description="Who bought this also bought: the pairs that are in one basket more than by chance",
    expectations=[tl.expect("lift > 1"), tl.expect.unique("item", "place")],
)
def recommendations(clean_orders):
    lines = clean_orders.select("order_id", "item").distinct()
    baskets = lines.agg(f.countDistinct("order_id").alias("baskets"))
    sold = lines.groupBy("item").agg(f.count("*").alias("sold"))
    other = lines.withColumnRenamed("item", "other")
    pairs = lines.join(other, "order_id").where("item <> other").groupBy("item", "other")
    together = pairs.agg(f.count("*").alias("together")).where(f.col("together") >= SEEN)
    lift = f.round(f.expr("together * baskets / (sold * other_sold)"), 3)
    found = (
        together.join(sold, "item")
        .join(sold.toDF("other", "other_sold"), "other")
        .crossJoin(baskets)
        .withColumn("lift", lift)
        .where("lift > 1")
    )
    best_first = Window.partitionBy("item").orderBy(f.desc("lift"), f.desc("together"), "other")
    placed = found.withColumn("place", f.row_number().over(best_first)).where(
        f.col("place") <= BEST
    )
    return placed.select("item", "place", "other", "together", "lift")
