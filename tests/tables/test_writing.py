"""Writing tables: modes, partitions, schemas that grow, and two writers at once."""

import json
import random
from datetime import date, datetime
from decimal import Decimal

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tests.served import home
from tests.tables.lakes import entries, files, rows, spec
from trunkline.errors import BranchMoved, Conflict, Precondition, SchemaClash, Usage
from trunkline.lake.transaction import Transaction
from trunkline.model.refs import Ref
from trunkline.model.tables import WriteMode
from trunkline.tables.writing import arrowwrite
from trunkline.tables.writing.storing import write_rows

ONE = [{"id": 1, "n": 2.5}]


@pytest.mark.parametrize(
    "data",
    [
        ONE,
        {"id": [1], "n": [2.5]},
        pd.DataFrame(ONE),
        pd.DataFrame(ONE).set_index("id"),
        pl.DataFrame(ONE),
        pl.DataFrame(ONE).lazy(),
        pa.Table.from_pylist(ONE),
        pa.RecordBatch.from_pylist(ONE),
        lambda: pa.Table.from_pylist(ONE).to_reader(),  # is read once
        lambda: duckdb.sql("SELECT 1::BIGINT AS id, 2.5::DOUBLE AS n"),
    ],
    ids=lambda data: f"{type(data).__module__}.{type(data).__name__}",
)
def test_rows_of_many_kinds(lake, data):
    # DuckDB complains at the end if one of its relations is still held.
    commit = lake.write_table("orders:/t", data() if callable(data) else data)
    assert lake.log("orders") and commit.message == "Append to /t"
    assert rows(lake, "orders:/t") == ONE
    assert [str(column) for column in spec(lake, "orders:/t").schema] == ["id bigint", "n double"]


def test_what_is_no_table_is_refused(lake):
    for data in (3, "text", [1], [], [{"a": 1}, {"a": "x"}]):
        with pytest.raises(Usage):
            lake.write_table("orders", data)
    with pytest.raises(Usage, match="no mode"):
        lake.write_table("orders", ONE, mode="upsert")
    assert not list(lake.log("orders"))


@pytest.mark.parametrize(
    "columns, words",
    [
        ({"a": [1], "A": [1]}, "one column to Spark"),
        ({"": [1]}, "cannot be the name"),
        ({"a\nb": [1]}, "cannot be the name"),
        ({"__tl_row": [1]}, "reserved"),
        ({}, "no column"),
        ({"t": pa.array([1], pa.time64("us"))}, "which tables cannot hold"),
    ],
)
def test_columns_that_no_engine_reads_back_are_refused(lake, columns, words):
    with pytest.raises(Usage, match=words):
        lake.write_table("orders", pa.table(columns))


def test_append_keeps_what_is_there_even_if_it_is_the_same(lake):
    lake.write_table("orders", ONE)
    lake.write_table("orders", ONE)
    assert rows(lake, "orders") == ONE * 2


def test_overwriting_with_the_same_rows_changes_nothing(lake):
    data = pa.table({"id": range(1000), "day": [date(2026, 1, 1 + i % 3) for i in range(1000)]})
    first = lake.write_table("orders", data, mode="overwrite", partition_by="day")
    chunked = pa.Table.from_batches(data.to_batches(max_chunksize=7))
    second = lake.write_table("orders", chunked, mode="overwrite")
    assert list(lake.changes(second)) == []
    assert (first.files, first.size) == (second.files, second.size)
    assert [e.path.split("/")[1] for e in entries(lake, "orders")] == [
        "day=2026-01-01",
        "day=2026-01-02",
        "day=2026-01-03",
    ]


def test_partition_columns_are_in_folders_alone_and_odd_values_are_escaped(lake):
    data = [{"id": 1, "k": "a/b=c%"}, {"id": 2, "k": None}, {"id": 4, "k": "é"}]
    lake.write_table("orders", data, partition_by=["k"])
    found = files(lake, "orders")
    assert {path.split("/")[1] for path in found} == {
        "k=a%2Fb%3Dc%25",
        "k=__HIVE_DEFAULT_PARTITION__",
        "k=é",
    }
    assert sorted(row["id"] for table in found.values() for row in table.to_pylist()) == [1, 2, 4]
    assert all(table.column_names == ["id"] for table in found.values())
    assert rows(lake, "orders") == data


