"""Names of tables in SQL: found where they stand, with the version that is asked for.

orders                        at main
"orders@main~1"               at any ref; `…` on Spark
orders AT 'v1'                the same, written as words
shop.items                    the table /items of the repo shop
"shop@main:/items"            the same
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from trunkline.errors import InvalidQuery, NotAllowed
from trunkline.model.folding import FOLDS
from trunkline.query import readonly
from trunkline.query.bounds import check_bounds
from trunkline.query.edits import Edit, Edited
from trunkline.query.tokens import is_name, kind, stands_for_table, tokenize, wrong
from trunkline.tables.reading.duck_tree import too_deep

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.tokenizer_core import Token

QUOTES = {"duckdb": '"', "spark": "`"}
_SHORT = 20_000
_sqlglot_log = logging.getLogger("sqlglot")
_EXPLAIN = re.compile(r"\s*EXPLAIN(\s+(ANALYZE|EXTENDED|FORMATTED|COST))?(?=[\s(])", re.IGNORECASE)
_NO_ALIAS = re.compile(r"\b(TABLE|DESCRIBE|DESC|SUMMARIZE|UNPIVOT|PIVOT)\s*\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Named:
    """A table as a query names it: its parts, the revision after AT, and where it stands."""

    parts: tuple[str, ...]
    revision: str | None
    start: int
    end: int
    alias: str = ""

    def __str__(self) -> str:
        name = ".".join(self.parts)
        return name if self.revision is None else f"{name} AT '{self.revision}'"


@dataclass(frozen=True, slots=True)
class Query:
    """A query that may run, and the tables that it names."""

    edited: Edited
    tree: exp.Expression
    tables: tuple[Named, ...]
    dialect: str
    explain: str = ""

    @property
    def typed(self) -> str:
        """The text as it was given."""
        found = self.edited
        while found.before is not None:
            found = found.before
        return found.text

    def wrong(self, named: Named, message: str, hint: str = "") -> InvalidQuery:
        start = self.edited.original(named.start)
        return wrong(self.typed, start, max(1, named.end - named.start), message, hint)

    def with_views(self, views: Sequence[tuple[str, str]]) -> Edited:
        """The query with each table under the schema, if any, and name of its view."""
        edits = []
        for named, (schema, view) in zip(self.tables, views, strict=True):
            below = f"{quote(schema, self.dialect)}." if schema else ""
            if named.parts == (view,) and named.revision is None:
                edits.append(Edit(named.start, named.start, below))
                continue
            quoted = below + quote(view, self.dialect)
            alias = f" AS {quote(named.alias, self.dialect)}" if named.alias else ""
            edits.append(Edit(named.start, named.end, quoted + alias))
        if self.explain:
            edits.append(Edit(0, len(self.explain), self.explain))
        return self.edited.apply([*edits, *_shortened(self)])


def parse(text: str, dialect: str) -> Query:
    """Read a query. Refuses what is not one, and what reads anything but tables."""
    return _parse_short(text, dialect) if len(text) <= _SHORT else _parse(text, dialect)


@lru_cache(maxsize=256)
def _parse_short(text: str, dialect: str) -> Query:
    """What a query means is in its text alone; nobody changes the tree."""
    return _parse(text, dialect)


def _parse(text: str, dialect: str) -> Query:
    try:
        return _read(text, dialect)
    except RecursionError:
        raise too_deep() from None


def _read(text: str, dialect: str) -> Query:
    explained = _EXPLAIN.match(text)
    explain = explained[0] if explained else ""
    # sqlglot cannot read what is explained, unless it is alone. Blanks keep every place as it is.
    tokens = tokenize(" " * len(explain) + text[len(explain) :], dialect)
    check_bounds(text, tokens)
    edits = readonly.check_words(text, tokens, dialect)
    pins, quoted = _pinned(tokens, dialect), _quoted_tables(text, tokens, dialect)
    edits += [Edit(one.start, one.end, quote(str(one), dialect)) for one in (*pins, *quoted)]
    edited = Edited(text).apply([*edits, Edit(0, len(explain), " " * len(explain))])
    tree = _parsed(edited, dialect)
    readonly.check_tree(tree, dialect)
    marked = {edited.original(place): one for place, one in _places(edited, pins)}
    return Query(edited, tree, tuple(_tables(edited, tree, marked, dialect)), dialect, explain)


def quote(name: str, dialect: str) -> str:
    mark = QUOTES[dialect]
    return mark + name.replace(mark, mark * 2) + mark


def _pinned(tokens: Sequence[Token], dialect: str) -> list[Named]:
    """Every `name AT 'revision'` where a table stands."""
    found = []
    for index, token in enumerate(tokens[:-1]):
        following = tokens[index + 1]
        if token.text.upper() != "AT" or kind(following) != "STRING" or index == 0:
            continue
        first = index - 1
        while first >= 2 and kind(tokens[first - 1]) == "DOT":
            first -= 2
        names = tokens[first:index:2]
        if all(map(is_name, names)) and stands_for_table(tokens, first):
            parts = tuple(name.text for name in names)
            found.append(Named(parts, following.text, tokens[first].start, following.end + 1))
    return found


def _quoted_tables(text: str, tokens: Sequence[Token], dialect: str) -> list[Named]:
    """Names in "double quotes" where a table stands: Spark alone would take them for text."""
    if dialect != "spark":
        return []
    return [
        Named((token.text,), None, token.start, token.end + 1)
        for index, token in enumerate(tokens)
        if kind(token) == "STRING"
        and text[token.start : token.start + 1] == '"'
        and stands_for_table(tokens, index)
    ]


def _parsed(edited: Edited, dialect: str) -> exp.Expression:
    import sqlglot
    from sqlglot.errors import ParseError, TokenError

    text = edited.text
    typed = edited.before.text if edited.before else text
    # It would warn of what it cannot read; `check_tree` refuses that.
    if _sqlglot_log.level != logging.ERROR:
        _sqlglot_log.setLevel(logging.ERROR)
    try:
        found = sqlglot.parse_one(text, read=dialect)
    except ParseError as error:
        first = error.errors[0] if error.errors else {}
        line, column = int(first.get("line") or 1), int(first.get("col") or 1)
        marked = str(first.get("highlight") or "")
        start = sum(len(one) + 1 for one in text.split("\n")[: line - 1]) + column
        place = edited.original(max(0, start - len(marked)))
        message = f'Syntax error at or near "{marked}"' if marked else "Syntax error"
        raise wrong(typed, place, len(marked), message) from None
    except TokenError:  # the words of a hint are looked at only now
        place = edited.original(max(0, text.find("/*+")))
        raise wrong(typed, place, 3, "A hint that begins here cannot be read") from None
    except (ValueError, ArithmeticError):  # of a tree that its own parser cannot put together
        raise wrong(typed, 0, 1, "Syntax error") from None
    assert isinstance(found, sqlglot.exp.Expression)
    return found


def _places(edited: Edited, pins: Sequence[Named]) -> list[tuple[int, Named]]:
    """Where each pinned name now stands."""
    by_start = {pin.start: pin for pin in pins}
    return [
        (place, by_start[edit.start]) for place, edit in edited.places if edit.start in by_start
    ]


def _tables(
    edited: Edited, tree: exp.Expression, pins: dict[int, Named], dialect: str
) -> list[Named]:
    from sqlglot import exp

    found = []
    for table in tree.find_all(exp.Table):
        parts = [part for part in table.parts if isinstance(part, exp.Identifier)]
        if not parts or "start" not in parts[0].meta:
            continue
        start, end = parts[0].meta["start"], parts[-1].meta["end"] + 1
        if edited.text[start] == "'":
            raise NotAllowed(
                f"SQL may not read the file {edited.text[start:end]}.",
                hint="Put files into a repo to query them: trunkline put.",
            )
        if len(parts) == 1 and _is_local(table, parts[0].name, dialect):
            continue
        pin = pins.get(edited.original(start))
        names = pin.parts if pin else tuple(part.name for part in parts)
        # A plain name is its own alias; others are known by their last part, as in any SQL.
        known = table.alias or _NO_ALIAS.search(edited.text[:start])
        alias = names[-1] if not known and (pin or len(names) > 1) else ""
        found.append(Named(names, pin.revision if pin else None, start, end, alias))
    return sorted(found, key=lambda one: one.start)


def _is_local(table: exp.Expression, name: str, dialect: str) -> bool:
    """Whether the name is that of a WITH that can be seen from there."""
    from sqlglot import exp

    fold = FOLDS[dialect]
    folded = fold(name)
    node: Any = table
    inside: Any = None
    while node.parent is not None:
        if isinstance(node, exp.CTE):
            inside = node
        node = node.parent
        clause = node.args.get("with_") or node.args.get("with")
        if isinstance(node, exp.With) or not isinstance(clause, exp.With):
            continue
        seen = list(clause.expressions)
        if inside is not None and inside.parent is clause:
            last = seen.index(inside)
            seen = seen[: last + 1] if clause.recursive else seen[:last]
            inside = None
        if any(fold(one.alias) == folded for one in seen):
            return True
    return False


def _shortened(query: Query) -> list[Edit]:
    """Columns such as shop.items.price: the table is known as items once it is a view."""
    from sqlglot import exp

    fold = FOLDS[query.dialect]
    dotted = {tuple(map(fold, one.parts)) for one in query.tables if len(one.parts) > 1}
    edits = []
    for column in query.tree.find_all(exp.Column) if dotted else ():
        parts = [part for part in column.parts if isinstance(part, exp.Identifier)]
        if len(parts) > 2 and tuple(fold(part.name) for part in parts[:-1]) in dotted:
            edits.append(Edit(parts[0].meta["start"], parts[-2].meta["start"], ""))
    return edits
