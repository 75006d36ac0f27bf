"""What is found in CSV files."""

import bz2
import gzip
import io
import random

import pytest
import zstandard

from tests.tables.reading import columns, described, put, rows, table_of
from trunkline.errors import Precondition
from trunkline.tables.discovery.textclasses import is_word


def options(table, *names):
    return [tuple(dict(scan.options)[name] for name in names) for scan in table.scans]


def test_types_are_those_of_all_rows(lake):
    text = "id,x,flag,day,at,moment,zip,name,none\n"
    text += "1,2,true,2026-01-01,2026-01-01 10:00:00,2026-01-01T10:00:00Z,00123,Ann,\n" * 3000
    text += "2,2.5,FALSE,2026-12-31,2026-01-01,2026-01-01T10:00:00+02:00,12345,,\n"
    table = table_of(lake, {"/a.csv": text})
    assert columns(table) == {
        "id": "bigint", "x": "double", "flag": "boolean", "day": "date", "at": "timestamp_ntz",
        "moment": "timestamp", "zip": "string", "name": "string", "none": "string",
    }  # fmt: skip
    assert table.rows == 3001


@pytest.mark.parametrize(
    "value", ["007", "+49", " 1", "1_000", "12345678901234567890", "2026-02-30", "1,5"]
)
def test_what_only_looks_like_a_number_or_day_is_text(lake, value):
    table = table_of(lake, {"/a.csv": f'id,v\n1,"{value}"\n'})
    assert columns(table) == {"id": "bigint", "v": "string"}
    assert rows(lake, table) == [{"id": 1, "v": value}]


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_delimiters(lake, separator):
    text = separator.join(("id", "name")) + "\n" + separator.join(("1", '"a, b; c"')) + "\n"
    table = table_of(lake, {"/a.csv": text})
    assert rows(lake, table) == [{"id": 1, "name": "a, b; c"}]


def test_quotes_that_come_late(lake):
    text = "id,name\n" + "1,Ann\n" * 30_000 + '2,"a ""b"", c"\n3,"two\nlines"\n'
    table = table_of(lake, {"/a.csv": text})
    assert options(table, "quote", "multiLine") == [('"', "true")]
    found = rows(lake, table)
    assert [row["name"] for row in found[-2:]] == ['a "b", c', "two\nlines"]


def test_without_a_header(lake):
    table = table_of(lake, {"/a.csv": "1,Ann,2.5\n2,Bob,\n"})
    assert columns(table) == {"_c0": "bigint", "_c1": "string", "_c2": "double"}
    assert options(table, "header") == [("false",)]
    assert rows(lake, table)[1] == {"_c0": 2, "_c1": "Bob", "_c2": None}


def test_a_file_cut_into_pieces_has_one_header(lake):
    table = table_of(lake, {"/1.csv": "id,name\n1,Ann\n", "/2.csv": "2,Bob\n", "/3.csv": "3,Eve\n"})
    assert columns(table) == {"id": "bigint", "name": "string"}
    assert [row["name"] for row in rows(lake, table)] == ["Ann", "Bob", "Eve"]


def test_files_with_other_columns_are_scans_of_their_own(lake):
    files = {
        "/a.csv": "id,x\n1,2\n",
        "/b.csv": "x,name,id\n2.5,Bob,2\n",
        "/c.csv": "id,x\n3,word\n",
        "/empty.csv": "",
        "/head.csv": "id,x\n",
    }
    table = table_of(lake, files)
    assert columns(table) == {"id": "bigint", "x": "string", "name": "string"}
    assert [(scan.schema.names, len(scan.files)) for scan in table.scans] == [
        (("id", "x"), 3),
        (("x", "name", "id"), 1),
    ]
    assert rows(lake, table) == [
        {"id": 1, "x": "2", "name": None},
        {"id": 2, "x": "2.5", "name": "Bob"},
        {"id": 3, "x": "word", "name": None},
    ]


def test_empty_is_null_unless_it_is_quoted(lake):
    table = table_of(lake, {"/a.csv": 'id,name\n1,\n2,""\n'})
    assert [row["name"] for row in rows(lake, table)] == [None, ""]


def test_a_column_without_a_name(lake):
    table = table_of(lake, {"/a.csv": ",name\n0,Ann\n"})
    assert columns(table) == {"_c0": "bigint", "name": "string"}
    assert options(table, "enforceSchema") == [("true",)]


def test_compressed(lake):
    text = b"id\tname\n1\tAnn\n"
    files = {
        "/a.tsv.gz": gzip.compress(text),
        "/b.tsv.bz2": bz2.compress(text),
        "/c.tsv.zst": zstandard.ZstdCompressor().compress(text),
        "/d.tsv": text,
    }
    table = table_of(lake, files)
    assert rows(lake, table) == [{"id": 1, "name": "Ann"}] * 4
    assert len(table.scans) == 1