def test_overwriting_partitions_leaves_the_others(lake):
    lake.write_table("orders", [{"id": 1, "d": "a"}, {"id": 2, "d": "b"}], partition_by="d")
    lake.write_table("orders", [{"id": 3, "d": "b"}], mode="overwrite_partitions")
    assert rows(lake, "orders") == [{"id": 1, "d": "a"}, {"id": 3, "d": "b"}]


def test_without_partitions_none_is_overwritten(lake):
    for _ in range(2):
        with pytest.raises(Precondition, match="no partitions"):
            lake.write_table("orders", ONE, mode="overwrite_partitions")
        lake.write_table("orders", ONE)
    assert rows(lake, "orders") == ONE * 2


def test_other_partitions_are_refused_unless_all_is_overwritten(lake):
    lake.write_table("orders", [{"id": 1, "d": "a"}], partition_by="d")
    with pytest.raises(Precondition, match="partitioned by d, not by id") as caught:
        lake.write_table("orders", [{"id": 1, "d": "a"}], partition_by="id")
    assert "overwrite" in caught.value.hint
    lake.write_table("orders", [{"id": 1, "d": "a"}], partition_by="id", mode="overwrite")
    assert spec(lake, "orders").partition_by == ("id",)
    with pytest.raises(Usage, match='Did you mean "id"'):
        lake.write_table("orders", [{"id": 1}], partition_by="idd", mode="overwrite")
    with pytest.raises(Usage, match="which is array<bigint>"):
        lake.write_table("orders", [{"x": [1], "id": 1}], partition_by="x", mode="overwrite")


def test_schemas_grow(lake):
    lake.write_table("orders", pa.table({"id": pa.array([1], pa.int32()), "gone": ["x"]}))
    lake.write_table("orders", pa.table({"TIP": [0.5], "ID": pa.array([2], pa.int64())}))
    found = spec(lake, "orders")
    assert [str(c) for c in found.schema] == ["id bigint", "gone string", "TIP double"]
    assert found.evolved
    assert rows(lake, "orders") == [
        {"id": 1, "gone": "x", "TIP": None},
        {"id": 2, "gone": None, "TIP": 0.5},
    ]
    with pytest.raises(SchemaClash) as caught:
        lake.write_table("orders", [{"id": "three"}])
    assert "~ id bigint → string" in caught.value.diff
    with pytest.raises(SchemaClash, match="evolve is off"):
        lake.write_table("orders", [{"id": 3, "more": 1}], evolve=False)
    lake.write_table("orders", [{"id": 3}], evolve=False)
    lake.write_table("orders", [{"id": "three"}], mode="overwrite")
    assert not spec(lake, "orders").evolved


def test_whole_numbers_fit_doubles_as_far_as_these_hold_them(lake):
    lake.write_table("orders", ONE)
    lake.write_table("orders", [{"id": 2, "n": 9}], evolve=False)
    assert rows(lake, "orders")[1] == {"id": 2, "n": 9.0}
    with pytest.raises(Usage, match='column "n" do not fit double'):
        lake.write_table("orders", [{"id": 3, "n": 2**53 + 1}])
    assert lake.merge_table("orders", [{"id": 2, "n": 8}], on="id").updated == 1
    with pytest.raises(Usage, match="a double does not hold"):
        lake.merge_table("orders", [{"id": 2, "n": 2**53 + 1}], on="id")


def test_a_column_of_nulls_fits_anything(lake):
    lake.write_table("orders", [{"id": 1, "n": 5}])
    lake.write_table("orders", [{"id": 2, "n": None, "new": None}])
    assert [str(c) for c in spec(lake, "orders").schema] == ["id bigint", "n bigint", "new string"]


