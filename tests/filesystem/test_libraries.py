"""Libraries that read and write through fsspec, on a lake."""

from __future__ import annotations

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from trunkline import Lake
from trunkline.filesystem import LakeFileSystem

FRAME = pd.DataFrame({"id": [1, 2, 3], "name": ["a", "b", "c"]})


@pytest.fixture
def options(fs: LakeFileSystem) -> dict[str, str]:
    return {"lake": fs.storage_options["lake"]}


def test_pandas(lake: Lake, options: dict[str, str]) -> None:
    where = "tl://orders@main"
    FRAME.to_csv(f"{where}/a.csv", index=False, storage_options=options)
    FRAME.to_parquet(f"{where}/a.parquet", storage_options=options)
    FRAME.to_csv(f"{where}/a.csv.gz", index=False, storage_options=options)
    assert len(lake.commits("orders@main")) == 3
    for name, read in (("csv", pd.read_csv), ("parquet", pd.read_parquet), ("csv.gz", pd.read_csv)):
        found = read(f"{where}/a.{name}", storage_options=options)
        pd.testing.assert_frame_equal(found, FRAME)
    with pytest.raises(FileNotFoundError):
        pd.read_csv(f"{where}/none.csv", storage_options=options)
    with pytest.raises(PermissionError):
        FRAME.to_csv("tl://orders@main~1/a.csv", storage_options=options)
    LakeFileSystem.clear_instance_cache()


def test_arrow_reads_and_writes_datasets(lake: Lake, fs: LakeFileSystem) -> None:
    table = pa.table({"id": [1, 2, 3, 4], "day": ["x", "y", "x", "y"]})
    with fs.transaction:
        ds.write_dataset(
            table,
            "orders@main/table",
            format="parquet",
            filesystem=fs,
            partitioning=["day"],
            partitioning_flavor="hive",
            existing_data_behavior="overwrite_or_ignore",
        )
    assert len(lake.commits("orders@main")) == 1
    found = ds.dataset("orders@main/table", filesystem=fs, partitioning="hive")
    assert found.to_table(filter=ds.field("day") == "y")["id"].to_pylist() == [2, 4]
    pq.write_table(table, "orders/one.parquet", filesystem=fs)
    assert pq.read_table("orders/one.parquet", filesystem=fs).equals(table)
    assert pq.read_table("orders/one.parquet", filesystem=fs, columns=["id"]).num_columns == 1


def test_duckdb(lake: Lake, fs: LakeFileSystem) -> None:
    for day in "xy":
        with fs.open(f"orders@main/day={day}/a.parquet", "wb") as file:
            FRAME.to_parquet(file)
    with duckdb.connect() as connection:
        connection.register_filesystem(fs)
        [(count, days)] = connection.sql(
            "SELECT count(*), count(DISTINCT day) FROM read_parquet('tl://orders@main/*/*.parquet')"
        ).fetchall()
        assert (count, days) == (6, 2)
        connection.sql("SELECT 7 AS seven").write_csv("tl://orders@main/seven.csv")
        assert connection.sql("FROM read_csv('tl://orders@main/seven.csv')").fetchall() == [(7,)]
    assert fs.cat_file("orders/seven.csv") == b"seven\n7\n"


def test_polars(lake: Lake, fs: LakeFileSystem) -> None:
    frame = pl.DataFrame({"id": [1, 2]})
    with fs.open("orders@main/a.parquet", "wb") as file:
        frame.write_parquet(file)
    with fs.open("orders@main/a.parquet") as file:
        assert pl.read_parquet(file).equals(frame)
    scanned = pl.scan_pyarrow_dataset(ds.dataset("orders@main/a.parquet", filesystem=fs))
    assert scanned.collect().equals(frame)
