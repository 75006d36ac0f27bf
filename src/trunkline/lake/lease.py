"""Leases: taken when a writer or reader starts, renewed while it lives, given back at the end."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from trunkline.errors import CorruptObject, DiskFull, LeaseLost, ReadOnly, Unavailable
from trunkline.lake.core import Core, Resolved
from trunkline.lake.identity import check_once
from trunkline.model.ids import new_id
from trunkline.storage.catalog import Session, leases


@contextmanager
def pinned(core: Core, found: Resolved) -> Iterator[None]:
    """Keep a commit from gc while a long read goes on. A read-only lake needs no pin."""
    if found.commit is None:
        yield
        return
    lease = Lease(core, new_id(), core.options.author, pin=(found.repo, found.commit.id))
    try:
        lease.take()
    except (ReadOnly, DiskFull):
        # Nobody collects where nothing can be written, and a full disk can still be read.
        yield
        return
    try:
        yield
    except CorruptObject as error:
        if lease.is_lost():
            raise LeaseLost(
                "Reading was paused for too long, and what it read was removed meanwhile.",
                hint="Nothing is damaged; read something that is still there.",
            ) from error
        raise
    finally:
        lease.give_back()


class Lease:
    """Tells gc what is in use for as long as its holder is alive.

    A writer's covers the objects of the transaction it is named after; a reader's has a `pin`:
    the commit (repo key, id) that is being read.
    """

    def __init__(
        self,
        core: Core,
        lease_id: str,
        holder: str,
        pin: tuple[int, str] | None = None,
        kind: str = "",
    ) -> None:
        self._core = core
        self._id = lease_id
        self._holder = holder
        self._pin = pin
        self._kind = kind or ("reader" if pin else leases.WRITER)
        self._ended = threading.Event()
        self._held = False
        self._is_others = False
        self.started = 0

    def take(self, refuse: Callable[[Session], None] | None = None) -> None:
        """`refuse` raises, in the same transaction, if somebody is at work who is in the way."""
        if self._pin is None:
            check_once(self._core)
        with self._core.database.write(durable=False) as session:
            if refuse is not None:
                refuse(session)
            leases.take(session, self._id, self._kind, self._holder, self._pin)
            self.started = session.now()
        self._held = True
        threading.Thread(target=self._renew, name="trunkline-lease", daemon=True).start()

    def is_lost(self) -> bool:
        """Whether it ran out, so that gc may have removed what it was for."""
        with self._core.database.read() as session:
            return leases.find(session, self._id) is None

    def go_on(self, started: int) -> None:
        """Use a lease that was taken before, perhaps by another process, and is renewed there."""
        self.started = started
        self._is_others = True

    def check_in(self, session: Session) -> None:
        """In the commit's own transaction: still ours, and given back with it."""
        if self._was_taken_anew(session) or not leases.release(session, self._id):
            if self._kind == leases.BACKUP:
                raise LeaseLost(
                    "The backup was paused for too long, and what it needs may be gone.",
                    hint="There is no new backup; run it again: what was copied stays there.",
                )
            raise self._lost()

    def _lost(self) -> LeaseLost:
        return LeaseLost(
            f"Transaction {self._id[:12]} lost its lease: it was paused for too long, "
            "or bytes that it holds were erased.",
            hint="Nothing was changed; run it again.",
        )

    def check_kept(self, session: Session) -> None:
        """In the transaction of another's commit that names what it is for."""
        if leases.find(session, self._id) is None:
            raise self._lost()

    def _was_taken_anew(self, session: Session) -> bool:
        """Whether it ran out and its id was opened again: gc may have been there in between."""
        now = leases.find(session, self._id) if self._is_others else None
        return now is not None and now["started"] != self.started

    def release_in(self, session: Session) -> None:
        leases.release(session, self._id)

    def forget(self) -> None:
        self._ended.set()
        self._held = False

    def give_back(self) -> None:
        if not self._held:
            return
        self.forget()
        try:
            with self._core.database.write(durable=False) as session:
                leases.release(session, self._id)
        except Unavailable:
            # It runs out by itself; the error that brought us here matters more.
            pass

    def _renew(self) -> None:
        while not self._ended.wait(leases.RENEW_SECONDS):
            try:
                with self._core.database.write(durable=False) as session:
                    leases.renew(session, self._id)
            except Unavailable:
                continue
