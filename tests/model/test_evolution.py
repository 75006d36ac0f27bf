"""Schemas that grow: what is allowed, and what the refusal says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trunkline.errors import SchemaClash
from trunkline.model.evolution import schema_diff, united, united_specs, wider
from trunkline.model.tables import Column, Format, Schema, TableSpec


def schema(text: str) -> Schema:
    pairs = (part.strip().split(" ", 1) for part in text.split(";") if part.strip())
    return Schema(tuple(Column(name, type_) for name, type_ in pairs))


@pytest.mark.parametrize(
    "one, other, expected",
    [
        ("int", "int", "int"),
        ("tinyint", "bigint", "bigint"),
        ("bigint", "smallint", "bigint"),
        ("int", "double", "double"),
        ("bigint", "double", None),
        ("float", "double", "double"),
        ("int", "float", "double"),
        ("bigint", "float", None),
        ("date", "timestamp_ntz", "timestamp_ntz"),
        ("date", "timestamp", None),
        ("decimal(5,2)", "decimal(10,4)", "decimal(10,4)"),
        ("decimal(10,2)", "decimal(8,4)", "decimal(12,4)"),
        ("decimal(38,0)", "decimal(38,2)", None),
        ("int", "decimal(12,2)", "decimal(12,2)"),
        ("int", "decimal(5,2)", "decimal(12,2)"),
        ("bigint", "decimal(20,0)", "decimal(20,0)"),
        ("decimal(5,2)", "double", None),
        ("int", "string", None),
        ("void", "date", "date"),
        ("date", "void", "date"),
        ("array<int>", "array<int>", "array<int>"),
        ("array<int>", "array<bigint>", "array<bigint>"),
        ("array<int>", "array<string>", None),
        ("map<string,int>", "map<string,bigint>", "map<string,bigint>"),
        ("map<int,int>", "map<bigint,int>", None),
        ("struct<a:int>", "array<int>", None),
        ("struct<a:int>", "struct<a:string>", None),
    ],
)
def test_the_wider_of_two_types(one, other, expected):
    assert wider(one, other) == expected
    assert wider(other, one) == expected


def test_fields_of_structs_are_added_and_widened_by_name():
    one, other = "struct<a:int,`b-c`:date>", "struct<x:void,`B-C`:void,A:bigint>"
    assert wider(one, other) == "struct<a:bigint,`b-c`:date,x:void>"
    assert wider(other, one) == "struct<x:void,`B-C`:date,A:bigint>"
    assert wider(f"array<{one}>", f"array<{other}>") == "array<struct<a:bigint,`b-c`:date,x:void>>"


def test_columns_keep_their_order_and_new_ones_come_last():
    found = united(schema("id int; day date"), schema("tip double; ID bigint"))
    assert [str(column) for column in found] == ["id bigint", "day date", "tip double"]


def test_a_column_that_new_rows_lack_takes_nulls():
    old = Schema((Column("id", "int", nullable=False), Column("n", "int", nullable=False)))
    found = united(old, Schema((Column("id", "int", nullable=False),)))
    assert [column.nullable for column in found] == [False, True]


def test_a_clash_names_the_columns_and_shows_both_schemas():
    with pytest.raises(SchemaClash) as caught:
        united(schema("id int; n double"), schema("id int; n string; x date"), "orders@main")
    assert caught.value.message.startswith("The rows do not fit orders@main: n is double, not str")
    assert caught.value.diff == ["~ n double → string", "+ x date"]
    assert caught.value.table == ["id int", "n double"]
    assert caught.value.to_dict()["given"] == ["id int", "n string", "x date"]
    assert caught.value.exit_code == 4


def test_a_diff_of_schemas():
    assert schema_diff(schema("a int; b int; c int"), schema("A int; b string; d date")) == [
        "~ b int → string",
        "- c int",
        "+ d date",
    ]


types = st.sampled_from(["tinyint", "int", "bigint", "float", "double", "date", "decimal(9,2)"])
schemas = st.dictionaries(st.sampled_from("abcd"), types, min_size=1).map(
    lambda columns: Schema(tuple(Column(*one) for one in columns.items()))
)


@given(schemas, schemas)
def test_both_fit_into_their_union(one, other):
    try:
        both = united(one, other)
    except SchemaClash:
        return
    assert united(both, one) == both
    assert united(both, other) == both
    assert {c.name: c.type for c in united(other, one)} == {c.name: c.type for c in both}


def spec(text: str, **more: object) -> TableSpec:
    return TableSpec(Format.PARQUET, schema(text), **more)  # type: ignore[arg-type]


def test_two_sides_that_widened_a_table_are_united():
    base = spec("id int")
    found = united_specs(base, spec("id bigint"), spec("id int; tip double"))
    assert found == spec("id bigint; tip double", evolved=True)


def test_two_sides_are_not_united_if_one_dropped_a_column_or_cut_it_otherwise():
    base = spec("id int; n int")
    assert united_specs(base, spec("id int"), spec("id int; n int; x int")) is None
    assert united_specs(base, spec("id int; n string"), spec("id int; n int; x int")) is None
    cut = spec("id int; n int", partition_by=("n",))
    assert united_specs(base, cut, spec("id int; n int; x int")) is None
