"""Which columns of the inputs each column of a DataFrame was made from.

Spark's analysed plan gives every column a number, and says of each expression which numbers it
uses. The plan is fetched as JSON in one call, as asking the JVM for its parts would take thousands.
What is filtered, joined or grouped by is no part of the answer: only what values are made of.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trunkline.model.best_effort import BestEffort

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Sources = frozenset[tuple[str, str]]
"""Pairs of an input and a column of it."""

Leaf = Callable[[Sequence[int]], Iterator[Sources]]
"""What the columns of a leaf with these numbers are."""

Json = dict[str, Any]
_NOTHING: Sources = frozenset()
_LEFT_ONLY = ("LeftSemi", "LeftAnti")
# What tells that two leaves are the same table: Spark numbers a table anew when it is read twice.
_IDENTITY = {"LogicalRelation": "relation", "LocalRelation": "data", "LogicalRDD": "rdd"}


def column_lineage(
    df: DataFrame, inputs: Mapping[str, DataFrame]
) -> dict[str, list[tuple[str, str]]]:
    """For each column the input columns it was made from. Nothing if that cannot be told.

    A job's result never depends on this, so it raises nothing.
    """
    # A plan may be of a kind that we do not know, and Spark Connect shows none.
    with BestEffort("Telling which columns a column was made from", "info"):
        return _lineage(df, inputs)
    return {}


def _lineage(df: DataFrame, inputs: Mapping[str, DataFrame]) -> dict[str, list[tuple[str, str]]]:
    known: dict[int, Sources] = {}
    traces: list[tuple[str, DataFrame, Trace, list[int]]] = []
    for name, frame in inputs.items():
        trace = Trace({}, _each_own)
        numbers = trace.outputs(analysed(frame))
        traces.append((name, frame, trace, numbers))
        for column, number in zip(frame.columns, numbers, strict=True):
            known[number] = known.get(number, _NOTHING) | {(name, column)}
    again: dict[tuple[int, int], Sources] | None = None
    relations: dict[int, int] = {}
    firsts = {first for one in traces for first in one[2].leaves}

    def leaf(numbers: Sequence[int]) -> Iterator[Sources]:
        """The columns of a leaf that was numbered anew: those of the table that it is."""
        nonlocal again, relations
        if not numbers or numbers[0] in firsts:
            yield from (_NOTHING for _ in numbers)
            return
        if again is None:  # rarely needed, and it takes many calls
            again, relations = _by_relation(traces), relations_of(df)
        relation = relations.get(numbers[0], 0)
        for place in range(len(numbers)):
            yield again.get((relation, place), _NOTHING)

    trace = Trace(known, leaf)
    outputs = trace.outputs(analysed(df))
    return {
        column: sorted(trace.found(number))
        for column, number in zip(df.columns, outputs, strict=True)
    }


def _by_relation(
    traces: Iterable[tuple[str, DataFrame, Trace, list[int]]],
) -> dict[tuple[int, int], Sources]:
    """From the places in tables to the inputs' columns."""
    found: dict[tuple[int, int], Sources] = {}
    for name, frame, trace, numbers in traces:
        relations = relations_of(frame)
        for column, number in zip(frame.columns, numbers, strict=True):
            for first, place in trace.found(number):
                key = (relations.get(int(first), 0), int(place))
                found[key] = found.get(key, _NOTHING) | {(name, column)}
    return {key: sources for key, sources in found.items() if key[0]}


def analysed(df: DataFrame) -> Node:
    nodes = json.loads(df._jdf.queryExecution().analyzed().toJSON())
    return read_plan(nodes)


def relations_of(df: DataFrame) -> dict[int, int]:
    """Which table each leaf of a plan is, by the number of its first column."""
    plan: Any = df._jdf.queryExecution().analyzed()
    system: Any = df.sparkSession._jvm.java.lang.System  # type: ignore[union-attr]
    found: dict[int, int] = {}
    subqueries = plan.subqueriesAll()
    plans = [plan, *(subqueries.apply(number) for number in range(subqueries.size()))]
    for one in plans:
        leaves = one.collectLeaves()
        for number in range(leaves.size()):
            leaf = leaves.apply(number)
            name = _IDENTITY.get(str(leaf.getClass().getSimpleName()))
            if name is not None and not leaf.output().isEmpty():
                first = int(leaf.output().head().exprId().id())
                found[first] = int(system.identityHashCode(getattr(leaf, name)()))
    return found


def _each_own(numbers: Sequence[int]) -> Iterator[Sources]:
    """Leaves that stand for themselves: the number of their first column, and a place in it."""
    for place in range(len(numbers)):
        yield frozenset({(str(numbers[0]), str(place))})


@dataclass(frozen=True, slots=True)
class Node:
    """A step of a plan, as Spark writes it down."""

    kind: str
    fields: Json
    children: tuple[Node, ...]


