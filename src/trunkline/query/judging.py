"""A query on DuckDB, judged as DuckDB reads it. Only the text that was judged may run."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import accumulate, count
from typing import TYPE_CHECKING

from trunkline.errors import InvalidQuery, NotAllowed
from trunkline.model.folding import fold_duckdb
from trunkline.query.tokens import calls, kind, tokenize
from trunkline.tables.reading.duck_functions import COPYING, is_denied
from trunkline.tables.reading.duck_tree import (
    READ_ONLY,
    Misread,
    NoTree,
    check_query,
    denied,
    tree,
)

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection
    from sqlglot.tokenizer_core import Token

_CATALOG = ("duckdb_", "pragma_", "sqlite_", "pg_", "information_schema")
_BEGINS = re.compile(r"\s*[A-Za-z]")
_SEVERAL_WORDS = re.compile(r"[A-Za-z]+(\s+[A-Za-z]+)+")
_FREE = ("IDENTIFIER", "STRING", "VAR")
"""Words of any letters: names and texts."""
_MOST_IN_PIVOT = 5_000
_MOST_COPIES = 8


def judge(
    connection: DuckDBPyConnection, text: str, before: str, views: Mapping[tuple[str, str], int]
) -> None:
    """Refuse what does more than read these views. `before` is an EXPLAIN that stands in front."""
    asked = text[len(before) :]
    if before and not _BEGINS.match(asked):
        # What is in brackets behind EXPLAIN may be its options.
        raise InvalidQuery("EXPLAIN is followed by SELECT, FROM, WITH or another word of a query.")
    try:
        found = tree(connection, asked)
    except NoTree:
        _check_pivot(connection, text)
        return
    except Misread as error:
        if error.location is not None:
            first, length = error.location
            error.location = first + len(before.encode()), length
        raise
    check_query(found, views)
    if before and _kinds(connection, text) != ["EXPLAIN"]:
        raise InvalidQuery("This EXPLAIN cannot be read.", hint="EXPLAIN SELECT … shows a plan.")


def _kinds(connection: DuckDBPyConnection, text: str) -> list[str]:
    return [statement.type.name for statement in connection.extract_statements(text)]


def _check_pivot(connection: DuckDBPyConnection, text: str) -> None:
    """A PIVOT that finds its values itself is several statements, whose tree DuckDB does not tell.

    It was checked as another parser reads it: that has to see the same words.
    """
    kinds = _kinds(connection, text)
    if kinds != ["MULTI"]:
        shown = kinds[0] if len(kinds) == 1 else "this"
        raise NotAllowed(f"SQL may only read: {shown} is not a query.", hint=READ_ONLY)
    tokens = tokenize(text, "duckdb")
    words = [fold_duckdb(token.text) for token in tokens]
    if "pivot" not in words or "explain" in words or not _same_words(text, tokens):
        raise InvalidQuery("This PIVOT cannot be checked.", hint="Name its values: ON x IN (1, 2).")
    for call in calls(tokens):
        if is_denied(call.text):
            raise denied(call.text)
    for word in words:
        if word.startswith(_CATALOG):
            raise NotAllowed(f"SQL may not read {word}.", hint=READ_ONLY)
    copies = sum(word in COPYING or word in ("lambda", "between", "->") for word in words)
    if len(tokens) > _MOST_IN_PIVOT or copies > _MOST_COPIES:
        raise InvalidQuery("This PIVOT is too large.", hint="Name its values: ON x IN (1, 2).")


def _same_words(text: str, tokens: Sequence[Token]) -> bool:
    """Whether DuckDB sees the same words at the same places, and comments nowhere in them."""
    import duckdb

    place_of = dict(zip(accumulate((len(one.encode()) for one in text), initial=0), count()))
    seen = {place_of.get(at, -1): sort for at, sort in duckdb.tokenize(text)}
    if not all(token.text.isascii() or kind(token) in _FREE for token in tokens):
        return False  # "uſing" is a word of SQL to sqlglot, and a name to DuckDB
    starts = {token.start for token in tokens}
    inside = {place: token for token in tokens for place in range(token.start + 1, token.end + 1)}
    for place, sort in seen.items():
        if sort == duckdb.token_type.comment:
            if place in starts or place in inside:
                return False
        elif place not in starts:
            token = inside.get(place)
            if token is None or kind(token) in ("STRING", "IDENTIFIER"):
                return False
            if not _SEVERAL_WORDS.fullmatch(text[token.start : token.end + 1]):
                return False
    return starts <= seen.keys()
