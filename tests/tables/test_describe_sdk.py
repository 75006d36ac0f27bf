"""Tables through the interface: as what people work with, and how they are recorded."""

from datetime import date

import pandas
import polars
import pyarrow as pa
import pytest

from tests.tables.reading import put
from trunkline.errors import Precondition, Usage
from trunkline.model.shape import as_json
from trunkline.tables.writing.setting import parse_schema


@pytest.fixture
def orders(lake):
    put(lake, {"/day=2026-01-01/a.csv": "id,name\n1,Ann\n2,Bob\n"})
    return lake.table("orders")


def test_without_spark(orders):
    assert orders.arrow().num_rows == 2
    assert isinstance(orders.pandas(), pandas.DataFrame)
    assert orders.pandas()["name"].tolist() == ["Ann", "Bob"]
    assert orders.polars().shape == (2, 3)
    assert orders.duckdb().filter("id = 2").project("name").fetchall() == [("Bob",)]
    assert polars.DataFrame(orders)["id"].to_list() == [1, 2]
    assert pa.table(orders).num_rows == 2
    assert orders.peek(1).to_pylist()[0]["name"] == "Ann"


def test_whole_numbers_beside_null_keep_their_digits_in_pandas(lake):
    large = 2**53 + 1
    lake.create_repo("ids")
    values = {
        "id": pa.array([large, None], pa.int64()),
        "small": pa.array([None, 7], pa.int8()),
        "whole": pa.array([large, 2], pa.int64()),
        "many": pa.array([[large, None], None], pa.list_(pa.int64())),
        "in": pa.array([{"n": large}, {"n": None}]),
    }
    lake.write_table("ids@main", pa.table(values))
    found = lake.table("ids").pandas()
    assert [str(found[name].dtype) for name in ("id", "small", "whole")] == [
        "Int64",
        "Int8",
        "int64",
    ]
    assert found["id"][0] == large
    assert found["id"].isna().tolist() == [False, True]
    assert found["many"][0].tolist() == [large, None]
    assert found["in"].tolist() == [{"n": large}, {"n": None}]


def test_it_shows_itself_without_spark(orders, monkeypatch):
    monkeypatch.setattr(type(orders), "spark", lambda self: pytest.fail("Spark was started"))
    assert repr(orders) == "LakeTable(orders@main: id bigint, name string, day date)"
    assert "<td>name</td>" in orders._repr_html_()
    assert not hasattr(orders, "_repr_latex_")
    assert {"arrow", "spark", "name"} <= set(dir(orders))
    assert as_json(orders.info)["rows"] == 2


def test_listing(lake, orders):
    put(lake, {"/items/a.csv": "n\n1\n", "/bad/a.parquet": b"nothing"})
    found = lake.tables("orders")
    assert [(one.path, one.rows, bool(one.error)) for one in found] == [
        ("/", 2, False),
        ("/bad", None, True),
        ("/items", None, False),
    ]
    assert [one.path for one in lake.tables("orders@main:/items")] == ["/items"]
    assert [one.name for one in lake.tables()] == [one.name for one in found]
    lake.create_repo("empty")
    assert lake.tables("empty") == []


def test_set_options(lake):
    put(lake, {"/a.csv": "id;name\n1;Ann\n"})
    lake.set_table("orders", options={"Delimiter": ",", "HEADER": False})
    assert lake.table("orders").arrow().to_pylist() == [{"_c0": "id;name"}, {"_c0": "1;Ann"}]
    lake.set_table("orders", options={"sep": ";"}, key="id")
    found = lake.describe_table("orders")
    assert (found.options, found.key, found.recorded) == ({"sep": ";"}, ("id",), True)
    assert lake.table("orders").arrow().to_pylist() == [{"id": 1, "name": "Ann"}]


def test_set_an_encoding(lake):
    put(lake, {"/a.csv": "id,name\n1,André\n".encode("latin-1")})
    lake.set_table("orders", options={"encoding": "ISO-8859-1"})
    assert lake.table("orders").arrow().to_pylist() == [{"id": 1, "name": "André"}]
    lake.set_table("orders", options={"encoding": "ISO-8859-1", "dateFormat": "dd.MM.yyyy"})
    assert lake.describe_table("orders").rows == 1


