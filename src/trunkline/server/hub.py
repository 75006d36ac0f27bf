"""The hub: reads the outbox once for all who listen, and hands out what is new.

There is one reader, however many listen. It looks when something is committed in this process,
and every quarter of a second for what others commit. Who begins to listen reads what was before
from the catalog up to where the hub is, and gets from the hub all that is after: nothing is lost
or told twice.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sse_starlette.event import ServerSentEvent

from trunkline.errors import TrunklineError
from trunkline.lake.core import Core
from trunkline.model.events import Event
from trunkline.sdk.wire.values import encode
from trunkline.storage.catalog import events, requests
from trunkline.storage.catalog.bell import bell_of

LOOK_SECONDS = 0.25
PRUNE_SECONDS = 3600.0
KEEP_REQUESTS_MICROS = 24 * 3600 * 1_000_000
MOST_WAITING = 10_000
"""Who is further behind is cut off, and comes again with the last position it saw."""
_PAGE = 1000

log = logging.getLogger("trunkline.server")


@dataclass(frozen=True, slots=True)
class Told:
    """An event, and the bytes that tell of it."""

    event: Event
    chunk: bytes


class Listening:
    """One listener, in an event loop. Begins after the position `start`."""

    def __init__(self, start: int) -> None:
        self.start = start
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[Told] = deque()
        self._news = asyncio.Event()
        self._over = False

    def hand(self, told: Sequence[Told]) -> None:
        """From the hub's thread. A loop that is closed listens no more."""
        try:
            self._loop.call_soon_threadsafe(self._take, told)
        except RuntimeError:
            self._over = True

    def end(self) -> None:
        try:
            self._loop.call_soon_threadsafe(self._end)
        except RuntimeError:
            self._over = True

    async def next(self, timeout: float) -> list[Told] | None:
        """What is new, perhaps nothing; None when this is over."""
        try:
            await asyncio.wait_for(self._news.wait(), timeout)
        except TimeoutError:
            return []
        if self._over:
            return None
        self._news.clear()
        new = list(self._waiting)
        self._waiting.clear()
        return new

    def _take(self, told: Sequence[Told]) -> None:
        if len(self._waiting) + len(told) > MOST_WAITING:
            self._end()
        if not self._over:
            self._waiting.extend(told)
            self._news.set()

    def _end(self) -> None:
        self._over = True
        self._waiting.clear()
        self._news.set()


class Hub:
    """Follows the outbox of a lake in a thread of its own."""

    def __init__(self, core: Core, keep_seconds: float) -> None:
        self.position = 0
        self.reads = 0
        self._core = core
        self._keep = int(keep_seconds * 1_000_000)
        self._bell = bell_of(core.database.url)
        self._lock = threading.Lock()
        self._listening: set[Listening] = set()
        self._watchers: list[Callable[[Sequence[Event]], None]] = []
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._pruned = 0.0
        self._down = False

    def start(self) -> None:
        """Begin at what is new now. Where it runs already, nothing."""
        with self._lock:
            if self._thread is not None or self._stop.is_set():
                return
            with self._core.database.read() as session:
                self.position = events.last(session)
            self._thread = threading.Thread(target=self._run, name="hub", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End all listening: no request is left open by it."""
        self._stop.set()
        self._bell.ring()
        with self._lock:
            for one in self._listening:
                one.end()
        if self._thread is not None:
            self._thread.join(5)

    def watch(self, watcher: Callable[[Sequence[Event]], None]) -> None:
        """Have a function told of new events, in the hub's thread."""
        self._watchers.append(watcher)

    def listen(self) -> Listening:
        """In an event loop, once the hub is started."""
        with self._lock:
            one = Listening(self.position)
            self._listening.add(one)
        if self._stop.is_set():
            one.end()
        return one

    def leave(self, one: Listening) -> None:
        with self._lock:
            self._listening.discard(one)

    @property
    def listeners(self) -> int:
        return len(self._listening)

    def _run(self) -> None:
        while not self._stop.is_set():
            seen = self._bell.count()
            try:
                self._look()
                self._prune()
                self._down = False
            except Exception as error:
                # Said once, whatever it is: the hub goes on, and tells all when it can.
                if not self._down:
                    bug = None if isinstance(error, TrunklineError) else error
                    log.warning("events cannot be read: %s", error, exc_info=bug)
                self._down = True
            self._bell.wait(seen, LOOK_SECONDS)

    def _look(self) -> None:
        while True:
            with self._core.database.read() as session:
                new = events.listed(session, self.position, limit=_PAGE)
            self.reads += 1
            if new:
                self._hand_out(new)
            if len(new) < _PAGE:
                return

    def _hand_out(self, new: Sequence[Event]) -> None:
        # Once for all: two hundred listeners get the same bytes.
        told = [Told(one, chunk(one)) for one in new]
        with self._lock:
            self.position = new[-1].position
            for listening in self._listening:
                listening.hand(told)
        for watcher in self._watchers:
            try:
                watcher(new)
            except Exception:
                log.exception("a watcher of events failed")

    def _prune(self) -> None:
        now = time.monotonic()
        if self._pruned and now - self._pruned < PRUNE_SECONDS:
            return
        self._pruned = now
        with self._core.database.write(durable=False) as session:
            events.prune(session, self._keep)
            requests.prune(session, KEEP_REQUESTS_MICROS)


def chunk(event: Event) -> bytes:
    """An event as it is sent.

    What a power cut may undo has no id to resume from: another would get its position.
    """
    place = str(event.position) if event.is_lasting else None
    return ServerSentEvent(encode(Event, event).decode(), id=place, sep="\n").encode()
