# ruff: noqa: F821, N812
"""Orders as they come in, and only those that were paid."""

from pyspark import pipelines as dp
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

LEAST = float(spark.conf.get("shop.least_amount"))


@dp.temporary_view
def paid() -> DataFrame:
    return spark.readStream.table("orders").where(F.col("amount") > LEAST)


dp.create_streaming_table("paid_orders", comment="Every order that was paid")


@dp.append_flow(target="paid_orders")
def from_the_shop() -> DataFrame:
    return spark.readStream.table("paid").select(
        "id", "day", "customer", F.round("amount", 2).alias("amount")
    )


@dp.materialized_view(partition_cols=["day"])
def customers_of_the_day() -> DataFrame:
    """Who bought how much on which day."""
    orders = spark.read.table("paid_orders")
    customers = spark.read.table("customers")
    return (
        orders.join(customers, orders.customer == customers.id)
        .groupBy("day", "name")
        .agg(F.sum("amount").alias("amount"))
    )
