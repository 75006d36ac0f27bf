"""Whether a query gives the same rows however its input came: what `together` and `append` promise.

Their runs see a part of the input: partitions that changed, or new rows. So no row of the output
may depend on rows of another partition, or on any other row. That is told from Spark's analysed
plan, by a list of what is allowed. A column *carries* a partition if it has the partition's value
in each row that was made from rows of it; whatever brings rows together must do so by such columns.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from trunkline.engine.columns import (
    Json,
    Node,
    analysed,
    expressions,
    number_of,
    read_plan,
    relations_of,
)
from trunkline.errors import TransformFailed
from trunkline.pipelines.sqltext import Step, caret

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Parts = Mapping[str, Sequence[str]]
"""Inputs of which a run sees a part, with the columns that tell which; without, it is new rows."""

Ids = frozenset[int]
_NO_IDS: Ids = frozenset()

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
WORDS = {
    "Aggregate": "An aggregate",
    "Window": "A window",
    "Join": "A join",
    "LateralJoin": "A lateral join",
    "Distinct": "DISTINCT",
    "Deduplicate": "dropDuplicates",
    "GlobalLimit": "LIMIT",
    "LocalLimit": "LIMIT",
    "Offset": "OFFSET",
    "Except": "EXCEPT",
    "Intersect": "INTERSECT",
    "FlatMapGroupsInPandas": "applyInPandas",
    "FlatMapGroupsInArrow": "applyInArrow",
}
_SUBQUERY = "A subquery"


@dataclass(frozen=True, slots=True)
class _Origin:
    """Rows of an input that those of a plan are made from, and which columns carry their parts.

    `pairs` are columns of which one carries it, the other being null, as after a full join.
    """

    input: str
    carriers: Mapping[str, Ids]
    pairs: Mapping[str, frozenset[Ids]] = field(default_factory=dict)

    def only(self, ids: Iterable[int]) -> _Origin:
        kept = frozenset(ids)
        return _Origin(self.input, {name: own & kept for name, own in self.carriers.items()})

    def renamed(self, places: Iterable[tuple[int, int]]) -> _Origin:
        """With columns that have the values of others, as pairs of an old and a new number."""
        pairs = list(places)
        made = {
            name: frozenset(new for old, new in pairs if old in own)
            for name, own in self.carriers.items()
        }
        return _Origin(self.input, made)

    def also(self, equal: Iterable[tuple[int, int]]) -> _Origin:
        """With what is known to be equal."""
        made = dict(self.carriers)
        pairs = list(equal)
        for _ in pairs:  # a chain of equals may come in any order
            for one, other in pairs:
                for name, own in made.items():
                    if one in own or other in own:
                        made[name] = own | {one, other}
        return replace(self, carriers=made)

    def apart(self, ids: Ids) -> bool:
        """Whether rows that agree in these columns are of one part."""
        return bool(self.carriers) and all(own & ids for own in self.carriers.values())


@dataclass(frozen=True, slots=True)
class _State:
    """What is known of a plan's rows. `names` go with `ids`, its columns in order."""

    ids: Sequence[int]
    names: Sequence[str]
    origins: tuple[_Origin, ...] = ()


class _Broken(Exception):
    """A step that brings rows together which must stay apart, and its place in the plan."""

    def __init__(self, what: str, input: str, path: tuple[int, ...] | None) -> None:
        super().__init__(what)
        self.what = what
        self.input = input
        self.path = path


def check(
    mode: str,
    parts: Parts,
    inputs: Mapping[str, DataFrame],
    outputs: Mapping[str, DataFrame],
    script: str = "",
    steps: Sequence[tuple[Step, DataFrame]] = (),
) -> None:
    """Refuse outputs that depend on which part of the inputs a run sees."""
    leaves = _Leaves(parts, inputs)
    for name, frame in outputs.items():
        try:
            state = _Walk(leaves, frame).state
        except _Broken as broken:
            raise _refusal(mode, broken, parts, _where(leaves, script, steps)) from None
        _check_columns(mode, name, state, parts, frame)
        if not state.origins and not leaves.has_all_of(frame):
            raise _unseen(mode, name, parts)


def _check_columns(mode: str, name: str, state: _State, parts: Parts, frame: DataFrame) -> None:
    where = f"The output {name}" if name else "The output"
    own = dict(zip((one.casefold() for one in frame.columns), state.ids, strict=False))
    for origin in state.origins:
        for column, carriers in origin.carriers.items():
            # One that is not there at all is told later.
            if own.get(column.casefold(), -1) not in {*carriers, -1}:
                raise TransformFailed(
                    f"{where}: its column {column} is not as it stands in the rows of "
                    f"{origin.input} that each row is made from, and mode: {mode} tells by it "
                    "which rows to replace.",
                    hint=f"Select {column} of {origin.input} as it is, or use mode: whole.",
                )


