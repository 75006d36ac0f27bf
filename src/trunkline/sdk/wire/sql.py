"""Bodies of requests: SQL: asked, waited for, paged, cancelled."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field

from trunkline.model.time import Moment
from trunkline.query.lookup import Source

MOST_WAIT = 25.0
"""Seconds that an answer is waited for: less than what lies between would cut off."""


class QueryState(StrEnum):
    """How far a query is. The last three are for good."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def final(self) -> bool:
        return self in (QueryState.DONE, QueryState.FAILED, QueryState.CANCELLED)


@dataclass(frozen=True, slots=True)
class NewQuery:
    """A query. `at` is a commit set; `params` are the values of `$name` in the text.

    What JSON has no value for is {"type": "date", "value": "2026-01-01"}, and so decimal,
    timestamp, time, binary (base64) and double (NaN, Infinity).
    """

    text: str
    engine: str = "duckdb"
    at: str | None = None
    params: dict[str, Any] | None = None
    project: str | None = None
    wait: Annotated[float, Field(strict=True)] = 5.0


@dataclass(frozen=True, slots=True)
class NewInto(NewQuery):
    """A query whose rows become a table."""

    target: str = ""
    mode: str = "overwrite"


@dataclass(frozen=True, slots=True)
class Into:
    """Where the rows of a query that was asked go."""

    target: str
    mode: str = "overwrite"


@dataclass(frozen=True, slots=True)
class QueryInfo:
    """A query that was asked. `columns` are known once it runs; `rows` are those so far."""

    id: str
    state: QueryState
    text: str
    engine: str
    project: str
    created: Moment
    columns: tuple[str, ...] | None = None
    types: tuple[str, ...] | None = None
    sources: tuple[Source, ...] = ()
    rows: int = 0
    bytes: int = 0
    started: Moment | None = None
    ended: Moment | None = None
    error: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class RowsPage:
    """Some rows. `types` tell how a cell is read: see the description of the API.

    Decimals are text, and so are whole numbers beyond 2^53, NaN, Infinity and -Infinity; dates
    and times are ISO 8601, bytes base64; a struct is an object, a map a list of [key, value].
    """

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: list[list[Any]] = field(default_factory=list)
    next: str | None = None
