"""CSV made pieces of rows, each with the header. Rows that cannot be taken apart are set aside.

Arrow takes a quote without an end for a value that goes on to the end of the file. So what is not
plainly quoted is taken apart row by row here, as tables of the lake are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from trunkline.ingests.feeds.base import CsvText, Piece, Refused
from trunkline.tables.reading.csvrows import ANY_LINE, Row, Taker, quoted_cells

_BOM = b"\xef\xbb\xbf"
_LONGEST = 32 << 20
"""Bytes through which the end of a quote is looked for."""


def csv_pieces(blocks: Iterable[bytes], source: str, delimiter: str) -> Iterator[Piece]:
    """The pieces of a file that comes in blocks, each of them of whole lines."""
    reading: _Reading | None = None
    for block in blocks:
        if reading is None:
            reading = _Reading(source, delimiter)
            block = reading.take_header(block.removeprefix(_BOM))
        yield from reading.add(block)
    if reading is not None:
        yield from reading.rest()


class _Reading:
    """A file's text as far as it is known. Bytes are letters here: only the separators matter."""

    def __init__(self, source: str, delimiter: str) -> None:
        self._source = source
        self._delimiter = delimiter
        options = {"sep": delimiter, "quote": '"', "escape": '"', "multiLine": "true"}
        self._take = Taker(options, lines=ANY_LINE)
        self._quoted = quoted_cells(delimiter, '"')
        self._header = b""
        self._names: list[str | None] = []
        self._flaw = ""
        self._line = 1
        self._held = b""

    def take_header(self, block: bytes) -> bytes:
        """What is behind it."""
        text = block.decode("latin-1")
        for row, end, line in self._take.rows(text, 1, whole=True):
            self._header, self._names, self._line = block[:end].rstrip(b"\r\n"), row.cells, line
            self._flaw = row.flaw
            return block[end:]
        return b""

    def add(self, block: bytes) -> Iterator[Piece]:
        held = self._held + b"\n" + block if self._held else block
        if not self._flaw and self._is_plain(held):
            self._held = b""
            self._line += held.count(b"\n") + 1
            yield from self._piece(held)
            return
        if held.count(b'"') % 2 and len(held) < _LONGEST:
            self._held = held  # most often a quoted value that goes on in the next block
            return
        yield from self._exactly(held, whole=False)
        while len(self._held) > _LONGEST:
            yield from self._exactly(self._held, whole=True, most=1)
            yield from self._exactly(self._held, whole=False)

    def rest(self) -> Iterator[Piece]:
        if self._held and not self._flaw and self._is_plain(self._held):
            yield from self._piece(self._held)
        elif self._held:
            yield from self._exactly(self._held, whole=True)

    def _is_plain(self, data: bytes) -> bool:
        """Whether Arrow reads it as we do."""
        if not data.isascii():
            try:
                data.decode()
            except UnicodeDecodeError:
                return False
        return b'"' not in data or b'"' not in self._quoted.sub(b"", data)

    def _piece(self, rows: bytes) -> Iterator[Piece]:
        if rows.strip():
            yield CsvText(self._header + b"\n" + rows, self._source, self._delimiter)

    def _exactly(self, data: bytes, *, whole: bool, most: int | None = None) -> Iterator[Piece]:
        """Row by row; what is not known to be whole is held."""
        good, end, text, flaws = list[bytes](), 0, data.decode("latin-1"), 0
        for row, end, line in self._take.rows(text, self._line, whole=whole):
            flaw = self._flaw_of(row)
            if flaw:
                shown = row.text.rstrip("\r\n").encode("latin-1").decode(errors="backslashreplace")
                yield Refused(shown, f"line {row.line}: {flaw}", self._source)
            else:
                good.append(self._written(row))
            self._line, flaws = line, flaws + bool(flaw)
            if most is not None or (flaw and flaws == 1 and self._is_plain(data[end:])):
                break
        self._held = data[end:]
        yield from self._piece(b"\n".join(good))
        if flaws == 1 and self._held and not self._flaw and self._is_plain(self._held):
            held, self._held = self._held, b""
            yield from self.add(held)

    def _flaw_of(self, row: Row) -> str:
        if self._flaw:
            return f"the header has {self._flaw}"
        if row.flaw:
            return row.flaw
        if len(row.cells) != len(self._names):
            return f"{len(row.cells)} values, not {len(self._names)}"
        try:
            row.text.encode("latin-1").decode()
        except UnicodeDecodeError:
            return "not UTF-8"
        return ""

    def _written(self, row: Row) -> bytes:
        """The row again, in the way that all read alike."""
        cells = (
            "" if one is None else f'"{one.replace(chr(34), chr(34) * 2)}"' for one in row.cells
        )
        return self._delimiter.join(cells).encode("latin-1")
