"""What the text of a query alone shows to break a promise of its mode, before any job runs.

Spark's plan is the judge (`engine.promises`); here only what it is sure to refuse is refused, and
the rest let through. Names decide: a column may carry a partition if it is called as it is, or as
something that it is renamed to or compared with anywhere in the script. Whatever brings rows of an
input together by columns of which none may is refused. What sqlglot cannot read is for Spark.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from trunkline.model.types import DataType, refused
from trunkline.pipelines.promise_words import (
    SUBQUERY,
    WORDS,
    Said,
    brings_together,
    column_changed,
    output,
    several_in_a_stream,
)
from trunkline.pipelines.sql_carriers import Carriers, equalities, name_of, selects_of
from trunkline.pipelines.sql_tokens import refuse
from trunkline.pipelines.sqltext import Script, Step

if TYPE_CHECKING:
    from sqlglot import exp

Parts = Mapping[str, Sequence[str]]
STREAM = "stream"
"""Instead of a mode: its inputs are batches, and Spark keeps state for all but a few operators."""

_KINDS = {"SEMI", "ANTI"}
_SIDES = {"LEFT", "RIGHT", "FULL"}
# Others keep state in a stream.
_OF_STREAMS = frozenset(WORDS[kind] for kind in ("Window", "Except", "Intersect", "Offset"))
_REFUSED_TYPES = {"TIME": "time(6)", "VARIANT": "variant", "INTERVAL": "interval"}


def check(script: Script, mode: str, parts: Parts, where: str) -> None:
    """Refuse what breaks the promise for sure, and types that no table holds; with its place."""
    try:
        _check(script, mode, parts, where)
    except RecursionError:  # nested too deeply to tell
        return


def _check(script: Script, mode: str, parts: Parts, where: str) -> None:
    trees = _trees(script)
    if trees is None:
        return
    for step, tree in trees:
        if step.kind != "view":
            _check_types(script, step, tree, where)
    if not parts:
        return
    lower = {name.casefold(): (name, tuple(columns)) for name, columns in parts.items()}
    columns = {column.casefold() for _, found in lower.values() for column in found}
    carriers = {one: Carriers(one, [tree for _, tree in trees]) for one in columns}
    steps = {step.name.casefold(): tree for step, tree in trees if step.name}
    for step, tree in trees:
        if step.kind == "view":
            continue  # only what an output reads counts, and it is looked at from there
        walk = _Walk(lower, carriers, steps, _OF_STREAMS if mode == STREAM else None)
        try:
            inputs = walk.inputs(tree)
            if mode != STREAM:
                _check_columns(tree, step, mode, inputs, lower, carriers)
        except _Broken as broken:
            said = broken.said(mode, dict(lower.values()))
            at = _place(script, trees, broken.node)
            refuse(script.sql, at, where, said.text, said.hint)


class _Broken(Exception):
    """Where rows are brought together that must stay apart, or a column is not what it was."""

    def __init__(self, node: exp.Expr, what: str, input: str, column: str = "") -> None:
        super().__init__(what)
        self.node = node
        self.what = what
        self.input = input
        self.column = column

    def said(self, mode: str, parts: Parts) -> Said:
        if mode == STREAM:
            return several_in_a_stream(self.what)
        if self.column:
            return column_changed(mode, self.what, self.column, self.input)
        return brings_together(mode, self.what, self.input, parts[self.input])


def _trees(script: Script) -> list[tuple[Step, exp.Expr]] | None:
    """The queries of all steps; None if any of them is not surely understood."""
    from sqlglot import exp, parse_one
    from sqlglot.errors import SqlglotError

    if script.doubt >= 0 or "|>" in script.sql:
        return None
    found: list[tuple[Step, exp.Expr]] = []
    for step in script.steps:
        try:
            tree = parse_one(step.sql, dialect="spark")
        except (SqlglotError, RecursionError):
            return None
        if not isinstance(tree, exp.Query) or any(
            isinstance(node, exp.With) and node.args.get("recursive") for node in tree.walk()
        ):
            return None
        found.append((step, tree))
    return found


def _check_columns(
    tree: exp.Expr,
    step: Step,
    mode: str,
    inputs: Collection[str],
    parts: Mapping[str, tuple[str, tuple[str, ...]]],
    carriers: Mapping[str, Carriers],
) -> None:
    """The columns that tell which rows to replace must stand in the output as they were."""
    for select in selects_of(tree):
        for item in select.expressions:
            name = name_of(item).casefold()
            for input, columns in (parts[one] for one in inputs):
                for column in columns:
                    if column.casefold() == name and not carriers[name].may_be(item.unalias()):
                        raise _Broken(item, output(step.name), input, column)


def _check_types(script: Script, step: Step, tree: exp.Expr, where: str) -> None:
    from sqlglot import exp

    for select in selects_of(tree):
        for item in select.expressions:
            value = item.unalias().unnest()
            if not isinstance(value, exp.Cast | exp.TryCast):
                continue
            to = value.to.this
            name = "INTERVAL" if isinstance(to, exp.Interval) else getattr(to, "name", "")
            column = name_of(item)
            if name not in _REFUSED_TYPES or not column:
                continue
            if why := refused(DataType(_REFUSED_TYPES[name]), column):
                text = f"{output(step.name)}: the column {column} has {why.why}."
                refuse(script.sql, _place(script, [(step, tree)], item), where, text, why.hint)


def _place(script: Script, trees: Iterable[tuple[Step, exp.Expr]], node: exp.Expr) -> int:
    """Where a node begins, as far as sqlglot tells."""
    root = node.root()
    for step, tree in trees:
        if tree is root:
            lines = script.sql.split("\n")[: step.line - 1]
            start = sum(len(line) + 1 for line in lines) + step.column - 1
            return start + min((one.meta["start"] for one in node.walk() if "start" in one.meta),
                               default=0)  # fmt: skip
    return 0


@dataclass(frozen=True, slots=True)
class _Walk:
    """Goes through what a query reads, as Spark's plan would be gone through.

    Inputs are by their names in lower case. What is found of a query are the inputs that its rows
    are made from for sure.
    """

    parts: Mapping[str, tuple[str, tuple[str, ...]]]
    carriers: Mapping[str, Carriers]
    steps: Mapping[str, exp.Expr]
    refused: frozenset[str] | None = None
    """The only words that are refused, if not all."""
    pinned: frozenset[str] = frozenset()
    """The columns that a subquery around it may have from outside."""

    def inputs(self, query: exp.Expr) -> set[str]:
        from sqlglot import exp

        query = query.unnest()
        if isinstance(query, exp.SetOperation):
            found = self._united(query)
        elif isinstance(query, exp.Select):
            found = self._selected(query)
        else:
            return set()  # VALUES, or of a kind that we do not follow
        limit = query.args.get("limit")
        if isinstance(limit, exp.Limit) and isinstance(limit.expression, exp.Literal):
            self._never(limit, WORDS["GlobalLimit"], found)
        if isinstance(offset := query.args.get("offset"), exp.Offset):
            self._never(offset, WORDS["Offset"], found)
        return found

    # -- queries ----------------------------------------------------------------------------

    def _united(self, query: exp.SetOperation) -> set[str]:
        from sqlglot import exp

        sides = [(side, self.inputs(side)) for side in (query.left, query.right)]
        word = {exp.Except: "Except", exp.Intersect: "Intersect"}.get(type(query), "Distinct")
        if word != "Distinct" or query.args.get("distinct"):
            for side, found in sides:
                keys = [item for select in selects_of(side) for item in select.expressions]
                self._apart(query, WORDS[word], found, keys)
        return {input for _, found in sides for input in found}

    def _selected(self, select: exp.Select) -> set[str]:
        from sqlglot import exp

        found = self._read(select)
        own = list(_own_nodes(select))
        for node in own:
            if isinstance(node, exp.Exists | exp.In | exp.Query):
                found |= self._subquery(node)
        group = select.args.get("group")
        aggregate = next((node for node in own if _aggregates(node)), None)
        if group is not None:
            self._apart(group, WORDS["Aggregate"], found, _keys(select, group))
        elif aggregate is not None:
            self._apart(aggregate, WORDS["Aggregate"], found, ())
        for node in own:
            if isinstance(node, exp.Window) and node.args.get("over") == "OVER":
                keys = list(node.args.get("partition_by") or ())
                for named in select.args.get("windows") or () if node.args.get("alias") else ():
                    keys += named.args.get("partition_by") or ()
                self._apart(node, WORDS["Window"], found, keys)
        if select.args.get("distinct"):
            self._apart(select, WORDS["Distinct"], found, select.expressions)
        return found

    def _read(self, select: exp.Select) -> set[str]:
        """FROM and its joins."""
        from_ = select.args.get("from_")
        if from_ is None:
            return set()
        found = self._source(from_.this)
        for join in [*(from_.this.args.get("joins") or ()), *(select.args.get("joins") or ())]:
            found = self._joined(join, found, self._source(join.this))
        return found

    def _source(self, source: exp.Expr) -> set[str]:
        from sqlglot import exp

        if source.args.get("pivots") or source.args.get("sample"):
            return set()
        if isinstance(source, exp.Subquery):
            return self.inputs(source.this)
        if isinstance(source, exp.Lateral) and isinstance(source.this, exp.Subquery):
            return self._subquery(source.this)
        if not isinstance(source, exp.Table) or not isinstance(source.this, exp.Identifier):
            return set()
        name = source.name.casefold()
        if (cte := _cte(source)) is not None:
            return self.inputs(cte)
        if name in self.steps:
            return replace(self, pinned=frozenset()).inputs(self.steps[name])
        return {name} if name in self.parts else set()

    def _joined(self, join: exp.Join, left: set[str], right: set[str]) -> set[str]:
        from sqlglot import exp

        side, kind = str(join.side).upper(), str(join.kind).upper()
        both = left | right
        if join.method or isinstance(join.this, exp.Lateral):
            return both  # by columns that are not written, or a subquery
        keys = [*(join.args.get("using") or ()), *_equalities(join.args.get("on"))]
        if side in _SIDES or kind in _KINDS:
            one_sided = left if side == "RIGHT" else both if side == "FULL" else right
            self._apart(join, WORDS["Join"], one_sided, keys)
        elif any(not self.parts[one][1] for one in left) and any(
            not self.parts[one][1] for one in right
        ):
            self._never(join, WORDS["Join"], left)
        else:
            shared = {column.casefold() for one in left for column in self.parts[one][1]}
            loose = shared & {name for name, own in self.carriers.items() if own.is_loose}
            self._never(join, WORDS["Join"], [
                one for one in right if any(c.casefold() in loose for c in self.parts[one][1])
            ])  # fmt: skip
        return both

    def _subquery(self, node: exp.Expr) -> set[str]:
        """IN, EXISTS, a value, or LATERAL: of the part that the outer row is of, or refused."""
        from sqlglot import exp

        query = node.args.get("query") if isinstance(node, exp.In) else node
        if isinstance(node, exp.Exists):
            query = node.this
        query = query.unnest() if query is not None else None
        if self.refused is not None or not isinstance(query, exp.Select | exp.SetOperation):
            return set()  # of streams, Spark refuses them itself
        compared = [one for tree in (query, *self._behind(query)) for one in _equalities(tree)]
        if isinstance(node, exp.In):
            compared += [node.this, *(i for s in selects_of(query) for i in s.expressions)]
        pinned = {name for name, own in self.carriers.items() if own.among(compared)}
        inner = replace(self, pinned=self.pinned | pinned)
        found = inner.inputs(query)
        inner._apart(node, SUBQUERY, found, compared)
        return found

    def _behind(self, query: exp.Expr) -> Iterator[exp.Expr]:
        """The CTEs and steps that a query reads, which may compare on its behalf."""
        from sqlglot import exp

        seen: set[int] = set()
        waiting = [query]
        while waiting:
            for table in waiting.pop().find_all(exp.Table):
                behind = _cte(table) or self.steps.get(table.name.casefold())
                if behind is not None and id(behind) not in seen:
                    seen.add(id(behind))
                    waiting.append(behind)
                    yield behind

    # -- refusals ---------------------------------------------------------------------------

    def _apart(
        self, node: exp.Expr, what: str, inputs: Iterable[str], keys: Iterable[exp.Expr]
    ) -> None:
        """Refuse if these keys cannot tell the parts of an input apart."""
        keys = list(keys)
        for input in sorted(inputs):
            name, columns = self.parts[input]
            lower = [column.casefold() for column in columns]
            if not columns or not all(
                one in self.pinned or self.carriers[one].among(keys) for one in lower
            ):
                self._break(node, what, name)

    def _never(self, node: exp.Expr, what: str, inputs: Iterable[str]) -> None:
        for input in sorted(inputs):
            self._break(node, what, self.parts[input][0])

    def _break(self, node: exp.Expr, what: str, input: str) -> None:
        if self.refused is None or what in self.refused:
            raise _Broken(node, what, input)


def _own_nodes(select: exp.Select) -> Iterator[exp.Expr]:
    """What a SELECT consists of, up to the queries in it; of these the first node only."""
    from sqlglot import exp

    skipped = {"from_", "joins", "with_", "laterals"}
    for key, value in select.args.items():
        if key in skipped:
            continue
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, exp.Expr):
                yield from part.walk(prune=_ends)
    for join in select.args.get("joins") or ():
        if isinstance(on := join.args.get("on"), exp.Expr):
            yield from on.walk(prune=_ends)


def _ends(node: exp.Expr) -> bool:
    from sqlglot import exp

    return isinstance(node, exp.Query | exp.Exists) or (
        isinstance(node, exp.In) and node.args.get("query") is not None
    )


def _aggregates(node: exp.Expr) -> bool:
    """A function that makes one value of many rows, wherever Spark reads it so."""
    from sqlglot import exp

    known = (exp.Sum, exp.Count, exp.Avg, exp.Max, exp.Min, exp.ArrayAgg, exp.Stddev,
             exp.StddevPop, exp.StddevSamp, exp.Variance, exp.VariancePop, exp.CountIf,
             exp.ApproxDistinct, exp.Median)  # fmt: skip
    if not isinstance(node, known):
        return False
    above = node.parent
    while isinstance(above, exp.Filter | exp.Distinct | exp.IgnoreNulls | exp.RespectNulls):
        above = above.parent
    return not isinstance(above, exp.Window)


def _keys(select: exp.Select, group: exp.Group) -> list[exp.Expr]:
    """What is grouped by; a number, or ALL, stands for what is selected."""
    from sqlglot import exp

    keys = [*group.expressions]
    for name in ("rollup", "cube", "grouping_sets"):
        keys += group.args.get(name) or ()
    if group.args.get("all") or any(isinstance(one, exp.Literal) for one in keys):
        keys += select.expressions
    return keys


def _equalities(tree: exp.Expr | None) -> Iterator[exp.Expr]:
    for node in tree.walk() if tree is not None else ():
        yield from equalities(node)


def _cte(table: exp.Table) -> exp.Expr | None:
    """The query of the WITH that a name means."""
    if table.args.get("db"):
        return None
    inside: list[exp.Expr] = [table]
    node = table.parent
    while node is not None:
        with_ = node.args.get("with_")
        for cte in with_.expressions if with_ is not None else ():
            if any(cte is one for one in inside):
                break  # what comes after it, it does not see
            if cte.alias.casefold() == table.name.casefold():
                found: exp.Expr = cte.this
                return found
        inside.append(node)
        node = node.parent
    return None
