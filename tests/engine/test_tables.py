"""Tables on Spark: what is written is known, and what is read is only what is needed."""

from __future__ import annotations

import json
from binascii import hexlify
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet
from pyspark.sql import functions as f

from tests.spark import shared_session
from trunkline.engine import tables
from trunkline.engine.expectations import RowRules
from trunkline.engine.session import Session
from trunkline.errors import TransformFailed
from trunkline.model.tables import Column, Format, Scan, ScanFile, Schema, Written

NONE = Schema()


@pytest.fixture(scope="module")
def session() -> Session:
    return shared_session()


@pytest.fixture
def stem(tmp_path: Path) -> str:
    return f"file:{tmp_path}/x-"


def scan_of(
    files: Any, schema: Schema, name: str = "orders@main", parts: tuple[str, ...] = ()
) -> Scan:
    held = tuple(ScanFile(one.uri, one.size, one.folder, one.stats, one.rows) for one in files)
    folders = Schema(tuple(one for one in schema if one.name in parts))
    return Scan(name, Format.PARQUET, schema.without(parts), folders, held, (), schema)


def orders(session: Session, rows: int = 300, parts: int = 2) -> Any:
    return session.spark.range(0, rows, 1, parts).selectExpr(
        "id",
        "concat('n', id % 10) AS name",
        "id * 0.5D AS amount",
        "date'2026-01-01' + cast(id % 3 AS int) AS day",
        "if(id % 7 = 0, null, id) AS maybe",
    )


def total(files: Any) -> tuple[int, int, int]:
    mask = (1 << 64) - 1
    return (
        sum(one.rows for one in files),
        sum(one.first for one in files) & mask,
        sum(one.second for one in files) & mask,
    )


def files_read(frame: Any) -> int:
    """How many files its scans opened, as Spark's own metrics count them."""
    frame.collect()
    plan = frame._jdf.queryExecution().executedPlan()
    if plan.getClass().getSimpleName() == "AdaptiveSparkPlanExec":
        plan = plan.finalPhysicalPlan()
    leaves = plan.collectLeaves()
    return sum(leaves.apply(n).metrics().apply("numFiles").value() for n in range(leaves.length()))


def test_what_is_written_is_read_back_and_its_facts_are_right(session, stem):
    frame = orders(session)
    report = tables.write(session, frame, stem=stem, partition_by=["day"])
    schema = tables.schema_of(frame)
    assert {one.folder for one in report.files} == {
        ("2026-01-01",), ("2026-01-02",), ("2026-01-03",)
    }  # fmt: skip
    assert report.seen == report.rows == 300
    for one in report.files:
        path = Path(one.uri.removeprefix("file:"))
        assert path.stat().st_size == one.size
        bounds = json.loads(one.stats)
        assert "day" not in bounds
        assert "day" not in parquet.read_schema(path).names
        assert bounds["maybe"][2] > 0
        assert 0 <= bounds["id"][0] < bounds["id"][1] < 300
    assert not [path for path in Path(stem[5:]).parent.iterdir() if path.suffix == ".crc"]
    back = tables.read(session, [scan_of(report.files, schema, parts=("day",))], schema)
    assert sorted(back.collect()) == sorted(frame.collect())


def test_a_fingerprint_does_not_depend_on_order_files_or_partitions(session, stem):
    frame = orders(session)
    one = tables.write(session, frame, stem=stem, partition_by=["day"])
    two = tables.write(session, frame.orderBy(f.desc("id")).coalesce(1), stem=stem)
    three = tables.write(session, frame.repartition(5), stem=stem)
    assert total(one.files) == total(two.files) == total(three.files)
    assert len(two.files) == 1


@pytest.mark.parametrize(
    "change",
    [
        "if(id = 5, 'other', name) AS name",
        "if(id = 5, null, name) AS name",
        "if(id = 5, '', name) AS name",
    ],
)
def test_any_change_of_a_row_changes_the_fingerprint(session, stem, change):
    frame = orders(session, 20)
    others = [name for name in frame.columns if name != "name"]
    changed = frame.selectExpr(*frame.columns[:1], change, *[n for n in others if n != "id"])
    assert total(tables.write(session, frame, stem=stem).files) != total(
        tables.write(session, changed, stem=stem).files
    )


