"""Rows as Spark reads them, and those that cannot be read: out of the way, with the reason."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.jobs.streaming.streams import leaf, put_paths, read, whole
from tests.tables.reading import orc_bytes, parquet
from trunkline import Lake
from trunkline.engine import tables
from trunkline.engine.malformed import MALFORMED_SCHEMA
from trunkline.engine.session import Session
from trunkline.errors import TransformFailed, TrunklineError
from trunkline.jobs.streaming.malformed import Diverted, diverted
from trunkline.jobs.streaming.sources import Given, given
from trunkline.jobs.streaming.textfiles import text_source
from trunkline.model.ids import new_id
from trunkline.model.tables import Format, Scan, ScanFile, Schema
from trunkline.storage.objects.keys import KeyMaker

Rows = list[tuple[Any, ...]]


def taken(lake: Lake, changes: str = "raise") -> Given:
    """All that the steps of the input bring, in one batch."""
    found = read(lake, leaf(changes))
    last = found[-1].table
    some = [replace(one, table=last) for one in found]
    got = given(lake._core, KeyMaker(new_id()), leaf(changes), some)
    assert got is not None
    return got


def divided(lake: Lake, spark: Session, got: Given) -> Diverted:
    return diverted(lake._core, spark, KeyMaker(new_id()), got)


def good(spark: Session, found: Diverted) -> Rows:
    frame = tables.read(spark, found.source.scans, found.source.schema)
    return sorted((tuple(row) for row in frame.collect()), key=repr)


def bad(spark: Session, found: Diverted) -> Rows:
    assert found.malformed is not None
    files = tuple(ScanFile(one.uri, one.size) for one in found.malformed.report.files)
    scan = Scan("malformed", Format.PARQUET, MALFORMED_SCHEMA, Schema(), files)
    frame = tables.read(spark, [scan], MALFORMED_SCHEMA)
    return sorted((tuple(row) for row in frame.collect()), key=repr)


LARGE = b"id,n\n" + b"".join(b"%d,%d\n" % (n, n * n) for n in range(200_000))
FORMATS: dict[str, dict[str, Any]] = {
    "csv": {"/a.csv": "id,n\n1,2\n", "/b.csv": "n,id\n4,3\n"},
    "json": {"/a.jsonl": '{"id": 1, "n": "x"}\n', "/b.json": '[{"id": 2},\n {"id": 3}]'},
    "parquet": {"/a.parquet": parquet(id=[1, 2]), "/b.parquet": parquet(id=[3], n=["x"])},
    "orc": {"/a.orc": orc_bytes(id=[1, 2]), "/b.orc": orc_bytes(id=[3])},
    "hive": {"/day=2026-01-01/a.csv": "id\n1\n", "/day=2026-01-02/b.csv": "id\n2\n"},
    "compressed": {"/a.csv.gz": gzip.compress(b"id,n\n1,2\n")},
    "an object of its own": {"/a.csv": LARGE},
    "empty": {"/a.csv": "id,n\n1,2\n", "/b.csv": ""},
}


@pytest.mark.parametrize("format_", FORMATS)
def test_rows_as_spark_reads_them(spark: Session, lake: Lake, format_: str):
    put_paths(lake, FORMATS[format_])
    got = taken(lake)
    assert not got.doubtful
    found = divided(lake, spark, got)
    assert found.source == got.source
    assert good(spark, found) == whole(lake)


def test_malformed_csv(spark: Session, lake: Lake):
    put_paths(lake, {"/a.csv": "id,n,day\n1,1.5,2026-01-01\n"})
    lake.set_table("orders", schema="id int, n double, day date")
    put_paths(
        lake,
        {
            "/b.csv": "id,n,day\n2,2.5,2026-01-02\nx,3.5,2026-01-03\n4,4.5,soon\n5,5.5\n"
            "6,6,2026-01-06,7\n",
            "/p=1/c.csv": "day,id,n\n2026-01-07,7,7.5\n2026-01-08,8,much\n",
        },
    )  # fmt: skip
    got = taken(lake)
    assert {"/b.csv", "/p=1/c.csv"} <= got.doubtful
    found = divided(lake, spark, got)
    assert [(row[0], row[1], str(row[2])) for row in good(spark, found)] == [
        (1, 1.5, "2026-01-01"),
        (2, 2.5, "2026-01-02"),
        (7, 7.5, "2026-01-07"),
    ]
    assert bad(spark, found) == [
        ("2026-01-08,8,much", "n is not double: much", "/p=1/c.csv"),
        ("4,4.5,soon", "day is not date: soon", "/b.csv"),
        ("5,5.5", "not 3 fields", "/b.csv"),
        ("6,6,2026-01-06,7", "not 3 fields", "/b.csv"),
        ("x,3.5,2026-01-03", "id is not int: x", "/b.csv"),
    ]
    assert found.rows == 5


def test_malformed_json(spark: Session, lake: Lake):
    put_paths(lake, {"/a.jsonl": '{"id": 1, "at": "2026-01-01T00:00:00Z"}\n'})
    lake.set_table("orders", schema="id bigint, at timestamp, name string")
    text = '{"id": 2}\n{"id": "two"}\nhello\n{"id": 3, "at": "soon", "name": "x"}\n{"id": 4\n[1]\n'
    put_paths(lake, {"/b.jsonl": text})
    found = divided(lake, spark, taken(lake))
    assert [row[0] for row in good(spark, found)] == [1, 2]
    assert bad(spark, found) == [
        ("[1]", "not a JSON object", "/b.jsonl"),
        ("hello", "not a JSON object", "/b.jsonl"),
        ('{"id": "two"}', "id is not bigint: two", "/b.jsonl"),
        ('{"id": 3, "at": "soon", "name": "x"}', "at is not timestamp: soon", "/b.jsonl"),
        ('{"id": 4', "not a JSON object", "/b.jsonl"),
    ]


def test_files_that_turn_out_well(spark: Session, lake: Lake):
    """A narrower type than the file's texts tell: only Spark knows, and then there is no table."""
    put_paths(lake, {"/a.csv": "id,n\n1,2\n", "/b.csv": "id,n\n3,4\n"})
    lake.set_table("orders", schema="id int, n smallint")
    got = taken(lake)
    assert got.doubtful == {"/a.csv", "/b.csv"}
    found = divided(lake, spark, got)
    assert (found.rows, found.malformed) == (0, None)
    assert good(spark, found) == [(1, 2), (3, 4)]


