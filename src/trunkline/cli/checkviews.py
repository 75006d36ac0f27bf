"""How checks look as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from trunkline.cli.output import Column, Style
from trunkline.cli.text import aligned, local_time, printable
from trunkline.cli.views import short

if TYPE_CHECKING:
    from trunkline.model.expectations import CheckRecord, CheckResult

# A style and a sign for each state of a check.
STATES = {"passed": ("+", "✓"), "warned": ("~", "!"), "failed": ("bad", "✗")}


def trends(records: Sequence[CheckRecord]) -> dict[tuple[str, str], list[CheckRecord]]:
    """The rules of each pipeline's newest job, with what became of them in jobs before it."""
    newest: dict[str, str] = {}
    past: dict[tuple[str, str], list[CheckRecord]] = {}
    for one in records:
        if newest.setdefault(one.pipeline, one.job) == one.job:
            past[key(one)] = [one]
        elif key(one) in past:
            past[key(one)].append(one)
    return past


def key(one: CheckRecord) -> tuple[str, str]:
    return one.pipeline, one.result.name


def columns(past: dict[tuple[str, str], list[CheckRecord]]) -> tuple[Column, ...]:
    def state(one: CheckRecord) -> str:
        return str(one.result.state)

    def trend(one: CheckRecord) -> str:
        return "".join(STATES[state(seen)][1] for seen in reversed(past[key(one)]))

    return (
        Column("PIPELINE", lambda c: f"{c.pipeline}@{short(c.job)}"),
        Column("RULE", lambda c: c.result.name),
        Column("STATE", state, style=lambda c: STATES[state(c)][0]),
        Column("BROKEN", lambda c: broken(c.result), right=True),
        Column("ROWS", lambda c: f"{c.result.rows:,}", right=True),
        Column("RATE", lambda c: rate(c.result), right=True),
        Column("ACTION", lambda c: str(c.result.action)),
        Column("TREND", trend),
        Column("WHEN", lambda c: local_time(c.at)),
        Column("FOUND", lambda c: c.result.said),
    )


def broken(one: CheckResult) -> str:
    """Rules about whole tables have no rows that break them."""
    return f"{one.broken:,}" if one.kind.of_rows else "-"


def rate(one: CheckResult) -> str:
    if not one.kind.of_rows:
        return "-"
    percent = one.rate * 100
    return f"{percent:.2f}%" if percent >= 0.01 or not percent else "<0.01%"


def sample_lines(one: CheckResult, style: Style) -> Iterator[str]:
    """Some rows that broke a rule, below its name."""
    if one.samples:
        yield ""
        yield style("head", f"{printable(one.name)}: {printable(one.said)}")
        for row in one.samples:
            yield f"  {printable(row)}"


def job_lines(results: Sequence[CheckResult], style: Style) -> Iterator[str]:
    """The checks of one job, on its page."""
    rows = [[STATES[str(one.state)][1], printable(one.name), printable(one.said)]
            for one in results]  # fmt: skip
    for line, one in zip(aligned(rows, [False] * 3), results, strict=True):
        yield "  " + style(STATES[str(one.state)][0], line[:1]) + line[1:]
