"""How deliveries look."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trunkline.cli.output import Column, Style
from trunkline.cli.text import fields, local_time, printable
from trunkline.cli.views import short
from trunkline.model.egress import Delivery

_STYLES = {"done": "+", "failed": "bad", "waiting": "~", "running": "on", "skipped": "dim"}


def state_style(one: Delivery) -> str:
    return _STYLES[str(one.state)]


def what(one: Delivery) -> str:
    """What was sent, or why it was not."""
    return one.reason or str(one.receipt.get("note", ""))


DELIVERIES = (
    Column("PIPELINE", lambda one: str(one.pipeline)),
    Column("TARGET", lambda one: one.target),
    Column("COMMIT", lambda one: short(one.commit)),
    Column("STATE", lambda one: str(one.state), style=state_style),
    Column("WHEN", lambda one: local_time(one.finished or one.created)),
    Column("WHAT", what),
)


def page(one: Delivery, style: Style) -> Iterator[str]:
    yield style("head", f"delivery of {one.pipeline}@{short(one.commit)} to {one.target}")
    yield from fields([(name, value) for name, value in _facts(one, style) if value])
    if str(one.state) == "failed":
        place = f"{one.pipeline.repo} {one.target}"
        yield ""
        yield f"Try again:  trunkline egress retry {place}"
        yield f"Leave out:  trunkline egress skip {place}"


def _facts(one: Delivery, style: Style) -> Iterator[tuple[str, str]]:
    state = style(state_style(one), str(one.state))
    yield "State", f"{state}: {printable(one.reason)}" if one.reason else state
    yield "Kind", one.kind
    yield "Commit", one.commit
    yield "Attempt", str(one.attempt) if one.attempt > 1 else ""
    yield "Created", local_time(one.created)
    yield "Started", local_time(one.started) if one.started else ""
    yield "Finished", local_time(one.finished) if one.finished else ""
    yield "Next try", local_time(one.next_try) if one.next_try else ""
    for number, (name, value) in enumerate(one.receipt.items()):
        yield "Receipt" if not number else " " * 7, f"{name}: {printable(str(value))}"


def job_lines(found: Sequence[Delivery], style: Style) -> Iterator[str]:
    for one in found:
        said = printable(what(one))
        state = style(state_style(one), str(one.state))
        yield f"  {one.target}: {state}{f', {said}' if said else ''}"


def sentence(found: Sequence[Delivery], verb: str) -> str:
    return "\n".join(f"{verb} {one.pipeline}@{short(one.commit)} to {one.target}." for one in found)
