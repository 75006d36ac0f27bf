"""Rows of CSV as Spark's parser takes them apart, for files that others would read differently.

Slower than Arrow, and exact: spaces behind a closing quote, backslashes, comments, white space to
be ignored, and rows that are malformed, each with its line. An empty cell is None; one of two
quotes is an empty text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import IO

_SPACE = r"[\x00-\x09\x0b\x0c\x0e-\x20]"
_STRIPPED = "".join(map(chr, range(0x21)))
ANY_LINE = r"\r\n|\n|\r"
_MOST = 32 << 20
"""Characters that a single row may have."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row, the line on which it begins, its text, and why it cannot be taken apart."""

    line: int
    text: str
    cells: list[str | None]
    flaw: str = ""


class OpenQuote(ValueError):
    """A quote without an end, or one in the middle of a cell: where the row ends is not known."""


def is_true(options: Mapping[str, str], name: str) -> bool:
    return options.get(name, "false").lower() == "true"


def is_plain(stream: IO[bytes], options: Mapping[str, str], columns: int) -> bool:
    """Whether Arrow reads the file as Spark does: nothing in it is read in two ways."""
    if any(
        (
            options.get("comment", ""),
            is_true(options, "ignoreLeadingWhiteSpace"),
            is_true(options, "ignoreTrailingWhiteSpace"),
            options.get("mode", "FAILFAST").upper() != "FAILFAST",
        )
    ):
        return False
    if not options.get("encoding", "utf-8").lower().startswith(("utf-8", "utf8", "iso", "latin")):
        return True  # patterns of bytes say nothing of it
    quote, sep = (re.escape(options.get(name, usual).encode()) for name, usual in _USUAL)
    space, end = _SPACE.encode(), rb"(?:" + sep + rb"|\r|\n|\Z)"
    odd = [quote + space + b"+" + end, rb"(?:" + sep + rb"|\r|\n|\A)" + space + b"+" + quote]
    if columns == 1:
        odd.append(rb"(?:\A|\r|\n)" + space + b"+" + rb"(?:\r|\n|\Z)")
    if options.get("escape", '"') == "\\":
        odd.append(rb"\\")
    if is_true(options, "multiLine"):
        line = options.get("lineSep", "\n")
        odd.append({"\n": rb"\r", "\r": rb"\n"}.get(line, rb"(?<!\r)\n|\r(?!\n)"))
    search = re.compile(b"|".join(odd)).search
    before = b""
    while piece := stream.read(1 << 20):
        if search(before + piece):
            # What begins or ends a piece is no end of the file; then it is only slower.
            return False
        before = piece[-256:]
    return True


_USUAL = (("quote", '"'), ("sep", ","))


def quoted_cells(sep: str, quote: str) -> re.Pattern[bytes]:
    """Cells in quotes, which are doubled inside. What else has a quote is taken apart by rows."""
    s, q = re.escape(sep.encode()), re.escape(quote.encode())
    return re.compile(
        rb"(?<![^%s\r\n])%s[^%s]*+(?:%s%s[^%s]*+)*+%s(?=%s|[\r\n]|\Z)" % (s, *[q] * 6, s)
    )


def rows(stream: IO[bytes], options: Mapping[str, str], lines: str = "") -> Iterator[Row]:
    """All rows with their lines, the header too."""
    import codecs

    decode = codecs.getincrementaldecoder(options.get("encoding", "utf-8"))("strict").decode
    take = Taker(options, lines)
    text, line, first = "", 1, True
    while True:
        piece = stream.read(1 << 20)
        try:
            text += decode(piece, final=not piece)
        except UnicodeDecodeError:
            raise ValueError(
                f"line {line + text.count(chr(10))} is not {decode_name(options)}"
            ) from None
        if first:
            text = text.removeprefix("\ufeff")
            first = False
        taking = True
        while taking:
            end, taking = 0, False
            for row, after, following in take.rows(text, line, whole=not piece):
                end, line = after, following
                yield row
            text = text[end:]
            if len(text) > _MOST:
                row, end, following = next(take.rows(text, line, whole=True))
                if not row.flaw:
                    raise ValueError(f"line {line}: a row has more than {_MOST:,} characters")
                yield row
                text, line, taking = text[end:], following, True
        if not piece:
            return