@pytest.mark.parametrize(
    "one, other",
    [
        ("select 1 a, cast(null as int) b", "select cast(null as int) a, 1 b"),
        ("select array(1, null) a", "select array(null, 1) a"),
        ("select struct(1 x, cast(null as int) y) a", "select struct(cast(null as int) x, 1 y) a"),
        ("select map('a', 1) a", "select map('a', 2) a"),
        ("select 0.1D + 0.2D a", "select 0.3D a"),
        ("select 0D a", "select -0D a"),
        ("select map('a', 1, 'b', 2) a", "select map('b', 2, 'a', 1) a"),
        ("select date'2026-01-01' a", "select date'2026-01-02' a"),
        ("select 1 a union all select 1", "select 1 a"),
    ],
)
def test_fingerprints_that_must_differ(session, stem, one, other):
    first, second = (tables.write(session, session.spark.sql(q), stem=stem) for q in (one, other))
    assert total(first.files) != total(second.files)


@pytest.mark.parametrize(
    "one, other",
    [
        ("select map('a', 1, 'b', 2) a", "select map('a', 1, 'b', 2) a"),
        ("select double('NaN') a", "select double('NaN') a"),
        ("select double('Infinity') a", "select double('Infinity') a"),
    ],
)
def test_fingerprints_that_must_agree(session, stem, one, other):
    first, second = (tables.write(session, session.spark.sql(q), stem=stem) for q in (one, other))
    assert total(first.files) == total(second.files)


@pytest.mark.parametrize(
    "where, files",
    [
        ("day = '2026-01-02'", 2),
        ("day in ('2026-01-02', '2026-01-03')", 4),
        ("day > '2026-01-02'", 2),
        ("day >= '2026-01-04'", 0),
        ("id < 100", 3),
        ("id = 299 or id = 0", 2),
        ("amount > 1000", 0),
        ("name = 'n1'", 6),
        ("name > 'z'", 0),
        ("maybe is null", 6),
        ("day = '2026-01-02' and id < 100", 1),
    ],
)
def test_files_are_pruned_by_what_the_manifest_knows(session, stem, where, files):
    frame = orders(session)
    report = tables.write(session, frame, stem=stem, partition_by=["day"])
    schema = tables.schema_of(frame)
    back = tables.read(session, [scan_of(report.files, schema, parts=("day",))], schema)
    back = back.where(where)
    assert files_read(back) == files
    assert sorted(back.collect()) == sorted(frame.where(where).collect())


def test_the_plan_names_the_table_and_its_filters(session, stem):
    frame = orders(session)
    report = tables.write(session, frame, stem=stem)
    schema = tables.schema_of(frame)
    back = tables.read(session, [scan_of(report.files, schema)], schema).where("id > 5")
    text = back._jdf.queryExecution().executedPlan().toString()
    assert "Batched: true" in text
    assert "lake:/orders@main" in text
    assert "GreaterThan(id,5)" in text


def test_columns_of_folders_prune_without_statistics(session, stem):
    frame = orders(session).drop("day")
    report = tables.write(session, frame, stem=stem)
    schema = tables.schema_of(frame)
    days = ["2026-01-01", None]
    files = tuple(
        ScanFile(one.uri, one.size, (day,)) for one, day in zip(report.files, days, strict=True)
    )
    folder = Schema((Column("day", "date"),))
    whole = Schema((*schema.columns, *folder.columns))
    scan = Scan("hive", Format.PARQUET, schema, folder, files, (), whole)
    back = tables.read(session, [scan], whole)
    assert files_read(back.where("day = '2026-01-01'")) == 1
    assert files_read(back.where("day is null")) == 1
    assert {str(row[0]) for row in back.select("day").distinct().collect()} == {
        "2026-01-01", "None"
    }  # fmt: skip


