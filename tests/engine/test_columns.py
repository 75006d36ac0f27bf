"""Columns are followed through Spark's plans, back to the columns of the inputs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as f

from trunkline.engine.columns import column_lineage
from trunkline.engine.session import Session

Pairs = dict[str, list[tuple[str, str]]]


class Shop:
    """Orders and customers, as views too."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        day = "DATE '2026-01-01' AS day"
        rows = spark.sql(f"SELECT 1L AS id, 7L AS customer, 9.5D AS amount, {day}")
        rows.write.parquet(str(folder / "orders"))
        rows = spark.sql("SELECT 7L AS id, 'Ada' AS name, array('a') AS tags")
        rows.write.parquet(str(folder / "customers"))
        self.inputs: Mapping[str, DataFrame] = {
            name: spark.read.parquet(str(folder / name)) for name in ("orders", "customers")
        }
        for name, frame in self.inputs.items():
            frame.createOrReplaceTempView(name)
        self.orders = self.inputs["orders"]
        self.customers = self.inputs["customers"]

    def of(self, df: DataFrame | str) -> Pairs:
        frame = self.spark.sql(df) if isinstance(df, str) else df
        return column_lineage(frame, self.inputs)


@pytest.fixture(scope="module")
def shop(spark: Session, tmp_path_factory: pytest.TempPathFactory) -> Shop:
    return Shop(spark.spark.newSession(), tmp_path_factory.mktemp("columns"))


ID, AMOUNT, DAY = ("orders", "id"), ("orders", "amount"), ("orders", "day")
CUSTOMER, NAME = ("orders", "customer"), ("customers", "name")


class TestFrames:
    def test_columns_taken_over_and_computed(self, shop: Shop) -> None:
        frame = shop.orders.select("id", (f.col("amount") * 2 + f.col("id")).alias("x"), f.lit(1))
        assert shop.of(frame) == {"id": [ID], "x": [AMOUNT, ID], "1": []}

    def test_groups_and_windows(self, shop: Shop) -> None:
        window = Window.partitionBy("day").orderBy("id")
        grouped = shop.orders.groupBy("day").agg(f.sum("amount").alias("sum"), f.count("*"))
        assert shop.of(grouped) == {"day": [DAY], "sum": [AMOUNT], "count(1)": []}
        ranked = shop.orders.withColumn("before", f.lag("amount").over(window)).select("before")
        assert set(shop.of(ranked)["before"]) >= {AMOUNT}

    def test_a_join(self, shop: Shop) -> None:
        joined = shop.orders.join(
            shop.customers, shop.orders.customer == shop.customers.id, "left"
        ).select(shop.orders.id, "name", f.concat("name", f.col("amount")).alias("both"))
        assert shop.of(joined) == {"id": [ID], "name": [NAME], "both": [NAME, AMOUNT]}
        kept = shop.orders.join(shop.customers, shop.orders.customer == shop.customers.id, "semi")
        assert list(shop.of(kept)) == ["id", "customer", "amount", "day"]

    def test_a_table_joined_with_itself(self, shop: Shop) -> None:
        a, b = shop.orders.alias("a"), shop.orders.alias("b")
        both = a.join(b, f.col("a.id") == f.col("b.customer"))
        frame = both.select(f.col("a.amount"), f.col("b.day"))
        assert shop.of(frame) == {"amount": [AMOUNT], "day": [DAY]}

    def test_a_union_has_both(self, shop: Shop) -> None:
        frame = shop.orders.select("id").union(shop.customers.select("id"))
        assert shop.of(frame) == {"id": [("customers", "id"), ID]}

    def test_rows_that_are_spread(self, shop: Shop) -> None:
        frame = shop.customers.select("name", f.explode("tags").alias("tag"))
        assert shop.of(frame) == {"name": [NAME], "tag": [("customers", "tags")]}

    def test_a_function_of_rows_may_use_them_all(self, shop: Shop) -> None:
        frame = shop.customers.mapInPandas(lambda rows: rows, "z string")
        assert shop.of(frame) == {"z": [("customers", one) for one in ("id", "name", "tags")]}

    def test_a_udf_uses_what_it_is_given(self, shop: Shop) -> None:
        shout = f.udf(lambda text: text.upper())
        assert shop.of(shop.customers.select(shout("name").alias("n"))) == {"n": [NAME]}


class TestSql:
    def test_ctes_subqueries_and_unions(self, shop: Shop) -> None:
        found = shop.of(
            "WITH c AS (SELECT day AS d, amount FROM orders) "
            "SELECT d, sum(amount) AS s, (SELECT max(name) FROM customers) AS m FROM c GROUP BY d "
            "UNION ALL SELECT day, id, 'x' FROM orders"
        )
        assert found == {"d": [DAY], "s": [AMOUNT, ID], "m": [NAME]}

    def test_grouping_sets_and_pivots(self, shop: Shop) -> None:
        found = shop.of(
            "SELECT day, customer, sum(amount) s FROM orders GROUP BY CUBE (day, customer)"
        )
        assert found == {"day": [DAY], "customer": [CUSTOMER], "s": [AMOUNT]}

    def test_a_view_that_hides_an_input(self, shop: Shop) -> None:
        view = "CREATE OR REPLACE TEMP VIEW big AS SELECT id AS number, amount FROM orders"
        shop.spark.sql(view)
        assert shop.of("SELECT * FROM big") == {"number": [ID], "amount": [AMOUNT]}


def test_what_comes_from_nowhere_has_no_sources(shop: Shop) -> None:
    assert shop.of(shop.spark.range(3).toDF("n")) == {"n": []}
    assert column_lineage(None, {}) == {}  # type: ignore[arg-type]
