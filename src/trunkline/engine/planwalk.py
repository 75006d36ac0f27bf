"""Goes through Spark's analysed plan by a list of what is allowed.

Whatever brings rows together must do so by columns that carry their part of the input.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from trunkline.engine.carriers import (
    NO_IDS,
    Ids,
    Origin,
    State,
    aliased,
    by_name,
    equals,
    number,
    outer_references,
    paired,
    source_of,
    sources_of,
    with_columns,
    with_equals,
)  # fmt: skip
from trunkline.engine.columns import Json, Node, expressions, read_plan
from trunkline.pipelines.promise_words import SUBQUERY, WORDS

# Each row for itself, and the columns stay.
_ROW_BY_ROW = frozenset(
    (
        *("Filter", "SubqueryAlias", "View", "Sort", "Repartition", "RepartitionByExpression"),
        *("RebalancePartitions", "ResolvedHint", "CollectMetrics", "Sample", "WithCTE"),
        *("EventTimeWatermark", "CTERelationDef", "Generate", "Project"),
    )
)
_FUNCTIONS_OF_ROWS = ("MapInPandas", "MapInArrow", "PythonMapInArrow")
_FUNCTIONS_OF_GROUPS = ("FlatMapGroupsInPandas", "FlatMapGroupsInArrow")
_FUNCTIONS_OF_PAIRS = ("FlatMapCoGroupsInPandas", "FlatMapCoGroupsInArrow")


class Broken(Exception):
    """A step that brings rows together which must stay apart, and its place in the plan."""

    def __init__(self, what: str, input: str, path: tuple[int, ...] | None) -> None:
        super().__init__(what)
        self.what = what
        self.input = input
        self.path = path


class Walk:
    """What is known of the rows of a plan, from its leaves upwards."""

    def __init__(self, plan: Node, leaves: Mapping[int, tuple[str, Sequence[str]]]) -> None:
        """`leaves`: by the number of the first column of a leaf, the input that it is a part of,
        and its columns that tell which part.
        """
        self._leaves = leaves
        self._shared: dict[int, State] = {}
        self._outer: Ids = NO_IDS
        self.state = self._state(plan, ())

    def _state(self, node: Node, path: tuple[int, ...] | None) -> State:
        below = [
            self._state(child, None if path is None else (*path, n))
            for n, child in enumerate(node.children)
        ]
        state = self._step(node, below, path)
        if node.kind == "CTERelationDef":
            self._shared[int(node.fields["id"])] = state
        inner = [
            origin
            for value in node.fields.values()
            for listed in expressions(value)
            for origin in self._subqueries(read_plan(listed), path)
        ]
        return replace(state, origins=(*state.origins, *inner)) if inner else state

    # -- steps ------------------------------------------------------------------------------

    def _step(self, node: Node, below: Sequence[State], path: tuple[int, ...] | None) -> State:
        fields = node.fields
        if not below:
            return self._leaf(node)
        first, origins = below[-1], below[-1].origins
        match node.kind:
            case "Project":
                return self._listed(fields["projectList"], origins)
            case "Filter":
                return replace(first, origins=with_equals(origins, read_plan(fields["condition"])))
            case "Generate":
                return self._generated(fields, first)
            case "Aggregate":
                self._apart(node, origins, sources_of(fields["groupingExpressions"]), path)
                return self._listed(fields["aggregateExpressions"], origins)
            case "Window":
                self._apart(node, origins, sources_of(fields["partitionSpec"]), path)
                return with_columns(first, fields["windowExpressions"])
            case "Deduplicate":
                self._apart(node, origins, sources_of(fields["keys"]), path)
                return first
            case "Distinct":
                self._apart(node, origins, frozenset(first.ids), path)
                return first
            case "Expand":
                return self._expanded(fields, origins)
            case "Union" | "Intersect" | "Except":
                return self._united(node, below, path)
            case "Join":
                return self._joined(node, below[0], below[1], path)
            case "LateralJoin":
                return self._lateral(node, first, path)
        if node.kind in _ROW_BY_ROW:
            return first
        if node.kind in _FUNCTIONS_OF_ROWS:
            return by_name(fields, below)
        if node.kind in _FUNCTIONS_OF_GROUPS:
            self._apart(node, origins, sources_of(fields["groupingAttributes"]), path)
            return by_name(fields, below)
        if node.kind in _FUNCTIONS_OF_PAIRS:
            for side, size in zip(below, ("leftGroupingLen", "rightGroupingLen"), strict=True):
                self._apart(node, side.origins, frozenset(side.ids[: int(fields[size])]), path)
            return by_name(fields, below)
        for state in below:
            self._apart(node, state.origins, NO_IDS, path, pinned=False)
        return with_columns(first, fields.get("output") or ())

    def _apart(
        self,
        node: Node,
        origins: Iterable[Origin],
        ids: Ids,
        path: tuple[int, ...] | None,
        *,
        pinned: bool = True,
    ) -> None:
        """Refuse what brings rows together that differ in more than these columns."""
        for origin in origins:
            if not origin.apart(ids | self._outer if pinned else ids):
                raise Broken(WORDS.get(node.kind, node.kind), origin.input, path)

    def _leaf(self, node: Node) -> State:
        if node.kind == "CTERelationRef" and int(node.fields["cteId"]) in self._shared:
            shared = self._shared[int(node.fields["cteId"])]
            own = with_columns(State((), ()), node.fields["output"])
            places = list(zip(shared.ids, own.ids, strict=True))
            return replace(own, origins=tuple(one.renamed(places) for one in shared.origins))
        state = with_columns(State((), ()), node.fields.get("output") or ())
        known = self._leaves.get(state.ids[0]) if state.ids else None
        if known is None:
            return state
        input, columns = known
        names = {name.casefold(): id for name, id in zip(state.names, state.ids, strict=True)}
        carriers = {
            one: frozenset({names[one.casefold()]} if one.casefold() in names else ())
            for one in columns
        }
        return replace(state, origins=(Origin(input, carriers),))

    def _listed(self, listed: Any, origins: Iterable[Origin]) -> State:
        state = with_columns(State((), ()), listed)
        made = []
        for origin in origins:
            for tree in map(read_plan, expressions(listed)):
                if tree.kind == "Alias":
                    origin = aliased(origin, number(tree), tree.children[0])
            made.append(origin)
        return replace(state, origins=tuple(made))

    def _generated(self, fields: Json, first: State) -> State:
        gone = set(fields.get("unrequiredChildIndex") or ())
        kept = [place for place in range(len(first.ids)) if place not in gone]
        ids, names = [first.ids[place] for place in kept], [first.names[place] for place in kept]
        return with_columns(State(ids, names, first.origins), fields["generatorOutput"])

    def _expanded(self, fields: Json, origins: Iterable[Origin]) -> State:
        state = with_columns(State((), ()), fields["output"])
        made = []
        for origin in origins:
            carriers = dict(origin.carriers)
            for name, own in origin.carriers.items():
                carriers[name] = own | {
                    id
                    for place, id in enumerate(state.ids)
                    if all(source_of(read_plan(one[place])) in own for one in fields["projections"])
                }
            # Columns that some of the projections leave out are null there.
            made.append(Origin(origin.input, carriers).only(state.ids))
        return replace(state, origins=tuple(made))

    def _united(self, node: Node, below: Sequence[State], path: tuple[int, ...] | None) -> State:
        first = below[0]
        origins = []
        for state in below:
            places = list(zip(state.ids, first.ids, strict=True))
            made = [
                one.renamed([*places, *((id, id) for id in self._outer)]) for one in state.origins
            ]
            if node.kind != "Union":
                self._apart(node, made, frozenset(first.ids), path)
            origins += made
        return replace(first, origins=tuple(origins))

    def _joined(self, node: Node, left: State, right: State, path: tuple[int, ...] | None) -> State:
        how = json.dumps(node.fields.get("joinType"))
        condition = node.fields.get("condition")
        equal = list(equals(read_plan(condition))) if condition else []
        both = State([*left.ids, *right.ids], [*left.names, *right.names])
        if "FullOuter" in how:
            made = [paired(one, equal) for one in (*left.origins, *right.origins)]
            for origin in made:
                if not origin.pairs or not all(origin.pairs.values()):
                    raise Broken(WORDS["Join"], origin.input, path)
            return replace(both, origins=tuple(made))
        if "Inner" in how or "Cross" in how:
            alone = [one for one in (left, right) if any(not o.carriers for o in one.origins)]
            if len(alone) == 2:
                raise Broken(WORDS["Join"], left.origins[0].input, path)
            origins = [one.also(equal) for one in (*left.origins, *right.origins)]
            return replace(both, origins=tuple(origins))
        # One side is kept. What is found on the other must be of the same part, and so must
        # what is not found.
        keeps, other = (right, left) if "RightOuter" in how else (left, right)
        found = [one.also(equal).only((*keeps.ids, *self._outer)) for one in other.origins]
        self._apart(node, found, frozenset(keeps.ids), path)
        state = both if "Outer" in how else left
        return replace(state, origins=(*keeps.origins, *found))

    def _lateral(self, node: Node, left: State, path: tuple[int, ...] | None) -> State:
        """What it reads of inputs is judged as a subquery; here are its columns."""
        for listed in expressions(node.fields["right"]):
            plan = listed[0].get("plan")
            if isinstance(plan, list):
                inner, _ = self._inner(plan)
                ids, names = [*left.ids, *inner.ids], [*left.names, *inner.names]
                return State(ids, names, left.origins)
        return left

    # -- subqueries -------------------------------------------------------------------------

    def _subqueries(self, tree: Node, path: tuple[int, ...] | None) -> Iterator[Origin]:
        """What an expression reads of inputs, as rows of the part that the outer row is of."""
        for child in tree.children:
            if tree.kind != "InSubquery" or child is not tree.children[-1]:
                yield from self._subqueries(child, path)
        query = tree.children[-1] if tree.kind == "InSubquery" else tree
        plan = query.fields.get("plan")
        if not isinstance(plan, list) or not plan:
            return
        state, outer = self._inner(plan)
        compared: list[tuple[int, int]] = []
        if query is not tree:
            values = [source_of(value) for value in tree.children[:-1]]
            compared = [
                (id, value)
                for id, value in zip(state.ids, values, strict=False)
                if value is not None
            ]
        visible = outer | {value for _, value in compared}
        for origin in state.origins:
            seen = origin.also(compared).only(visible)
            if not seen.apart(visible):
                raise Broken(SUBQUERY, origin.input, path)
            yield seen

    def _inner(self, plan: list[Json]) -> tuple[State, Ids]:
        """A subquery, and the columns that it has from outside."""
        outer = frozenset(outer_references(plan))
        before, self._outer = self._outer, self._outer | outer
        try:
            return self._state(read_plan(plan), None), outer
        finally:
            self._outer = before
