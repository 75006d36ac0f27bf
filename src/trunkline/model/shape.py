"""The one shape of a value as JSON: what `--json`, HTTP, events and webhooks show.

A dataclass is an object with a key for each of its fields, in their order, but for those that are
`INTERNAL`. What is shown as something else has a method `__json__`. On the server pydantic says
the same of the same declarations, and a test compares the two for every kind.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

from trunkline.model.time import to_rfc3339

INTERNAL = {"exclude": True}
"""The `metadata` of a field that is not shown. Pydantic takes the same word."""


def as_json(value: Any) -> Any:
    """What `json.dumps` takes, of what the SDK returns."""
    return _shape(value, moments=False)


def _shape(value: Any, moments: bool) -> Any:
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        return to_rfc3339(value) if moments else value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if hasattr(value, "__json__"):
        return _shape(value.__json__(), moments)
    if is_dataclass(value):
        shown = _shown_fields(value.__class__)
        return {name: _shape(getattr(value, name), has_moments) for name, has_moments in shown}
    if isinstance(value, Mapping):
        return {str(name): _shape(item, moments) for name, item in value.items()}
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Iterable):
        return [_shape(item, moments) for item in value]
    raise TypeError(f"{type(value).__name__} has no JSON form")


@cache
def _shown_fields(kind: type) -> tuple[tuple[str, bool], ...]:
    """The names of the fields that are shown, and whether there are moments in each."""
    return tuple(
        (field.name, "Moment" in str(field.type))
        for field in fields(kind)
        if not field.metadata.get("exclude")
    )
