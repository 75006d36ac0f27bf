"""The tokens of Spark SQL with their places, and errors that point at one.

Only what tells code from strings, quoted names and comments: enough to split a script, to fill
in parameters and to find names, without changing a character of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple, NoReturn

from trunkline.errors import InvalidSpec

COMMENT = "comment"
STRING = "string"
RAW = "raw"
QUOTED = "quoted"
PARAM = "param"
ESCAPE = "escape"
WORD = "word"
SYMBOL = "symbol"

_token = re.compile(
    r"""
    (?P<space>\s+)
  | (?P<comment>--(?:\\\n|[^\r\n])*)
  | (?P<raw>[rR](?:'[^']*'|"[^"]*"))
  | (?P<string>'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")
  | (?P<quoted>`(?:[^`]|``)*`)
  | (?P<escape>\$\$\{)
  | (?P<param>\$\{[^}\n]*\})
  | (?P<word>\w+)
  | (?P<symbol>.)
    """,
    re.VERBOSE | re.DOTALL,
).match
# A hint is no comment, wherever it begins.
_comment_edge = re.compile(r"/\*(?!\+)|\*/")

# Where SQL is that stands in the spec itself.
INLINE = "transform.sql"
_IN_SPECS = (INLINE, "transform.stream")
# Wider lines are cut around the place that is pointed at.
_WIDEST = 100


class Token(NamedTuple):
    kind: str
    text: str
    start: int
    end: int

    @property
    def upper(self) -> str:
        """The keyword that it may be; '' for what is quoted."""
        return self.text.upper() if self.kind in (WORD, SYMBOL) else ""

    @property
    def name(self) -> str:
        """The name that it is, without backticks."""
        return self.text[1:-1].replace("``", "`") if self.kind == QUOTED else self.text

    @property
    def is_name(self) -> bool:
        return self.kind in (WORD, QUOTED)


def tokens(sql: str, where: str) -> Iterator[Token]:
    """All tokens, comments too; spaces are what is between them."""
    at = 0
    while at < len(sql):
        if sql.startswith("/*", at) and not sql.startswith("/*+", at):
            end = _comment_end(sql, at, where)
            yield Token(COMMENT, sql[at:end], at, end)
            at = end
            continue
        found = _token(sql, at)
        assert found is not None
        kind = found.lastgroup or SYMBOL
        if kind == SYMBOL and found[0] in "'\"`":
            refuse(sql, at, where, f"this {found[0]} is never closed.")
        if kind != "space":
            yield Token(kind, found[0], at, found.end())
        at = found.end()


def code(sql: str, where: str) -> list[Token]:
    """The tokens without comments."""
    return [token for token in tokens(sql, where) if token.kind != COMMENT]


def essence(sql: str) -> str:
    """The text without comments and formatting: two scripts with the same one do the same."""
    text, end = "", 0
    for token in code(sql, ""):
        text += (" " if text and token.start > end else "") + token.text
        end = token.end
    return text


def _comment_end(sql: str, start: int, where: str) -> int:
    """Comments nest."""
    depth, at = 1, start + 2
    while depth:
        found = _comment_edge.search(sql, at)
        if found is None:
            refuse(sql, start, where, "this comment is never closed.")
        depth += 1 if found[0] == "/*" else -1
        at = found.end()
    return at


def position(sql: str, offset: int) -> tuple[int, int]:
    """Line and column, from 1."""
    return sql.count("\n", 0, offset) + 1, offset - sql.rfind("\n", 0, offset)


def refuse(sql: str, offset: int, where: str, message: str, hint: str = "") -> NoReturn:
    """An error with its place: `day.sql:3: …`, or `transform.sql, line 3: …` inside a spec."""
    line, column = position(sql, min(offset, len(sql)))
    place = f"{where}, line {line}" if where in _IN_SPECS else f"{where}:{line}"
    raise InvalidSpec(caret(sql, line, column, f"{place}: {message}"), hint=hint)


def caret(sql: str, line: int, column: int, message: str) -> str:
    """The message, the line it is about, and a caret below the place, as compilers do it."""
    lines = sql.split("\n")
    if not 1 <= line <= len(lines):
        return message
    text = "".join(c if c.isprintable() else " " for c in lines[line - 1].rstrip())
    start = 0
    if len(text) > _WIDEST and column > _WIDEST - 20:
        start = column - _WIDEST // 2
    shown = ("…" if start else "") + text[start : start + _WIDEST]
    shown += "…" if len(text) > start + _WIDEST else ""
    margin = f"{line} | "
    pad = " " * (column - 1 - start + bool(start))
    return f"{message}\n{margin}{shown}\n{' ' * (len(margin) - 2)}| {pad}^"
