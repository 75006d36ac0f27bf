"""People's SQL as DuckDB itself reads it, held against what may run.

The tree is of DuckDB's own parser, and what runs is the very text that it read: there is no second
reading that could differ. Whatever is not known here is refused: kinds of nodes, functions, tables.

To bind a query cannot be stopped, so what makes that long has a limit as well.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from trunkline.errors import InvalidQuery, NotAllowed
from trunkline.model.folding import fold_duckdb
from trunkline.model.suggest import did_you_mean
from trunkline.tables.reading.duck_functions import (
    ALLOWED,
    COPYING,
    SOURCES,
    is_allowed,
    is_denied,
)

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MOST_QUERIES = 1_000
MOST_JOINS = 100
MOST_COLUMNS = 20_000
MOST_PARTS = 50
"""Of a name: a.b.c has three."""
MOST_WEIGHT = 200_000
"""Parts of all expressions, as often as DuckDB copies them."""

READ_ONLY = "It reads tables of the lake and changes nothing; --into writes what a query gives."
_FILES = "Put files into a repo to query them: trunkline put."

_MODIFIERS = {
    "ORDER_MODIFIER", "LIMIT_MODIFIER", "LIMIT_PERCENT_MODIFIER", "DISTINCT_MODIFIER",
    "ORDER_DEFAULT", "ASCENDING", "DESCENDING",
}  # fmt: skip
_EXPRESSIONS = {
    "BETWEEN", "CASE", "CAST", "COLLATE", "COLUMN_REF", "COMPARISON", "CONJUNCTION", "CONSTANT",
    "FUNCTION", "LAMBDA", "LAMBDA_REF", "OPERATOR", "PARAMETER", "POSITIONAL_REFERENCE", "STAR",
    "SUBQUERY", "TYPE", "WINDOW",
}  # fmt: skip
_PLAIN = {"CONSTANT", "PARAMETER", "POSITIONAL_REFERENCE"}

Node = Mapping[str, Any]


class _With(NamedTuple):
    """How many columns a WITH has, and how many joins are written out again where it is read.

    While its own rows are computed it recurs: `recurring.name` is what it has so far.
    """

    columns: int
    joins: int = 0
    recurs: bool = False


Scope = Mapping[str, _With]
"""Each WITH that can be seen, by its name as DuckDB compares it."""


class Misread(Exception):
    """DuckDB cannot read the text, or knows no such function; `location` is in bytes."""

    def __init__(self, message: str, location: tuple[int, int] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.location = location


class NoTree(Exception):
    """It can be read, but is no query of which DuckDB tells the tree."""


class _Size(NamedTuple):
    columns: int
    weight: int


def tree(connection: DuckDBPyConnection, text: str) -> Node:
    """The one query of a text, as DuckDB reads it."""
    if "\0" in text or any("\ud800" <= one <= "\udfff" for one in text):
        raise Misread("There is a character that no text has (NUL, or half of one).")
    asked = "SELECT json_serialize_sql($1::VARCHAR)"
    ((told,),) = connection.execute(asked, [text]).fetchall()
    return decoded(told)


def decoded(told: str) -> Node:
    """The one query of a text, of which DuckDB tells this."""
    try:
        found = json.loads(told)
    except RecursionError:
        raise too_deep() from None
    if not found["error"]:
        statements = found["statements"]
        if len(statements) != 1:
            raise Misread("There is more than one statement.")
        only: Node = statements[0]["node"]
        return only
    if found["error_type"] == "not implemented":
        raise NoTree(found["error_message"])
    raise Misread(str(found["error_message"]), _location(found))


def check_query(found: Node, views: Mapping[tuple[str, str], int]) -> None:
    """Refuse a query that does more than read these views; each has so many columns."""
    try:
        _Check(views).query(found, {})
    except RecursionError:
        raise too_deep() from None


def check_expression(text: str) -> Collection[str]:
    """Refuse what is not one expression over columns. Returns the functions that it calls."""
    # In lines of its own, so that a comment at its end ends there.
    found = tree(_parser().cursor(), f"SELECT (\n{text}\n)")
    check = _Check({})
    try:
        check.query(found, {})
    except RecursionError:
        raise too_deep() from None
    plain: dict[str, object] = {
        "type": "SELECT_NODE",
        "modifiers": [],
        "cte_map": {"map": []},
        "where_clause": None,
        "group_expressions": [],
        "having": None,
        "sample": None,
        "qualify": None,
    }
    alone = all(found.get(key) == value for key, value in plain.items())
    if not alone or found["from_table"]["type"] != "EMPTY" or len(found["select_list"]) != 1:
        raise Misread("It is more than one expression.")
    if check.queries > 1:
        raise Misread("It holds a query.")
    return check.called


@cache
def _parser() -> DuckDBPyConnection:
    """A DuckDB that only reads texts."""
    import duckdb

    return duckdb.connect(
        ":memory:",
        config={"enable_external_access": False, "lock_configuration": True, "threads": 1},
    )


def too_deep() -> InvalidQuery:
    return InvalidQuery("The query is nested too deeply.", hint="Use WITH for its parts.")


class _Check:
    def __init__(self, views: Mapping[tuple[str, str], int]) -> None:
        self._views = views
        self.queries = self._joins = 0
        self.called: set[str] = set()

    def query(self, node: Node, scope: Scope) -> _Size:
        self.queries += 1
        if self.queries > MOST_QUERIES:
            raise _too_large(f"more than {MOST_QUERIES:,} queries")
        scope = dict(scope)
        weight = 0
        for entry in node["cte_map"]["map"]:
            before = self._joins
            found = self.query(entry["value"]["query_node"], scope)
            again = entry["value"]["materialized"] == "CTE_MATERIALIZE_NEVER"
            joins = self._joins - before if again else 0
            weight += found.weight + self._expressions(
                {key: one for key, one in entry["value"].items() if key != "query_node"}, scope
            )
            scope[fold_duckdb(entry["key"])] = _With(found.columns, joins)
        kind = node["type"]
        if kind == "SELECT_NODE":
            size = self._select(node, scope)
        elif kind == "SET_OPERATION_NODE":
            parts = [node.get("left"), node.get("right"), *(node.get("children") or ())]
            sizes = [self.query(part, scope) for part in parts if part]
            widths = [one.columns for one in sizes]
            by_name = node["setop_type"] == "UNION_BY_NAME"
            columns = sum(widths) if by_name else max(widths)
            size = _Size(columns, sum(one.weight for one in sizes))
        elif kind == "RECURSIVE_CTE_NODE":
            first = self.query(node["left"], scope)
            scope[fold_duckdb(node["cte_name"])] = _With(first.columns, recurs=True)
            then = self.query(node["right"], scope)
            size = _Size(first.columns, first.weight + then.weight)
        else:
            raise NotAllowed(
                f"SQL may only read: {_words(kind.removesuffix('_QUERY_NODE'))} is not a query.",
                hint=READ_ONLY,
            )
        weight += size.weight + self._expressions(node["modifiers"], scope)
        return _bounded(_Size(size.columns, weight))

    def _select(self, node: Node, scope: Scope) -> _Size:
        below = self._ref(node["from_table"], scope)
        weight = below.weight
        columns = 0
        aliases: dict[str, int] = {}
        for item in node["select_list"]:
            own = self._expression(item, scope, aliases)
            several = below.columns if _has_star(item) else 1
            columns += several
            weight += own * several
            if alias := item.get("alias"):
                # What is named here may be used beside it, and is copied there.
                aliases[fold_duckdb(alias)] = own
            _bounded(_Size(columns, weight))
        for key in ("where_clause", "group_expressions", "having", "qualify"):
            weight += self._expressions(node[key], scope, aliases)
        return _Size(columns, weight)

    def _ref(self, node: Node, scope: Scope) -> _Size:
        kind = node["type"]
        if kind == "EMPTY":
            return _Size(0, 0)
        if kind == "BASE_TABLE":
            return _Size(self._table(node, scope), 1)
        if kind == "SUBQUERY":
            return self.query(node["subquery"]["node"], scope)
        if kind == "JOIN":
            self._join()
            left, right = self._ref(node["left"], scope), self._ref(node["right"], scope)
            rest = {key: one for key, one in node.items() if key not in ("left", "right", "type")}
            weight = left.weight + right.weight + self._expressions(rest, scope)
            return _bounded(_Size(left.columns + right.columns, weight))
        if kind == "TABLE_FUNCTION":
            called = node["function"]
            name = str(called.get("function_name", ""))
            if called.get("class") != "FUNCTION" or fold_duckdb(name) not in SOURCES:
                raise _no_source(name)
            return _Size(8, self._expression(called, scope, {}))
        if kind == "EXPRESSION_LIST":
            columns = max(map(len, node["values"]), default=0)
            return _Size(columns, self._expressions(node["values"], scope))
        if kind == "PIVOT":
            source = self._ref(node["source"], scope)
            pivots = node["pivots"]
            rest = {key: one for key, one in node.items() if key not in ("source", "type")}
            weight = source.weight + self._expressions(rest, scope)
            columns = max(1, len(node["aggregates"]))
            for pivot in pivots:
                columns *= max(1, len(pivot.get("entries") or ()))
            return _bounded(_Size(source.columns + columns, weight))
        if kind == "SHOW_REF" and node["show_type"] in ("DESCRIBE", "SUMMARY") and node["query"]:
            size = self.query(node["query"], scope)
            return _Size(16, size.weight)
        raise NotAllowed(f"SQL may not read from {_words(kind)}.", hint=READ_ONLY)

    def _join(self, count: int = 1) -> None:
        self._joins += count
        if self._joins > MOST_JOINS:
            raise _too_large(f"more than {MOST_JOINS} joins and queries in expressions")

    def _table(self, node: Node, scope: Scope) -> int:
        path = tuple(node["qualified_name"]["path"])
        if node["at_clause"] is None:
            found = scope.get(fold_duckdb(path[-1]))
            if found and (len(path) == 1 or (path[:-1] == ("recurring",) and found.recurs)):
                self._join(found.joins)
                return found.columns
            if len(path) == 2 and path in self._views:
                return self._views[path[0], path[1]]
        raise NotAllowed(
            f"SQL may only read tables of the lake, and {path[-1]} is none.", hint=_FILES
        )

    def _expressions(
        self, found: object, scope: Scope, aliases: Mapping[str, int] | None = None
    ) -> int:
        """The weight of all expressions in something that is none itself."""
        return sum(self._expression(node, scope, aliases or {}) for node in _below(found))

    def _expression(self, node: Node, scope: Scope, aliases: Mapping[str, int]) -> int:
        kind = node["class"]
        if kind not in _EXPRESSIONS:
            raise NotAllowed(f"SQL may not use {_words(kind)} here.", hint=READ_ONLY)
        if kind in _PLAIN:
            return 1
        if kind == "COLUMN_REF":
            names = node["column_names"]
            if len(names) > MOST_PARTS:
                raise _too_large(f"a name of more than {MOST_PARTS} parts")
            return aliases.get(fold_duckdb(names[0]), 1) if len(names) == 1 else 1
        if kind in ("FUNCTION", "WINDOW"):
            self._call(node)
        weight = 1
        if kind == "SUBQUERY":
            self._join()  # which it becomes
            weight += self.query(node["subquery"]["node"], scope).weight
        rest = {key: one for key, one in node.items() if key not in ("class", "type", "subquery")}
        weight += self._expressions(rest, scope, aliases)
        return _bounded(_Size(0, weight * _copies(node))).weight

    def _call(self, node: Node) -> None:
        name = str(node["function_name"])
        if not is_allowed(name):
            if is_denied(name):
                raise denied(name)
            place = node["query_location"], node["query_location_length"]
            near = did_you_mean(name, ALLOWED)
            raise Misread(f"There is no function {name}().{near}", place)
        if node.get("export_state"):
            raise NotAllowed("SQL may not take the state of an aggregate.", hint=READ_ONLY)
        self.called.add(fold_duckdb(name))


def denied(name: str) -> NotAllowed:
    return NotAllowed(
        f"SQL may not call {fold_duckdb(name)}(): it reads more than tables of the lake.",
        hint=_FILES,
    )


def _no_source(name: str) -> NotAllowed:
    if is_denied(name):
        return denied(name)
    return NotAllowed(f"SQL may not read from {fold_duckdb(name)}().", hint=READ_ONLY)


def _below(found: object) -> Iterator[Node]:
    """The expressions nearest below: what is between must be known too."""
    waiting = [found]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting.extend(reversed(node))
        elif isinstance(node, dict):
            if "class" in node:
                yield node
                continue
            kind = node.get("type")
            if isinstance(kind, str) and kind not in _MODIFIERS:
                raise NotAllowed(f"SQL may not use {_words(kind)} here.", hint=READ_ONLY)
            waiting.extend(reversed(list(node.values())))


def _has_star(node: Node) -> bool:
    """Whether an item of a SELECT stands for several columns."""
    waiting: list[Any] = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, list):
            waiting.extend(one)
        elif isinstance(one, dict):
            if one.get("class") == "STAR":
                return True
            if one.get("class") != "SUBQUERY":
                waiting.extend(one.values())
    return False


def _copies(node: Node) -> int:
    if node["class"] == "BETWEEN":
        return 2
    if node["class"] != "FUNCTION":
        return 1
    if any(one["expression"]["class"] == "LAMBDA" for one in node["arguments"]):
        return 2
    return 3 if fold_duckdb(node["function_name"]) in COPYING else 1


def _bounded(size: _Size) -> _Size:
    if size.columns > MOST_COLUMNS:
        raise _too_large(f"more than {MOST_COLUMNS:,} columns")
    if size.weight > MOST_WEIGHT:
        raise _too_large(f"more than {MOST_WEIGHT:,} parts once all is written out")
    return size


def _too_large(why: str) -> InvalidQuery:
    return InvalidQuery(f"The query is too large: it has {why}.", hint="Ask it in several.")


def _words(kind: str) -> str:
    return kind.replace("_", " ").upper()


def _location(found: Mapping[str, Any]) -> tuple[int, int] | None:
    try:
        start, length = json.loads(found["location"])
        return int(start), int(length)
    except (ValueError, KeyError, TypeError):
        return None
