"""Bounds of files: what they mean, and that nobody leaves out a file by them that holds the row."""

from __future__ import annotations

import io
import json
import math
import struct
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trunkline.errors import Usage
from trunkline.model.entries import Entry
from trunkline.model.tables import Column, Format, Scan, ScanFile, Schema
from trunkline.model.types import parse_type
from trunkline.tables.changing.candidates import candidates
from trunkline.tables.changing.pruning import may_hold
from trunkline.tables.discovery.footers import bounds as footer_bounds
from trunkline.tables.reading.conditions import may_match, predicates, row_filter
from trunkline.tables.types import to_arrow_type
from trunkline.tables.values import day_text, days_of, parse_stats, read_bounds
from trunkline.tables.writing.bounds import Bounds

VECTORS = json.loads((Path(__file__).with_name("values.json")).read_text())


def test_bounds_mean_here_what_they_mean_to_spark():
    wrong = []
    for type_, bounds, sign, value, read in VECTORS:
        if "collate" in type_ or type_ == "binary":
            continue  # Spark alone has the one; of the other nobody has bounds
        schema = Schema((Column("x", type_),))
        stats = f'{{"X":{bounds}}}'
        if sign == "is null":
            found = read_bounds(parse_type(type_), parse_stats(stats)["x"]).nulls != 0
        else:
            found = may_match(predicates([("x", sign, value)], schema), file_of(stats), NO_SCAN)
        if found is not read:
            wrong.append((type_, bounds, sign, value, read))
    assert not wrong


@given(st.integers(-300_000_000, 300_000_000))
def test_days_of_all_years_have_a_text(days):
    assert days_of(day_text(days)) == days


NO_SCAN = Scan("", Format.PARQUET, Schema(), Schema(), ())


def file_of(stats: str) -> ScanFile:
    return ScanFile("", 0, stats=stats)


# -- every type, values that are in files, and those next to them -----------------------------


def singles() -> st.SearchStrategy[float]:
    return st.floats(width=32) | st.sampled_from([struct.unpack("f", struct.pack("f", 0.1))[0]])


DOUBLES = st.floats() | st.sampled_from([0.1, 0.3, -0.0, 0.0, 5e-324, 2.0**53])
TEXTS = st.text(st.sampled_from("aé\uffee\U0001f600\x00z'"), max_size=3) | st.sampled_from(
    ["a" * 64, "a" * 65, "a" * 64 + "b"]
)
DAYS = st.dates() | st.sampled_from([date(1, 1, 1), date(1582, 10, 10), date(9999, 12, 31)])
MOMENTS = st.datetimes() | st.sampled_from([datetime(1, 1, 1), datetime.max, datetime(1500, 1, 1)])
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "boolean": st.booleans(),
    "tinyint": st.integers(-128, 127),
    "int": st.integers(-(2**31), 2**31 - 1) | st.integers(-3, 3),
    "bigint": st.integers(-(2**63), 2**63 - 1) | st.integers(2**53 - 2, 2**53 + 2),
    "float": singles(),
    "double": DOUBLES,
    "decimal(5,2)": st.decimals(-999, 999, places=2),
    "decimal(38,10)": st.decimals(-(10**28) + 1, 10**28 - 1, places=10),
    "string": TEXTS,
    "date": DAYS,
    "timestamp": MOMENTS.map(lambda one: one.replace(tzinfo=UTC)),
    "timestamp_ntz": MOMENTS,
}


