"""The SQL of a profile: a few passes, each over many columns at once.

The first finds how many values there are, their bounds and their middle. The others need those:
they count the values that are frequent, and how many fall between which bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from math import isfinite
from typing import Any

from trunkline.model.tables import Column
from trunkline.model.types import INTEGERS, parse_type
from trunkline.tables.reading.cells import plain
from trunkline.tables.reading.duck import quoted

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
BINS = 20
TOP = 10
COUNTED = 10_000
"""Up to so many distinct values are counted each; more are estimated."""

_LONGEST = 200
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FLOATS = ("float", "double")
_MOMENTS = ("date", "timestamp", "timestamp_ntz")


@dataclass(slots=True)
class Findings:
    """What is found out about one column, bit by bit."""

    column: Column
    found: dict[str, Any] = field(default_factory=dict)
    low: float | None = None
    high: float | None = None
    candidates: list[Any] = field(default_factory=list)

    @property
    def kind(self) -> str:
        name = parse_type(self.column.type).name
        if name in (*INTEGERS, *_FLOATS, "decimal"):
            return "number"
        if name in _MOMENTS:
            return "moment"
        return name if name in ("string", "boolean") else "other"

    @property
    def _is_float(self) -> bool:
        return self.column.type in _FLOATS

    @property
    def _number(self) -> str:
        """The column on a line: numbers as they are, moments in microseconds."""
        name = quoted(self.column.name)
        return f"epoch_us({name})" if self.kind == "moment" else f"CAST({name} AS DOUBLE)"

    @property
    def _finite(self) -> str:
        return f" FILTER (WHERE isfinite({quoted(self.column.name)}))" if self._is_float else ""


Asked = tuple[str, Callable[[Any], None], list[Any]]
"""An expression, who takes its value, and the parameters in it."""


def first_pass(of: Findings, exact: bool) -> Iterator[Asked]:
    """How many there are, from where to where, and what is in the middle."""
    name, kind, found = quoted(of.column.name), of.kind, of.found

    def keep(key: str) -> Callable[[Any], None]:
        return lambda value: found.__setitem__(key, _short(plain(value)))

    yield f"count({name})", keep("values"), []
    found |= {"distinct": 0, "distinct_exact": exact}
    if not exact:
        yield f"approx_count_distinct({name})", keep("distinct"), []
    if kind == "other":
        return
    numbers = f" FILTER (WHERE NOT isnan({name}))" if of._is_float else ""
    yield f"min({name}){numbers}", keep("min"), []
    yield f"max({name}){numbers}", keep("max"), []
    if not exact:
        yield f"approx_top_k({name}, {TOP})", lambda v: of.candidates.extend(v or ()), []
    if kind not in ("number", "moment"):
        return
    if of._is_float:
        yield f"count(*) FILTER (WHERE isnan({name}))", keep("nan"), []
    yield f"min({of._number}){of._finite}", lambda v: setattr(of, "low", v), []
    yield f"max({of._number}){of._finite}", lambda v: setattr(of, "high", v), []
    if kind == "number":
        yield f"avg({of._number}){of._finite}", keep("mean"), []
        yield f"stddev_samp({of._number}){of._finite}", keep("std"), []
    middle = "approx_quantile"
    if exact:
        middle = "quantile_disc" if kind == "moment" else "quantile_cont"
    yield f"{middle}({of._number}, {list(QUANTILES)}){of._finite}", _quantiles(of), []


def frequent(of: Findings) -> Iterator[Asked]:
    """How often the values come that seem to come often, where there are too many to count all."""
    found, name = of.found, quoted(of.column.name)
    if found["distinct"] <= COUNTED or found["distinct"] >= 0.9 * found["values"]:
        return
    counts: list[tuple[Any, int]] = []
    found["top"] = []

    def keep(value: Any) -> Callable[[Any], None]:
        def take(count: int) -> None:
            counts.append((value, count))
            ordered = sorted(counts, key=lambda pair: -pair[1])
            found["top"] = [[_short(plain(one)), times] for one, times in ordered]

        return take

    for value in of.candidates:
        yield f"count(*) FILTER (WHERE {name} = ?)", keep(value), [value]


def values_query(columns: Sequence[str], source: str) -> str:
    """(column, value, times, distinct values) of the most frequent ones. Columns of one type."""
    return f"""SELECT i, v, n, different FROM (
            SELECT i, v, count(*) AS n, count(*) OVER (PARTITION BY i) AS different,
                row_number() OVER (PARTITION BY i ORDER BY count(*) DESC, v) AS place
            FROM ({_long(map(quoted, columns), source)}) WHERE v IS NOT NULL GROUP BY i, v
        ) WHERE place <= {TOP} ORDER BY i, place"""


def take_values(of: Findings, rows: Sequence[tuple[Any, int, int]]) -> None:
    of.found |= {"distinct": rows[0][2] if rows else 0, "distinct_exact": True}
    if of.kind != "other":
        of.found["top"] = [[_short(plain(value)), count] for value, count, _ in rows]


def bins_query(columns: Sequence[Findings], source: str) -> str:
    """(column, bin, rows in it) of those that have a histogram."""
    return f"""SELECT i, v, count(*) FROM ({_long(map(_place, columns), source)})
        WHERE v IS NOT NULL GROUP BY i, v"""


def bins_of(of: Findings) -> tuple[int, float]:
    """How many bins, and how wide. Few whole numbers, or days, get a bin each."""
    if of.low is None or of.high is None:
        return 0, 0.0
    span, type_ = float(of.high) - float(of.low), of.column.type
    whole = 86_400_000_000 if type_ == "date" else 1
    if type_ in (*INTEGERS, "date") and span / whole < BINS:
        return round(span / whole) + 1, float(whole)
    if span == 0:
        return 1, 1.0
    width = span / BINS
    return (BINS, width) if isfinite(width) and width > 0 else (0, 0.0)


def take_bins(of: Findings, counts: Mapping[int, int]) -> None:
    bins, width = bins_of(of)
    low = of.low or 0
    of.found["histogram"] = [
        [on_line(of, low + i * width), on_line(of, low + (i + 1) * width), counts.get(i, 0)]
        for i in range(bins)
    ]


def on_line(of: Findings, value: Any) -> Any:
    """A place on the column's line as a value of the column."""
    if value is None or of.kind != "moment":
        return plain(value)
    try:
        moment = _EPOCH + timedelta(microseconds=round(value))
    except OverflowError:
        return str(value)
    if of.column.type == "date":
        return date(moment.year, moment.month, moment.day).isoformat()
    return (moment if of.column.type == "timestamp" else moment.replace(tzinfo=None)).isoformat()


def _place(of: Findings) -> str:
    """In which bin a value is; null if in none."""
    bins, width = bins_of(of)
    name = quoted(of.column.name)
    place = f"least({bins - 1}, greatest(0, floor(({of._number} - {of.low!r}) / {width!r})))"
    # least and greatest pass over nulls, which would be counted at the low end then.
    there = f"isfinite({name})" if of._is_float else f"{name} IS NOT NULL"
    return f"CASE WHEN {there} THEN CAST({place} AS INTEGER) END"


def _long(expressions: Iterable[str], source: str) -> str:
    """A row for each cell: planning many aggregates would take longer than to count the cells."""
    several = list(expressions)
    return (
        f"SELECT unnest([{', '.join(several)}]) AS v, unnest(range({len(several)})) AS i "
        f"FROM {source}"
    )


def _quantiles(of: Findings) -> Callable[[Any], None]:
    def keep(values: Any) -> None:
        if values:
            of.found["quantiles"] = {
                f"{share:g}": on_line(of, value)
                for share, value in zip(QUANTILES, values, strict=True)
            }

    return keep


def _short(value: Any) -> Any:
    is_long = isinstance(value, str) and len(value) > _LONGEST
    return value[: _LONGEST - 1] + "…" if is_long else value
