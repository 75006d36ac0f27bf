"""Conditions and values that people write in SQL: plain expressions over a table's columns."""

from __future__ import annotations

import json
from collections.abc import Collection, Container, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from trunkline.errors import InvalidQuery, NotAllowed, Usage
from trunkline.model.suggest import did_you_mean
from trunkline.tables.reading.duck_tree import Misread, check_expression
from trunkline.tables.types import to_duckdb_type

_CHANGING = frozenset(("rand", "random", "uuid", "uuidv4", "uuidv7", "gen_random_uuid", "setseed"))


class Expression:
    """An expression that was looked at: `sql` can be put into a query, `columns` are its own."""

    def __init__(self, sql: str, columns: tuple[str, ...]) -> None:
        self.text = sql
        # In lines of its own, so that a comment at its end ends there.
        self.sql = f"(\n{sql}\n)"
        self.columns = columns


def expression(text: str, names: Sequence[str], what: str, *, changing: bool = False) -> Expression:
    """Check one expression. It reads no file and no other table; `what` names it in errors.

    With `changing` it may be another one at each call, such as random().
    """
    try:
        return _checked(text, names, what, changing)
    except RecursionError:
        raise Usage(f"{what} is nested too deeply.", hint=_EXAMPLE) from None


def _checked(text: str, names: Sequence[str], what: str, changing: bool) -> Expression:
    import sqlglot
    from sqlglot import exp

    try:
        found = [tree for tree in sqlglot.parse(text, dialect="duckdb") if tree is not None]
    except sqlglot.errors.SqlglotError as error:
        raise Usage(f"{what} cannot be read: {_plain(str(error))}", hint=_EXAMPLE) from None
    if len(found) != 1 or not isinstance(found[0], exp.Condition):
        raise Usage(f"{what} is not one expression: {text}", hint=_EXAMPLE)
    tree = found[0]
    if tree.find(exp.Query, exp.Star):
        raise Usage(f"{what} may not hold a query: {text}", hint=_EXAMPLE)
    for name in _called(text, what):
        if name in _CHANGING and not changing:
            raise Usage(f"{what} may not call {name}(): {text}", hint=_EXAMPLE)
    known = {name.casefold(): name for name in names}
    named = [_column(column, known) for column in tree.find_all(exp.Column)]
    columns = {name.casefold(): name for name in named}
    if not tree.find(exp.Lambda):
        for folded, name in columns.items():
            if folded not in known:
                raise Usage(
                    f'{what} names the column "{name}", which is not there.'
                    f"{did_you_mean(name, names)}",
                    hint=f"There are: {', '.join(names[:20])}.",
                )
    used = known.keys() if tree.find(exp.Lambda) else columns.keys()
    return Expression(text.strip(), tuple(known[folded] for folded in used))


def _called(text: str, what: str) -> Collection[str]:
    """The functions that DuckDB, which runs it, finds in the text. It may read it otherwise."""
    try:
        return check_expression(text)
    except Misread as error:
        raise Usage(f"{what}: {error.message}", hint=_EXAMPLE) from None
    except (NotAllowed, InvalidQuery) as error:
        raise Usage(
            f"{what}: {error.message.replace('SQL may', 'It may')}", hint=_EXAMPLE
        ) from None


def _column(given: Any, known: Container[str]) -> str:
    """The column that is meant: the first part of a path into a struct, else the name itself."""
    first: str = given.parts[0].name
    return first if first.casefold() in known else str(given.name)


def differ(one: str, other: str, type_: str) -> str:
    """SQL for whether two values of a type differ, where DuckDB takes 0.0 and -0.0 for the same."""
    differs, found = f"{one} IS DISTINCT FROM {other}", to_duckdb_type(type_)
    if found in ("FLOAT", "DOUBLE"):
        return f"{differs} OR signbit({one}) IS DISTINCT FROM signbit({other})"
    if "FLOAT" in found or "DOUBLE" in found:
        return f"{differs} OR {one}::VARCHAR IS DISTINCT FROM {other}::VARCHAR"
    return differs


@contextmanager
def explained(what: str) -> Iterator[None]:
    """DuckDB's word on an expression as ours: somebody wrote it, and can mend it."""
    import duckdb

    try:
        yield
    except (duckdb.IOException, duckdb.OutOfMemoryException, duckdb.InternalException):
        raise
    except duckdb.Error as error:
        raise Usage(f"{what}: {said(error)}", hint=_EXAMPLE) from None


def said(error: Exception) -> str:
    """The first line of an error of DuckDB, which may come as JSON."""
    kind, _, rest = str(error).partition(": ")
    try:
        text = str(json.loads(rest)["exception_message"])
    except (ValueError, KeyError, TypeError):
        text = rest or kind
    return text.splitlines()[0]


def _plain(text: str) -> str:
    import re

    return re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines()[0]


_EXAMPLE = "Write an expression over columns, such as day < DATE '2026-01-01' AND n > 0."
