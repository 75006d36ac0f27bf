"""What compliance should look at: prices far from the market, and wash trades."""

from pyspark.sql import functions as f

import trunkline as tl

FAR = 20  # robust standard deviations: a quote may be a minute old
AT_ONCE = 60  # seconds


@tl.pipeline(
    input=tl.pfs("marked", glob="/day=*/"),
    partition_by=["day"],
    description="Prices far from the market, and wash trades",
)
def alerts(marked):
    return far_from_market(marked).unionByName(wash_trades(marked))


def far_from_market(marked):
    """Median and median deviation are not moved by the very outliers that they shall find."""
    off = ((f.col("price") - f.col("mid")) / f.col("mid")).cast("double") * 10_000
    fills = marked.withColumn("off", off)
    middle = fills.groupBy("day").agg(f.median("off").alias("middle"))
    away = fills.join(middle, "day").withColumn("away", f.abs(f.col("off") - f.col("middle")))
    usual = away.groupBy("day").agg(f.median("away").alias("usual"))
    score = f.lit(0.6745) * f.col("away") / f.col("usual")
    found = (
        away.join(usual, "day").withColumn("score", f.round(score, 1)).where(f.col("score") > FAR)
    )
    nothing = f.lit(None).cast("string").alias("other")
    return found.select(
        "day", f.lit("off market").alias("kind"), "exec_id", nothing,
        "instrument", "trader", "counterparty", "score",
    )  # fmt: skip


def wash_trades(marked):
    """Bought and sold again at once: the same trader, counterparty, instrument and quantity."""
    same = ["day", "instrument", "trader", "counterparty"]
    back = marked.select(*same, f.col("exec_id").alias("other"), f.col("ts").alias("later"),
                         f.col("quantity").alias("returned"))  # fmt: skip
    seconds = f.col("later").cast("double") - f.col("ts").cast("double")
    found = marked.join(back, same).where(
        (f.col("returned") == -f.col("quantity"))
        & (f.col("exec_id") < f.col("other"))
        & (f.abs(seconds) <= AT_ONCE)
    )
    return found.select(
        "day", f.lit("wash trade").alias("kind"), "exec_id", "other",
        "instrument", "trader", "counterparty", f.round(f.abs(seconds), 1).alias("score"),
    )  # fmt: skip
