"""Cells of a table as JSON knows them, and as a person reads them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, time
from math import isfinite
from typing import Any

_WORDS = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
"""As Spark reads them in JSON, and others too."""


def plain(value: Any) -> Any:
    """What JSON has a form for. Decimals, moments, bytes and what is no number are text."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if isfinite(value) else _WORDS[str(value)]
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    if isinstance(value, Mapping):
        return {str(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return str(value)


def shown(value: Any, longest: int = 40) -> str:
    """One line, cut where it gets long. An empty text is seen too."""
    if value is None:
        return "null"
    value = plain(value)
    if isinstance(value, str):
        text = value or '""'
    elif isinstance(value, float):
        text = f"{value:g}" if float(f"{value:g}") == value else repr(value)
    elif isinstance(value, list | dict):
        import json

        text = json.dumps(value, ensure_ascii=False)
    else:
        text = str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= longest else text[: longest - 1] + "…"
