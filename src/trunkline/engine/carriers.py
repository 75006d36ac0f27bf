"""Which columns tell the part of an input that a row was made from.

A column *carries* a partition if it has the partition's value in each row that was made from rows
of it: under another name or type, or because a condition says that it is equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from trunkline.engine.columns import Json, Node, expressions, number_of, read_plan

Ids = frozenset[int]
NO_IDS: Ids = frozenset()


@dataclass(frozen=True, slots=True)
class Origin:
    """Rows of an input that those of a plan are made from, and which columns carry their parts.

    `pairs` are columns of which one carries it, the other being null, as after a full join.
    """

    input: str
    carriers: Mapping[str, Ids]
    pairs: Mapping[str, frozenset[Ids]] = field(default_factory=dict)

    def only(self, ids: Iterable[int]) -> Origin:
        kept = frozenset(ids)
        return Origin(self.input, {name: own & kept for name, own in self.carriers.items()})

    def renamed(self, places: Iterable[tuple[int, int]]) -> Origin:
        """With columns that have the values of others, as pairs of an old and a new number."""
        pairs = list(places)
        made = {
            name: frozenset(new for old, new in pairs if old in own)
            for name, own in self.carriers.items()
        }
        return Origin(self.input, made)

    def also(self, equal: Iterable[tuple[int, int]]) -> Origin:
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
class State:
    """What is known of a plan's rows. `names` go with `ids`, its columns in order."""

    ids: Sequence[int]
    names: Sequence[str]
    origins: tuple[Origin, ...] = ()


def with_equals(origins: Sequence[Origin], condition: Node) -> tuple[Origin, ...]:
    equal = list(equals(condition))
    return tuple(one.also(equal) for one in origins)


def equals(condition: Node) -> Iterator[tuple[int, int]]:
    """Columns that are equal wherever a condition holds."""
    if condition.kind == "And":
        for child in condition.children:
            yield from equals(child)
    elif condition.kind in ("EqualTo", "EqualNullSafe"):
        one, other = map(source_of, condition.children)
        if one is not None and other is not None:
            yield one, other


def paired(origin: Origin, equal: Iterable[tuple[int, int]]) -> Origin:
    equal = list(equal)
    pairs = {
        name: frozenset(frozenset(pair) for pair in equal if own & set(pair))
        for name, own in origin.carriers.items()
    }
    return Origin(origin.input, dict.fromkeys(origin.carriers, NO_IDS), pairs)


def aliased(origin: Origin, id: int, expression: Node) -> Origin:
    carriers = dict(origin.carriers)
    source = source_of(expression)
    for name, own in origin.carriers.items():
        if source is not None and source in own:
            carriers[name] = own | {id}
        elif expression.kind == "Coalesce":
            both = frozenset(one for one in map(source_of, expression.children) if one is not None)
            if both in origin.pairs.get(name, ()):
                carriers[name] = own | {id}
    return replace(origin, carriers=carriers)


def by_name(fields: Json, below: Sequence[State]) -> State:
    """What a function gives: a column that is called as one that it got is taken to be that."""
    state = with_columns(State((), ()), fields["output"])
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


def with_columns(state: State, listed: Any) -> State:
    made = [one[0] for one in expressions(listed)]
    return State(
        [*state.ids, *map(number_of, made)],
        [*state.names, *(str(one.get("name", "")) for one in made)],
        state.origins,
    )


def sources_of(listed: Any) -> Ids:
    found = (source_of(read_plan(one)) for one in expressions(listed))
    return frozenset(one for one in found if one is not None)


def source_of(expression: Node) -> int | None:
    """The column that an expression is, by another name or type; None if it is made of more."""
    match expression.kind:
        case "AttributeReference":
            return number(expression)
        case "OuterReference":
            return source_of(read_plan(next(expressions(expression.fields["e"]))))
        case "Alias":
            return source_of(expression.children[0])
        case "Cast" | "UpCast":
            (child,) = expression.children
            return (
                None if _loses(child, str(expression.fields.get("dataType"))) else source_of(child)
            )
        case "ParseToDate":
            child, *form = expression.children
            return None if form or _loses(child, "date") else source_of(child)
    return None


def _loses(child: Node, after: str) -> bool:
    """Whether values that differ may become equal. Of text, that is seen in the output."""
    before = str(child.fields.get("dataType"))
    return (
        after == "boolean"
        or (before.startswith("timestamp") and after == "date")
        or (before.startswith(("double", "float", "decimal")) and not after.startswith("string"))
    )


def outer_references(plan: Any) -> Iterator[int]:
    """The numbers of columns that a subquery has from outside."""
    if isinstance(plan, dict):
        if str(plan.get("class", "")).endswith(".OuterReference"):
            for listed in expressions(plan["e"]):
                yield number_of(listed[0])
        for value in plan.values():
            yield from outer_references(value)
    elif isinstance(plan, list):
        for value in plan:
            yield from outer_references(value)


def number(node: Node) -> int:
    return number_of(node.fields)