def test_days_as_somebody_writes_them(lake):
    put(lake, {"/a.csv": "id,day\n1,31.12.2025\n"})
    lake.set_table("orders", options={"dateFormat": "dd.MM.yyyy"}, schema="id int, day date")
    assert lake.table("orders").arrow().to_pylist() == [{"id": 1, "day": date(2025, 12, 31)}]


def test_options_that_only_spark_understands(lake):
    put(lake, {"/a.csv": "id\n1\n"})
    with pytest.raises(Precondition, match="nanValue of orders.* is understood by Spark only"):
        lake.set_table("orders", options={"nanValue": "#"})


def test_set_a_schema(lake, orders):
    lake.set_table("orders", schema={"id": "INT", "day": "string"})
    assert lake.table("orders").arrow().to_pylist() == [
        {"id": 1, "day": "2026-01-01"},
        {"id": 2, "day": "2026-01-01"},
    ]


def test_set_what_is_in_the_files_too(lake):
    put(lake, {"/day=1/a.csv": "id,day\n1,7\n"})
    lake.set_table("orders", schema="id bigint, day bigint")
    assert lake.table("orders").arrow().to_pylist() == [{"id": 1, "day": 7}]


def test_set_before_there_is_data(lake):
    with pytest.raises(Usage, match="its format must be told"):
        lake.set_table("orders", schema="id int")
    with pytest.raises(Precondition, match="its columns must be told"):
        lake.set_table("orders", format="csv")
    lake.set_table("orders", format="csv", schema="id int, name string")
    assert lake.table("orders").arrow().num_rows == 0
    put(lake, {"/a.csv": "name,id\nAnn,1\n"})
    assert lake.table("orders").arrow().to_pylist() == [{"id": 1, "name": "Ann"}]


@pytest.mark.parametrize(
    "given, error, message",
    [
        ({"format": "xlsx"}, Usage, 'no format "xlsx"'),
        ({"format": "json"}, Precondition, "recorded as json, but /day=2026-01-01/a.csv is csv"),
        ({"options": {"seperator": ";"}}, Usage, 'no option "seperator"'),
        ({"schema": "id"}, Usage, '"id" is not a column'),
        ({"schema": "id blob"}, Usage, 'Column "id"'),
        ({"schema": "id int, ID int"}, Precondition, "the same to Spark"),
        ({"schema": "id int, name int"}, Precondition, r"/day=2026-01-01/a\.csv"),
        ({"schema": "other int"}, Precondition, "none of the columns"),
        ({"key": ["nme"]}, Usage, 'no column "nme".*name'),
    ],
)
def test_set_refused_changes_nothing(lake, orders, given, error, message):
    before = lake.head("orders@main") if hasattr(lake, "head") else lake.branches("orders")
    with pytest.raises(error, match=message):
        lake.set_table("orders", **given)
    assert (
        lake.head("orders@main") if hasattr(lake, "head") else lake.branches("orders")
    ) == before


def test_schemas_as_text():
    found = parse_schema(
        "id BIGINT NOT NULL, `a b` struct<x:int,y:decimal(3,1)>, m map<string,int>"
    )
    assert list(map(str, found)) == [
        "id bigint not null", "a b struct<x:int,y:decimal(3,1)>", "m map<string,int>",
    ]  # fmt: skip


def test_a_table_is_a_spark_dataframe(lake, orders, spark):
    put(lake, {"/day=2026-01-02/b.csv": "name,id\nEve,3\n"})
    table = lake.table("orders")
    assert table.filter("id > 1").count() == 2
    assert table.select("day").distinct().count() == 2
    assert [row.name for row in table.orderBy("id").collect()] == ["Ann", "Bob", "Eve"]
    assert table.schema["id"].dataType.simpleString() == "bigint"
    assert table.spark().join(table, "id").count() == 3
    assert table.filter(table["id"] == 3).first().name == "Eve"
