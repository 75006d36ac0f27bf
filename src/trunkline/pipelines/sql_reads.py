"""Which tables a query reads.

sqlglot tells it exactly. It does not know all of Spark's SQL, though: what it cannot parse is
looked through for names after FROM and JOIN, and then it is for Spark to judge, not for us.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from trunkline.model.folding import fold_spark
from trunkline.pipelines.sql_tokens import QUOTED, WORD, Token

if TYPE_CHECKING:
    from sqlglot import exp

_FORMATS = {"avro", "binaryfile", "csv", "delta", "json", "jsonl", "orc", "parquet", "text", "xml"}
_NO_NAMES = {"LATERAL", "SELECT", "UNNEST", "VALUES", "WITH"}
_ENDS_FROM = {
    "CLUSTER", "DISTRIBUTE", "EXCEPT", "GROUP", "HAVING", "INTERSECT", "LIMIT", "MINUS", "ON",
    "ORDER", "QUALIFY", "SELECT", "SORT", "UNION", "USING", "WHERE", "WINDOW",
}  # fmt: skip
_BEFORE_TABLE = {"", "(", ")", "ALL", "DISTINCT", "EXCEPT", "INTERSECT", "MINUS", "UNION"}


class Name(NamedTuple):
    """A table that is read. `folder` is what stands before its dot, if anything."""

    name: str
    folder: str
    at: int

    @property
    def is_file(self) -> bool:
        return fold_spark(self.folder) in _FORMATS


class Found(NamedTuple):
    """The names that a query reads. `doubt` is where sqlglot could not go on, or -1."""

    names: list[Name]
    doubt: int = -1


def reads(query: str, code: Sequence[Token]) -> Found:
    """The tables of a query whose tokens are `code`, without its own CTEs."""
    from sqlglot import exp, parse_one
    from sqlglot.errors import ParseError, SqlglotError

    start = code[0].start
    try:
        tree = parse_one(query, dialect="spark")
    except ParseError as error:
        details = error.errors[0] if error.errors else {}
        doubt = _offset(query, details.get("line"), details.get("col"), details.get("highlight"))
        return Found(list(_scanned(code)), start + doubt)
    except (SqlglotError, RecursionError):
        return Found(list(_scanned(code)), start)
    if not isinstance(tree, exp.Query | exp.Values):
        return Found(list(_scanned(code)), start)
    return Found([name._replace(at=start + name.at) for name in _named(tree)])


def _offset(query: str, line: int | None, column: int | None, word: str | None) -> int:
    """sqlglot counts columns to the end of the word that it stumbled over."""
    if not line or not column:
        return 0
    lines = query.split("\n")
    at = sum(len(text) + 1 for text in lines[: line - 1]) + column - len(word or "")
    return max(0, min(at, len(query) - 1))


def _named(tree: exp.Expr) -> Iterator[Name]:
    from sqlglot import exp

    for table in tree.find_all(exp.Table):
        name = table.this
        if not isinstance(name, exp.Identifier) or table.find_ancestor(exp.Hint):
            continue
        folder = ".".join(part.name for part in table.parts[:-1])
        first = table.parts[0]
        at = first.meta.get("start", 0) if isinstance(first, exp.Identifier) else 0
        if folder or not _is_cte(table):
            yield Name(name.name, folder, at)


def _is_cte(table: exp.Table) -> bool:
    """Whether a WITH around it has the name: before it, or itself where that is recursive."""
    wanted = fold_spark(table.name)
    inside: list[exp.Expr] = [table]
    node = table.parent
    while node is not None:
        with_ = node.args.get("with_")
        for cte in with_.expressions if with_ is not None else ():
            own = any(cte is one for one in inside)
            if own and not cte.parent.args.get("recursive"):
                break
            if fold_spark(cte.alias) == wanted:
                return True
            if own:
                break
        inside.append(node)
        node = node.parent
    return False


def _scanned(code: Sequence[Token]) -> Iterator[Name]:
    """Names where tables stand, as far as the tokens tell; CTEs of the statement left out."""
    known = {fold_spark(token.name) for i, token in enumerate(code) if _defines(code, i)}
    for i in _table_places(code):
        parts = [code[i]]
        while _text(code, i + 1) == "." and i + 2 < len(code) and code[i + 2].is_name:
            i += 2
            parts.append(code[i])
        if _text(code, i + 1) == "(":
            continue
        folder = ".".join(part.name for part in parts[:-1])
        if folder or fold_spark(parts[0].name) not in known:
            yield Name(parts[-1].name, folder, parts[0].start)


def _table_places(code: Sequence[Token]) -> Iterator[int]:
    """Where a name after FROM, JOIN, or a comma between tables begins."""
    levels = [_Level()]
    for i, token in enumerate(code):
        level, word = levels[-1], token.upper
        if word == "(":
            levels.append(_Level())
            continue
        if word == ")":
            levels = levels[:-1] or [_Level()]
            continue
        level.begins = level.begins or word
        if word == "SELECT":
            level.selects = True
        before = _text(code, i - 1) if i else ""
        opens = (
            word == "FROM" and (level.selects or level.begins == "FROM") and before != "DISTINCT"
        )
        opens = opens or word == "JOIN" or (word == "TABLE" and before in _BEFORE_TABLE)
        if opens:
            level.in_from = word != "TABLE"
        elif word in _ENDS_FROM:
            level.in_from = False
        comma = word == "," and level.in_from
        after = code[i + 1] if i + 1 < len(code) else None
        if (opens or comma) and after and after.is_name and after.upper not in _NO_NAMES:
            yield i + 1


class _Level:
    """What is known inside one pair of parentheses."""

    begins = ""
    selects = False
    in_from = False

    @property
    def has_from(self) -> bool:
        """Whether FROM names tables here; in `extract(day FROM x)` it does not."""
        return self.selects or self.begins == "FROM"


def _defines(code: Sequence[Token], i: int) -> bool:
    """Whether the token is the name of a CTE: `name AS (` or `name (a, b) AS (`."""
    if code[i].kind not in (WORD, QUOTED):
        return False
    at = i + 1
    if _text(code, at) == "(":
        at = next((j + 1 for j in range(at, len(code)) if code[j].text == ")"), len(code))
    return _text(code, at) == "AS" and _text(code, at + 1) == "("


def _text(code: Sequence[Token], i: int) -> str:
    return code[i].upper if 0 <= i < len(code) else ""
