"""Pipeline specs: YAML, JSON and jsonnet in, a checked `PipelineSpec` out.

    documents → shape (names of fields) → model (types) → build (meaning)

Every problem is an `InvalidSpec` that starts with file and line. What reads text needs
pydantic and a parser, so it is loaded when it is first used; `codec` is light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from trunkline.pipelines.spec.codec import (
    from_json,
    result_fields,
    to_json,
    transform_digest,
    view_of,
)
from trunkline.pipelines.spec.places import SCHEMA_FILE, SourcedSpec, Specs

if TYPE_CHECKING:
    from trunkline.pipelines.spec.reading import read_raw, read_specs
    from trunkline.pipelines.spec.schema import json_schema

__all__ = [
    "SCHEMA_FILE",
    "SourcedSpec",
    "Specs",
    "from_json",
    "json_schema",
    "read_raw",
    "read_specs",
    "result_fields",
    "to_json",
    "transform_digest",
    "view_of",
]

_HEAVY = {"read_specs": "reading", "read_raw": "reading", "json_schema": "schema"}


def __getattr__(name: str) -> Any:
    if name in _HEAVY:
        return getattr(import_module(f"{__name__}.{_HEAVY[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
