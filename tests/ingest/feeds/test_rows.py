"""Values into columns: exactly, or set apart. Nothing is lost, and nothing made up."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trunkline.ingests.columns import column, guessed
from trunkline.ingests.ddl import declared_schema
from trunkline.ingests.feeds.base import Columns, CsvText, JsonLines, Records
from trunkline.ingests.rows import RowMaker
from trunkline.model.tables import Column, Schema

FITS = [
    ("bigint", 1, 1),
    ("bigint", 1.0, 1),
    ("tinyint", 127, 127),
    ("double", 1, 1.0),
    ("decimal(10,2)", 1.25, "1.25"),
    ("decimal(10,2)", "7", "7.00"),
    ("string", 5, "5"),
    ("string", {"a": [1]}, '{"a": [1]}'),
    ("boolean", True, True),
    ("binary", "aGk=", b"hi"),
    ("date", "2026-02-28", "2026-02-28"),
    ("timestamp", "2026-01-01T00:00:00Z", "2026-01-01 00:00:00+00:00"),
    ("timestamp", "2026-01-01 02:00:00+02:00", "2026-01-01 00:00:00+00:00"),
    ("timestamp", "2026-01-01T00:00:00", "2026-01-01 00:00:00+00:00"),
    ("timestamp_ntz", "2026-01-01T00:00:00", "2026-01-01 00:00:00"),
    ("array<int>", [1, None], [1, None]),
    ("struct<a:int,b:array<date>>", {"a": 1, "c": 2}, {"a": 1, "b": None}),
    ("map<string,bigint>", {"a": 1}, [("a", 1)]),
]
UNFIT = [
    ("bigint", 1.5),
    ("bigint", True),
    ("bigint", "1"),
    ("bigint", 2**63),
    ("tinyint", 128),
    ("double", "x"),
    ("double", True),
    ("decimal(10,2)", 1.256),
    ("decimal(4,2)", 100),
    ("boolean", 1),
    ("binary", "no base64!"),
    ("date", "2026-02-30"),
    ("timestamp", 1_700_000_000),
    ("timestamp", "yesterday"),
    ("array<int>", "text"),
    ("array<int>", ["x"]),
    ("struct<a:int>", 5),
    ("map<string,int>", [1]),
]


@pytest.mark.parametrize("type_, value, stored", FITS)
def test_values_that_fit(type_: str, value: Any, stored: Any) -> None:
    array, bad = column([None, value], type_)
    assert bad == {} and array[0].as_py() is None
    found = array[1].as_py()
    assert found == stored or str(found) == stored


@pytest.mark.parametrize("type_, value", UNFIT)
def test_values_that_do_not(type_: str, value: Any) -> None:
    array, bad = column([None, value, None], type_)
    assert list(bad) == [1] and array.null_count == 3


@pytest.mark.parametrize(
    "values, type_",
    [
        ([1, None], "bigint"),
        ([1, 1.5], "double"),
        (["2026-01-01"], "string"),
        ([None], None),
        ([{}], None),
        ([[]], None),
        ([{"a": 1, "b": None, "c": []}], "struct<a:bigint>"),
        (["x", 1], "string"),
    ],
)
def test_types_nobody_told(values: list[Any], type_: str | None) -> None:
    assert guessed(values) == type_


_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)
_rows = st.lists(st.dictionaries(st.sampled_from("abAc"), _json, max_size=4) | _json, max_size=8)


@given(st.lists(_rows, max_size=3), st.booleans())
def test_every_row_is_stored_or_set_apart(batches: list[list[Any]], declared: bool) -> None:
    schema = declared_schema("a BIGINT, b STRING NOT NULL") if declared else None
    maker = RowMaker(Schema(), schema)
    for rows in batches:
        lines = [json.dumps(row, allow_nan=False).encode() for row in rows]
        for piece in (JsonLines(lines, ["s"] * len(lines)), Records(rows, "s")):
            made = maker.make(piece)
            stored = made.table.num_rows if made.table is not None else 0
            assert stored + len(made.malformed) == len(rows)
            for column_ in made.schema if made.table is not None else ():
                if not column_.nullable:
                    assert made.table is not None
                    assert made.table.column(column_.name).null_count == 0


@given(st.lists(st.binary(max_size=12).map(lambda b: b.replace(b"\n", b"")), max_size=10))
def test_any_bytes_are_stored_or_set_apart(lines: list[bytes]) -> None:
    lines = [line for line in lines if line.strip()]
    made = RowMaker(Schema(), None).make(JsonLines(lines, ["s"] * len(lines)))
    stored = made.table.num_rows if made.table is not None else 0
    assert stored + len(made.malformed) == len(lines)


def test_two_values_in_a_line_do_not_make_up_for_half_a_one() -> None:
    lines = [b'{"a": 1},0,{"a": 2}', b'{"x": [1', b"2]}"]
    made = RowMaker(Schema(), None).make(JsonLines(lines, ["s"] * 3))
    assert made.table is None and len(made.malformed) == 3


def test_names_are_one_column_whatever_their_case() -> None:
    maker = RowMaker(Schema((Column("id", "bigint"),)), None)
    made = maker.make(Records([{"ID": 1}, {"Id": 2, "iD": 3}], "s"))
    assert made.table is not None and made.table.to_pylist() == [{"id": 1}]
    assert made.malformed[0].reason == '"Id" and "iD" are one column'


def test_tables_that_fit_partly_are_looked_at_row_by_row() -> None:
    maker = RowMaker(Schema((Column("n", "bigint"),)), None)
    made = maker.make(Columns(pa.table({"n": pa.array([1.0, 1.5, None])}), "s"))
    assert made.table is not None and made.table.to_pylist() == [{"n": 1}, {"n": None}]
    assert [one.line for one in made.malformed] == ['{"n": 1.5}']


def test_csv_of_declared_columns() -> None:
    maker = RowMaker(Schema(), declared_schema("n INT, at TIMESTAMP, ok BOOLEAN"))
    text = b"n,at,ok,more\n1,2026-01-01T00:00:00Z,true,x\n2,,,\nx,,true,\n"
    made = maker.make(CsvText(text, "s"))
    assert made.table is not None
    assert [row["n"] for row in made.table.to_pylist()] == [1, 2]
    assert made.table.column_names == ["n", "at", "ok"]
    assert made.malformed[0].reason == 'n: "x" is no int'


def test_a_csv_of_which_no_row_fits() -> None:
    made = RowMaker(Schema(), declared_schema("n INT")).make(CsvText(b"n\nx\ny\n", "s"))
    assert made.table is None or not made.table.num_rows
    assert [one.line for one in made.malformed] == ["x", "y"]


def test_ddl() -> None:
    found = declared_schema("ts TIMESTAMP NOT NULL, `a b` DECIMAL(10, 2), s STRUCT<x: INT>")
    assert [str(one) for one in found] == [
        "ts timestamp not null",
        "a b decimal(10,2)",
        "s struct<x:int>",
    ]
