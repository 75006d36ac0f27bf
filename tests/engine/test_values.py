"""Which files Spark leaves out: never one that holds a row which is asked for."""

from __future__ import annotations

import json
import math
import struct
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.spark import shared_session
from trunkline.engine import tables
from trunkline.engine.session import Session
from trunkline.model.tables import Column, Format, Scan, ScanFile, Schema

VECTORS = json.loads((Path(__file__).parents[1] / "tables" / "values.json").read_text())
NONE = Schema()


@pytest.fixture(scope="module")
def session() -> Session:
    return shared_session()


def scan_of(schema: Schema, files: list[ScanFile]) -> Scan:
    return Scan("values", Format.PARQUET, schema, NONE, tuple(files), (), schema)


def planned(frame: Any) -> set[str]:
    """The files that Spark would open."""
    leaf = frame._jdf.queryExecution().sparkPlan().collectLeaves().apply(0)
    if leaf.getClass().getSimpleName() != "FileSourceScanExec":
        return set()  # it knows without any
    return {str(one.urlEncodedPath()) for one in leaf.selectedPartitions().toPartitionArray()}


@pytest.mark.slow
def test_bounds_mean_to_spark_what_they_mean_elsewhere(session):
    wrong = []
    for type_, bounds, sign, value, read in VECTORS:
        schema = Schema((Column("x", type_),))
        file = ScanFile("file:///nowhere", 1, (), f'{{"X":{bounds}}}')
        literal = f"CAST('{value}' AS {type_})" if value is not None else ""
        condition = f"x {sign} {literal}"
        scan = scan_of(schema, [file])
        # Where NaN may be, no condition reaches the file: its own bounds may leave NaN out.
        read = read or bool(scan.may_be_nan and value is not None)
        if len(planned(tables.read(session, [scan], schema).where(condition))) != read:
            wrong.append((type_, bounds, sign, value, read))
    assert not wrong


@pytest.mark.parametrize(
    "condition, read",
    [
        ("name LIKE 'm%'", 1), ("name LIKE 'l%'", 0), ("name LIKE 'mz%'", 1), ("name LIKE 'n%'", 0),
        ("name LIKE 'ma%'", 1), ("name LIKE 'm'", 0), ("NOT name LIKE 'm%'", 1),
        ("id IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)", 1),
        ("id IN (21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32)", 0),
        ("id <=> 20", 1), ("id <=> 21", 0), ("id <=> NULL", 0), ("name <=> NULL", 1),
        ("NOT id = 5", 1), ("id + 1 = 100", 1), ("100 < id", 0), ("20 <= id", 1), ("id = 20.0D", 1),
        ("id = 20.5D", 0), ("id > 19.99", 1), ("id = '20'", 1), ("a.b = 7", 1), ("`a.b` = 7", 0),
        ("`a.b` = 1 AND a.b = 7", 1), ("id BETWEEN 21 AND 30", 0), ("id NOT IN (5, 6)", 1),
        ("day = TIMESTAMP '2026-01-01 00:00:01'", 0), ("day < TIMESTAMP '2026-01-01'", 0),
        ("at >= DATE '2026-01-02'", 0), ("at = DATE '2026-01-01'", 1),
    ],
)  # fmt: skip
def test_filters_of_all_kinds(session, condition, read):
    stats = (
        '{"id":[5,20,0],"name":["ma","mz",1],"a.b":[1,2,0],"day":["2026-01-01","2026-01-01",0],'
        '"at":[1767225600000000,1767225600000001,0]}'
    )
    types = {"id": "int", "name": "string", "a": "struct<b:int>", "a.b": "int"}
    types |= {"day": "date", "at": "timestamp"}
    schema = Schema(tuple(Column(name, type_) for name, type_ in types.items()))
    scan = scan_of(schema, [ScanFile("file:///nowhere", 1, (), stats)])
    found = len(planned(tables.read(session, [scan], schema).where(condition)))
    # What Spark cannot turn into a comparison of the column itself rules nothing out.
    assert found == read or (read == 0 and "TIMESTAMP" in condition)


# Values in files, each with those near it.
EDGES: dict[str, list[str]] = {
    "boolean": ["true", "false"],
    "tinyint": ["-128", "0", "1", "127"],
    "int": ["-2147483648", "-1", "0", "7", "2147483647"],
    "bigint": ["-9223372036854775808", "9007199254740992", "9007199254740993", "0"],
    "decimal(38,18)": ["0.1", "12345678901234567.89", "-99999999999999999999.999999999999999999"],
    "decimal(9,2)": ["0.10", "-0.01", "9999999.99"],
    "string": ["", "a", "a" * 64, "a" * 65, "\uffee", "\U0001f600", "\x7f", "é"],
    "date": ["0001-01-01", "1500-02-28", "1582-10-10", "9999-12-31", "+12000-01-01", "-0044-03-15"],
    "timestamp": ["0001-01-01 00:00:00", "1500-06-01 00:00:00", "9999-12-31 23:59:59.999999"],
    "timestamp_ntz": ["0001-01-01 00:00:00", "1582-10-10 12:00:00.000001", "2300-01-01 00:00:00"],
}
NUMBERS = [0.1, 0.3, -0.0, 1e-310, 1.7976931348623157e308, 16777217.0, float("nan"), float("inf")]


