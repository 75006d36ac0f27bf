"""Rows of a query as text: JSON, CSV, Markdown, and cells of a table."""

from __future__ import annotations

import base64
import datetime
import json
import math
import numbers
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

Row = Sequence[Any]
NULL = "null"
_IN_JSON = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
_IN_TEXT = {"nan": "NaN", "inf": "Inf", "-inf": "-Inf"}
"""As tables of the lake are read: from JSON, and from CSV."""


def json_lines(names: Sequence[str], rows: Iterable[Row]) -> Iterator[str]:
    """An array of objects, one a line. The bracket waits for the first row, or for none."""
    keys = [json.dumps(name, ensure_ascii=False) for name in names]
    separator = "[\n"
    for row in rows:
        pairs = (f"{key}: {json_text(one)}" for key, one in zip(keys, row, strict=True))
        yield f"{separator}{{{', '.join(pairs)}}}"
        separator = ",\n"
    yield "[]\n" if separator == "[\n" else "\n]\n"


def json_text(value: Any) -> str:
    """A value in JSON: decimals as exact numbers, times as ISO text, bytes in base64."""
    if value is None or isinstance(value, bool | int | str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, float):
        return json.dumps(value if math.isfinite(value) else _IN_JSON[str(value)])
    if isinstance(value, Decimal):
        return format(value, "f") if value.is_finite() else "null"
    if isinstance(value, bytes | bytearray | memoryview):
        return json.dumps(base64.b64encode(value).decode())
    if isinstance(value, Mapping):
        pairs = (f"{json_text(str(k))}: {json_text(v)}" for k, v in value.items())
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(json_text, value))}]"
    if isinstance(value, datetime.datetime):
        return json.dumps(value.isoformat().replace("+00:00", "Z"))
    return json.dumps(plain(value), ensure_ascii=False)


def plain(value: Any) -> str:
    """A value as text, alike for a table, CSV and Markdown."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and not math.isfinite(value):
        return _IN_TEXT[str(value)]
    if isinstance(value, datetime.datetime):
        return value.isoformat(" ").replace("+00:00", "Z")
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(value).decode()
    if isinstance(value, Mapping | list | tuple):
        return json_text(value)
    return str(value)


def csv_lines(names: Sequence[str], rows: Iterable[Row]) -> Iterator[str]:
    """As RFC 4180 has it. A null is nothing, an empty text two quotes."""
    yield ",".join(_csv_cell(name) for name in names) + "\r\n"
    for row in rows:
        yield ",".join("" if one is None else _csv_cell(plain(one)) for one in row) + "\r\n"


def _csv_cell(text: str) -> str:
    if text and not any(mark in text for mark in ',"\r\n') and text.strip() == text:
        return text
    return '"' + text.replace('"', '""') + '"'


def markdown_lines(
    names: Sequence[str], rows: Iterable[Row], right: Sequence[bool]
) -> Iterator[str]:
    yield f"| {' | '.join(map(_markdown_cell, names))} |\n"
    yield f"|{'|'.join('---:' if one else '---' for one in right)}|\n"
    for row in rows:
        cells = ("" if one is None else _markdown_cell(plain(one)) for one in row)
        yield f"| {' | '.join(cells)} |\n"


def _markdown_cell(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", "<br>").replace("\r", "")


def is_number(type_: str) -> bool:
    """Whether a column of that type stands to the right."""
    name = type_.partition("(")[0]
    return name in ("float", "double", "decimal") or name.endswith("int")


def as_float(value: Any) -> float | None:
    """A number, or a moment as seconds, for a chart."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, numbers.Real | Decimal):
        found = float(value)
        return found if math.isfinite(found) else None
    if isinstance(value, datetime.datetime):
        return value.timestamp()
    if isinstance(value, datetime.date):
        return float(value.toordinal() * 86400)
    return None