def decode_name(options: Mapping[str, str]) -> str:
    return options.get("encoding", "utf-8").upper()


class Taker:
    """Takes rows off the beginning of a text."""

    def __init__(self, options: Mapping[str, str], lines: str = "") -> None:
        sep = {"\\t": "\t"}.get(options.get("sep", ","), options.get("sep", ","))
        quote = options.get("quote", '"')
        self.escape = options.get("escape", "\\")
        self.quote, self.sep = quote, sep
        self.multi = is_true(options, "multiLine")
        self.comment = options.get("comment", "")
        self.leading = is_true(options, "ignoreLeadingWhiteSpace")
        self.trailing = is_true(options, "ignoreTrailingWhiteSpace")
        q, s, e = re.escape(quote), re.escape(sep), re.escape(self.escape)
        told = re.escape(options.get("lineSep", "\n")) if self.multi else ANY_LINE
        line = lines or told
        lead = f"{_SPACE}*" if self.leading else ""
        # Without ways back: a quote with no end is looked for through all that follows it.
        doubled = rf"[^{q}]*+(?:{q}{q}[^{q}]*+)*+"
        inner = doubled if self.escape == quote else rf"[^{e}{q}]*+(?:{e}.[^{e}{q}]*+)*+"
        bare = rf"(?:(?!{line}|{s}).)*"
        self.line = re.compile(rf"(?s:.*?)({line})")
        self.cell = re.compile(
            rf"(?s:{lead}{q}({inner}){q}{_SPACE}*(?={s}|{line}|\Z)|({bare}))({s}|{line}|\Z)"
        )
        self.open = re.compile(rf"(?s:{lead}{q}{inner}(?:{q}{_SPACE}*+)?+\Z)")
        self.unquoted = re.compile(rf"{re.escape(self.escape)}([{q}{e}])")

    def rows(self, text: str, line: int, whole: bool) -> Iterator[tuple[Row, int, int]]:
        """Rows with where they end and the line that follows, as far as they are whole."""
        place = 0
        while place < len(text):
            at = self.line.match(text, place)
            if at is None and not whole:
                return
            end = at.end() if at else len(text)
            plain = text[place : at.start(1) if at else end]
            if self._is_skipped(plain):
                place, line = end, line + 1
                continue
            if not self.multi:
                cells, stop, flaw = self._cells(plain + "\n", 0)
            else:
                cells, stop, flaw = self._cells(text, place)
                if not whole and (self.open.match(text, stop) if flaw else stop >= len(text) - 1):
                    return  # what follows may end it
                if not flaw:
                    end = stop
            yield Row(line, text[place:end], cells, flaw), end, line + _breaks(text, place, end)
            line += _breaks(text, place, end)
            place = end

    def _is_skipped(self, plain: str) -> bool:
        blank = not plain.strip(_STRIPPED) if not self.multi else not plain
        return blank or bool(self.comment and plain.startswith(self.comment))

    def _cells(self, text: str, place: int) -> tuple[list[str | None], int, str]:
        cells: list[str | None] = []
        while True:
            found = self.cell.match(text, place)
            assert found is not None  # a bare cell may be empty
            quoted, bare, end = found.groups()
            if quoted is None and (bare.lstrip(_STRIPPED) if self.leading else bare).startswith(
                self.quote
            ):
                return cells, place, "a quote that does not end its cell, or has no end"
            if (self.leading or self.trailing) and bare and "\0" in bare:
                return cells, place, "a NUL, which some count as white space and some do not"
            cells.append(self._value(quoted, bare))
            place = found.end()
            if end != self.sep:
                return cells, place, ""

    def _value(self, quoted: str | None, bare: str | None) -> str | None:
        if quoted is not None:
            if self.escape == self.quote:
                return quoted.replace(self.quote * 2, self.quote)
            return self.unquoted.sub(r"\1", quoted)
        assert bare is not None
        bare = bare.lstrip(_STRIPPED) if self.leading else bare
        bare = bare.rstrip(_STRIPPED) if self.trailing else bare
        return bare or None


def _breaks(text: str, start: int, end: int) -> int:
    part = text[start:end]
    return max(1, part.count("\n") + part.count("\r") - part.count("\r\n"))