def _unseen(mode: str, name: str, parts: Parts) -> TransformFailed:
    return TransformFailed(
        f"{f'The output {name}' if name else 'The output'} is made from rows that the function "
        f"fetched itself. Nobody can tell which part of {' and '.join(parts)} they depend on, as "
        f"mode: {mode} must.",
        hint="Return a DataFrame that is made from the inputs, or use mode: whole or each.",
    )


def _refusal(
    mode: str, broken: _Broken, parts: Parts, place: tuple[str, int, int] | None
) -> TransformFailed:
    columns = parts[broken.input]
    if columns:
        shown = ", ".join(columns)
        text = (
            f"{broken.what} brings rows of {broken.input} together whatever their {shown}, and "
            f"mode: {mode} computes each {shown} on its own, from what changed."
        )
        hint = f"Group, partition and join by {shown} too, or use mode: whole."
    else:
        text = (
            f"{broken.what} looks at several rows of {broken.input}, and mode: {mode} reads new "
            "ones only."
        )
        hint = "Use mode: whole, or together with partition_by."
    return TransformFailed(caret(*place, text) if place else text, hint=hint)


def _where(
    leaves: _Leaves, script: str, steps: Sequence[tuple[Step, DataFrame]]
) -> tuple[str, int, int] | None:
    """The place in a script of the first step that is refused."""
    for step, frame in steps:
        try:
            _ = _Walk(leaves, frame).state
        except _Broken as broken:
            node: Any = frame._jdf.queryExecution().analyzed()
            for child in broken.path or ():
                node = node.children().apply(child)
            origin = node.origin()
            if broken.path is None or not origin.line().isDefined():
                return script, step.line, step.column
            line, column = int(origin.line().get()), int(origin.startPosition().get()) + 1
            return script, step.line + line - 1, column + (step.column - 1 if line == 1 else 0)
    return None


class _Leaves:
    """Which leaves of a plan are parts of inputs, and which columns tell the part."""

    def __init__(self, parts: Parts, inputs: Mapping[str, DataFrame]) -> None:
        self._parts = parts
        self._inputs: dict[int, str] = {}
        for name, frame in inputs.items():
            for relation in relations_of(frame).values():
                self._inputs[relation] = name

    def of(self, frame: DataFrame) -> Mapping[int, tuple[str, Sequence[str]]]:
        """By the number of the first column of a leaf: the input, and its columns that tell."""
        found = {}
        for first, relation in relations_of(frame).items():
            name = self._inputs.get(relation, "")
            if name in self._parts:
                found[first] = name, self._parts[name]
        return found

    def has_all_of(self, frame: DataFrame) -> bool:
        """Whether a frame reads nothing but inputs."""
        return set(relations_of(frame).values()) <= self._inputs.keys()