def test_lines_broken_in_quotes_stay_whole(spark: Session, lake: Lake):
    put_paths(lake, {"/a.csv": 'id,text\n1,"one\ntwo"\n'})
    lake.set_table("orders", schema="id bigint, text string")
    put_paths(lake, {"/b.csv": 'id,text\n2,"three\nfour"\n3,x,y\n'})
    found = divided(lake, spark, taken(lake))
    assert good(spark, found) == [(1, "one\ntwo"), (2, "three\nfour")]
    assert [row[:2] for row in bad(spark, found)] == [("3,x,y", "not 2 fields")]


def test_an_open_quote_costs_its_own_row_alone(spark: Session, lake: Lake):
    """And two quotes are null where no text can be, and else an empty text."""
    put_paths(lake, {"/a.csv": "zip,note,day\n1,x,2026-01-01\n"})
    lake.set_table("orders", schema="zip int, note string, day date")
    text = b'zip,note,day\n2,"o\np",\n3,"a,2026-01-03\n"","",""\n5,\xff,\n6,"6""",2026-01-06\n7,"b'
    put_paths(
        lake,
        {
            "/b.csv": text,
            "/c.csv": text.replace(b"\n", b"\r\n"),
            "/d.csv.gz": gzip.compress(b'note,zip\n"",""\n"",soon\n'),
        },
    )
    found = divided(lake, spark, taken(lake))
    shown = [(row[0], row[1], row[2] and str(row[2])) for row in good(spark, found)]
    assert shown == sorted(
        [
            (1, "x", "2026-01-01"),
            (2, "o\np", None),
            (2, "o\np", None),
            (6, '6"', "2026-01-06"),
            (6, '6"', "2026-01-06"),
            *[(None, "", None)] * 3,
        ],
        key=repr,
    )
    quote = "a quote that does not end its cell, or has no end"
    assert bad(spark, found) == sorted(
        [
            (line, reason, path)
            for path in ("/b.csv", "/c.csv")
            for line, reason in (
                ('3,"a,2026-01-03', f"line 4: {quote}"),
                ("5,\\xff,", "line 6: not UTF-8"),
                ('7,"b', f"line 8: {quote}"),
            )
        ]
        + [('"",soon', "zip is not int: soon", "/d.csv.gz")],
        key=repr,
    )


def test_all_rows_malformed(spark: Session, lake: Lake):
    put_paths(lake, {"/a.jsonl": '{"id": 1}\n'})
    lake.set_table("orders", schema="id bigint")
    put_paths(lake, {"/a.jsonl": None, "/b.jsonl": "x\ny\n"})
    got = given(lake._core, KeyMaker(new_id()), leaf("skip"), read(lake, leaf("skip"))[-1:])
    assert got is not None
    found = divided(lake, spark, got)
    assert good(spark, found) == []
    assert [row[0] for row in bad(spark, found)] == ["x", "y"]


def test_malformed_rows_beside_change_rows(spark: Session, lake: Lake):
    put_paths(lake, {"/a.csv": "id,n\n1,1\n"})
    lake.set_table("orders", schema="id bigint, n bigint")
    put_paths(lake, {"/b.csv": "id,n\n2,2\nx,3\n"})
    put_paths(lake, {"/a.csv": None})
    found = divided(lake, spark, taken(lake, "rows"))
    assert good(spark, found) == [(1, 1, "delete"), (1, 1, "insert"), (2, 2, "insert")]
    assert [row[0] for row in bad(spark, found)] == ["x,3"]


def test_much_json_is_left_to_spark(lake: Lake, monkeypatch: pytest.MonkeyPatch):
    put_paths(lake, {"/a.jsonl": '{"id": 1}\n'})
    (found,) = read(lake)
    assert found.table is not None
    lines = found.added
    assert not text_source(lake._core, lines, "/", "orders", found.table)[1]
    monkeypatch.setattr("trunkline.jobs.streaming.textfiles.MOST_LOOKED_AT", 1)
    assert text_source(lake._core, lines, "/", "orders", found.table)[1] == {"/a.jsonl"}


def test_a_file_that_is_no_table_is_an_error_with_its_name(spark: Session, lake: Lake):
    lake.write_table("orders", [{"id": 1}])
    put_paths(lake, {"/cut.parquet": parquet(id=list(range(1000)))[:-20]})
    with pytest.raises(TrunklineError, match="/cut.parquet"):
        taken(lake)


def test_a_damaged_object_is_an_error_with_its_name(spark: Session, lake: Lake):
    put_paths(lake, {"/a.csv": LARGE})
    lake.set_table("orders", schema="id int, n bigint")
    got = taken(lake)
    (file,) = got.source.scans[0].files
    Path(file.uri.removeprefix("file://")).unlink()
    with pytest.raises(TransformFailed, match="/a.csv cannot be read"):
        divided(lake, spark, got)