def test_what_was_put_as_csv_takes_no_parquet(lake):
    with lake.commit("orders") as commit:
        commit.put("/a.csv", b"id,n\n1,2\n")
    with pytest.raises(Precondition, match="a table of csv files"):
        lake.write_table("orders", ONE)
    lake.write_table("orders", ONE, mode="overwrite")
    assert rows(lake, "orders") == ONE
    assert not [info for info in lake.ls("orders") if info.path == "/a.csv"]


def test_a_folder_of_parquet_is_found_and_then_recorded(lake):
    sink = pa.BufferOutputStream()
    pa.parquet.write_table(pa.table({"id": pa.array([7], pa.int32())}), sink)
    with lake.commit("orders") as commit:
        commit.put("/t/a.parquet", sink.getvalue().to_pybytes())
        commit.put("/u/day=1/a.parquet", sink.getvalue().to_pybytes())
    lake.write_table("orders:/t", [{"id": 8}])
    assert rows(lake, "orders:/t") == [{"id": 7}, {"id": 8}]
    lake.write_table("orders:/u", [{"id": 8, "day": 1}])
    assert rows(lake, "orders:/u") == [{"id": 7, "day": 1}, {"id": 8, "day": 1}]


def test_rows_and_bounds_are_in_the_entry(lake):
    lake.write_table(
        "orders",
        pa.table(
            {
                "i": [3, 1, None],
                "d": [date(2026, 1, 2), date(2026, 1, 1), None],
                "t": [datetime(2026, 1, 1), datetime(1969, 12, 31, 23, 59, 59), None],
                "m": [Decimal("1.50"), Decimal("-2.25"), None],
                "x": [1.5, float("nan"), 2.0],
                "s": ["b", "a", "é"],
                "long": ["a", "b" * 65, "c"],
                "none": pa.nulls(3, pa.int64()),
                "l": [[1], [], None],
                "b": [True, False, None],
            }
        ),
    )
    (entry,) = entries(lake, "orders")
    assert entry.rows == 3
    assert json.loads(entry.stats) == {
        "i": [1, 3, 1],
        "d": ["2026-01-01", "2026-01-02", 1],
        "t": [-1_000_000, 1767225600000000, 1],
        "m": [-2.25, 1.5, 1],
        "x": [None, None, 0],
        "s": ["a", "é", 0],
        "long": ["a", "c", 0],
        "none": [None, None, 3],
        "b": [False, True, 1],
    }
    lake.write_table("orders", [{"s": "a" * 65}], mode="overwrite")
    assert json.loads(entries(lake, "orders")[0].stats) == {"s": ["a" * 64, None, 0]}


def test_a_write_without_rows_records_the_table(lake):
    lake.write_table("orders", pa.table({"id": pa.array([], pa.int64())}))
    assert spec(lake, "orders").schema.names == ("id",)
    assert rows(lake, "orders") == []


def test_large_files_are_cut_and_are_objects_of_their_own(lake, monkeypatch):
    monkeypatch.setattr(arrowwrite, "GROUP_ROWS", 20_000)
    monkeypatch.setattr(arrowwrite, "FILE_SIZE", 1 << 20)
    noise = random.Random(1)
    table = pa.table({"id": range(200_000), "x": [noise.random() for _ in range(200_000)]})
    lake.write_table("orders", table)
    found = entries(lake, "orders")
    assert len(found) > 1
    assert any(entry.offset is None for entry in found)
    assert sum(entry.rows or 0 for entry in found) == 200_000
    assert [row["id"] for row in rows(lake, "orders")] == list(range(200_000))


def test_a_key_makes_a_write_happen_once(lake):
    first = lake.write_table("orders", ONE, key="k")
    second = lake.write_table("orders", ONE, key="k")
    assert first.id == second.id
    assert rows(lake, "orders") == ONE


