"""Sends what waits to go out, one thread for each target, and puts on record what became of it.

A delivery has one holder at a time: a lease with a fence. Versions of one target go out one after
the other, in the order of their commits. A target that only needs the newest gets that one, and
those before it are left out; one that needs each waits behind a delivery that failed until
somebody tries or skips it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field

from trunkline.egress.base import Sender, Sent, Shipment
from trunkline.egress.bugs import mask_of, note_bug
from trunkline.egress.opening import Secret, open_target
from trunkline.errors import LeaseLost, TooManyRequests, TrunklineError, Unavailable
from trunkline.lake.core import Core, Resolved
from trunkline.lake.lease import pinned
from trunkline.model.backoff import Backoff
from trunkline.model.commits import Commit
from trunkline.model.egress import BLOCKED, Delivery, DeliveryState, Target
from trunkline.model.ids import new_id
from trunkline.model.jobs import RunEvent
from trunkline.pipelines.spec.codec import target_from
from trunkline.storage.catalog import Session, commits, deliveries, events, identity
from trunkline.storage.catalog.bell import bell_of
from trunkline.storage.catalog.deliveries import DeliveryRow
from trunkline.storage.crashpoints import crashpoint

log = logging.getLogger("trunkline.egress")

LOOK_SECONDS = 1.0
LEASE_SECONDS = 30.0
LONGEST_WAIT = 600.0
MOST_AT_ONCE = 8
GONE = "its commit is gone: it was squashed into a newer one, or taken back"
NEWER = "a newer version went out instead"
_MICROS = 1_000_000

Listener = Callable[[RunEvent], None]
Group = tuple[int, str]


@dataclass
class _Held:
    """A target in the hands of a thread."""

    stop: threading.Event = field(default_factory=threading.Event)
    row: DeliveryRow | None = None
    fence: int = 0
    renewed: float = field(default_factory=time.monotonic)
    thread: threading.Thread | None = None


class Deliverer:
    """Delivers while it runs. Several, also of other processes, may look at the same lake."""

    def __init__(
        self,
        core: Core,
        *,
        secrets: Secret = lambda name: None,
        holder: str = "",
        listener: Listener = lambda event: None,
        lease_seconds: float = LEASE_SECONDS,
    ) -> None:
        self.core = core
        self.holder = holder or new_id()[:12]
        self.listener = listener
        self.ended: list[Delivery] = []
        """Those that were done here, or failed."""
        self._secrets = secrets
        self._lease = lease_seconds
        self._bell = bell_of(core.database.url)
        self._held: dict[Group, _Held] = {}
        self._blocked: dict[Group, int] = {}
        """Targets whose first delivery, by its position, waits behind one that failed."""
        self._stop = threading.Event()
        self._loop: threading.Thread | None = None

    def start(self) -> None:
        """Send what is there and what comes, until `stop`."""
        self._stop.clear()
        self._loop = threading.Thread(target=self._watch, name="egress", daemon=True)
        self._loop.start()

    def stop(self, timeout: float = 30.0) -> None:
        """Let go of all; what is half sent is tried again by another."""
        self._stop.set()
        self._bell.ring()
        if self._loop is not None:
            self._loop.join(timeout)
            self._loop = None
        held = list(self._held.values())
        for one in held:
            one.stop.set()
        until = time.monotonic() + timeout
        for one in held:
            if one.thread is not None:
                one.thread.join(max(0.0, until - time.monotonic()))

    def drain(self, stop: threading.Event) -> None:
        """Send until nothing is left to send here, also what is to be tried again."""
        while not stop.is_set():
            seen = self._bell.count()
            if not self._look() and not self._held:
                return
            self._bell.wait(seen, min(LOOK_SECONDS / 4, self._lease / 4))

    def _watch(self) -> None:
        while not self._stop.is_set():
            seen = self._bell.count()
            try:
                self._look()
            except Unavailable as error:
                log.warning("cannot look for deliveries: %s", error)
            except Exception:  # or nothing would be delivered any more, without a word
                log.exception("looking for deliveries met an error")
            self._bell.wait(seen, min(LOOK_SECONDS, self._lease / 4))

    def _look(self) -> bool:
        """Begin what is due and nobody has in hand; whether anything is left to do, or to come."""
        held = [(one, one.row) for one in list(self._held.values()) if one.row is not None]
        for one, _ in held:
            if time.monotonic() - one.renewed > self._lease:
                one.stop.set()  # The catalog was away so long that another may have it by now.
        for one, row in held:
            if time.monotonic() - one.renewed > self._lease / 4:
                self._renew(one, row)
        with self.core.database.read() as session:
            now = session.now()
            left = deliveries.waiting(session)
            left = [
                (row, more)
                for row, more in left
                if self._blocked.get(row.group) != row.position
                or deliveries.blocking(session, row) is None
            ]
        for row, _ in left:
            due = row.expires <= now and (row.shown.next_try or 0) <= now
            if due and row.group not in self._held and len(self._held) < MOST_AT_ONCE:
                self._begin(row)
        return bool(left)

    def _renew(self, held: _Held, row: DeliveryRow) -> None:
        asked = time.monotonic()
        with self.core.database.write(durable=False) as session:
            ours = deliveries.renew(session, row, held.fence, int(self._lease * _MICROS))
        if ours:
            held.renewed = asked
        else:
            held.stop.set()

    def _begin(self, row: DeliveryRow) -> None:
        self._blocked.pop(row.group, None)
        held = self._held[row.group] = _Held()
        name = f"egress-{row.shown.pipeline}-{row.shown.target}"
        held.thread = threading.Thread(target=self._run, args=(held, row), name=name, daemon=True)
        held.thread.start()

    def _run(self, held: _Held, row: DeliveryRow) -> None:
        try:
            self._work_on(held, row)
        except LeaseLost:
            log.warning("%s to %s is in other hands", row.shown.pipeline, row.shown.target)
        except TrunklineError as error:
            # The catalog is away. What we held runs out.
            log.warning("cannot deliver %s to %s: %s", row.shown.pipeline, row.shown.target, error)
            self._stop.wait(LOOK_SECONDS)
        except Exception as error:  # what it held runs out
            note_bug(target_from(row.spec), self._secrets, error)
            self._stop.wait(LOOK_SECONDS)
        finally:
            self._held.pop(row.group, None)
            self._bell.ring()

    # -- one delivery ----------------------------------------------------------------------

    def _work_on(self, held: _Held, first: DeliveryRow) -> None:
        with self.core.database.read() as session:
            newest = deliveries.newest_waiting(session, *first.group) or first
            lake = identity.lake_id(session)
        row, sender = newest, None
        refused: Exception | None = None
        try:
            sender = self._open(newest, held, lake)
            if sender.in_order and first.shown.commit != newest.shown.commit:
                sender.close()
                row, sender = first, None
                sender = self._open(first, held, lake)
        except Exception as error:
            refused = error
        try:
            if self._taken(held, row, in_order=sender is None or sender.in_order):
                self._try(held, row, sender, refused)
        finally:
            if sender is not None:
                sender.close()

    def _open(self, row: DeliveryRow, held: _Held, lake: str) -> Sender:
        target = target_from(row.spec)
        name = row.shown.pipeline
        return open_target(self.core, name, target, self._secrets, lake, stop=held.stop)

    def _taken(self, held: _Held, row: DeliveryRow, in_order: bool) -> bool:
        held.renewed = time.monotonic()
        with self.core.database.write(durable=False) as session:
            if in_order and (before := deliveries.blocking(session, row)) is not None:
                self._blocked[row.group] = row.position
                why = f"{BLOCKED}{before.commit[:12]} failed and must go first"
                if row.shown.reason != why:
                    deliveries.note(session, row, why)
                return False
            fence = deliveries.take(session, row, self.holder, int(self._lease * _MICROS))
            if fence is None:
                return False
            if not in_order:
                deliveries.skip(session, *row.group, NEWER, before=row.position)
        held.row, held.fence = row, fence
        crashpoint("egress.claimed")
        return True

    def _try(
        self,
        held: _Held,
        row: DeliveryRow,
        sender: Sender | None,
        refused: Exception | None,
    ) -> None:
        with self.core.database.read() as session:
            commit = commits.find(session, row.repo, row.shown.commit)
            last = deliveries.last_done(session, *row.group)
            before = commits.find(session, row.repo, last) if last else None
        if commit is None or commit.forgotten is not None:
            self._end(held, row, DeliveryState.SKIPPED, GONE)
            return
        try:
            if sender is None:
                raise refused or LeaseLost("Nobody sends it.")
            sent = self._send(row, sender, commit, before)
            crashpoint("egress.sent")
        except Exception as error:
            self._failed(held, row, error)
        else:
            self._end(held, row, DeliveryState.DONE, "", sent)

    def _send(
        self, row: DeliveryRow, sender: Sender, commit: Commit, before: Commit | None
    ) -> Sent:
        with ExitStack() as kept:
            for one in filter(None, (commit, before)):
                kept.enter_context(pinned(self.core, Resolved(row.repo, one.repo, one)))
            path = sender.berth.target.path
            if before is not None and before.forgotten is not None:
                before = None
            return sender.send(Shipment(self.core, commit, path, before))

    def _failed(self, held: _Held, row: DeliveryRow, error: Exception) -> None:
        target = target_from(row.spec)
        if self._stop.is_set() or held.stop.is_set():
            with self.core.database.write(durable=False) as session:
                deliveries.hand_back(session, row, held.fence)
            return
        reason = self._reason(error, target)
        tried = row.shown.attempt + 1
        if not isinstance(error, Unavailable) or tried >= target.tries:
            times = f" It was tried {tried} times." if tried > 1 else ""
            self._end(held, row, DeliveryState.FAILED, f"{reason}{times}")
            return
        wait = Backoff(target.backoff, LONGEST_WAIT).pause(tried)
        if isinstance(error, TooManyRequests):
            wait = min(max(wait, error.retry_after), LONGEST_WAIT)
        with self.core.database.write() as session:
            if deliveries.try_later(session, row, held.fence, reason, wait):
                self._emit(session, row, DeliveryState.WAITING)
        self._tell(row, f"tried again in {wait:g}s: {reason}")

    def _reason(self, error: Exception, target: Target) -> str:
        """One line, without what is secret."""
        if not isinstance(error, TrunklineError | OSError):
            return note_bug(target, self._secrets, error)
        said = error.message if isinstance(error, TrunklineError) else str(error)
        text = mask_of(target, self._secrets)(" ".join(said.split()))
        hint = getattr(error, "hint", "")
        return f"{text} {hint}" if hint and not isinstance(error, Unavailable) else text

    def _end(
        self,
        held: _Held,
        row: DeliveryRow,
        state: DeliveryState,
        reason: str,
        sent: Sent | None = None,
    ) -> None:
        receipt = sent.receipt() if sent else {}
        with self.core.database.write() as session:
            failing = [one.group for one in deliveries.failing(session)]
            if not deliveries.end(session, row, held.fence, state, reason, receipt):
                raise LeaseLost("The delivery is in other hands.")
            recovered = state is DeliveryState.DONE and row.group in failing
            self._emit(session, row, state, recovered=recovered)
            over = deliveries.find(session, row.repo, row.shown.commit, row.shown.target)
        crashpoint("egress.recorded")
        if over is not None and state is not DeliveryState.SKIPPED:
            self.ended.append(over.shown)
        self._tell(row, sent.note if sent else f"{state}: {reason}")

    def _emit(
        self, session: Session, row: DeliveryRow, state: str, recovered: bool = False
    ) -> None:
        facts: dict[str, object] = {
            "id": row.shown.commit,
            "target": row.shown.target,
            "state": str(state),
        }
        if recovered:
            facts["recovered"] = True
        events.emit(session, "delivery", row.shown.pipeline, facts)

    def _tell(self, row: DeliveryRow, text: str) -> None:
        self.listener(RunEvent("delivery", f"{row.shown.pipeline} → {row.shown.target}: {text}"))