class _Walk:
    """Goes through a plan from its leaves upwards."""

    def __init__(self, leaves: _Leaves, frame: DataFrame) -> None:
        self._leaves = leaves.of(frame)
        self._shared: dict[int, _State] = {}
        self._outer: Ids = _NO_IDS
        self.state = self._state(analysed(frame), ())

    def _state(self, node: Node, path: tuple[int, ...] | None) -> _State:
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

    def _step(self, node: Node, below: Sequence[_State], path: tuple[int, ...] | None) -> _State:
        fields = node.fields
        if not below:
            return self._leaf(node)
        first, origins = below[-1], below[-1].origins
        match node.kind:
            case "Project":
                return self._listed(fields["projectList"], origins)
            case "Filter":
                return replace(first, origins=_equal(origins, read_plan(fields["condition"])))
            case "Generate":
                return self._generated(fields, first)
            case "Aggregate":
                self._apart(node, origins, _sources(fields["groupingExpressions"]), path)
                return self._listed(fields["aggregateExpressions"], origins)
            case "Window":
                self._apart(node, origins, _sources(fields["partitionSpec"]), path)
                return _added(first, fields["windowExpressions"])
            case "Deduplicate":
                self._apart(node, origins, _sources(fields["keys"]), path)
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
            return _by_name(fields, below)
        if node.kind in _FUNCTIONS_OF_GROUPS:
            self._apart(node, origins, _sources(fields["groupingAttributes"]), path)
            return _by_name(fields, below)
        if node.kind in _FUNCTIONS_OF_PAIRS:
            for side, size in zip(below, ("leftGroupingLen", "rightGroupingLen"), strict=True):
                self._apart(node, side.origins, frozenset(side.ids[: int(fields[size])]), path)
            return _by_name(fields, below)
        for state in below:
            self._apart(node, state.origins, _NO_IDS, path, pinned=False)
        return _added(first, fields.get("output") or ())

    def _apart(
        self,
        node: Node,
        origins: Iterable[_Origin],
        ids: Ids,
        path: tuple[int, ...] | None,
        *,
        pinned: bool = True,
    ) -> None:
        """Refuse what brings rows together that differ in more than these columns."""
        for origin in origins:
            if not origin.apart(ids | self._outer if pinned else ids):
                raise _Broken(WORDS.get(node.kind, node.kind), origin.input, path)

    def _leaf(self, node: Node) -> _State:
        if node.kind == "CTERelationRef" and int(node.fields["cteId"]) in self._shared:
            shared = self._shared[int(node.fields["cteId"])]
            own = _added(_State((), ()), node.fields["output"])
            places = list(zip(shared.ids, own.ids, strict=True))
            return replace(own, origins=tuple(one.renamed(places) for one in shared.origins))
        state = _added(_State((), ()), node.fields.get("output") or ())
        known = self._leaves.get(state.ids[0]) if state.ids else None
        if known is None:
            return state
        input, columns = known
        names = {name.casefold(): id for name, id in zip(state.names, state.ids, strict=True)}
        carriers = {
            one: frozenset({names[one.casefold()]} if one.casefold() in names else ())
            for one in columns
        }
        return replace(state, origins=(_Origin(input, carriers),))

    def _listed(self, listed: Any, origins: Iterable[_Origin]) -> _State:
        state = _added(_State((), ()), listed)
        made = []
        for origin in origins:
            for tree in map(read_plan, expressions(listed)):
                if tree.kind == "Alias":
                    origin = _aliased(origin, _number(tree), tree.children[0])
            made.append(origin)
        return replace(state, origins=tuple(made))

    def _generated(self, fields: Json, first: _State) -> _State:
        gone = set(fields.get("unrequiredChildIndex") or ())
        kept = [place for place in range(len(first.ids)) if place not in gone]
        ids, names = [first.ids[place] for place in kept], [first.names[place] for place in kept]
        return _added(_State(ids, names, first.origins), fields["generatorOutput"])

    def _expanded(self, fields: Json, origins: Iterable[_Origin]) -> _State:
        state = _added(_State((), ()), fields["output"])
        made = []
        for origin in origins:
            carriers = dict(origin.carriers)
            for name, own in origin.carriers.items():
                carriers[name] = own | {
                    id
                    for place, id in enumerate(state.ids)
                    if all(_source(read_plan(one[place])) in own for one in fields["projections"])
                }
            # Columns that some of the projections leave out are null there.
            made.append(_Origin(origin.input, carriers).only(state.ids))
        return replace(state, origins=tuple(made))

    def _united(self, node: Node, below: Sequence[_State], path: tuple[int, ...] | None) -> _State:
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

    def _joined(
        self, node: Node, left: _State, right: _State, path: tuple[int, ...] | None
    ) -> _State:
        how = json.dumps(node.fields.get("joinType"))
        condition = node.fields.get("condition")
        equal = list(_equals(read_plan(condition))) if condition else []
        both = _State([*left.ids, *right.ids], [*left.names, *right.names])
        if "FullOuter" in how:
            made = [_paired(one, equal) for one in (*left.origins, *right.origins)]
            for origin in made:
                if not origin.pairs or not all(origin.pairs.values()):
                    raise _Broken(WORDS["Join"], origin.input, path)
            return replace(both, origins=tuple(made))
        if "Inner" in how or "Cross" in how:
            alone = [one for one in (left, right) if any(not o.carriers for o in one.origins)]
            if len(alone) == 2:
                raise _Broken(WORDS["Join"], left.origins[0].input, path)
            origins = [one.also(equal) for one in (*left.origins, *right.origins)]
            return replace(both, origins=tuple(origins))
        # One side is kept. What is found on the other must be of the same part, and so must
        # what is not found.
        keeps, other = (right, left) if "RightOuter" in how else (left, right)
        found = [one.also(equal).only((*keeps.ids, *self._outer)) for one in other.origins]
        self._apart(node, found, frozenset(keeps.ids), path)
        state = both if "Outer" in how else left
        return replace(state, origins=(*keeps.origins, *found))

    def _lateral(self, node: Node, left: _State, path: tuple[int, ...] | None) -> _State:
        """What it reads of inputs is judged as a subquery; here are its columns."""
        for listed in expressions(node.fields["right"]):
            plan = listed[0].get("plan")
            if isinstance(plan, list):
                inner, _ = self._inner(plan)
                ids, names = [*left.ids, *inner.ids], [*left.names, *inner.names]
                return _State(ids, names, left.origins)
        return left

    # -- subqueries -------------------------------------------------------------------------

    def _subqueries(self, tree: Node, path: tuple[int, ...] | None) -> Iterator[_Origin]:
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
            values = [_source(value) for value in tree.children[:-1]]
            compared = [
                (id, value)
                for id, value in zip(state.ids, values, strict=False)
                if value is not None
            ]
        visible = outer | {value for _, value in compared}
        for origin in state.origins:
            seen = origin.also(compared).only(visible)
            if not seen.apart(visible):
                raise _Broken(_SUBQUERY, origin.input, path)
            yield seen

    def _inner(self, plan: list[Json]) -> tuple[_State, Ids]:
        """A subquery, and the columns that it has from outside."""
        outer = frozenset(_outer_references(plan))
        before, self._outer = self._outer, self._outer | outer
        try:
            return self._state(read_plan(plan), None), outer
        finally:
            self._outer = before