def test_large_files_are_read_where_they_are(lake):
    text = "id,name\n" + "".join(f"{n},{'x' * 100}\n" for n in range(20_000))
    table = table_of(lake, {"/a.csv": text, "/b.csv.gz": gzip.compress(text.encode())})
    assert table.scans[0].files[0].uri.startswith("file://")
    assert table.rows == 40_000
    assert sum(row["id"] for row in rows(lake, table, columns=["id"])) == 2 * sum(range(20_000))


def test_many_columns(lake):
    names = [f"column{number}" for number in range(5000)]
    table = table_of(lake, {"/a.csv": ",".join(names) + "\n" + ",".join(["1"] * 5000) + "\n"})
    assert table.schema.names == tuple(names)
    assert set(columns(table).values()) == {"bigint"}


@pytest.mark.parametrize(
    "content, message",
    [
        ("id,name\n1,Ann\n2,Bob,extra\n", "line 3: 3 cells where there are 2 columns"),
        ("id,ID\n1,2\n", '"id" and "ID"'),
        ("id,id\n1,2\n", '"id" twice'),
        ("id,v,v\n1,2,3\n", '"v" twice'),
        ('id,v\n1,"a\n2,b\n', "line 2: a quote that does not end its cell"),
        ("id,name\n1,\xe9\n".encode("latin-1"), "is not UTF-8"),
    ],
)
def test_refused_with_the_path(lake, content, message):
    put(lake, {"/ok.csv": "id,name\n1,Ann\n", "/sub=1/a.csv": content})
    with pytest.raises(Precondition, match=message) as caught:
        described(lake)
    assert "/sub=1/a.csv" in str(caught.value)


def test_words():
    assert is_word("name") and is_word("a1") and is_word("7up") and is_word("é")
    assert not any(map(is_word, ["1", "-1.5", "1e5", "true", "2026-01-01", "2026-01-01T10:00Z"]))


def test_a_file_that_is_not_compressed_as_its_name_says(lake):
    put(lake, {"/a.csv.gz": b"id\n1\n"})
    with pytest.raises(Precondition, match="/a.csv.gz"):
        described(lake)


def test_byte_order_mark(lake):
    buffer = io.BytesIO(b"\xef\xbb\xbfid,name\n1,Ann\n")
    table = table_of(lake, {"/a.csv": buffer.getvalue()})
    assert rows(lake, table) == [{"id": 1, "name": "Ann"}]


def test_rows_that_are_left_out_can_be_seen(lake):
    chance = random.Random(11)
    kinds: dict[str, list[tuple[int, str]]] = {"good": [], "bad": []}
    for number in range(500):
        flaws = {
            "good": (f'{number},"x\ny",1.5', f'{number},,""', f"{number},NA,-Inf"),
            "short": (f"{number},x",),
            "long": (f"{number},x,1,2",),
            "typed": (f"{number}.5,x,1", f"{number},x,nan", f"{number},x,1_000"),
        }
        kind = chance.choice(["good", "good", "good", "short", "long", "typed"])
        kinds["good" if kind == "good" else "bad"].append((number, chance.choice(flaws[kind])))
    lines = [text for _, text in sorted((*kinds["good"], *kinds["bad"]))]
    put(lake, {"/a.csv": "id,note,v\n" + "\n".join(lines), "/b.csv": "id,note,v\n1,,2\nx,,3\n"})
    lake.set_table("orders", schema="id int, note string, v double", options=DROP)
    table = lake.table("orders")
    left = table.malformed().to_pylist()
    assert [row["text"] for row in left[:-1]] == [text for _, text in kinds["bad"]]
    assert left[-1] == {
        "path": "/b.csv", "line": 3, "text": "x,,3", "reason": 'id is not int: "x"'
    }  # fmt: skip
    text = "id,note,v\n" + "\n".join(lines)
    for row in left[:-1]:
        assert text.split("\n")[row["line"] - 1] == row["text"]
    assert table.arrow().num_rows + len(left) == len(lines) + 2
    assert table.malformed(3).to_pylist() == left[:3]
    reasons = {row["reason"].partition(":")[0] for row in left}
    assert reasons == {
        "id is not int",
        "v is not double",
        "2 cells where there are 3 columns",
        "4 cells where there are 3 columns",
    }


def test_nothing_is_left_out_unless_told_so(lake):
    put(lake, {"/a.csv": "id\n1\n"})
    assert lake.table("orders").malformed().num_rows == 0


DROP = {"mode": "DROPMALFORMED", "sep": ","}
