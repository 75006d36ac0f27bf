"""A follower of the outbox: takes events in order, and goes on after the last one it dealt with."""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Sequence
from typing import Protocol

from trunkline.errors import TrunklineError
from trunkline.lake.core import Core
from trunkline.model.backoff import Backoff
from trunkline.model.events import Event
from trunkline.storage.catalog import events, followers, identity
from trunkline.storage.catalog.bell import bell_of

LOOK_SECONDS = 0.5
LEASE_SECONDS = 15.0
RENEW_SECONDS = 5.0
BACKOFF = Backoff(1.0, 60.0)
_PAGE = 200

log = logging.getLogger("trunkline.notices")


class NotNow(Exception):
    """It could not be delivered, and may be later."""


class Handler(Protocol):
    """What a follower does with events. `NotNow` makes it come again with the same ones."""

    def handle(self, new: Sequence[Event]) -> None: ...

    def tick(self) -> None:
        """Called twice a second or so, between events."""

    def settled(self, position: int) -> int:
        """Up to where everything is delivered, if events up to `position` were handled."""
        ...


class Follower:
    """Follows in a thread, while it has the lease of its name."""

    def __init__(self, core: Core, name: str, handler: Handler) -> None:
        self.name = name
        self.handled = 0
        self._core = core
        self._handler = handler
        self._holder = f"{socket.gethostname()}:{os.getpid()}:{os.urandom(2).hex()}"
        self._bell = bell_of(core.database.url)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"notices-{name}", daemon=True)
        self._held_until = 0.0
        self._renewed = 0.0
        self._position: int | None = None
        self._kept = -1

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End soon; what is not delivered is left to the next."""
        self._stop.set()
        self._bell.ring()
        self._thread.join(10)
        try:
            with self._core.database.write(durable=False) as session:
                followers.let_go(session, self.name, self._holder)
        except TrunklineError:
            pass  # it runs out

    def _run(self) -> None:
        failures = 0
        while not self._stop.is_set():
            seen = self._bell.count()
            try:
                if self._hold():
                    more = self._look()
                    failures = 0
                    if more:
                        continue
            except NotNow as error:
                failures += 1
                if failures == 1:
                    log.warning("%s: not delivered, tried again: %s", self.name, error)
                self._pause(BACKOFF.jittered(failures))
                continue
            except TrunklineError as error:
                log.warning("%s: %s", self.name, error)
            except Exception:
                # A bug must not end the telling for good; the same events come again.
                log.exception("%s met a bug", self.name)
                self._stop.wait(LOOK_SECONDS * 4)
            self._bell.wait(seen, LOOK_SECONDS)

    def _pause(self, seconds: float) -> None:
        """Wait, and go on holding the lease: another would not have more luck."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if self._stop.wait(min(left, RENEW_SECONDS)):
                return
            try:
                self._hold()
            except TrunklineError:
                continue

    def _hold(self) -> bool:
        """Whether this is the follower; then it remains so for a while."""
        now = time.monotonic()
        if now - self._renewed < RENEW_SECONDS:
            return now < self._held_until
        self._renewed = now
        with self._core.database.write(durable=False) as session:
            # The lake that this one is a copy of tells the same things.
            free = not identity.is_held(session)
            held = free and followers.take(session, self.name, self._holder, LEASE_SECONDS)
            if held and (self._position is None or now >= self._held_until):
                self._position = followers.position(session, self.name)
                if self._position is None:
                    self._position = events.last(session)
                    followers.advance(session, self.name, self._position)
                self._kept = self._position
        self._held_until = now + LEASE_SECONDS if held else 0.0
        return held

    def _look(self) -> bool:
        """Deal with what is new; whether there may be more."""
        assert self._position is not None
        with self._core.database.read() as session:
            new = events.listed(session, self._position, limit=_PAGE)
        if new:
            self._handler.handle(new)
            self._position = new[-1].position
            self.handled += len(new)
        self._handler.tick()
        settled = self._handler.settled(self._position)
        if settled != self._kept:
            with self._core.database.write(durable=False) as session:
                followers.advance(session, self.name, settled)
            self._kept = settled
        return len(new) == _PAGE
