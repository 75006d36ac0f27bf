"""Bodies of requests: tables: described, read, written, compared; checks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from trunkline.errors import Usage
from trunkline.sdk.wire.arrow import value_from_json, value_to_json

COMMIT = "X-Trunkline-Commit"
"""The header that says at which commit a table was described."""


@dataclass(frozen=True, slots=True)
class TableSetting:
    """How a folder is to be read. What is left out stays as it is.

    `schema` is text ("id bigint, day date"), an object of names and types, or a list.
    """

    format: str | None = None
    options: dict[str, str] | None = None
    schema: str | dict[str, str] | list[dict[str, Any]] | None = None
    key: list[str] | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class Merge:
    """What becomes of rows whose key is in the table, and of those whose key is not."""

    on: list[str]
    delete_when: str | None = None
    update: list[str] | None = None
    insert: bool = True
    message: str = ""


@dataclass(frozen=True, slots=True)
class RowsDeletion:
    """`where` is a condition in SQL."""

    where: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class RowsUpdate:
    """`set` has SQL on the old values by column."""

    set: dict[str, str]
    where: str | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class NewCompaction:
    target_size: int = 128 << 20
    partitions: list[str] | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class Replay:
    """A pipeline as `project/name`, and one of its rules, or all."""

    pipeline: str
    rule: str | None = None


def names_text(names: Sequence[str] | None) -> str | None:
    """Names as one parameter, which tells no names from none given."""
    return None if names is None else json.dumps(list(names), ensure_ascii=False)


def names_of(text: str | None) -> list[str] | None:
    """A JSON list of names, or names with commas between them."""
    if text is None:
        return None
    if not text.lstrip().startswith("["):
        return [one.strip() for one in text.split(",") if one.strip()]
    found = _json(text)
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise Usage(f"{text} is no list of names.")
    return found


def where_text(where: Sequence[tuple[str, str, Any]] | None) -> str | None:
    if not where:
        return None
    return json.dumps([(name, sign, value_to_json(value)) for name, sign, value in where])


def where_of(text: str | None) -> list[tuple[str, str, Any]] | None:
    """Conditions as JSON: [["day", ">=", "2026-01-01"]]"""
    if text is None:
        return None
    found = _json(text)
    try:
        return [(str(name), str(sign), value_from_json(value)) for name, sign, value in found]
    except (TypeError, ValueError, RecursionError):
        raise Usage(
            f"{text} is no list of conditions.", hint='As in [["day", ">=", "2026-01-01"]].'
        ) from None


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise Usage("This JSON is too deep.") from None
    except ValueError as error:
        raise Usage(f"{text} is no JSON: {error}.") from None
