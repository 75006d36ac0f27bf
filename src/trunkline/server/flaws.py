"""Bodies are refused at their first flaw: telling of each would cost far more than the body."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, get_type_hints

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema

BODY = "body"
"""What routes call the parameter that is their body."""
_MANY = frozenset(("dict", "frozenset", "list", "set", "tuple"))
_NO_SCHEMAS = frozenset(("default", "metadata", "serialization"))


class FirstFlaw:
    """Of a type, as pydantic checks it: no list or object in it is looked at beyond a flaw."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        schema = handler(source)
        _stop(schema, handler, set())
        return schema


def refuse_at_first(endpoint: Callable[..., Any]) -> None:
    """Have the body of a route refused so."""
    if BODY in endpoint.__annotations__:
        kind = get_type_hints(endpoint, include_extras=True)[BODY]
        endpoint.__annotations__[BODY] = Annotated[kind, FirstFlaw()]


def _stop(part: Any, handler: GetCoreSchemaHandler, known: set[int]) -> None:
    if isinstance(part, list | tuple):
        for one in part:
            _stop(one, handler, known)
    if not isinstance(part, dict) or id(part) in known:
        return
    known.add(id(part))
    if part.get("type") == "definition-ref":
        _stop(handler.resolve_ref_schema(part), handler, known)
    elif part.get("type") in _MANY:
        part["fail_fast"] = True
    for name, inside in part.items():
        if name not in _NO_SCHEMAS:
            _stop(inside, handler, known)
