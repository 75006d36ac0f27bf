"""CSV in blocks: whatever is in its cells, rows come as they were written, or are set aside."""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Iterator

import pytest

from trunkline.ingests.feeds.base import CsvText, Refused
from trunkline.ingests.feeds.csvpieces import csv_pieces
from trunkline.ingests.feeds.reading import blocks

NAMES = ["a", 'b "2"', "c\nd"]
ODD = ["", "x", "ü", ",", "a\nb", '"', 'p"q', '""', " \t", "\r\n", '",', "5'", "\n\n", '",\n"']


def taken(data: bytes, size: int) -> tuple[list[list[str]], list[Refused]]:
    rows, refused = list[list[str]](), list[Refused]()
    for piece in csv_pieces(blocks(io.BytesIO(data), size), "s", ","):
        if isinstance(piece, Refused):
            refused.append(piece)
            continue
        assert isinstance(piece, CsvText)
        names, *found = csv.reader(io.StringIO(piece.data.decode(), newline=""))
        assert names == NAMES
        rows += found
    return rows, refused


def written(rows: list[list[str]]) -> bytes:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([NAMES, *rows])
    return out.getvalue().encode()


def generated(seed: int) -> Iterator[list[str]]:
    chance = random.Random(seed)
    for number in range(chance.randrange(1, 30)):
        yield [f"k{number}", *(chance.choice(ODD) for _ in NAMES[1:])]


@pytest.mark.parametrize("size", [1, 7, 64, 1 << 20])
def test_what_is_well_formed_is_not_touched(size: int) -> None:
    for seed in range(60):
        rows = list(generated(seed))
        # A header that is longer than a block needs the whole of it, as files have it.
        assert taken(written(rows), max(size, len(written([])))) == (rows, [])


@pytest.mark.parametrize("size", [32, 1 << 20])
def test_an_open_quote_is_set_aside_and_nothing_else(size: int) -> None:
    chance = random.Random(7)
    for _ in range(40):
        rows = [[f"k{number}", "v", chance.choice(["", "w", 'p"q'])] for number in range(20)]
        # Cells that hold quotes as they are written by those who never quote.
        lines = [",".join(row).encode() for row in rows]
        torn = sorted(chance.sample(range(20), chance.randrange(1, 4)))
        for place in torn:
            lines[place] = b'%s,"v,w' % rows[place][0].encode()
        data = written([]) + b"\n".join(lines)
        found, refused = taken(data, size)
        assert found == [row for place, row in enumerate(rows) if place not in torn]
        assert [one.line for one in refused] == [lines[place].decode() for place in torn]
        # The header has two lines.
        assert [one.reason.split(":")[0] for one in refused] == [f"line {at + 3}" for at in torn]