def test_packed_files_are_read_in_place(session, stem, tmp_path):
    frame = orders(session)
    report = tables.write(session, frame, stem=stem, partition_by=["day"])
    schema = tables.schema_of(frame)
    pack, files, at = tmp_path / "some.pack", [], 0
    place = hexlify(f"file:{pack}".encode()).decode()
    with open(pack, "wb") as stream:
        for one in report.files:
            data = Path(one.uri[5:]).read_bytes()
            stream.write(data)
            uri = f"tlslice:///{at}-{len(data)}/{place}/a.parquet"
            files.append(Written(uri, len(data), one.rows, 0, 0, one.folder, stats=one.stats))
            at += len(data)
    back = tables.read(session, [scan_of(files, schema, parts=("day",))], schema)
    assert sorted(back.collect()) == sorted(frame.collect())
    assert files_read(back.where("day = '2026-01-02'")) == 2


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_text_files_with_a_schema(session, tmp_path, name):
    import gzip

    path = tmp_path / name
    data = b"id;note\n1;one\n2;two\n"
    path.write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    schema = Schema((Column("id", "bigint"), Column("note", "string")))
    options = (("header", "true"), ("sep", ";"), ("mode", "FAILFAST"), ("enforceSchema", "false"))
    files = (ScanFile(f"file:{path}", path.stat().st_size),)
    scan = Scan("notes", Format.CSV, schema, NONE, files, options, schema)
    assert [tuple(row) for row in tables.read(session, [scan], schema).collect()] == [
        (1, "one"), (2, "two")
    ]  # fmt: skip


def test_older_files_lack_columns_and_have_narrower_types(session, stem):
    old = session.spark.sql("select 1 AS id, 2 AS n")
    new = session.spark.sql("select 2L AS id, 3L AS n, 'x' AS note")
    schema = tables.schema_of(new)
    files = (
        *tables.write(session, old, stem=stem).files,
        *tables.write(session, new, stem=stem).files,
    )
    back = tables.read(session, [scan_of(files, schema)], schema)
    assert sorted(map(tuple, back.collect()), key=str) == [(1, 2, None), (2, 3, "x")]


def test_an_empty_table_has_columns(session):
    schema = Schema((Column("id", "bigint"), Column("s", "struct<a:int,b:array<string>>")))
    empty = tables.read(session, [scan_of((), schema)], schema)
    assert empty.collect() == []
    assert empty.columns == ["id", "s"]
    assert tables.read(session, [], schema).columns == ["id", "s"]


def test_nothing_to_write_writes_no_file(session, stem):
    report = tables.write(session, orders(session).where("id < 0"), stem=stem)
    assert (report.files, report.seen) == ((), 0)


def test_rules_count_drop_and_set_apart_in_the_one_pass(session, stem):
    frame = orders(session, 100)
    rules = RowRules(
        names=("even", "small"),
        columns=tuple(frame.columns),
        bits=f.expr("cast(if(id % 2 = 0, 1, 0) | if(id < 10, 2, 0) AS bigint)"),
        quarantine=f.expr("if(id < 10, 'small', null)"),
        dropped=1,
    )
    report = tables.write(session, frame, stem=stem, rules=rules, partition_by=["day"], samples=2)
    assert report.seen == 100
    assert report.broken == (50, 10)
    assert report.rows == 45
    assert sum(one.rows for one in report.files if one.rule == "small") == 5
    assert [json.loads(row)["id"] for row in report.samples[1]] == [0, 1]
    assert {len(one.folder) for one in report.files} == {1}


@pytest.mark.slow
def test_a_table_of_many_columns(session, stem):
    frame = session.spark.range(3).select(*[f.col("id").alias(f"c{n}") for n in range(1000)])
    report = tables.write(session, frame, stem=stem)
    schema = tables.schema_of(frame)
    back = tables.read(session, [scan_of(report.files, schema)], schema)
    assert back.select("c999").count() == 3


