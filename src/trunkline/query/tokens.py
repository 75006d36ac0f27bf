"""The words of a query: where a table may stand, what is called, which statement it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from trunkline.errors import InvalidQuery
from trunkline.query.edits import excerpt, line_and_column

if TYPE_CHECKING:
    from sqlglot.tokenizer_core import Token

_CLAUSES = {
    "SELECT", "FROM", "JOIN", "ON", "USING", "WHERE", "GROUP_BY", "HAVING", "ORDER_BY", "LIMIT",
    "QUALIFY", "WINDOW", "UNION", "EXCEPT", "INTERSECT", "VALUES", "OFFSET",
}  # fmt: skip
_BEFORE_A_TABLE = ("FROM", "JOIN", "DESCRIBE", "SUMMARIZE", "PIVOT", "UNPIVOT", "TABLE")


def tokenize(text: str, dialect: str) -> list[Token]:
    import sqlglot
    from sqlglot.errors import TokenError

    try:
        return sqlglot.tokenize(text, read=dialect)
    except TokenError:
        place = _unclosed(text)
        raise wrong(text, place, 1, "A quote or comment that begins here has no end.") from None


def wrong(text: str, offset: int, length: int, message: str, hint: str = "") -> InvalidQuery:
    line, _ = line_and_column(text, offset)
    where = f" (line {line})" if "\n" in text.strip() else ""
    shown = excerpt(text, offset, length)
    whole = message.rstrip(".!") + where
    whole += "" if message.endswith("?") else "."
    return InvalidQuery(whole, hint=hint, excerpt=shown)


def kind(token: Token) -> str:
    return str(token.token_type.name)


def is_name(token: Token) -> bool:
    """Whether it may be a part of a table's name: quoted, or a word."""
    return kind(token) in ("IDENTIFIER", "VAR") or token.text.replace("_", "a").isalnum()


def calls(tokens: Sequence[Token]) -> Iterator[Token]:
    """The names of functions, wherever they are called."""
    for token, following in pairwise(tokens):
        if kind(following) == "L_PAREN" and is_name(token):
            yield token


def stands_for_table(tokens: Sequence[Token], index: int) -> bool:
    """Whether the token begins what a FROM reads from."""
    if index == 0:
        return False
    before = tokens[index - 1]
    word = before.text.upper()
    if word in _BEFORE_A_TABLE or kind(before) in _BEFORE_A_TABLE:
        return word != "FROM" or _is_query(tokens, index - 1)
    if kind(before) == "L_PAREN":
        return stands_for_table(tokens, index - 1)
    if kind(before) == "COMMA":
        clause = _clause(tokens, index - 1)
        return clause in ("FROM", "JOIN", "ON", "USING")
    return False


def _clause(tokens: Sequence[Token], index: int) -> str:
    """The clause that a token is in: the nearest such word before it, at its own depth."""
    depth = 0
    for token in reversed(tokens[:index]):
        depth += (kind(token) == "R_PAREN") - (kind(token) == "L_PAREN")
        if depth < 0:
            return ""
        if depth == 0 and kind(token) in _CLAUSES:
            return kind(token)
    return ""


def _is_query(tokens: Sequence[Token], index: int) -> bool:
    """Whether a FROM is that of a query, and not of extract(day FROM x)."""
    depth = 0
    for place in range(index - 1, -1, -1):
        token = tokens[place]
        depth += (kind(token) == "R_PAREN") - (kind(token) == "L_PAREN")
        if depth < 0:
            return place == index - 1 and not (place and _is_call(tokens[place - 1]))
        if depth == 0 and kind(token) == "SELECT":
            return True
    return True


def _is_call(token: Any) -> bool:
    return kind(token) in ("VAR", "IDENTIFIER")


def _unclosed(text: str) -> int:
    """Where a quote or comment that has no end begins."""
    place = 0
    while place < len(text):
        if text.startswith("--", place):
            place = _after(text, "\n", place + 2)
        elif text.startswith("/*", place):
            end = text.find("*/", place + 2)
            if end < 0:
                return place
            place = end + 2
        elif text[place] in "'\"`":
            end = text.find(text[place], place + 1)
            if end < 0:
                return place
            place = end + 1
        else:
            place += 1
    return max(len(text) - 1, 0)


def _after(text: str, mark: str, start: int) -> int:
    found = text.find(mark, start)
    return len(text) if found < 0 else found + 1