def read_plan(nodes: Iterable[Json]) -> Node:
    """The tree of a list in which each node is followed by its children."""
    rest = iter(nodes)

    def read() -> Node:
        fields = next(rest)
        children = tuple(read() for _ in range(int(fields["num-children"])))
        return Node(str(fields["class"]).rpartition(".")[2], fields, children)

    return read()


class Trace:
    """Follows columns through a plan, from its leaves upwards."""

    def __init__(self, known: Mapping[int, Sources], leaf: Leaf) -> None:
        self._known = known
        self._leaf = leaf
        self.leaves: set[int] = set()
        """The numbers of the first columns of all leaves that were met."""
        self._made: dict[int, Sources] = {}
        # A union's columns have the numbers of its first part's, and more sources.
        self._united: dict[int, Sources] = {}
        self._shared: dict[int, list[int]] = {}

    def found(self, number: int) -> Sources:
        made = self._known.get(number) or self._made.get(number, _NOTHING)
        return made | self._united.get(number, _NOTHING)

    def outputs(self, node: Node) -> list[int]:
        """The numbers of a node's columns, in order; all below it has been followed then."""
        below = [self.outputs(child) for child in node.children]
        for value in node.fields.values():
            for expression in expressions(value):
                if _kind(expression[0]) == "Alias":
                    self._make(number_of(expression[0]), self._refs(expression[1:]))
        return self._columns(node, below)

    def _columns(self, node: Node, below: list[list[int]]) -> list[int]:
        fields = node.fields
        first = below[0] if below else []
        match node.kind:
            case "Project":
                return self._listed(fields["projectList"])
            case "Aggregate":
                return self._listed(fields["aggregateExpressions"])
            case "Window":
                return [*first, *self._listed(fields["windowExpressions"])]
            case "Join":
                return self._join(fields, below)
            case "Union" | "Intersect" | "Except":
                for other in below[1:] if node.kind == "Union" else ():
                    for number, more in zip(first, other, strict=True):
                        self._united[number] = self.found(number) | self.found(more)
                return first
            case "Generate":
                made = self._listed(fields["generatorOutput"])
                for number in made:
                    self._make(number, self._refs(fields["generator"]))
                gone = set(fields.get("unrequiredChildIndex") or ())
                return [one for place, one in enumerate(first) if place not in gone] + made
            case "Expand":
                return self._expand(fields)
            case "WithCTE":
                return below[-1]
            case "CTERelationDef":
                self._shared[int(fields["id"])] = first
                return first
            case "CTERelationRef":
                numbers = self._listed(fields["output"])
                for number, source in zip(numbers, self._shared[int(fields["cteId"])], strict=True):
                    self._make(number, self.found(source))
                return numbers
        if not below:
            numbers = self._listed(fields.get("output") or ())
            self.leaves.update(numbers[:1])
            for number, sources in zip(numbers, self._leaf(numbers), strict=True):
                self._make(number, sources)
            return numbers
        if any(True for _ in expressions(fields.get("output"))):
            # A function of whole rows, or of groups of them: any column may be in any other.
            numbers = self._listed(fields["output"])
            every = frozenset(one for side in below for n in side for one in self.found(n))
            for number in numbers:
                if number not in first:
                    self._make(number, every)
            return numbers
        return first

    def _make(self, number: int, sources: Sources) -> None:
        self._made[number] = sources

    def _listed(self, listed: Any) -> list[int]:
        return [number_of(one[0]) for one in expressions(listed)]

    def _join(self, fields: Json, below: list[list[int]]) -> list[int]:
        how = json.dumps(fields.get("joinType"))
        if any(kind in how for kind in _LEFT_ONLY):
            return below[0]
        return [*below[0], *below[1]]

    def _expand(self, fields: Json) -> list[int]:
        numbers = self._listed(fields["output"])
        for place, number in enumerate(numbers):
            sources = _NOTHING
            for projection in fields["projections"]:
                sources |= self._refs(projection[place])
            self._make(number, sources)
        return numbers

    def _refs(self, expression: Iterable[Json]) -> Sources:
        """What an expression is made of; of a subquery, what it selects."""
        found = _NOTHING
        for part in expression:
            if _kind(part) == "AttributeReference":
                found |= self.found(number_of(part))
            plan = part.get("plan")
            if isinstance(plan, list) and plan:
                numbers = self.outputs(read_plan(plan))
                found |= self.found(numbers[0]) if numbers else _NOTHING
        return found


def expressions(value: Any) -> Iterator[list[Json]]:
    """The expressions among a node's fields: lists of nodes, as a plan is one."""
    if not isinstance(value, list) or not value:
        return
    if isinstance(value[0], dict) and "num-children" in value[0]:
        yield value
    else:
        for one in value:
            yield from expressions(one)


def _kind(node: Json) -> str:
    return str(node["class"]).rpartition(".")[2]


def number_of(node: Json) -> int:
    return int(node["exprId"]["id"])
