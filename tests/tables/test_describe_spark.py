"""What we find in files, Spark reads from them: the same rows as through Arrow."""

import gzip
import json
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from tests.tables.reading import orc_bytes, parquet, put
from tests.tables.test_moments import EDGES, int96, rows_of
from trunkline.engine import texts
from trunkline.errors import TrunklineError
from trunkline.model.tables import QUOTED_NULLS, Column, Format, Scan, Schema

AT = datetime(2026, 1, 1, 12, 0, 0, 123456)
OLD = datetime(1930, 1, 1, 12, 0, 0, 1)

TABLES: dict[str, dict[str, str | bytes]] = {
    "csv": {
        "/a.csv": 'id,x,flag,day,at,name\n1,2,true,2026-01-01,2026-01-01 10:00,"a ""b"""\n',
        "/b.csv.gz": gzip.compress(b"name,id,x\n,2,2.5\n"),
        "/c.csv": "3,1,FALSE,2026-01-02,2026-01-01T10:00:00.5,\n",
        "/d.csv": 'id,x,flag,day,at,name\n4,,,,,"two\nlines"\n',
        "/k=1/e.csv": "",
    },
    "nameless": {"/a.csv": ",name\n0,Ann\n"},
    "json": {
        "/a.jsonl": '{"n":1,"x":{"y":[1,2.5]},"day":"2026-01-01","none":null,"e":{}}\n',
        "/b.jsonl": '{"n":2.5,"at":"2026-01-01T10:00:00","big":18446744073709551615,"e":7}\n',
        "/c.json": '[{"n":1},\n{"n":3}]',
    },
    "parquet": {
        "/k=a b/a.parquet": parquet(id=pa.array([1], pa.int32()), gone=pa.nulls(1), l=[[1]]),
        "/k=2/b.parquet": parquet(
            ID=[2], m=[Decimal("1.50")], gone=["x"], at=pa.array([AT], pa.timestamp("us"))
        ),
        "/k=3/c.parquet": parquet(id=pa.array([7], pa.uint16()), m=[Decimal("12345.125")]),
    },
    "nanoseconds": {
        "/a.parquet": parquet(at=pa.array([AT, None, OLD], pa.timestamp("ns"))),
        "/b.parquet": parquet(AT=pa.array([AT], pa.timestamp("us")), id=[1]),
    },
    "orc": {
        "/a.orc": orc_bytes(id=pa.array([1], pa.int32()), s=["a"]),
        "/b.orc": orc_bytes(id=[2], x=[1.5]),
    },
}


@pytest.mark.parametrize("name", TABLES)
def test_spark_reads_what_arrow_reads(lake, spark, name):
    put(lake, TABLES[name])
    table = lake.table("orders")
    ours = table.arrow()
    theirs = [row.asDict(recursive=True) for row in table.collect()]
    key = ours.column_names[0]
    assert sorted(map(str, theirs)) == sorted(map(str, ours.to_pylist())), key


def test_nan_is_found_in_files_whose_bounds_leave_it_out(lake, spark):
    put(lake, {"/a.parquet": parquet(z=[float("nan"), 1.0], n=[1, 2])})
    signs = ["= double('NaN')", "> 1e308", ">= 1.5", "<> 1", "NOT IN (1, 2)"]
    found = [[row.n for row in lake.table("orders").where(f"z {one}").collect()] for one in signs]
    assert found == [[1]] * len(signs)


def test_nan_in_a_field_is_found(lake, spark):
    column = pa.array([{"z": float("nan"), "a": 1}, {"z": 1.0, "a": 2}])
    put(lake, {"/a.parquet": parquet(n=[1, 2], s=column)})
    assert [row.n for row in lake.table("orders").where("s.z > 5").collect()] == [1]


def test_spark_reads_moments_of_int96_however_deep(lake, spark):
    put(lake, {"/a.parquet": int96(rows_of(EDGES))})
    theirs = lake.table("orders").toArrow().sort_by("id")
    assert theirs["valid_to"].to_pylist() == EDGES
    ours = lake.table("orders").arrow().sort_by("id")
    assert theirs.select(["s", "m"]).to_pylist() == ours.select(["s", "m"]).to_pylist()


@pytest.mark.parametrize("padding", ["", "x" * 2_000_000])
def test_an_error_of_spark_names_the_file_of_the_repo(lake, spark, padding):
    put(lake, {"/ok/b.parquet": parquet(n=[1]), "/sub/a.parquet": parquet(n=[1], s=[padding])})
    table = lake.table("orders@main:/sub")
    table.arrow()
    for broken in (Path(lake.location) / ".trunkline" / "objects").rglob("*"):
        if broken.is_file() and "manifests" not in broken.parts:
            broken.chmod(0o600)
            broken.write_bytes(b"\0" * broken.stat().st_size)
    for read in (table.collect, lambda: lake.sql('FROM "orders:/sub"', engine="spark").rows()):
        with pytest.raises(TrunklineError) as caught:
            read()
        assert ":/sub/a.parquet cannot be read" in caught.value.message
        assert "tlslice" not in caught.value.message and "\n" not in caught.value.message


@pytest.mark.parametrize(
    "form",
    ["yyyy\\') || {} || date(\\'", "\\'), 'x') || {} || to_date(day, (\\'", "\\') || {} -- "],
)
def test_formats_of_days_are_no_sql(spark, form):
    """Whoever may write files can say how they are read, but not what Spark runs."""
    form = form.format('reflect("java.lang.System", "getProperty", "user.home")')
    frame = spark.spark.createDataFrame([("2026",)], "day string")
    options = (("dateFormat", form), (QUOTED_NULLS, '["day"]'))
    scan = Scan("a", Format.CSV, Schema((Column("day", "date"),)), Schema(), (), options)
    plan = texts.made(frame, scan)._jdf.queryExecution().analyzed().toJSON()
    assert "CallMethodViaReflection" not in plan


@pytest.mark.parametrize("option", ["fitting", "quotedNulls", "nanoseconds", "fs.s3a.endpoint"])
def test_options_that_readers_lack_are_refused(lake, option):
    told = {"format": "csv", "schema": [], "options": {option: "{}"}}
    put(lake, {"/a.csv": "id\n1\n", "/_table.json": json.dumps(told)})
    with pytest.raises(TrunklineError, match=f'the option "{option}"'):
        lake.table("orders").arrow()