def near(value: Any, type_: str) -> Iterator[Any]:
    """The value, its neighbours, and the same in other types."""
    yield value
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (value - 1, value + 1, float(value), Decimal(value) + Decimal("0.5"), str(value))
    elif isinstance(value, float):
        yield from (math.nextafter(value, -math.inf), math.nextafter(value, math.inf))
        if math.isfinite(value):
            yield from (Decimal(value), Decimal(repr(value)), f"{value!r}")
        if math.isfinite(value) and abs(value) < 1e15:
            yield round(value)
    elif isinstance(value, Decimal):
        step = Decimal(1).scaleb(-int(type_[:-1].split(",")[1]))
        yield from (value + step / 2, value + step, value - step, float(value), int(value))
        yield str(value)
    elif isinstance(value, str):
        yield from (value + "\x00", value + "a", value[:-1])
    elif isinstance(value, datetime):
        if abs(value.year - 5000) < 4990:
            yield from (value + timedelta(microseconds=1), value - timedelta(microseconds=1))
        yield from (value.isoformat(), value.date())
    else:
        yield value.isoformat()
        yield datetime(value.year, value.month, value.day, 12)
        if abs(value.year - 5000) < 4990:
            yield from (value + timedelta(1), datetime(value.year, value.month, value.day))


@st.composite
def files(draw: st.DrawFn) -> tuple[str, list[list[Any]], Any]:
    """A type, the values of some files, and one to look for."""
    type_ = draw(st.sampled_from(list(VALUES)))
    one = VALUES[type_] | st.none()
    held = draw(st.lists(st.lists(one, max_size=3), min_size=1, max_size=3))
    there = [value for file in held for value in file if value is not None]
    base = draw(st.sampled_from(there) if there else VALUES[type_])
    return type_, held, draw(st.sampled_from(list(near(base, type_))))


def statistics(values: pa.Table) -> list[str]:
    """As we write them, and as footers of files that others wrote tell them."""
    own = Bounds(values.schema)
    own.add(values)
    buffer = io.BytesIO()
    pq.write_table(values, buffer)
    with pq.ParquetFile(buffer) as file:
        return [own.encode(), footer_bounds(file.metadata, file.schema_arrow)]


def plain(value: Any) -> Any:
    """As a model orders it: NaN last and equal to itself, times in UTC."""
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value)
    if isinstance(value, datetime):
        return value.replace(tzinfo=None)
    return value


