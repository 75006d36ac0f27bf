"""What is found in files of JSON lines."""

import gzip
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from tests.tables.reading import columns, described, put, rows, table_of
from trunkline.errors import Precondition


def test_types(lake):
    files: dict[str, str | bytes] = {
        "/a.jsonl": '{"n":1,"x":{"y":[1,2.5]},"day":"2026-01-01","none":null,"e":{}}\n'
        '{"n":null,"x":{"z":"x"},"list":[],"at":"2026-01-01T10:00:00Z","s":"12"}\n',
        "/b.jsonl.gz": gzip.compress(b'{"n":2.5,"big":18446744073709551615}\n'),
    }
    table = table_of(lake, files)
    assert columns(table) == {
        "n": "double", "x": "struct<y:array<double>,z:string>", "day": "date", "none": "string",
        "e": "string", "list": "array<string>", "at": "timestamp", "s": "string",
        "big": "decimal(38,0)",
    }  # fmt: skip
    found = rows(lake, table)
    assert found[0]["x"] == {"y": [1.0, 2.5], "z": None}
    assert found[0]["day"] == date(2026, 1, 1)
    assert found[0]["e"] == "{}"
    assert found[1]["at"] == datetime(2026, 1, 1, 10, tzinfo=UTC)
    assert found[2] == dict.fromkeys(columns(table)) | {
        "n": 2.5,
        "big": Decimal(18446744073709551615),
    }


def test_a_field_of_many_kinds_is_its_text(lake):
    table = table_of(lake, {"/a.jsonl": '{"v":1}\n{"v":{"a":2}}\n{"v":"x"}\n'})
    assert columns(table) == {"v": "string"}
    assert [row["v"] for row in rows(lake, table)] == ["1", '{"a":2}', "x"]


def test_an_array_of_objects(lake):
    table = table_of(lake, {"/a.json": '[{"a":1},\n {"a":2}]', "/b.json": '{"a":3}\n'})
    assert [row["a"] for row in rows(lake, table)] == [1, 2, 3]
    assert [dict(scan.options).get("multiLine") for scan in table.scans] == ["true", None]


@pytest.mark.parametrize(
    "content, message",
    [
        ('{"a":1}\n{"a"\n', "cannot be read as JSON"),
        ('{"a":1,"A":2}\n', '"a" and "A"'),
        ("1\n2\n", "not objects"),
    ],
)
def test_refused_with_the_path(lake, content, message):
    put(lake, {"/ok.json": '{"a":1}\n', "/bad.json": content})
    with pytest.raises(Precondition, match=message) as caught:
        described(lake)
    assert "/bad.json" in str(caught.value)


def test_empty_files_and_lines(lake):
    table = table_of(lake, {"/a.json": "", "/b.json": '{"a":1}\n\n{"a":2}\n', "/c.json": "\n"})
    assert [row["a"] for row in rows(lake, table)] == [1, 2]
