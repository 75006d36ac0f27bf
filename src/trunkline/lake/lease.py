"""A writer's lease: taken when it starts, renewed while it lives, given back in its commit."""

from __future__ import annotations

import threading

from trunkline.errors import LeaseLost, Unavailable
from trunkline.lake.core import Core
from trunkline.storage.catalog import Session, leases


class WriterLease:
    """Tells gc that this transaction's objects are in use, for as long as it is alive."""

    def __init__(self, core: Core, lease_id: str, holder: str) -> None:
        self._core = core
        self._id = lease_id
        self._holder = holder
        self._ended = threading.Event()
        self._held = False
        self.started = 0

    def take(self) -> None:
        with self._core.database.write(durable=False) as session:
            leases.take(session, self._id, "writer", self._holder)
            self.started = session.now()
        self._held = True
        threading.Thread(target=self._renew, name="trunkline-lease", daemon=True).start()

    def check_in(self, session: Session) -> None:
        """In the commit's own transaction: still ours, and given back with it."""
        if not leases.release(session, self._id):
            raise LeaseLost(
                f"transaction {self._id[:12]} was paused for too long and lost its lease",
                hint="nothing was changed; run it again",
            )

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
