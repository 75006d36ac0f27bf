"""How a plan looks as text: what would run, be reused, kept and dropped, and why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from trunkline.cli.output import Style
from trunkline.cli.text import aligned, count, printable
from trunkline.model.words import reasons

if TYPE_CHECKING:
    from trunkline.jobs.listing import PipelinePlan
    from trunkline.sdk.reports import PlanReport

TITLES = ["PIPELINE", "ACTION", "VERSION", "RUN", "REUSE", "KEEP", "DROP", "WHY"]
RIGHT = [False, False, True, True, True, True, True, False]
FEW, MANY = 5, 20
MARKS = {"run": "+", "drop": "-", "reuse": "="}


def plan_lines(report: PlanReport, style: Style) -> Iterator[str]:
    if not report.pipelines:
        yield "There are no pipelines yet."
        return
    head, *rows = aligned([TITLES, *(_row(plan) for plan in report.pipelines)], RIGHT)
    yield style("head", head)
    for plan, row in zip(report.pipelines, rows, strict=True):
        yield row if plan.run or plan.drop or plan.reuse else style("dim", row)
    most = MANY if len(report.pipelines) == 1 else FEW
    for plan in report.pipelines:
        if plan.samples:
            yield from _samples(plan, most, style)
    for plan in report.pipelines:
        if plan.downstream and plan.run + plan.reuse + plan.drop:
            yield ""
            yield f"After {plan.name}: {', '.join(plan.downstream)}."


def _row(plan: PipelinePlan) -> list[str]:
    numbers = [f"{number:,}" for number in (plan.run, plan.reuse, plan.keep, plan.drop)]
    why = ", ".join(part for part in (plan.note, reasons(plan.reasons)) if part)
    return [str(plan.name), plan.action, str(plan.version), *numbers, printable(why)]


def _samples(plan: PipelinePlan, most: int, style: Style) -> Iterator[str]:
    yield ""
    yield f"{plan.name}:"
    shown = plan.samples[:most]
    rows = [[MARKS[one.action], printable(one.datum), printable(one.reason)] for one in shown]
    for one, line in zip(shown, aligned(rows, [False] * 3), strict=True):
        yield "  " + (line if one.action == "reuse" else style(MARKS[one.action], line))
    if (more := plan.run + plan.drop + plan.reuse - len(shown)) > 0:
        yield f"  … and {count(more, 'datum')} more"
