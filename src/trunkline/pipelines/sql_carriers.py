"""Which names may stand for a partition's column, anywhere in a script.

More than do: a name that is made from one, or compared with one, in any place counts in every
other. So of what is not among them it is sure that Spark's plan has no such column either.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot import exp


class Carriers:
    """The names of columns that may have the value of a partition's column."""

    def __init__(self, column: str, trees: Sequence[exp.Expr]) -> None:
        self._names = {column.casefold()}
        self._trees = trees
        self._all = any(map(_renames_by_place, trees))
        before = 0
        while not self._all and before < len(self._names):
            before = len(self._names)
            for tree in trees:
                self._add(tree)

    def among(self, nodes: Iterable[exp.Expr]) -> bool:
        """Whether one of these expressions may be such a column, or has one in it."""
        return any(self.may_be(node) for node in nodes)

    def may_be(self, node: exp.Expr) -> bool:
        """Whether an expression may have its value, as it stands."""
        return not _changes(node.unalias()) and self._in(node)

    @property
    def is_loose(self) -> bool:
        """Whether nothing says that two such columns are equal, or are one."""
        from sqlglot import exp

        return not any(
            isinstance(node, exp.SetOperation) or self.among(equalities(node))
            for tree in self._trees
            for node in tree.walk()
        )

    def _in(self, node: exp.Expr) -> bool:
        from sqlglot import exp

        if self._all:
            # Whatever is a key may be one; that there is no key at all is known all the same.
            return True
        return any(
            isinstance(one, exp.Star)
            or (isinstance(one, exp.Identifier) and one.name.casefold() in self._names)
            for one in node.walk()
            if not isinstance(one.parent, exp.Count)
        )

    def _add(self, tree: exp.Expr) -> None:
        from sqlglot import exp

        for node in tree.walk():
            if isinstance(node, exp.Alias) and self.may_be(node.this):
                self._names.add(node.alias.casefold())
            elif isinstance(node, exp.EQ | exp.NullSafeEQ) and self._in(node):
                self._names.update(one.name.casefold() for one in node.find_all(exp.Identifier))
            elif isinstance(node, exp.In) and node.args.get("query") and self._in(node):
                found = [node.this, *selects_of(node.args["query"])]
                self._names.update(
                    name.name.casefold() for one in found for name in one.find_all(exp.Identifier)
                )


def selects_of(query: exp.Expr) -> Iterator[exp.Select]:
    """The SELECTs whose rows are those of a query: one, or the sides of a UNION."""
    from sqlglot import exp

    query = query.unnest()
    if isinstance(query, exp.SetOperation):
        yield from selects_of(query.left)
        yield from selects_of(query.right)
    elif isinstance(query, exp.Select):
        yield query


def equalities(node: exp.Expr) -> Iterator[exp.Expr]:
    """What a node itself may say to be equal: a condition, or the columns of a join."""
    from sqlglot import exp

    if isinstance(node, exp.EQ | exp.NullSafeEQ | exp.In):
        yield node
    elif isinstance(node, exp.Join):
        yield from node.args.get("using") or ()
        if node.method:  # NATURAL is by columns that are not written
            yield exp.Star()


def name_of(item: exp.Expr) -> str:
    """The name of a column that is selected; none for `*` and for what Spark names."""
    from sqlglot import exp

    is_column = isinstance(item, exp.Column) and isinstance(item.this, exp.Identifier)
    return item.alias_or_name if is_column or isinstance(item, exp.Alias) else ""


def _changes(node: exp.Expr) -> bool:
    """Whether an expression is surely another value than a column's, however it is cast."""
    from sqlglot import exp

    return isinstance(
        node.unnest(),
        exp.Literal | exp.Null | exp.Boolean | exp.Window | exp.AggFunc | exp.Case | exp.If
        | exp.Left | exp.Right | exp.Substring | exp.Upper | exp.Lower | exp.Trim | exp.Concat
        | exp.Add | exp.Sub | exp.Mul | exp.Div | exp.Mod | exp.IntDiv | exp.DateAdd | exp.DateSub
        | exp.TsOrDsAdd | exp.AddMonths | exp.DateTrunc | exp.TimestampTrunc | exp.Year
        | exp.Month | exp.Query,
    )  # fmt: skip


def _renames_by_place(tree: exp.Expr) -> bool:
    """Whether names come from places that are not told by names alone."""
    from sqlglot import exp

    for node in tree.walk():
        if isinstance(node, exp.TableAlias) and node.args.get("columns"):
            return True
        if isinstance(node, exp.SetOperation) and not _same_names(node):
            return True
        if isinstance(node, exp.Select) and any(map(_unnamed, node.expressions)):
            return True
    return False


def _same_names(query: exp.SetOperation) -> bool:
    names = [[name_of(item).casefold() for item in select.expressions]
             for select in selects_of(query)]  # fmt: skip
    return all("" not in one and one == names[0] for one in names)


def _unnamed(item: exp.Expr) -> bool:
    """An expression that Spark gives a name which may be used further out."""
    from sqlglot import exp

    return not isinstance(item, exp.Alias | exp.Column | exp.Star) and not _changes(item)
