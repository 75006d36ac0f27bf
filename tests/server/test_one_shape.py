"""Every value that the server answers with has one shape as JSON, whoever asks for it."""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from itertools import chain
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest

from trunkline.model.shape import as_json
from trunkline.model.time import Moment
from trunkline.sdk.wire.values import adapter, decode, encode
from trunkline.server.app import ROUTES

INTERNAL = {
    "fence", "digest", "index", "index_hash", "root_hash", "generation", "lane", "replay", "salt",
}  # fmt: skip


def kinds() -> list[type]:
    """The dataclasses in the answers of all routes."""
    found: dict[type, None] = {}
    for route in chain.from_iterable(one.routes for one in ROUTES):
        for kind in _within(getattr(route, "response_model", None), found):
            found[kind] = None
    return sorted(found, key=lambda kind: (kind.__module__, kind.__qualname__))


def _within(hint: Any, seen: Mapping[type, None]) -> Iterator[type]:
    origin = get_origin(hint)
    if is_dataclass(origin if isinstance(origin, type) else hint):
        kind = origin if isinstance(origin, type) else hint
        if kind not in seen:
            if not getattr(kind, "__parameters__", ()):
                yield kind
            for inner in get_type_hints(kind).values():
                yield from _within(inner, {**seen, kind: None})
    for inner in get_args(hint):
        yield from _within(inner, seen)


def sample(hint: Any, depth: int = 0) -> Any:
    """A value of a type, with something in each of its fields."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint == Moment:
        return 1_767_225_600_000_001 + depth
    if origin is Annotated:
        return sample(inner[0], depth)
    if origin in (Union, types.UnionType):
        return sample(next(one for one in inner if one is not type(None)), depth)
    if origin is Literal:
        return inner[0]
    if is_dataclass(hint) and isinstance(hint, type):
        hints = get_type_hints(hint, include_extras=True)
        given = [one for one in fields(hint) if one.init]
        return hint(**{one.name: sample(hints[one.name], depth + 1) for one in given})
    if origin is tuple and inner[-1] is not Ellipsis:
        return tuple(sample(one, depth) for one in inner)
    if origin in (tuple, list, Sequence):
        items = [sample(inner[0], depth)] if depth < 6 else []
        return tuple(items) if origin is tuple else items
    if origin is not None and issubclass(origin, Mapping):
        return {sample(inner[0], depth): sample(inner[1], depth)}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return next(iter(hint))
    plain: dict[Any, Any] = {str: "a", bool: True, int: 2, float: 0.5, bytes: b"b"}
    return plain.get(hint, ["any", {"thing": None}])


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.__qualname__)
def test_one_shape(kind: Any):
    value = sample(kind)
    shown = as_json(value)
    assert shown == adapter(kind).dump_python(value, mode="json")
    assert not INTERNAL.intersection(map(str, shown))
    assert decode(kind, encode(kind, value)) == value
