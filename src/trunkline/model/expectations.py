"""Expectations: what must hold of a table before anyone reads it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from trunkline.model.time import Moment


class Action(StrEnum):
    """What happens to rows that break a rule, or to the job."""

    WARN = "warn"
    DROP = "drop"
    QUARANTINE = "quarantine"
    FAIL = "fail"


class CheckKind(StrEnum):
    """The first four look at each row; `unique` and `foreign_key` at it and others; the rest at
    the table as a whole, where only warn and fail make sense.
    """

    EXPR = "expr"
    NOT_NULL = "not_null"
    ACCEPTED = "accepted_values"
    UNIQUE = "unique"
    FOREIGN_KEY = "foreign_key"
    ROW_COUNT = "row_count"
    ROW_COUNT_CHANGE = "row_count_change"
    FRESHNESS = "freshness"

    @property
    def of_rows(self) -> bool:
        return self in (
            CheckKind.EXPR,
            CheckKind.NOT_NULL,
            CheckKind.ACCEPTED,
            CheckKind.UNIQUE,
            CheckKind.FOREIGN_KEY,
        )


@dataclass(frozen=True, slots=True)
class Expectation:
    """One rule. Which fields count depends on `kind`.

    expr: `expr`, SQL that is true for good rows; null counts as broken.
    not_null, unique: `columns`. accepted_values: one column, `values` (JSON scalars).
    foreign_key: `columns` and `references` = (input name, columns of it).
    row_count: `least`, `most` of the whole table. row_count_change: relative change against the
    mean of the last `over` versions between -`least` and `most` (0.2 = 20 %).
    freshness: one column, greatest value not older than `within` seconds.
    `table` is the output table, for pipelines with several. `tolerate` is the share of rows
    (0 to 1) that may break a `fail` or `warn` rule before it counts.
    """

    name: str
    kind: CheckKind
    action: Action = Action.FAIL
    table: str = ""
    expr: str = ""
    columns: tuple[str, ...] = ()
    values: tuple[str | int | float | bool, ...] = ()
    references: tuple[str, tuple[str, ...]] | None = None
    least: float | None = None
    most: float | None = None
    over: int = 1
    within: float | None = None
    tolerate: float = 0.0


class CheckState(StrEnum):
    PASSED = "passed"
    WARNED = "warned"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What became of a rule in one job."""

    name: str
    kind: CheckKind
    action: Action
    state: CheckState
    table: str = ""
    rows: int = 0
    broken: int = 0
    said: str = ""
    samples: tuple[str, ...] = ()
    """Rows that broke it, each as a JSON object."""

    @property
    def rate(self) -> float:
        return self.broken / self.rows if self.rows else 0.0


@dataclass(frozen=True, slots=True)
class CheckRecord:
    """A result with the job that it belongs to."""

    pipeline: str
    job: str
    at: Moment
    result: CheckResult