def near(type_: str, text: str) -> list[str]:
    if type_ in ("tinyint", "int", "bigint"):
        bits = {"tinyint": 7, "int": 31, "bigint": 63}[type_]
        return [str(n) for d in (-1, 1) if -(1 << bits) <= (n := int(text) + d) < 1 << bits]
    if type_.startswith("decimal"):
        step = Decimal(1).scaleb(-int(type_[:-1].split(",")[1]))
        return [format(Decimal(text) + step * d, "f") for d in (-1, 1) if "9999" not in text]
    if type_ == "string":
        return [text + "\x00", text + "z", text[:-1]]
    return []


def floats(single: bool) -> list[str]:
    found: set[str] = set()
    for one in NUMBERS:
        ways = (
            [one] if math.isnan(one) else [one, *(math.nextafter(one, w) for w in (-9e999, 9e999))]
        )
        if single and math.isfinite(one) and 0 < abs(one) < 3e38:
            bits = struct.unpack("i", struct.pack("f", one))[0]
            ways += [struct.unpack("f", struct.pack("i", bits + d))[0] for d in (-1, 0, 1)]
        found.update(repr(way).replace("inf", "Infinity").replace("nan", "NaN") for way in ways)
    return sorted(found)


def literal(type_: str, text: str) -> str:
    shown = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"CAST('{shown}' AS {type_})"


@pytest.mark.slow
def test_a_filter_with_skipping_finds_what_one_without_finds(session, tmp_path):
    """Every type, every value in a file and near it, every operator: in two Spark jobs."""
    spark = session.spark
    values = {**EDGES, "double": floats(False), "float": floats(True)}
    names = {type_: f"c{n}" for n, type_ in enumerate(values)}
    # One file for each value and one for each pair of neighbours; nulls in every third.
    most = max(map(len, values.values()))
    rows: list[tuple[int, list[str]]] = []
    for n in range(most):
        rows.append((2 * n, [literal(t, v[n % len(v)]) for t, v in values.items()]))
        rows.append((2 * n + 1, [literal(t, v[n % len(v)]) for t, v in values.items()]))
        rows.append((2 * n + 1, [literal(t, v[(n + 1) % len(v)]) for t, v in values.items()]))
        if n % 3 == 0:
            rows.append((2 * n + 1, [f"CAST(NULL AS {t})" for t in values]))
    shown = ", ".join(names.values())
    body = " UNION ALL ".join(
        f"SELECT {n} AS file, {k} AS id, {', '.join(row)}" for k, (n, row) in enumerate(rows)
    )
    frame = spark.sql(f"SELECT * FROM ({body}) AS t(file, id, {shown})")
    report = tables.write(
        session, frame.repartition(1), stem=f"file:{tmp_path}/x-", partition_by=["file"]
    )
    schema = tables.schema_of(frame)
    files = [ScanFile(one.uri, one.size, (), one.stats, one.rows) for one in report.files]
    assert len(files) == 2 * most
    conditions = []
    for type_, held in values.items():
        asked = dict.fromkeys([*held, *(n for one in held for n in near(type_, one))])
        name = names[type_]
        for text in asked:
            value = literal(type_, text)
            conditions += [f"{name} {sign} {value}" for sign in ("=", "<", ">=")]
        listed = ", ".join(literal(type_, one) for one in list(asked)[::2])
        conditions += [f"{name} IN ({listed})", f"{name} IS NULL", f"NOT {name} > {value}"]
        conditions += [f"{name} <> {value}", f"{name} <=> {value}", f"{value} <= {name}"]
    back = tables.read(session, [scan_of(schema, files)], schema)
    plain = tables.read(
        session, [scan_of(schema, [ScanFile(f.uri, f.size) for f in files])], schema
    )
    plain.createOrReplaceTempView("plain_values")
    whole = spark.sql(
        "SELECT "
        + ", ".join(f"collect_list(id) FILTER (WHERE {one})" for one in conditions)
        + " FROM plain_values"
    )
    expected = [sorted(found) for found in whole.collect()[0]]
    places = {int(one.folder[0] or 0): one.uri for one in report.files}
    skipped, wrong = 0, []
    for condition, ids in zip(conditions, expected, strict=True):
        opened = planned(back.where(condition))
        skipped += len(files) - len(opened)
        if missing := {places[rows[k][0]] for k in ids} - opened:
            wrong.append((condition, len(missing)))
    assert not wrong
    assert skipped > len(files) * len(conditions) // 4  # else nothing was tried