def test_names_that_need_quotes(session, stem):
    frame = session.spark.sql("select 1 AS `a b`, 2 AS `c.d`, 3 AS `e``f`")
    report = tables.write(session, frame, stem=stem, partition_by=["c.d"])
    schema = tables.schema_of(frame)
    back = tables.read(session, [scan_of(report.files, schema, parts=("c.d",))], schema)
    assert [tuple(row) for row in back.collect()] == [(1, 2, 3)]


def test_partition_values_are_told_as_they_are(session, stem):
    values = [
        "a/b=c %",
        None,
        "",
        "__HIVE_DEFAULT_PARTITION__",
        "\\N",
        "a\nb\tc",
        "=",
        "007",
        "e\u0301",
    ]
    frame = session.spark.createDataFrame(list(enumerate(values)), "n int, k string")
    report = tables.write(session, frame, stem=stem, partition_by=["k"])
    assert {one.folder for one in report.files} == {(value,) for value in values}
    schema = tables.schema_of(frame)
    back = tables.read(session, [scan_of(report.files, schema, parts=("k",))], schema)
    assert sorted(tuple(row) for row in back.collect()) == list(enumerate(values))


REFUSED = {
    "null": "void, which tables do not hold: it has nothing but nulls",
    "array()": "void",
    "named_struct('a', map('k', null))": "void",
    "parse_json('1')": "variant",
    "array(named_struct('v', parse_json('1')))": "variant",
    "time'10:00:00'": r"time\(6\)",
    "timestamp'2026-01-02' - timestamp'2026-01-01'": "interval day to second",
    "interval '1' year": "interval year",
    "make_interval(1, 2)": "interval",
    "map('k', 'a' COLLATE UTF8_LCASE)": "string collate UTF8_LCASE",
    "st_geomfromwkb(X'0101000000000000000000F03F0000000000000040')": "geometry",
    "named_struct()": "a struct without fields",
    "array(named_struct('', 1))": "a field without a name",
    "named_struct('a', 1, 'A', 2)": "the fields a and A",
}


@pytest.mark.parametrize("value", REFUSED)
def test_what_no_table_holds_is_refused_before_it_is_computed(session, stem, value):
    frame = session.spark.sql(f"SELECT 1 AS id, {value} AS `my x`")
    with pytest.raises(TransformFailed, match=f"the column my x has {REFUSED[value]}") as refused:
        tables.write(session, frame, stem=stem)
    assert refused.value.hint
    assert not list(Path(stem[5:]).parent.iterdir())


def test_what_the_hints_say_can_be_written(session, stem):
    frame = session.spark.sql(
        """SELECT to_json(parse_json('1')) v, CAST(time'10:00:00' AS string) t,
        CAST(interval '1' day AS string) i, CAST(('a' COLLATE UTF8_LCASE) AS string) c,
        ST_AsBinary(st_geomfromwkb(X'0101000000000000000000F03F0000000000000040')) g,
        CAST(null AS string) n, CAST('a' AS char(3)) h, CAST('a' AS varchar(3)) w"""
    )
    assert tables.write(session, frame, stem=stem).rows == 1
    types = [one.type for one in tables.schema_of(frame)]
    assert types == ["string"] * 4 + ["binary"] + ["string"] * 3


def test_joins_prune_partitions_that_they_cannot_meet(session, stem):
    frame = orders(session)
    report = tables.write(session, frame, stem=stem, partition_by=["day"])
    schema = tables.schema_of(frame)
    facts = tables.read(session, [scan_of(report.files, schema, parts=("day",))], schema)
    spark = session.spark
    days = spark.sql("SELECT date'2026-01-01' + cast(id AS int) AS day, id AS nr FROM range(3)")
    few = tables.write(session, days, stem=f"{stem}d-")
    dimension = tables.read(
        session, [scan_of(few.files, tables.schema_of(days))], tables.schema_of(days)
    )
    joined = facts.join(dimension, "day").where("nr = 1").select("id")
    assert sorted(row[0] for row in joined.collect()) == [n for n in range(300) if n % 3 == 1]
    assert "dynamicpruning" in joined._jdf.queryExecution().executedPlan().toString()
