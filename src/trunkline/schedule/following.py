"""Branches that follow others by the clock: all that are due move in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import groupby

from trunkline.errors import TrunklineError
from trunkline.lake.core import Core
from trunkline.lake.propagation import Place
from trunkline.lake.publish import Change, point, spread
from trunkline.model.ids import new_id
from trunkline.model.told import Kind, Told, of_place
from trunkline.pipelines.cron import Slots, parse_cron, slot_name
from trunkline.pipelines.triggers import due, order
from trunkline.storage.catalog import Session, refs, repos, timing
from trunkline.storage.catalog.timing import TriggerRow
from trunkline.storage.crashpoints import crashpoint

Report = Callable[[object, str], None]
"""Told what is wrong with which branch."""


def next_move(session: Session, report: Report) -> int | None:
    """When the next branch is due: in the past, if one is due now."""
    moments = []
    for row in timing.triggers(session):
        try:
            if (slot := _next(row)) is not None:
                moments.append(slot)
        except TrunklineError as error:
            report((row.repo, row.branch), f"The trigger of {row.branch} cannot be read: {error}")
    return min(moments, default=None)


def _next(row: TriggerRow) -> int | None:
    if row.trigger.cron is None:
        return None
    slots = _slots(row.trigger.cron, row.trigger.timezone)
    return slots.after(row.created - 1 if row.slot is None else max(row.slot, row.created - 1))


@lru_cache(maxsize=1024)
def _slots(cron: str, timezone: str) -> Slots:
    return parse_cron(cron, timezone)


def move_due(core: Core, author: str, now: int, report: Report) -> int:
    """Move every branch whose slot came, and start what reads them as one set; how many moved."""
    moved: dict[Place, str | None] = {}
    causes: list[Told] = []
    with core.database.write() as session:
        for row, slot in _due(timing.triggers(session), now, report):
            if not timing.claim_trigger_slot(session, row.repo, row.branch, slot):
                continue
            followed = refs.branch(session, row.repo, row.trigger.branch)
            branch = refs.branch(session, row.repo, row.branch)
            head = followed.head if followed else None
            if head is None or (branch is not None and branch.head == head):
                verdict = f"nothing new on {row.trigger.branch} at {slot_name(slot)}"
                timing.record_verdict(session, row.repo, row.branch, verdict)
                continue
            point(session, row.repo, row.branch, head, author)
            timing.record_verdict(session, row.repo, row.branch, f"moved at {slot_name(slot)}")
            moved[(row.repo, row.branch)] = head
            name = repos.name_of(session, row.repo)
            assert name is not None
            cause = of_place(Kind.MOVED_BY_SCHEDULE, name, row.branch)
            causes.append(replace(cause, what=slot_name(slot)))
        if moved:
            # Branches that follow these ones look at them now, as at any new commit.
            spread(session, new_id(), Change(causes[0], author, moved, frozenset(moved)))
        crashpoint("schedule.slot_inserted")
    return len(moved)


def _due(rows: Iterable[TriggerRow], now: int, report: Report) -> Iterator[tuple[TriggerRow, int]]:
    """Each branch after the one it follows, so that a chain moves in one go."""
    for _, group in groupby(rows, key=lambda row: row.repo):
        declared = {row.branch: row for row in group}
        for name in _ordered(declared, report):
            row = declared[name]
            try:
                slot = due(row.trigger, row.slot, row.created, now)
            except TrunklineError as error:
                report((row.repo, name), f"The trigger of {name} cannot be read: {error}")
                continue
            if slot is not None:
                yield row, slot


def _ordered(declared: Mapping[str, TriggerRow], report: Report) -> list[str]:
    try:
        return order({name: row.trigger for name, row in declared.items()})
    except TrunklineError as error:
        # Loops are refused when triggers are made; a damaged catalog must not stop the rest.
        report(tuple(declared), str(error))
        return sorted(declared)
