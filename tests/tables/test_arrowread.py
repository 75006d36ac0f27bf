"""Rows of tables without Spark."""

from datetime import date, datetime
from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest

from tests.sdk.conftest import damage, data_objects
from tests.tables.reading import described, parquet, put, rows, table_of
from trunkline.errors import NotFound, Precondition, TrunklineError, Usage
from trunkline.model.entries import Entry
from trunkline.tables.changing.pruning import may_hold
from trunkline.tables.reading.arrowread import first_rows, record_batches
from trunkline.tables.reading.conditions import may_match, predicates


@pytest.fixture
def days(lake):
    files = {
        f"/day=2026-01-0{n}/a.parquet": parquet(id=[10 * n, 10 * n + 1], s=[f"s{n}", None])
        for n in (1, 2, 3)
    }
    return table_of(lake, files)


@pytest.mark.parametrize(
    "where, ids, opened",
    [
        ([("day", "=", "2026-01-02")], [20, 21], 1),
        ([("day", ">=", date(2026, 1, 2)), ("id", "<", 30)], [20, 21], 1),
        ([("id", "in", [11, 30])], [11, 30], 2),
        ([("s", "=", "s3")], [30], 1),
        ([("s", "!=", "s3")], [10, 20], 2),
        ([("id", ">", 99)], [], 0),
        ([("ID", "<=", Decimal("10.5"))], [10], 1),
    ],
)
def test_conditions(lake, days, where, ids, opened):
    assert [row["id"] for row in rows(lake, days, columns=["id"], where=where)] == ids
    (scan,) = days.scans
    ready = predicates(where, days.schema)
    assert sum(may_match(ready, file, scan) for file in scan.files) == opened


def test_columns_in_the_order_they_are_asked_for(lake, days):
    reader = record_batches(lake._core, days, columns=["DAY", "id"])
    assert reader.schema.names == ["day", "id"]
    with pytest.raises(NotFound, match='no column "dya".*day'):
        record_batches(lake._core, days, columns=["dya"])
    with pytest.raises(NotFound):
        record_batches(lake._core, days, where=[("x", "=", 1)])


def test_conditions_that_make_no_sense(lake, days):
    with pytest.raises(Usage, match="is not a value"):
        rows(lake, days, where=[("id", "=", "word")])
    with pytest.raises(Usage, match="no comparison"):
        rows(lake, days, where=[("id", "like", 1)])


def test_first_rows(lake, days):
    assert first_rows(lake._core, days, 3, ["id"]).to_pylist() == [{"id": n} for n in (10, 11, 20)]
    assert first_rows(lake._core, days, 0).num_rows == 0
    assert first_rows(lake._core, days, 99).num_rows == 6


def test_times_and_nested_values(lake):
    at = datetime(2026, 1, 1, 12, 0, 0, 123456)
    table = table_of(
        lake,
        {
            "/a.parquet": parquet(
                ns=pa.array([at], pa.timestamp("ns")),
                list=[[1, None]],
                money=[Decimal("1.50")],
                code=pa.array(["x"]).dictionary_encode(),
            )
        },
    )
    assert rows(lake, table) == [
        {"ns": at, "list": [1, None], "money": Decimal("1.50"), "code": "x"}
    ]


def test_damaged_pages_name_the_file(lake):
    data = bytearray(parquet(id=list(range(1000))))
    data[8:200] = b"x" * 192
    put(lake, {"/k=1/a.parquet": bytes(data)})
    with pytest.raises(Precondition, match="/k=1/a.parquet of orders@main"):
        rows(lake, described(lake))


def test_lost_objects_name_the_file(lake):
    table = table_of(lake, {"/a.parquet": parquet(id=[1])})
    for path in data_objects(lake):
        damage(path, b"")
    with pytest.raises(TrunklineError, match=r"/a\.parquet"):
        rows(lake, table)


def test_a_text_that_does_not_fit_its_recorded_type(lake):
    put(lake, {"/a.csv": "id\n1\n"})
    lake.set_table("orders", schema="id int")
    put(lake, {"/b.csv": "id\nword\n"})
    with pytest.raises(Precondition, match=r"/b\.csv"):
        rows(lake, described(lake))


@pytest.mark.parametrize(
    "condition, may",
    [
        ("id > 21", False), ("id >= 21", True), ("id > 20.5", True), ("21 < id", False),
        ("id between 22 and 30", False), ("id = 20 and s = 'x'", False),
        ("id = 9 or s = 's2'", True),
        ("s = 's3'", False), ("lower(s) = 'x'", True), ("id in (99)", False), ("id = -1", False),
        ("id in (99, 20)", True), ("s is null", True), ("id is null", False), ("id <> 20", True),
        ("id between symmetric 30 and 15", True), ("id = 2e1", True), ("id = '20'", True),
    ],
)  # fmt: skip
def test_conditions_in_sql_rule_files_out(days, condition, may):
    entry = Entry("/a.parquet", "", 1, "", stats=days.scans[0].files[1].stats)
    with duckdb.connect() as connection:
        assert bool(may_hold(connection, [entry], condition, days.schema)) is may
