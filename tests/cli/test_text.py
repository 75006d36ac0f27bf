"""Numbers, tables and odd characters as a person reads them."""

import io
import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from trunkline.cli.files import byte_range
from trunkline.cli.output import Column, JsonOutput, Style, TextOutput
from trunkline.cli.text import aligned, count, duration, fields, human_size, printable
from trunkline.errors import Usage


@pytest.mark.parametrize(
    "size, text",
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1_258_291, "1.2 MiB"),
        ((1 << 20) - 1, "1.0 MiB"),
        (5 << 40, "5.0 TiB"),
        (3 << 50, "3.0 PiB"),
    ],
)
def test_human_size(size, text):
    assert human_size(size) == text


def test_count():
    words = [count(1, "file"), count(2, "file"), count(0, "branch")]
    assert words == ["1 file", "2 files", "0 branches"]


def test_columns_stand_under_each_other():
    rows = [["NAME", "SIZE"], ["a", "1"], ["long name", "12345"]]
    assert aligned(rows, [False, True]) == [
        "NAME        SIZE",
        "a              1",
        "long name  12345",
    ]


def test_fields():
    assert fields([("Repo", "a"), ("Created", "b")]) == ["Repo:    a", "Created: b"]
    assert fields([("Reads", "a"), ("", "b")]) == ["Reads: a", "       b"]


def test_nothing_moves_the_cursor():
    assert printable("a\x1b[2J\u202eb") == "a\\x1b[2J\\u202eb"
    assert printable("café ☕") == "café ☕"
    assert printable("\udcff") == "\\udcff"


@pytest.mark.parametrize(
    "text, found", [("0-99", (0, 100)), ("100-", (100, None)), ("7-7", (7, 1))]
)
def test_byte_range(text, found):
    assert byte_range(text) == found


@pytest.mark.parametrize("text", ["", "-", "5", "-5", "9-3", "a-b", "0-99-", "٣-٤"])
def test_no_byte_range(text):
    with pytest.raises(Usage, match="not a range of bytes"):
        byte_range(text)


@dataclass
class Thing:
    name: str
    where: Path


class TestJson:
    def written(self, items) -> str:
        stream = io.StringIO()
        JsonOutput(stream).table(items, ())
        return stream.getvalue()

    def test_a_list_is_an_array(self):
        assert json.loads(self.written([Thing("a", Path("/b")), {"c": 1}])) == [
            {"name": "a", "where": "/b"},
            {"c": 1},
        ]

    def test_an_empty_list_is_one_too(self):
        assert self.written([]) == "[]\n"

    def test_nothing_is_written_when_the_first_item_fails(self):
        def failing():
            raise ValueError
            yield

        stream = io.StringIO()
        with pytest.raises(ValueError):
            JsonOutput(stream).each(failing(), lambda item: [])
        assert stream.getvalue() == ""


class TestText:
    def test_quiet_keeps_results_and_drops_remarks(self):
        stream = io.StringIO()
        output = TextOutput(stream, quiet=True)
        output.done({}, "Done.")
        output.table([], (), empty="Nothing.")
        output.table([Thing("a", Path())], [Column("NAME", lambda t: t.name)])
        assert stream.getvalue() == "NAME\na\n"

    def test_colour_is_marked_only_when_on(self):
        assert Style(on=False)("+", "x") == "x"
        assert Style(on=True)("+", "x") == "\x1b[32mx\x1b[0m"


@pytest.mark.parametrize(
    "seconds, text", [(86400, "1d"), (5400, "90m"), (90, "90s"), (0.5, "0.5s"), (0, "0s")]
)
def test_duration(seconds, text):
    assert duration(seconds) == text
