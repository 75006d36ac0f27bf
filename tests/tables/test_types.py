"""Types read, written and turned into those of Arrow and DuckDB."""

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trunkline.errors import Usage
from trunkline.model.tables import Column, Schema
from trunkline.model.types import DataType, normalize, parse_type
from trunkline.tables.types import (
    from_arrow,
    from_arrow_type,
    to_arrow,
    to_arrow_type,
    to_duckdb_type,
)

CONNECTION = duckdb.connect(":memory:")

plain = st.sampled_from(
    [
        "boolean",
        "tinyint",
        "smallint",
        "int",
        "bigint",
        "float",
        "double",
        "string",
        "binary",
        "date",
        "timestamp",
        "timestamp_ntz",
    ]
).map(DataType)
decimals = st.integers(1, 38).flatmap(
    lambda precision: st.integers(0, precision).map(lambda s: DataType("decimal", precision, s))
)
names = st.text("abcÄ_ `,:<>1", min_size=1, max_size=5)


def nested(inner: st.SearchStrategy[DataType]) -> st.SearchStrategy[DataType]:
    arrays = inner.map(lambda one: DataType("array", fields=(("", one),)))
    maps = st.tuples(plain, inner).map(
        lambda two: DataType("map", fields=(("", two[0]), ("", two[1])))
    )
    structs = st.dictionaries(names, inner, min_size=1, max_size=3).map(
        lambda fields: DataType("struct", fields=tuple(fields.items()))
    )
    return arrays | maps | structs


types = st.recursive(plain | decimals, nested, max_leaves=6)


@given(types)
def test_written_and_read_again_a_type_is_the_same(given_type):
    assert parse_type(str(given_type)) == given_type


@given(types)
def test_arrow_knows_every_type(given_type):
    assert from_arrow_type(to_arrow_type(str(given_type))) == given_type


@settings(deadline=None)
@given(types)
def test_duckdb_knows_every_type(given_type):
    found = CONNECTION.sql(f"select cast(null as {to_duckdb_type(str(given_type))}) as one")
    assert found.fetchall() == [(None,)]


@pytest.mark.parametrize(
    "given_text, text",
    [
        ("INTEGER", "int"),
        ("Decimal", "decimal(10,0)"),
        ("dec( 12 , 2 )", "decimal(12,2)"),
        ("varchar(20)", "string"),
        ("STRUCT<a: INT NOT NULL, `b c` : array<long>>", "struct<a:int,`b c`:array<bigint>>"),
        ("timestamp_ltz", "timestamp"),
    ],
)
def test_spellings(given_text, text):
    assert normalize(given_text) == text


@pytest.mark.parametrize(
    "text", ["", "blob", "decimal(40,2)", "decimal(2,3)", "array<int", "map<int>", "int int", "<"]
)
def test_what_is_no_type(text):
    with pytest.raises(ValueError):
        normalize(text)


def test_a_type_that_tables_cannot_hold_is_named():
    schema = pa.schema([("id", pa.int64()), ("wait", pa.duration("s"))])
    with pytest.raises(Usage, match='Column "wait" of /a.parquet has the type duration'):
        from_arrow(schema, "/a.parquet")


def test_schemas_of_arrow():
    schema = pa.schema(
        [
            ("a", pa.uint64()),
            ("b", pa.dictionary(pa.int32(), pa.string())),
            ("c", pa.timestamp("ns")),
            ("d", pa.timestamp("ms", "Europe/Berlin")),
            ("e", pa.null()),
        ]
    )
    assert [one.type for one in from_arrow(schema)] == [
        "decimal(20,0)", "string", "timestamp_ntz", "timestamp", "void",
    ]  # fmt: skip


def test_a_schema_keeps_what_may_be_null():
    schema = Schema((Column("id", "bigint", nullable=False), Column("x", "double")))
    assert from_arrow(to_arrow(schema)) == schema
