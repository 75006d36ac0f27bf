"""Rows merged, updated and deleted: only files that hold them are written anew."""

import math
from datetime import date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from tests.tables.lakes import entries, rows, spec
from tests.tables.test_writing import started
from trunkline.errors import Precondition, SchemaClash, Usage
from trunkline.model.shape import as_json


@pytest.fixture
def filled(lake):
    """Ids 0 to 29 in three files, by day."""
    for start in (0, 10, 20):
        days = [date(2026, 1, 1 + start // 10)] * 10
        ids = range(start, start + 10)
        lake.write_table(
            "orders", pa.table({"id": ids, "day": days, "n": [1.0] * 10}), partition_by="day"
        )
    return lake


def ids(lake):
    return [row["id"] for row in rows(lake, "orders")]


def test_delete_rewrites_only_files_with_such_rows(filled):
    before = {entry.path for entry in entries(filled, "orders")}
    done = filled.delete_from("orders", "id = 15")
    assert (done.deleted, done.updated, done.inserted, done.files) == (1, 0, 0, 1)
    assert len(before & {entry.path for entry in entries(filled, "orders")}) == 2
    assert ids(filled) == [i for i in range(30) if i != 15]
    assert as_json(done)["deleted"] == 1


def test_a_file_without_rows_left_goes(filled):
    done = filled.delete_from("orders", "day >= DATE '2026-01-02'")
    assert (done.deleted, done.files) == (20, 2)
    assert len(entries(filled, "orders")) == 1
    filled.delete_from("orders", "true")
    assert rows(filled, "orders") == []
    assert filled.write_table("orders", [{"id": 1}])


def test_nothing_to_do_is_no_commit(filled):
    head = next(iter(filled.log("orders"))).id
    assert filled.delete_from("orders", "id > 100").commit is None
    assert filled.delete_from("orders", "id = NULL").commit is None
    assert filled.update_table("orders", {"n": "1"}, "id = 3").commit is None
    assert filled.merge_table("orders", [{"id": 3, "n": 1.0}], on="id").commit is None
    assert next(iter(filled.log("orders"))).id == head


def test_update_changes_rows_in_place(filled):
    done = filled.update_table("orders", {"n": "n + id"}, "id BETWEEN 9 AND 10")
    assert (done.updated, done.files) == (2, 2)
    assert {r["id"]: r["n"] for r in rows(filled, "orders") if r["n"] != 1} == {9: 10.0, 10: 11.0}


def test_a_partition_column_that_changes_moves_the_row(filled):
    filled.update_table("orders", {"day": "day + 5"}, "id = 0")
    (place,) = [e.path for e in entries(filled, "orders") if e.rows == 1]
    assert place.startswith("/day=2026-01-06/")
    assert ids(filled) == list(range(30))


@pytest.mark.parametrize(
    "where",
    [
        "id IN (SELECT 1)",
        "1 = 1; DROP TABLE x",
        "random() < 0.5",
        "read_text('/etc/passwd') = ''",
        "DELETE FROM x",
        "SELECT 1",
        "idd = 1",
        "id +",
        "id = 'x'",
        "sum(id) > 1",
        "count(*) > 1",
        "",
    ],
)
def test_a_condition_is_a_plain_expression(filled, where):
    with pytest.raises(Usage):
        filled.delete_from("orders", where)


def test_a_comment_in_a_condition_ends_with_it(filled):
    assert filled.delete_from("orders", "id = 1 -- the first").deleted == 1


def test_an_update_says_what_is_wrong(filled):
    with pytest.raises(Usage, match='has no column "nn". Did you mean "n"'):
        filled.update_table("orders", {"nn": "1"})
    with pytest.raises(Usage, match="Could not convert"):
        filled.update_table("orders", {"n": "'many'"})
    with pytest.raises(Usage, match="no column to update"):
        filled.update_table("orders", {})


def test_merge_updates_inserts_and_deletes(filled):
    source = [
        {"id": 5, "n": 7.0, "op": "U"},
        {"id": 6, "n": None, "op": "D"},
        {"id": 77, "n": 7.0, "op": "I"},
        {"id": 78, "n": 7.0, "op": "D"},
    ]
    done = filled.merge_table("orders", source, on=["ID"], delete_when="op = 'D'")
    assert (done.inserted, done.updated, done.deleted, done.files) == (1, 1, 1, 1)
    found = {row["id"]: row for row in rows(filled, "orders")}
    assert 6 not in found and 78 not in found
    assert found[5] == {"id": 5, "day": date(2026, 1, 1), "n": 7.0}
    assert found[77] == {"id": 77, "day": None, "n": 7.0}
    assert spec(filled, "orders").schema.names == ("id", "day", "n")


def test_merge_without_insert_and_with_few_columns(filled):
    source = [{"id": 5, "n": 7.0, "day": date(2026, 3, 3)}, {"id": 99, "n": 1.0, "day": None}]
    done = filled.merge_table("orders", source, on="id", update=["n"], insert=False)
    assert (done.inserted, done.updated) == (0, 1)
    assert {r["day"] for r in rows(filled, "orders") if r["id"] == 5} == {date(2026, 1, 1)}


def test_merge_makes_the_table_and_grows_it(lake):
    assert lake.merge_table("orders", [{"id": 1}], on="id").inserted == 1
    done = lake.merge_table("orders", [{"id": 1, "x": "new"}, {"id": None, "x": "a"}], on="id")
    assert (done.inserted, done.updated) == (1, 1)
    # A null matches nothing, not even another null.
    assert lake.merge_table("orders", [{"id": None, "x": "b"}], on="id").inserted == 1
    assert len(rows(lake, "orders")) == 3
    with pytest.raises(SchemaClash):
        lake.merge_table("orders", [{"id": "one"}], on="id")


def test_zeros_keep_the_sign_that_they_are_given(lake):
    """0.0 and -0.0 are one key, and two values."""
    inner = pa.struct([("d", pa.float64())])

    def table(key, value):
        nested = pa.array([{"d": value}], inner)
        return pa.table({"k": [key], "v": [value], "s": nested})

    def signs():
        (row,) = lake.table("orders@main").arrow().to_pylist()
        return [math.copysign(1, one) for one in (row["k"], row["v"], row["s"]["d"])]

    lake.write_table("orders", table(0.0, 0.0))
    assert lake.merge_table("orders", table(-0.0, 0.0), on=["k"]).updated == 1
    assert signs() == [-1, 1, 1]
    assert lake.merge_table("orders", table(0.0, -0.0), on=["k"]).updated == 1
    assert signs() == [1, -1, -1]
    assert lake.merge_table("orders", table(0.0, -0.0), on=["k"]).updated == 0
    assert lake.update_table("orders", {"v": "0.0"}).updated == 1
    assert signs() == [1, 1, -1]


def test_merge_refuses_a_key_twice_and_one_that_is_not_there(filled):
    with pytest.raises(Precondition, match="the key id = 4 more than once"):
        filled.merge_table("orders", [{"id": 4, "n": 1.0}, {"id": 4, "n": 2.0}], on="id")
    with pytest.raises(Usage, match='has no column "key"'):
        filled.merge_table("orders", [{"id": 4}], on="key")
    with pytest.raises(Usage, match="needs a key"):
        filled.merge_table("orders", [{"id": 4}], on=[])


@pytest.mark.parametrize(
    "values",
    [
        ["a", "bb", "é"],
        [date(2026, 1, 1), date(2026, 1, 2), date(1969, 1, 1)],
        [datetime(2026, 1, 1, 3, 4, 5, 6), datetime(1969, 1, 1), datetime(2030, 1, 1)],
        [1.5, 2.5, -0.25],
        pa.array([1, 2, 3], pa.timestamp("us", "UTC")).to_pylist(),
        pa.array(["1.50", "2.25", "-7.00"]).cast(pa.decimal128(10, 2)).to_pylist(),
        [True, False, None],
    ],
    ids=lambda values: type(values[0]).__name__,
)
def test_keys_of_every_type(lake, values):
    for value in values:
        lake.write_table("orders", [{"k": value, "n": 0}])
    done = lake.merge_table("orders", [{"k": values[1], "n": 1}], on="k")
    assert (done.updated, done.inserted, done.files) == (1, 0, 1)
    assert [row["k"] for row in rows(lake, "orders") if row["n"]] == [values[1]]


def test_two_columns_as_key(lake):
    lake.write_table("orders", [{"a": 1, "b": "x", "n": 0}, {"a": 1, "b": "y", "n": 0}])
    done = lake.merge_table("orders", [{"a": 1, "b": "y", "n": 5}], on=["a", "b"])
    assert (done.updated, done.inserted) == (1, 0)


def test_csv_is_refused(lake):
    with lake.commit("orders") as commit:
        commit.put("/a.csv", b"id,n\n1,2\n")
    with pytest.raises(Precondition, match="csv files") as caught:
        lake.delete_from("orders", "id = 1")
    assert "write_table" in caught.value.hint
    with pytest.raises(Precondition, match="csv files"):
        lake.merge_table("orders", [{"id": 1}], on="id")


def test_a_merge_is_done_again_on_rows_that_came_meanwhile(filled, monkeypatch):
    from trunkline.tables.changing import merging

    real = merging._Merge.into
    calls = []

    def slow(self, transaction):
        done = real(self, transaction)
        calls.append(1)
        if len(calls) == 1:
            filled.write_table("orders", [{"id": 50, "n": 0.0}])
        return done

    monkeypatch.setattr(merging._Merge, "into", slow)
    done = filled.merge_table("orders", [{"id": 50, "n": 9.0}], on="id")
    assert (len(calls), done.updated, done.inserted) == (2, 1, 0)
    assert [row["n"] for row in rows(filled, "orders") if row["id"] == 50] == [9.0]


def test_a_delete_bears_an_append(filled):
    slow = started(filled, [{"id": 40, "n": 2.0}])
    filled.delete_from("orders", "id < 5")
    slow.__exit__(None, None, None)
    assert ids(filled) == [*range(5, 30), 40]


BIG = Decimal("12345678901234567.89")
NASTY = {
    "f": pa.array([0.1, None], pa.float32()),
    "x": pa.array([0.1, 0.3]),
    "z": pa.array([float("nan"), 1.0]),
    "m": pa.array([BIG, BIG], pa.decimal128(20, 2)),
    "big": pa.array([2**53 + 1, 2**53 + 1]),
    "day": pa.array([date(1, 1, 1), date(9999, 12, 31)]),
    "t": pa.array([datetime(1, 1, 1), datetime(9999, 12, 31)], pa.timestamp("us")),
    "s": pa.array(["\uffee", "\U0001f600"]),
    "p": pa.array([{"n": 1}, {"n": 2}]),
    "n": pa.array([7, 7]),
}


@pytest.mark.parametrize(
    "condition, matching",
    [
        ("f = 0.1", 1), ("f >= 0.1", 1), ("f <= 0.1", 1), ("f IN (0.1)", 1), ("f = 1e-1", 0),
        ("x = 0.1", 1), ("x >= 0.3", 1), ("x BETWEEN 0.1 AND 0.3", 2), ("x IN (0.3, 9)", 1),
        ("z = 'NaN'", 1), ("z > 1e308", 1), ("m = 12345678901234567.89", 2), ("f IS NULL", 1),
        ("m = '12345678901234567.89'", 2), ("m > 12345678901234567", 2), ("m = 1.5", 0),
        ("big = 9007199254740993", 2), ("big = 9007199254740992", 0),
        ("big > 9007199254740992.5", 2),
        ("day = DATE '0001-01-01'", 1), ("day = '9999-12-31'", 1),
        ("day < TIMESTAMP '0001-01-01 00:00:01'", 1), ("t = '9999-12-31'", 1),
        ("t < TIMESTAMP '1500-01-01'", 1), ("s > '\uffef'", 1), ("s = '\uffee'", 1),
        ("p.n = 2", 1), ("p.n = 7", 0), ("n = 7 AND p.n = 1", 1), ("n = '7'", 2),
    ],
)  # fmt: skip
def test_what_a_condition_finds_is_deleted(lake, condition, matching):
    """An erasure that does not erase is the worst that skipping could do."""
    lake.write_table("orders", pa.table(NASTY))
    lake.write_table("orders", pa.table({name: values[:0] for name, values in NASTY.items()}))
    found = lake.sql(f"SELECT count(*) FROM orders WHERE {condition}").rows()
    assert found == [(matching,)]
    assert lake.update_table("orders", {"n": "0"}, condition).updated == matching
    lake.update_table("orders", {"n": "7"})
    assert lake.delete_from("orders", condition).deleted == matching
    assert lake.sql(f"SELECT count(*) FROM orders WHERE {condition}").rows() == [(0,)]
    assert lake.table("orders").arrow().num_rows == 2 - matching


@pytest.mark.parametrize(
    "where, matching",
    [
        (("x", "=", 0.1), 1), (("x", ">=", Decimal("0.3")), 1), (("f", "=", 0.1), 1),
        (("m", "=", float(BIG)), 0), (("m", "=", BIG), 2), (("m", "=", str(BIG)), 2),
        (("m", ">", 12345678901234567), 2), (("m", "<", 12345678901234567.0), 2),
        (("big", "=", 2**53 + 1), 2), (("big", "=", float(2**53)), 0), (("big", ">", 1.5), 2),
        (("z", "=", float("nan")), 1), (("z", ">", 1), 1), (("z", "!=", 1.0), 1),
        (("day", "=", datetime(9999, 12, 31)), 1), (("day", "<", datetime(1, 1, 1, 1)), 1),
        (("day", "<", "+10000-01-01"), 2), (("t", "=", "9999-12-31"), 1),
        (("t", ">=", date(9999, 12, 31)), 1), (("t", "in", [datetime(1, 1, 1), None]), 1),
        (("s", ">", "\uffef"), 1), (("f", "!=", 7), 1),
    ],
)  # fmt: skip
def test_conditions_without_sql_find_all_rows(lake, where, matching):
    lake.write_table("orders", pa.table(NASTY))
    assert lake.table("orders").arrow(where=[where]).num_rows == matching


@pytest.mark.parametrize(
    "where",
    [
        "id = $1x$ OR (SELECT count(*) FROM duckdb_views()) > 0 --$1x$",
        "read_text('/etc/passwd') IS NULL",
        "current_setting('allowed_paths') IS NULL",
        "NOT " * 5_000 + "id = 1",
        "id" + ".id" * 5_000 + " = 1",
        "id IN (FROM orders)",
        "id = 1) OR (true",
    ],
)
def test_a_condition_is_one_as_duckdb_reads_it(filled, where):
    with pytest.raises(Usage):
        filled.delete_from("orders", where)
    assert len(ids(filled)) == 30
