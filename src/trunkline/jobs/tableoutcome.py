"""What the calls of a table job came to. The counts are kept with its results: should the worker
die before the commit, whoever ends the job has them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

from trunkline.engine.runner.task import SetReport
from trunkline.engine.transform import TableResult
from trunkline.model.expectations import CheckResult

Said = Mapping[str, Any]
"""Counts as the first result of an attempt holds them."""


class Counted(NamedTuple):
    """What one call saw of one table; `broken` and `samples` are by `rules`."""

    seen: int
    rules: tuple[str, ...]
    broken: tuple[int, ...]
    samples: tuple[tuple[str, ...], ...]


@dataclass
class TableOutcome:
    """`tables` are by output table, over all calls of all attempts."""

    reports: list[SetReport] = field(default_factory=list)
    checks: tuple[CheckResult, ...] = ()
    tables: dict[str, list[Counted]] = field(default_factory=dict)
    spark_jobs: tuple[int, ...] = ()
    rows_in: int | None = None
    rows_out: int = 0

    @classmethod
    def of(cls, attempts: Iterable[Said]) -> Self:
        outcome = cls()
        for said in attempts:
            if said["rows_in"] is not None:
                outcome.rows_in = (outcome.rows_in or 0) + said["rows_in"]
            outcome.rows_out += said["rows_out"]
            for table, calls in said["tables"].items():
                held = outcome.tables.setdefault(table, [])
                for seen, rules, broken, samples in calls:
                    held.append(
                        Counted(seen, tuple(rules), tuple(broken), tuple(map(tuple, samples)))
                    )
        return outcome


def counted(found: Sequence[Mapping[str, TableResult]], rows_in: int | None) -> Said:
    """The counts of the calls of one attempt."""
    tables: dict[str, list[object]] = {}
    rows_out = 0
    for results in found:
        for table, one in results.items():
            rows_out += one.report.rows
            tables.setdefault(table, []).append(
                [one.report.seen, one.rules, one.report.broken, one.report.samples]
            )
    return {"rows_in": rows_in, "rows_out": rows_out, "tables": tables}
