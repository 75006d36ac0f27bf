"""What may run: one statement, which only reads, and only tables of the lake.

The engines are locked as well; here is where refusing is explained.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from trunkline.errors import InvalidQuery, NotAllowed
from trunkline.model.folding import FOLDS, fold_spark
from trunkline.query.edits import Edit
from trunkline.query.tokens import calls, kind, wrong
from trunkline.tables.reading.duck_tree import READ_ONLY, denied

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.tokenizer_core import Token

_QUERIES = {
    "SELECT", "WITH", "VALUES", "FROM", "TABLE", "(", "DESCRIBE", "DESC", "SHOW", "EXPLAIN",
    "SUMMARIZE", "PIVOT", "UNPIVOT",
}  # fmt: skip
# Functions that stand where a table does. Others read files, settings or secrets.
_SOURCES = {
    "unnest", "generate_series", "range", "repeat", "json_each", "json_tree", "explode",
    "explode_outer", "posexplode", "posexplode_outer", "inline", "inline_outer", "stack",
    "json_tuple", "variant_explode", "variant_explode_outer", "sequence", "values", "generator",
    "generateseries", "exploding", "posexplodeouter", "explodeouter",
}  # fmt: skip
# Of Spark. Those of DuckDB are judged as it reads them (`judging`).
_DENIED = {
    "reflect", "java_method", "try_reflect", "input_file_name", "input_file_block_start",
    "input_file_block_length", "identifier", "transform_with_state", "python_worker_logs",
}  # fmt: skip
_DENIED_STARTS = ("read_", "parquet_", "python_")


def check_words(text: str, tokens: Sequence[Token], dialect: str) -> list[Edit]:
    """Refuse what no parser needs to look at. Returns what takes closing semicolons away."""
    if all(kind(token) == "SEMICOLON" for token in tokens):
        raise InvalidQuery("There is no SQL.", hint='For example: trunkline sql "FROM orders"')
    ends = [token for token in tokens if kind(token) == "SEMICOLON"]
    last = len(tokens) - 1
    while last >= 0 and kind(tokens[last]) == "SEMICOLON":
        last -= 1
    if any(kind(token) == "SEMICOLON" for token in tokens[: last + 1]):
        following = tokens[tokens.index(ends[0]) + 1]
        raise wrong(text, following.start, len(following.text), "There is more than one statement")
    first = tokens[0]
    if first.text.upper() not in _QUERIES:
        raise NotAllowed(f"SQL may only read: {first.text.upper()} is not a query.", hint=READ_ONLY)
    if first.text.upper() == "SHOW":
        raise NotAllowed(
            "Of SHOW only SHOW TABLES is offered.",
            hint="DESCRIBE orders shows the columns of a table.",
        )
    for call in calls(tokens) if dialect == "spark" else ():
        refuse_function(fold_spark(call.text))
    for token, following in pairwise(tokens):
        if token.text.upper() == "USING" and kind(following) == "STRING":
            raise NotAllowed("SQL may not start programs (TRANSFORM … USING).", hint=READ_ONLY)
    return [Edit(end.start, end.end + 1, " ") for end in ends]


def refuse_function(folded: str) -> None:
    if folded in _DENIED or folded.startswith(_DENIED_STARTS):
        raise denied(folded)


def check_tree(tree: exp.Expression, dialect: str) -> None:
    """Refuse what changes something, however deep it hides, and sources that are no tables."""
    from sqlglot import exp

    writes = (
        exp.DML, exp.DDL, exp.Into, exp.Command, exp.Set, exp.Pragma, exp.Copy, exp.Drop,
        exp.Alter, exp.Use, exp.Attach, exp.Detach, exp.QueryTransform,
    )  # fmt: skip
    reads = (exp.Query, exp.Describe, exp.Summarize, exp.Pivot, exp.Values)
    found: object = None if isinstance(tree, reads) else tree
    for node in tree.walk():
        # Queries are DDL and DML to sqlglot in part: only what changes something counts.
        if isinstance(node, writes) and not isinstance(node, exp.Query | exp.Describe):
            found = node
            break
    if found is not None:
        raise NotAllowed(
            f"SQL may only read: {type(found).__name__.upper()} is not a query.", hint=READ_ONLY
        )
    for table in tree.find_all(exp.Table):
        if isinstance(table.this, exp.Func):
            name = table.this.name if isinstance(table.this, exp.Anonymous) else ""
            name = FOLDS[dialect](name or table.this.sql_name())
            if name not in _SOURCES:
                refuse_function(name)
                raise NotAllowed(f"SQL may not read from {name}().", hint=READ_ONLY)