def _equal(origins: Sequence[_Origin], condition: Node) -> tuple[_Origin, ...]:
    equal = list(_equals(condition))
    return tuple(one.also(equal) for one in origins)


def _equals(condition: Node) -> Iterator[tuple[int, int]]:
    """Columns that are equal wherever a condition holds."""
    if condition.kind == "And":
        for child in condition.children:
            yield from _equals(child)
    elif condition.kind in ("EqualTo", "EqualNullSafe"):
        one, other = map(_source, condition.children)
        if one is not None and other is not None:
            yield one, other


def _paired(origin: _Origin, equal: Iterable[tuple[int, int]]) -> _Origin:
    equal = list(equal)
    pairs = {
        name: frozenset(frozenset(pair) for pair in equal if own & set(pair))
        for name, own in origin.carriers.items()
    }
    return _Origin(origin.input, dict.fromkeys(origin.carriers, _NO_IDS), pairs)


def _aliased(origin: _Origin, id: int, expression: Node) -> _Origin:
    carriers = dict(origin.carriers)
    source = _source(expression)
    for name, own in origin.carriers.items():
        if source is not None and source in own:
            carriers[name] = own | {id}
        elif expression.kind == "Coalesce":
            both = frozenset(one for one in map(_source, expression.children) if one is not None)
            if both in origin.pairs.get(name, ()):
                carriers[name] = own | {id}
    return replace(origin, carriers=carriers)


def _by_name(fields: Json, below: Sequence[_State]) -> _State:
    """What a function gives: a column that is called as one that it got is taken to be that."""
    state = _added(_State((), ()), fields["output"])
    own = {name.casefold(): id for name, id in zip(state.names, state.ids, strict=True)}
    origins = [
        origin.renamed(
            (old, own[name.casefold()])
            for old, name in zip(side.ids, side.names, strict=True)
            if name.casefold() in own
        )
        for side in below
        for origin in side.origins
    ]
    return replace(state, origins=tuple(origins))


def _added(state: _State, listed: Any) -> _State:
    made = [one[0] for one in expressions(listed)]
    return _State(
        [*state.ids, *map(number_of, made)],
        [*state.names, *(str(one.get("name", "")) for one in made)],
        state.origins,
    )


def _sources(listed: Any) -> Ids:
    found = (_source(read_plan(one)) for one in expressions(listed))
    return frozenset(one for one in found if one is not None)


def _source(expression: Node) -> int | None:
    """The column that an expression is, by another name or type; None if it is made of more."""
    match expression.kind:
        case "AttributeReference":
            return _number(expression)
        case "OuterReference":
            return _source(read_plan(next(expressions(expression.fields["e"]))))
        case "Alias":
            return _source(expression.children[0])
        case "Cast" | "UpCast":
            (child,) = expression.children
            return None if _loses(child, str(expression.fields.get("dataType"))) else _source(child)
        case "ParseToDate":
            child, *form = expression.children
            return None if form or _loses(child, "date") else _source(child)
    return None


def _loses(child: Node, after: str) -> bool:
    """Whether values that differ may become equal. Of text, that is seen in the output."""
    before = str(child.fields.get("dataType"))
    return (
        after == "boolean"
        or (before.startswith("timestamp") and after == "date")
        or (before.startswith(("double", "float", "decimal")) and not after.startswith("string"))
    )


def _outer_references(plan: Any) -> Iterator[int]:
    """The numbers of columns that a subquery has from outside."""
    if isinstance(plan, dict):
        if str(plan.get("class", "")).endswith(".OuterReference"):
            for listed in expressions(plan["e"]):
                yield number_of(listed[0])
        for value in plan.values():
            yield from _outer_references(value)
    elif isinstance(plan, list):
        for value in plan:
            yield from _outer_references(value)


def _number(node: Node) -> int:
    return number_of(node.fields)
