"""Structs go by the names of their fields, at every level and for every reader."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyarrow import orc

import trunkline as tl
from tests.tables.lakes import entries
from trunkline.errors import Precondition, TrunklineError

MOMENT = pa.timestamp("us", "UTC")
# Types of the table, and what older files may have in their place.
LEAVES: dict[pa.DataType, list[pa.DataType]] = {
    pa.int64(): [pa.int64(), pa.int32(), pa.int8(), pa.null()],
    pa.float64(): [pa.float64(), pa.float32(), pa.int32(), pa.null()],
    pa.string(): [pa.string(), pa.large_string(), pa.null()],
    pa.decimal128(12, 3): [pa.decimal128(12, 3), pa.decimal128(5, 2)],
    MOMENT: [MOMENT, pa.timestamp("ns", "UTC"), pa.timestamp("ms", "UTC")],
    pa.timestamp("us"): [pa.timestamp("us"), pa.timestamp("ns")],
}
VALUES: dict[str, list[Any]] = {
    "int": [0, -1, 127],
    "float": [0.5, -2.0],
    "halffloat": [0.5],
    "double": [0.5, -2.0],
    "string": ["", "a", "B\n"],
    "large_string": ["", "z"],
    "decimal": [Decimal("1.50"), Decimal("-9.99")],
    "timestamp": [datetime(2026, 1, 1, 0, 0, 0, 123000), datetime(1999, 12, 31)],
}
NAMES = ["a", "B", "user-id", "first name", "2024", "grün", "a`b", "select", "x.y"]


@st.composite
def tables(draw: st.DrawFn, depth: int = 3) -> pa.DataType:
    kind = draw(st.sampled_from(["leaf", "struct", "struct", "list", "map"])) if depth else "leaf"
    if kind == "struct" or depth == 3:
        names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True))
        return pa.struct([(name, draw(tables(depth - 1))) for name in names])
    if kind == "list":
        return pa.list_(draw(tables(depth - 1)))
    if kind == "map":
        return pa.map_(pa.string(), draw(tables(depth - 1)))
    return draw(st.sampled_from(list(LEAVES)))


@st.composite
def files(draw: st.DrawFn, wanted: pa.DataType) -> pa.DataType:
    """What another file may have: other orders, spellings and types of fields, and fewer."""
    if pa.types.is_struct(wanted):
        kept = draw(st.permutations(list(wanted)))
        kept = kept[: draw(st.integers(1, len(kept)))]
        return pa.struct(
            [
                (draw(st.sampled_from([one.name, one.name.upper()])), draw(files(one.type)))
                for one in kept
            ]
        )
    if pa.types.is_map(wanted):
        return pa.map_(pa.string(), draw(files(wanted.item_type)))
    if pa.types.is_list(wanted):
        return pa.list_(draw(files(wanted.value_type)))
    return draw(st.sampled_from(LEAVES[wanted]))


def values(own: pa.DataType) -> st.SearchStrategy[Any]:
    if pa.types.is_null(own):
        return st.none()
    if pa.types.is_struct(own):
        inner: Any = st.fixed_dictionaries({one.name: values(one.type) for one in own})
    elif pa.types.is_map(own):
        pairs = st.tuples(st.sampled_from("kl"), values(own.item_type))
        inner = st.lists(pairs, max_size=2, unique_by=lambda pair: pair[0])
    elif pa.types.is_list(own):
        inner = st.lists(values(own.value_type), max_size=2)
    else:
        found = VALUES[next(name for name in VALUES if str(own).startswith(name))]
        inner = st.sampled_from(found)
        if own == pa.decimal128(12, 3):
            inner = st.sampled_from([Decimal("123456789.125")])
        if pa.types.is_timestamp(own) and own.tz:
            inner = inner.map(lambda one: one.replace(tzinfo=UTC))
    return st.one_of(st.none(), inner, inner)


def expected(value: Any, wanted: pa.DataType) -> Any:
    """The value as the table has it: fields by name, those that it lacks are null."""
    if value is None:
        return None
    if pa.types.is_struct(wanted):
        has = {name.casefold(): one for name, one in value.items()}
        return {
            one.name.casefold(): expected(has.get(one.name.casefold()), one.type) for one in wanted
        }
    if pa.types.is_map(wanted):
        return [(key, expected(one, wanted.item_type)) for key, one in value]
    if pa.types.is_list(wanted):
        return [expected(one, wanted.value_type) for one in value]
    return value


@st.composite
def columns(draw: st.DrawFn) -> tuple[pa.DataType, list[tuple[pa.DataType, list[Any]]]]:
    """A column of a table, and what it is and holds in each of four files."""
    wanted = draw(tables())
    held = []
    for number in range(4):
        own = draw(files(wanted)) if number else wanted
        held.append((own, draw(st.lists(values(own), min_size=3, max_size=3))))
    return wanted, held


def rows(table: pa.Table, wanted: dict[str, pa.DataType]) -> list[Any]:
    found = sorted(table.to_pylist(), key=lambda row: row["id"])
    return [[expected(row[name], type_) for name, type_ in wanted.items()] for row in found]


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
@given(st.lists(columns(), min_size=10, max_size=10))
@settings(
    max_examples=2,
    phases=[Phase.generate],
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
def test_files_of_other_structs_are_read_by_name_by_all_readers(tmp_path_factory, held):
    folder = tmp_path_factory.mktemp("nested")
    wanted = {f"c{place}": type_ for place, (type_, _) in enumerate(held)}
    model = []
    (folder / "in").mkdir()
    for number in range(4):
        arrays = {"id": pa.array(range(3 * number, 3 * number + 3))}
        for place, (_, found) in enumerate(held):
            own, given_ = found[number]
            arrays[f"c{place}"] = pa.array(given_, own)
        pq.write_table(pa.table(arrays), folder / "in" / f"{number}.parquet")
        for row in range(3):
            shown = [
                expected(found[number][1][row], type_) for type_, (_, found) in zip(
                    wanted.values(), held, strict=True
                )
            ]  # fmt: skip
            model.append(shown)
    with tl.init(folder / "lake") as lake:
        lake.create_repo("t")
        lake.put("t@main", folder / "in", recursive=True)
        table = lake.table("t")
        assert rows(table.arrow(), wanted) == model
        assert rows(lake.sql("SELECT * FROM t").arrow(), wanted) == model
        assert rows(table.spark().toArrow(), wanted) == model
        lake.compact("t")
        assert rows(lake.table("t").arrow(), wanted) == model
        assert rows(lake.table("t").spark().toArrow(), wanted) == model


def nested(**fields: Any) -> pa.Table:
    return pa.table({"id": [1], "s": [fields]})


@pytest.mark.parametrize("format_", ["parquet", "orc"])
def test_an_added_field_and_another_order(lake, spark, tmp_path: Path, format_):
    write = pq.write_table if format_ == "parquet" else orc.write_table
    write(nested(a=1, b=2), tmp_path / f"1.{format_}")
    write(nested(b=2, a=1), tmp_path / f"2.{format_}")
    write(nested(A=1, c="x"), tmp_path / f"3.{format_}")
    lake.put("orders", tmp_path, recursive=True)
    wanted = [{"a": 1, "b": 2, "c": None}] * 2 + [{"a": 1, "b": None, "c": "x"}]
    table = lake.table("orders")
    for found in (table.arrow(), lake.sql("SELECT * FROM orders").arrow(), table.spark().toArrow()):
        assert sorted(found["s"].to_pylist(), key=str, reverse=True) == sorted(
            wanted, key=str, reverse=True
        )
    # Nothing but the field that a file lacks is asked for: the struct is there all the same.
    assert table.spark().selectExpr("s.c", "s IS NULL").where("s.c IS NULL").count() == 2


def test_rows_are_added_by_name(lake, spark):
    lake.write_table("orders", nested(a=1, b=2))
    lake.write_table("orders", nested(B=2, a=1))
    lake.write_table("orders", spark.spark.sql("SELECT 1L id, named_struct('b', 2, 'A', 1) s"))
    lake.write_table(
        "orders", spark.spark.sql("SELECT 1L id, named_struct('c', array('x'), 'b', 2L) s")
    )
    lake.write_table("orders", nested(a=7, b=8), mode="append")
    wanted: list[dict[str, Any]] = [{"a": 1, "b": 2, "c": None}] * 3
    wanted += [{"a": None, "b": 2, "c": ["x"]}, {"a": 7, "b": 8, "c": None}]

    def seen() -> None:
        table = lake.table("orders")
        sql = lake.sql("SELECT * FROM orders")
        for found in (table.arrow(), sql.arrow(), table.spark().toArrow()):
            assert sorted(map(str, found["s"].to_pylist())) == sorted(map(str, wanted))

    seen()
    lake.compact("orders")
    assert len(entries(lake, "orders")) == 1
    seen()
    lake.merge_table("orders", pa.table({"id": [2], "s": [{"c": ["y"], "a": 3}]}), on="id")
    wanted.append({"a": 3, "b": None, "c": ["y"]})
    seen()
    lake.delete_from("orders", "struct_extract(s, 'a') = 7")
    wanted.pop(4)
    seen()


def test_a_file_by_hand_in_a_recorded_table(lake, spark, tmp_path):
    """It lacks a column and a field, and comes first: the other files keep theirs."""
    lake.write_table("orders", pa.table({"id": [2], "n": [5], "s": [{"a": 1, "b": 2}]}))
    pq.write_table(pa.table({"id": [1], "s": [{"b": 4}]}), tmp_path / "0.parquet")
    lake.put("orders", tmp_path, recursive=True)
    wanted = [
        {"id": 1, "n": None, "s": {"a": None, "b": 4}},
        {"id": 2, "n": 5, "s": {"a": 1, "b": 2}},
    ]
    table = lake.table("orders")
    for found in (table.arrow(), lake.sql("SELECT * FROM orders").arrow(), table.spark().toArrow()):
        assert sorted(found.to_pylist(), key=lambda row: row["id"]) == wanted


def test_a_file_whose_fields_do_not_fit_is_refused(lake, tmp_path):
    lake.write_table("orders", nested(a=1))
    pq.write_table(nested(a="x"), tmp_path / "0.parquet")
    lake.put("orders", tmp_path, recursive=True)
    with pytest.raises(Precondition, match=r'its column "s" is struct<a:string>'):
        lake.table("orders").arrow()


def test_foreign_files_with_values_that_readers_see_differently_are_refused(lake, spark, tmp_path):
    for name, value, said in [
        ("v", "parse_json('{\"a\":1}')", 'Column "x" of /v.parquet has the type variant'),
        ("g", "array(st_geomfromwkb(X'0101000000000000000000F03F0000000000000040'))", "geometry"),
        ("t", "named_struct('a', 1, 'A', 2)", "the fields a and A, which are the same to Spark"),
    ]:
        spark.spark.sql(f"SELECT 1 AS id, {value} AS x").coalesce(1).write.parquet(
            str(tmp_path / name)
        )
        (file,) = (tmp_path / name).glob("*.parquet")
        lake.create_repo(name)
        lake.put(f"{name}@main:/{name}.parquet", file)
        with pytest.raises(TrunklineError, match=said):
            lake.table(name).arrow()


def test_types_that_older_lakes_recorded_without_quotes_are_read(lake, spark):
    lake.write_table("orders", pa.table({"id": [1], "s": [{"user-id": 1, "2024": 2}]}))
    text = lake.read("orders@main:/_table.json").decode()
    assert "struct<`user-id`:bigint,`2024`:bigint>" in text
    with lake.commit("orders@main") as commit:
        commit.put("/_table.json", text.replace("`", "").encode())
    table = lake.table("orders")
    for found in (table.arrow(), lake.sql("SELECT * FROM orders").arrow(), table.spark().toArrow()):
        assert found["s"].to_pylist() == [{"user-id": 1, "2024": 2}]
    text = text.replace("struct<`user-id`:bigint,`2024`:bigint>", "vector")
    with lake.commit("orders@main") as commit:
        commit.put("/_table.json", text.encode())
    with pytest.raises(TrunklineError, match='Column "s" of orders@main has the type vector'):
        lake.table("orders").arrow()
    lake.write_table("orders", nested(a=1), mode="overwrite")
    assert lake.table("orders").arrow()["s"].to_pylist() == [{"a": 1}]
