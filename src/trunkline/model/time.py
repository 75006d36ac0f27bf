"""Moments are integers inside (microseconds since 1970, UTC) and RFC 3339 text outside."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Annotated, Any


class _Rfc3339:
    """Tells pydantic, where it is used, how a moment crosses the edge. It is not needed here."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        text = core_schema.no_info_plain_validator_function(
            _as_micros, json_schema_input_schema=core_schema.str_schema()
        )
        shown = core_schema.plain_serializer_function_ser_schema(
            to_rfc3339, when_used="json", return_schema=core_schema.str_schema()
        )
        return {**text, "serialization": shown}

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, str]:
        return {"type": "string", "format": "date-time"}


Moment = Annotated[int, _Rfc3339()]
"""Microseconds since 1970, in UTC."""


def now_micros() -> int:
    return time.time_ns() // 1000


def to_rfc3339(micros: int) -> str:
    moment = datetime.fromtimestamp(micros / 1_000_000, UTC)
    return moment.isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


def from_rfc3339(text: str) -> int:
    """Raises ValueError if it is not such a text, or has no zone."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone")
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def _as_micros(given: object) -> int:
    if isinstance(given, str):
        return from_rfc3339(given)
    if isinstance(given, int):
        return given
    raise ValueError("a moment is RFC 3339 text")
