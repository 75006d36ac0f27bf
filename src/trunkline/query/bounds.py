"""How large a query may be: what it takes to read one grows faster than its text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trunkline.errors import InvalidQuery
from trunkline.query.tokens import kind, wrong
from trunkline.tables.reading.duck_tree import MOST_PARTS

if TYPE_CHECKING:
    from sqlglot.tokenizer_core import Token

MOST_TOKENS = 100_000
MOST_NESTED = 200

_OPENS = {"L_PAREN", "L_BRACKET", "L_BRACE"}
_CLOSES = {"R_PAREN", "R_BRACKET", "R_BRACE"}


def check_bounds(text: str, tokens: Sequence[Token]) -> None:
    if len(tokens) > MOST_TOKENS:
        raise InvalidQuery(
            f"The query is too large: it has more than {MOST_TOKENS:,} words and signs.",
            hint="Ask it in several, or put the values into a table.",
        )
    depth = parts = 0
    for place, token in enumerate(tokens):
        found = kind(token)
        depth += (found in _OPENS) - (found in _CLOSES)
        if depth > MOST_NESTED:
            message = f"There are more than {MOST_NESTED} brackets within each other"
            raise wrong(text, token.start, 1, message, "Use WITH for the parts of a query.")
        if found == "DOT":
            parts += 1
        elif not (place and kind(tokens[place - 1]) == "DOT"):
            parts = 1
        if parts > MOST_PARTS:
            raise wrong(text, token.start, 1, f"A name has more than {MOST_PARTS} parts")