SIGNS = {
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


@settings(max_examples=400, deadline=None)
@given(files(), st.sampled_from([*SIGNS, "in"]))
def test_where_leaves_out_no_file_that_holds_a_row(drawn, sign):
    type_, held, asked = drawn
    schema = Schema((Column("x", type_),))
    arrow = to_arrow_type(type_)
    ready = predicates([("x", sign, [asked, None] if sign == "in" else asked)], schema)
    for values in held:
        table = pa.table({"x": pa.array(values, arrow)})
        batch = pa.RecordBatch.from_arrays([table["x"].combine_chunks()], names=["x"])
        mask = row_filter(ready, batch).fill_null(False).to_pylist()
        if sign in SIGNS and type(asked) is type(VALUES_SAMPLE[type_]):
            wanted = plain(rounded(asked, type_))
            assert mask == [v is not None and SIGNS[sign](plain(v), wanted) for v in values]
        for stats in statistics(table) if values else []:
            assert may_match(ready, file_of(stats), NO_SCAN) or not any(mask), stats


VALUES_SAMPLE: dict[str, Any] = {
    "boolean": True, "tinyint": 1, "int": 1, "bigint": 1, "float": 0.1, "double": 0.1,
    "decimal(5,2)": Decimal(1), "decimal(38,10)": Decimal(1), "string": "",
    "date": date.min, "timestamp": datetime.min, "timestamp_ntz": datetime.min,
}  # fmt: skip


def rounded(value: Any, type_: str) -> Any:
    if type_ != "float" or not math.isfinite(value):
        return value
    try:
        return struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def sql_of(value: Any) -> list[str]:
    """The ways to write a value in SQL."""
    if isinstance(value, bool):
        return [str(value).lower()]
    if isinstance(value, float):
        quoted = f"'{value!r}'"
        exact = format(Decimal(value), "f") if math.isfinite(value) else ""
        ways = [f"{quoted}::DOUBLE", f"{quoted}::FLOAT", quoted]
        return [*ways, repr(value), exact] if exact and len(exact) < 30 else ways
    if isinstance(value, int | Decimal):
        text = format(Decimal(value), "f")
        return [text, f"'{text}'", f"{text}::DOUBLE", f"{float(value)!r}"]
    if isinstance(value, datetime):
        zone = "" if value.tzinfo is None else "TZ"
        return [f"TIMESTAMP{zone} '{value.isoformat()}'", f"'{value.isoformat()}'"]
    if isinstance(value, date):
        return [f"DATE '{value}'", f"'{value}'", f"TIMESTAMP '{value} 00:00:00'"]
    return ["'" + value.replace("'", "''") + "'"]


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        opened.execute("SET TimeZone = 'UTC'")
        yield opened


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(files(), st.sampled_from(["=", "<>", "<", "<=", ">", ">=", "in", "is", "between", "turned"]))
def test_a_condition_in_sql_leaves_out_no_file_that_holds_a_row(connection, drawn, sign):
    type_, held, asked = drawn
    if isinstance(asked, str) and "\x00" in asked:
        return
    schema = Schema((Column("x", type_), Column("y", "int")))
    for text in sql_of(asked):
        condition = {
            "in": f"x IN ({text}, NULL)",
            "is": "x IS NULL",
            "between": f"x BETWEEN {text} AND {text}",
            "turned": f"{text} >= x OR (y = 1 AND x = {text})",
        }.get(sign, f"x {sign} {text}")
        for values in held:
            table = pa.table({"x": pa.array(values, to_arrow_type(type_)), "y": [1] * len(values)})
            connection.register("held", table)
            query = f"SELECT count(*) FROM held WHERE {condition}"
            try:
                ((matching,),) = connection.execute(query).fetchall()
            except duckdb.Error:
                continue  # it says so to who asks
            for stats in statistics(table) if values else []:
                entry = Entry("/a", "", 1, "", stats=stats)
                kept = may_hold(connection, [entry], condition, schema)
                assert kept or not matching, (condition, stats)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(files(), st.data())
def test_a_merge_leaves_out_no_file_that_holds_a_key(connection, drawn, data):
    type_, held, _ = drawn
    keys = data.draw(st.lists(VALUES[type_], max_size=2))
    keys += [value for file in held[:1] for value in file if value is not None]
    arrow = to_arrow_type(type_)
    connection.register("given", pa.table({"x": pa.array(keys, arrow)}))
    schema = Schema((Column("x", type_),))
    for values in held:
        table = pa.table({"x": pa.array(values, arrow)})
        connection.register("held", table)
        query = "SELECT count(*) FROM held SEMI JOIN given USING (x)"
        ((matching,),) = connection.execute(query).fetchall()
        for stats in statistics(table) if values else []:
            entry = Entry("/a", "", 1, "", stats=stats)
            assert candidates(connection, "given", [entry], schema, ["x"]) or not matching, stats


def test_fields_of_structs_have_no_bounds_of_columns():
    table = pa.table({"a": [{"b": 7}], "a.b": [1], "b": [1]})
    for stats in statistics(table):
        assert parse_stats(stats)["a.b"] == [1, 1, 0]
    entry = Entry("/a", "", 1, "", stats=statistics(table)[0])
    schema = Schema((Column("a", "struct<b:bigint>"), Column("b", "bigint")))
    with duckdb.connect() as connection:
        assert may_hold(connection, [entry], "a.b = 7", schema)
        assert not may_hold(connection, [entry], "b = 7", schema)


@pytest.mark.parametrize(
    "type_, value", [("int", "x"), ("date", 5), ("timestamp", "soon"), ("boolean", 7)]
)
def test_what_is_no_value_of_a_type_is_refused(type_, value):
    with pytest.raises(Usage, match="is not a value of the type"):
        predicates([("x", "=", value)], Schema((Column("x", type_),)))
