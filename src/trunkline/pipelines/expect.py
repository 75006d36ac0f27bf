"""Expectations in Python: the plain data that a spec holds.

@tl.pipeline(
    input=tl.pfs("orders"),
    expectations=[tl.expect("amount >= 0", action="drop"), tl.expect.unique("id")],
)
def clean(orders): ...
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

Rule = dict[str, Any]
Share = float | str


class Expect:
    """Makes rules. All take `name`, `action`, `table` and `tolerate`, as a spec does."""

    def __call__(self, expr: str, **options: Any) -> Rule:
        """SQL that is true for good rows; null counts as broken."""
        return {"expr": expr, **options}

    def not_null(self, *columns: str, **options: Any) -> Rule:
        """Columns that always have a value."""
        return {"not_null": list(columns), **options}

    def unique(self, *columns: str, **options: Any) -> Rule:
        """Columns whose values are together only in one row."""
        return {"unique": list(columns), **options}

    def accepted_values(
        self, column: str, values: Iterable[str | float | bool], **options: Any
    ) -> Rule:
        """A column that has only these values."""
        return {"accepted_values": {"column": column, "values": list(values)}, **options}

    def foreign_key(
        self, *columns: str, references: str, to: Iterable[str] | str = (), **options: Any
    ) -> Rule:
        """Columns whose values a row of an input has too."""
        key = {"columns": list(columns), "references": references}
        if to:
            key["to"] = [to] if isinstance(to, str) else list(to)
        return {"foreign_key": key, **options}

    def row_count(self, min: int | None = None, max: int | None = None, **options: Any) -> Rule:
        """How many rows the table has."""
        return {"row_count": _given(min=min, max=max), **options}

    def row_count_change(
        self,
        max_drop: Share | None = None,
        max_rise: Share | None = None,
        over: int | None = None,
        **options: Any,
    ) -> Rule:
        """How much fewer or more rows there may be than in the last versions."""
        change = _given(max_drop=max_drop, max_rise=max_rise, over=over)
        return {"row_count_change": change, **options}

    def freshness(self, column: str, within: str | float | timedelta, **options: Any) -> Rule:
        """How old the latest row may be."""
        limit = within.total_seconds() if isinstance(within, timedelta) else within
        return {"freshness": {"column": column, "within": limit}, **options}


expect = Expect()


def _given(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
