"""The columns of an ingest, as its spec writes them."""

from __future__ import annotations

import re

from trunkline.errors import InvalidSpec
from trunkline.model.tables import Column, Schema
from trunkline.model.types import parse_type

_FIELD = re.compile(r"\s*(`(?:[^`]|``)+`|[^\s:,<>()`]+)\s*:?\s*")


def declared_schema(text: str) -> Schema:
    """The columns of DDL: "ts TIMESTAMP, user STRING NOT NULL"."""
    try:
        found = parse_type(f"struct<{_without_constraints(text)}>")
    except ValueError as error:
        raise InvalidSpec(
            f"The schema cannot be read: {error}.",
            hint='Write it as in CREATE TABLE: "ts TIMESTAMP, user STRING".',
        ) from None
    return Schema(
        tuple(
            Column(name, str(type_), name.casefold() not in _not_null(text))
            for name, type_ in found.fields
        )
    )


def _without_constraints(text: str) -> str:
    return re.sub(r"(?i)\s+not\s+null\b", "", text)


def _not_null(text: str) -> set[str]:
    """The columns that must not be null."""
    found, depth, start = set(), 0, 0
    for at, one in enumerate(f"{text},"):
        depth += (one in "<(") - (one in ">)")
        if one == "," and depth == 0:
            part = text[start:at]
            name = _FIELD.match(part)
            if name and re.search(r"(?i)\s+not\s+null\s*$", part):
                found.add(name[1].strip("`").replace("``", "`").casefold())
            start = at + 1
    return found
