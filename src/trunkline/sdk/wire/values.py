"""How values of the model cross HTTP: JSON with the names of their fields.

The server's answers and the remote lake's values are the same dataclasses; pydantic reads and
writes them, and describes them in the OpenAPI document.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

from trunkline import errors
from trunkline.errors import Failed, TrunklineError

T = TypeVar("T")

API = "/api/v1"
BUNDLE = "application/x-trunkline-bundle"
ARROW = "application/vnd.apache.arrow.stream"
IDEMPOTENCY = "Idempotency-Key"
REQUEST_ID = "X-Request-Id"
AUTHOR = "X-Trunkline-Author"
"""Who commits are by, percent-encoded: believed of the lake's owner alone."""


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some items of a list, and the cursor of the next page; None on the last."""

    items: list[T]
    next: str | None = None


@dataclass(frozen=True, slots=True)
class ErrorFacts:
    """What went wrong. Some errors tell more, each in fields of its own."""

    code: str
    message: str
    hint: str
    request_id: str


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """Every answer that is no success."""

    error: ErrorFacts


@cache
def adapter(kind: Any) -> TypeAdapter[Any]:
    """Reads and writes values of a type."""
    return TypeAdapter(kind)


def encode(kind: Any, value: Any) -> bytes:
    return adapter(kind).dump_json(value)


def decode(kind: Any, data: bytes) -> Any:
    try:
        return adapter(kind).validate_json(data)
    except ValidationError as error:
        flaw = error.errors()[0]
        where = ".".join(map(str, flaw["loc"]))
        raise Failed(
            f"The server's answer cannot be read: {where}: {flaw['msg']}.",
            hint="Are server and client of the same version? trunkline status tells.",
        ) from None


@cache
def _by_code() -> dict[str, type[TrunklineError]]:
    waiting: list[type[TrunklineError]] = [TrunklineError]
    found: dict[str, type[TrunklineError]] = {}
    while waiting:
        kind = waiting.pop()
        waiting.extend(kind.__subclasses__())
        # A class without a code of its own is found by that of the nearest above it.
        if "code" in vars(kind):
            found[kind.code] = Failed if kind is TrunklineError else kind
    return found


def error_of(status: int, body: Any) -> TrunklineError:
    """The error that an answer stands for, as the local lake would have raised it."""
    told = body.get("error") if isinstance(body, dict) else None
    if not isinstance(told, dict):
        down = status in (502, 503, 504)
        return (errors.Unavailable if down else Failed)(f"The server answered {status}.")
    kind = _by_code().get(str(told.get("code")), Failed)
    given = {name: value for name, value in told.items() if name in _EXTRAS.get(kind, ())}
    return kind(str(told.get("message", "")), hint=str(told.get("hint", "")), **given)


_EXTRAS: dict[type[TrunklineError], tuple[str, ...]] = {
    errors.InvalidQuery: ("excerpt",),
    errors.SchemaClash: ("diff", "table", "given"),
    errors.MergeConflict: ("conflicts",),
}