def started(lake, data, **how):
    """A write that has seen the branch but has not committed."""
    transaction = Transaction(home(lake)._core, "bob")
    transaction.__enter__()
    draft = transaction.draft(Ref(lake._repo("orders"), "main"))
    write_rows(transaction, draft, "/", data, **how)
    return transaction


def test_two_appends_at_once_both_stay(lake):
    lake.write_table("orders", ONE)
    slow = started(lake, [{"id": 2, "n": 1.0}])
    lake.write_table("orders", [{"id": 2, "n": 1.0}])
    slow.__exit__(None, None, None)
    assert [row["id"] for row in rows(lake, "orders")] == [1, 2, 2]


def test_two_appends_that_both_make_the_table(lake):
    slow = started(lake, ONE)
    lake.write_table("orders", [{"id": 2}])
    slow.__exit__(None, None, None)
    assert rows(lake, "orders") == [{"id": 1, "n": 2.5}, {"id": 2, "n": None}]
    assert spec(lake, "orders").evolved


def test_two_appends_that_both_widen_are_united(lake):
    lake.write_table("orders", pa.table({"id": pa.array([1], pa.int32())}))
    slow = started(lake, [{"id": 2, "a": "x"}])
    lake.write_table("orders", pa.table({"id": pa.array([3], pa.int32()), "b": [True]}))
    slow.__exit__(None, None, None)
    assert [str(c) for c in spec(lake, "orders").schema] == ["id bigint", "b boolean", "a string"]
    assert len(rows(lake, "orders")) == 3


def test_two_appends_that_clash(lake):
    lake.write_table("orders", [{"id": 1}])
    slow = started(lake, [{"id": 2, "a": "x"}])
    lake.write_table("orders", [{"id": 3, "a": 5}])
    with pytest.raises(Conflict):
        slow.__exit__(None, None, None)
    assert len(rows(lake, "orders")) == 2


def test_an_overwrite_does_not_take_rows_it_never_saw(lake):
    lake.write_table("orders", ONE)
    slow = started(lake, [{"id": 9}], mode=WriteMode.OVERWRITE)
    lake.write_table("orders", [{"id": 2}])
    with pytest.raises(BranchMoved, match="moved while you worked"):
        slow.__exit__(None, None, None)
    assert len(rows(lake, "orders")) == 2


def test_an_overwrite_bears_changes_elsewhere(lake):
    lake.write_table("orders:/t", ONE)
    slow = started(lake, [{"id": 9}], mode=WriteMode.OVERWRITE)
    lake.write_table("orders:/t", ONE)
    slow.__exit__(None, None, None)
    assert rows(lake, "orders") == [{"id": 9}]
    assert len(rows(lake, "orders:/t")) == 2


def test_partitions_overwritten_at_once(lake):
    lake.write_table("orders", [{"id": 1, "d": "a"}, {"id": 2, "d": "b"}], partition_by="d")
    slow = started(lake, [{"id": 3, "d": "b"}], mode=WriteMode.OVERWRITE_PARTITIONS)
    other = started(lake, [{"id": 5, "d": "b"}], mode=WriteMode.OVERWRITE_PARTITIONS)
    lake.write_table("orders", [{"id": 4, "d": "a"}], mode="overwrite_partitions")
    slow.__exit__(None, None, None)
    assert [row["id"] for row in rows(lake, "orders")] == [3, 4]
    with pytest.raises(BranchMoved):
        other.__exit__(None, None, None)


def test_an_open_commit_is_finished_first(lake):
    lake.start_commit("orders")
    with pytest.raises(Precondition, match="unfinished commit"):
        lake.write_table("orders", ONE)


def test_a_write_that_fails_leaves_nothing(lake):
    def broken():
        yield pa.RecordBatch.from_pylist(ONE)
        raise RuntimeError("the source broke off")

    schema = pa.Table.from_pylist(ONE).schema
    with pytest.raises(RuntimeError, match="broke off"):
        lake.write_table("orders", pa.RecordBatchReader.from_batches(schema, broken()))
    assert not list(lake.log("orders"))
