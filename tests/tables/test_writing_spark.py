"""Spark DataFrames into tables: the same rows make the same table, in any order."""

import pytest

from tests.tables.lakes import entries, files, rows, spec
from tests.tables.test_moments import EDGES
from trunkline.errors import SchemaClash
from trunkline.tables.writing.fingerprint import same_rows, total


@pytest.fixture
def sql(spark):
    return spark.spark.sql


def test_a_dataframe_is_written_with_rows_bounds_and_fingerprint(lake, sql):
    frame = sql("SELECT id, CAST(id % 2 AS INT) AS part, CAST(id AS STRING) AS s FROM range(10)")
    lake.write_table("orders:/t", frame, partition_by="part")
    found = entries(lake, "orders:/t")
    assert {entry.path.split("/")[2] for entry in found} == {"part=0", "part=1"}
    assert sum(entry.rows or 0 for entry in found) == 10
    assert all(entry.byte_hash and '"id":[' in entry.stats for entry in found)
    assert [row["id"] for row in rows(lake, "orders:/t")] == list(range(10))
    # The bytes are read back and checked against their hash.
    assert all(lake.read(f"orders:{entry.path}") for entry in found)
    assert [str(c) for c in spec(lake, "orders:/t").schema] == ["id bigint", "part int", "s string"]


def test_the_same_rows_in_another_order_and_cut_are_known_to_be_the_same(lake, sql):
    lake.write_table("orders", sql("SELECT id FROM range(100)"), mode="overwrite")
    before = entries(lake, "orders")
    shuffled = sql("SELECT id FROM range(100) ORDER BY hash(id)").repartition(3)
    lake.write_table("orders", shuffled, mode="overwrite")
    after = entries(lake, "orders")
    assert same_rows(before, after)
    assert len(after) != len(before)
    done = lake.compact("orders")
    assert done.after == 1
    assert total(entries(lake, "orders")) == total(after)
    assert same_rows(after, entries(lake, "orders"))


def test_dataframes_and_arrow_share_a_table(lake, sql):
    lake.write_table("orders", [{"id": 1, "n": 2.5}])
    lake.write_table("orders", sql("SELECT CAST(2 AS INT) AS ID, 'x' AS more"))
    assert rows(lake, "orders") == [
        {"id": 1, "n": 2.5, "more": None},
        {"id": 2, "n": None, "more": "x"},
    ]
    with pytest.raises(SchemaClash):
        lake.write_table("orders", sql("SELECT 'x' AS id"))
    lake.delete_from("orders", "id = 2")
    assert [row["id"] for row in rows(lake, "orders")] == [1]


def test_moments_of_all_times_are_counted_in_microseconds(lake, sql):
    shown = [one.isoformat(" ") for one in EDGES]
    values = ", ".join(f"({n}, TIMESTAMP '{one}')" for n, one in enumerate(shown))
    frame = sql(f"SELECT id, at, named_struct('at', at) AS s FROM VALUES {values} AS t(id, at)")
    lake.write_table("orders", frame)
    for path, table in files(lake, "orders").items():
        assert str(table.schema.field("at").type) == "timestamp[us, tz=UTC]", path
    found = {row["id"]: (row["at"], row["s"]["at"]) for row in rows(lake, "orders")}
    assert found == {n: (one, one) for n, one in enumerate(EDGES)}
    assert all('"at":[-' in one.stats or '"at":[2' in one.stats for one in entries(lake, "orders"))
