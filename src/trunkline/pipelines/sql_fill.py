"""Parameters of SQL: `${name}`, filled in as what it stands for.

Where a value may stand it becomes a literal of its type; in a string the plain text, escaped;
in a name, or in backticks, that part of the name. So no value can become code. Comments are
left alone. `$${` stands for `${`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date
from typing import NoReturn

from trunkline.model.pipelines import Param
from trunkline.model.suggest import did_you_mean, shown
from trunkline.pipelines.sql_tokens import (
    COMMENT,
    ESCAPE,
    PARAM,
    QUOTED,
    RAW,
    STRING,
    WORD,
    Token,
    refuse,
    tokens,
)

Scalar = str | int | float | bool

_placeholder = re.compile(r"\$\$\{|\$\{([^}\n]*)\}")
_is_name = re.compile(r"[^\W\d]\w*").fullmatch
_is_word = re.compile(r"\w+").fullmatch
_is_date = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}").fullmatch
_ESCAPED = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\0": "\\0"}


def fill(sql: str, params: Mapping[str, Param], where: str) -> str:
    """The text with every `${name}` filled in; lines stay where they are."""
    return "".join(_Filler(sql, params, where).parts())


def check_params(sql: str, params: Mapping[str, Param], where: str) -> None:
    """Refuse parameters that nothing asks for, beside what `fill` refuses."""
    filler = _Filler(sql, params, where)
    for _ in filler.parts():
        pass
    for name in params:
        if name not in filler.used:
            asked = sorted(filler.used)
            rest = f"The text asks for {', '.join(asked)}." if asked else ""
            refuse(
                sql, 0, where, f'nothing asks for the parameter "{name}".',
                f"Write ${{{name}}} where it belongs, or take it out. {rest}".rstrip(),
            )  # fmt: skip


def literal(value: Param) -> str:
    """The value as Spark SQL writes it. Text that is a date, as 2026-01-31, is a date."""
    if isinstance(value, tuple):
        return f"({', '.join(map(literal, value))})"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return f"{'DATE ' if is_date(value) else ''}'{escaped(value, chr(39))}'"
    return repr(value)


def is_date(text: str) -> bool:
    if not _is_date(text):
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def escaped(text: str, quote: str) -> str:
    """Text as it stands in a string: on one line, so that lines of errors stay right."""
    return "".join(_ESCAPED.get(c, "\\" + c if c == quote else c) for c in text)


class _Filler:
    """One pass over the tokens. `used` are the parameters that were asked for."""

    def __init__(self, sql: str, params: Mapping[str, Param], where: str) -> None:
        self.sql = sql
        self.params = params
        self.where = where
        self.used: set[str] = set()

    def parts(self) -> Iterator[str]:
        found = list(tokens(self.sql, self.where))
        code = [token for token in found if token.kind != COMMENT]
        places = {id(token): i for i, token in enumerate(code)}
        end = 0
        for token in found:
            yield self.sql[end : token.start]
            end = token.end
            if token.kind in (STRING, RAW, QUOTED):
                yield self.inside(token)
            elif token.kind == PARAM:
                i = places[id(token)]
                yield self.value(code, i)
            elif token.kind == ESCAPE:
                yield "${"
            else:
                if token.text == "$" and self.sql.startswith("{", token.end):
                    self.refuse(token.start, '"${" is never closed.')
                yield token.text
        yield self.sql[end:]

    def value(self, code: list[Token], i: int) -> str:
        """What stands in the code: a literal, or a part of a name where it touches one."""
        token = code[i]
        before = code[i - 1] if i else None
        after = code[i + 1] if i + 1 < len(code) else None
        given = self.given(token.text[2:-1], token.start)
        touches = before is not None and before.end == token.start
        follows = after is not None and after.start == token.end
        if (touches and before and before.kind in (WORD, PARAM)) or (
            follows and after and after.kind in (WORD, PARAM)
        ):
            text = self.plain(token, given)
            if not _is_word(text):
                self.refuse(token.start, f"{shown(text)} cannot be part of a name.",
                            "Put the whole name in backticks.")  # fmt: skip
            return text
        if touches and before and before.text == ".":
            return f"`{self.plain(token, given).replace('`', '``')}`"
        text = literal(given)
        if isinstance(given, tuple) and before and after and before.text + after.text == "()":
            return text[1:-1]
        # Two dashes would begin a comment.
        return f" {text}" if text.startswith("-") and touches else text

    def inside(self, token: Token) -> str:
        """A string or quoted name with its placeholders filled in."""
        raw, quote = token.kind == RAW, token.text[-1]

        def filled(found: re.Match[str]) -> str:
            if found[1] is None:
                return "${"
            at = token.start + found.start()
            text = self.plain(token, self.given(found[1], at), at)
            if token.kind == QUOTED:
                return text.replace("`", "``")
            if not raw:
                return escaped(text, quote)
            if quote in text or "\n" in text:
                self.refuse(at, f"{shown(text)} cannot stand in a raw string.",
                            "Leave the r before the quote out.")  # fmt: skip
            return text

        return _placeholder.sub(filled, token.text)

    def given(self, name: str, at: int) -> Param:
        if name not in self.params:
            what = f"there is no parameter {shown(name)}.{did_you_mean(name, self.params)}"
            hint = "" if _is_name(name) else "Write $${ for a ${ that stands for itself."
            self.refuse(at, what, hint or "Name it in transform.params.")
        self.used.add(name)
        return self.params[name]

    def plain(self, token: Token, value: Param, at: int | None = None) -> str:
        if isinstance(value, tuple):
            self.refuse(token.start if at is None else at,
                        "a list cannot stand in a string or a name.")  # fmt: skip
        return str(value).lower() if isinstance(value, bool) else str(value)

    def refuse(self, at: int, message: str, hint: str = "") -> NoReturn:
        refuse(self.sql, at, self.where, message, hint)
