"""Fires what is due: each slot of a schedule as one commit, each cron trigger as one move."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from typing import NamedTuple

from trunkline.errors import TrunklineError, Unavailable
from trunkline.lake.core import Core
from trunkline.lake.transaction import Transaction
from trunkline.model.told import Kind, Told
from trunkline.pipelines.cron import slot_name
from trunkline.schedule.following import move_due, next_move
from trunkline.schedule.intervals import StreamClock
from trunkline.schedule.ticks import draft_tick
from trunkline.schedule.timetable import timetable
from trunkline.storage.catalog import Session, events, identity, timing
from trunkline.storage.catalog.timing import CronRow
from trunkline.storage.crashpoints import crashpoint

log = logging.getLogger(__name__)


class _Due(NamedTuple):
    """A slot to deal with, and whose it is. One that is not to be fired was missed for good."""

    slot: int
    row: CronRow
    fires: bool


class _Taken(Exception):
    """Another ticker fired the slot, or its schedule is another one by now."""


class Ticker:
    """Fires slots. `fired` counts the commits and moves that this one made.

    Any number may work on one lake. One that dies or is paused leaves its slots to the others.
    """

    def __init__(self, core: Core, author: str = "schedule") -> None:
        self.fired = 0
        self._core = core
        self._author = author
        self._asleep: dict[int, tuple[CronRow, int | None]] = {}
        self._reported: dict[object, str] = {}
        self.streams = StreamClock(core)

    def now(self) -> int:
        """The database's clock, which decides what is due."""
        with self._core.database.read() as session:
            return session.now()

    def fire_due(
        self,
        stop: threading.Event | None = None,
        *,
        waits: bool = True,
        until: int | None = None,
    ) -> int | None:
        """Fire all that is due now; when the next slot of all is due, None if there is none.

        A schedule that cannot be read or fired is logged and holds up no other. `Unavailable`
        is raised: nothing is lost by calling again. `stop` makes it return after a slot. Without
        `waits` streams do not wait for their interval to pass. Slots after `until` are left for
        another time.
        """
        now = self.now()
        latest = now if until is None else min(now, until)
        failed: set[int] = set()
        while True:
            with self._core.database.read() as session:
                # A copy of a lake would do what the lake does.
                rows = [] if identity.is_held(session) else timing.crons(session)
            due, coming = self._look(rows, latest, failed)
            for one in sorted(due, key=lambda one: (one.slot, one.row.repo)):
                if stop is not None and stop.is_set():
                    return one.slot
                # To fire one after a slot that failed would give that up.
                if one.row.repo not in failed and not self._try(one):
                    failed.add(one.row.repo)
            if not due:
                break
        coming.append(self._follow(latest))
        before = self.streams.opened
        coming.append(self.streams.open_due(now, waits=waits))
        self.fired += self.streams.opened - before
        return min((moment for moment in coming if moment is not None), default=None)

    def _look(
        self, rows: Sequence[CronRow], now: int, failed: set[int]
    ) -> tuple[list[_Due], list[int | None]]:
        """What is to be fired, and when each of the others is due."""
        due: list[_Due] = []
        coming: list[int | None] = []
        asleep, self._asleep = self._asleep, {}
        for row in rows:
            known = asleep.get(row.repo)
            if known is not None and known[0] == row and (known[1] is None or known[1] > now):
                self._asleep[row.repo] = known
                coming.append(known[1])
                continue
            if row.repo in failed:
                continue
            try:
                found, following = self._slots(row, now)
            except TrunklineError as error:
                self._report(row.repo, f"The schedule of {row.name} cannot be read: {error}")
                continue
            due += found
            if not found:
                self._asleep[row.repo] = (row, following)
                coming.append(following)
        return due, coming

    def _slots(self, row: CronRow, now: int) -> tuple[list[_Due], int | None]:
        """The slots of one schedule to deal with now; if there are none, the next."""
        table = timetable(row)
        if slots := table.due(row.slot, now):
            return [_Due(slot, row, True) for slot in slots], None
        if (dropped := table.dropped(row.slot, now)) is not None:
            return [_Due(dropped, row, False)], None
        return [], table.next(row.slot)

    def _try(self, due: _Due) -> bool:
        """Whether the slot is dealt with, by this ticker or another."""
        slot, row, fires = due
        try:
            if fires:
                self._fire(slot, row)
            else:
                self._drop(slot, row)
        except _Taken:
            pass
        except Unavailable:
            raise
        except TrunklineError as error:
            self._report(row.repo, f"{row.name} could not tick for {slot_name(slot)}: {error}")
            return False
        self._reported.pop(row.repo, None)
        return True

    def _fire(self, slot: int, row: CronRow) -> None:
        crashpoint("schedule.slot_computed")
        name = slot_name(slot)
        transaction = Transaction(self._core, self._author, f"Tick {name}")
        transaction.cause = Told(Kind.SCHEDULE, what=name)
        transaction.create(lambda session: _claim(session, row, slot))
        transaction.afterwards(_inserted)
        with transaction:
            draft = draft_tick(transaction, row, name, request=f"tick:{name}")
        if draft.result is not None and draft.result.id != transaction.id:
            # Made before: by another ticker, or for a schedule that was removed and came back.
            with self._core.database.write() as session:
                _claim(session, row, slot)
            return
        self.fired += 1

    def _drop(self, slot: int, row: CronRow) -> None:
        """Slots up to this one were missed for good: also under another policy, applied later."""
        with self._core.database.write() as session:
            _claim(session, row, slot)
            events.emit(session, "schedule", row.name, {"missed_up_to": slot_name(slot)})
        log.info("%s missed its ticks up to %s", row.name, slot_name(slot))

    def _follow(self, now: int) -> int | None:
        """Move the branches that are due; when the next one is."""
        with self._core.database.read() as session:
            coming = next_move(session, self._report)
        if coming is not None and coming <= now:
            crashpoint("schedule.slot_computed")
            self.fired += move_due(self._core, self._author, now, self._report)
            with self._core.database.read() as session:
                coming = next_move(session, self._report)
        return coming

    def _report(self, what: object, text: str) -> None:
        """Say once what is wrong; it is looked at every second."""
        if self._reported.get(what) != text:
            self._reported[what] = text
            log.error("%s", text)


def _claim(session: Session, row: CronRow, slot: int) -> None:
    """In the transaction that fires the slot: it is ours, and the schedule is still the same."""
    present = {one.repo: one.ticks for one in timing.crons(session, row.pipeline)}
    if present.get(row.repo) != row.ticks or not timing.claim_slot(session, row.repo, slot):
        raise _Taken


def _inserted(session: Session) -> Sequence[int]:
    crashpoint("schedule.slot_inserted")
    return ()
