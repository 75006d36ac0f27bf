"""One query: how far it is, what it gave, and who waits for it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from threading import Lock
from time import monotonic
from typing import Any

from trunkline.errors import DiskFull, Failed, NotFound, TrunklineError, Unavailable
from trunkline.model.access import Permission, Principal
from trunkline.model.time import now_micros
from trunkline.query.result import Result, Stop
from trunkline.sdk.wire.sql import NewQuery, QueryInfo, QueryState
from trunkline.server.queries.spool import Spool
from trunkline.storage.disk import is_full

log = logging.getLogger("trunkline.server")


class Stopped(Exception):
    """Ends the run of a query that somebody stopped."""


@dataclass(eq=False)
class Query:
    """Its run changes it in a thread; others look, and wait."""

    id: str
    owner: Principal
    asked: NewQuery
    project: str
    spool: Spool
    state: QueryState = QueryState.QUEUED
    result: Result | None = None
    error: TrunklineError | None = None
    stopped: TrunklineError | None = None
    """Why it is to end before it is done."""
    created: int = field(default_factory=now_micros)
    started: int | None = None
    ended: int | None = None
    running_since: float = 0.0
    stopped_at: float = 0.0
    erased: int = 0
    """The last erasure before it began to read: none came after, or its rows are gone."""
    stop_early: Stop = field(default_factory=Stop)
    check: Callable[[], None] = lambda: None
    """Refuses to give its rows out."""
    touched: float = field(default_factory=monotonic)
    _waiting: set[Callable[[], None]] = field(default_factory=set)
    _lock: Lock = field(default_factory=Lock)

    @property
    def final(self) -> bool:
        return self.state.final

    def is_for(self, who: Principal) -> bool:
        """Whether it is theirs, and they may still read what it reads."""
        is_owner = (self.owner.kind, self.owner.name) == (who.kind, who.name)
        # A token with limits is its owner only as far as they go.
        if not is_owner or not who.covers(self.owner):
            return False
        sources = self.result.sources if self.result is not None else ()
        return all(who.may_repo(Permission.READ, one.repo) for one in sources)

    def info(self) -> QueryInfo:
        result = self.result
        return QueryInfo(
            self.id,
            self.state,
            self.asked.text,
            self.asked.engine,
            self.project,
            self.created,
            result.columns if result is not None else None,
            result.types if result is not None else None,
            result.sources if result is not None else (),
            self.spool.rows,
            self.spool.size,
            self.started,
            self.ended,
            error_facts(self.error) if self.error is not None else None,
        )

    def rows(self) -> Spool:
        """Its rows, once it is done; else what it ended with."""
        self.touched = monotonic()
        if self.error is not None:
            raise self.error
        self.check()
        return self.spool

    # -- its run -----------------------------------------------------------------------------

    def stop(self, why: TrunklineError) -> None:
        """Have it end. What runs in an engine is interrupted."""
        if self.stopped is None:
            self.stopped, self.stopped_at = why, monotonic()
        self.interrupt()

    def interrupt(self) -> None:
        if self.result is not None:
            self.result.cancel()
        else:
            self.stop_early.cancel()

    def step(self) -> None:
        """Some rows more, or something else that is new."""
        if self.stopped is not None:
            raise Stopped
        self.changed()

    def end(self, state: QueryState, error: TrunklineError | None = None) -> None:
        self.error = error
        self.asked = replace(self.asked, params=None)  # they may be large, and nobody needs them
        self.ended = now_micros()
        self.touched = monotonic()
        self.state = state
        self.changed()

    # -- those who wait ----------------------------------------------------------------------

    def changed(self) -> None:
        with self._lock:
            waiting = list(self._waiting)
        for wake in waiting:
            wake()

    async def until(self, ready: Callable[[], bool], seconds: float | None = None) -> bool:
        """Wait until something holds, or for so long. It always holds once the query has ended."""
        loop = asyncio.get_running_loop()
        event = asyncio.Event()

        def wake() -> None:
            # The loop of a server that stops may be closed already.
            if not loop.is_closed():
                loop.call_soon_threadsafe(event.set)

        with self._lock:
            self._waiting.add(wake)
        try:
            async with asyncio.timeout(seconds):
                while not (self.final or ready()):
                    await event.wait()
                    event.clear()
        except TimeoutError:
            return False
        finally:
            with self._lock:
                self._waiting.discard(wake)
        return True


def no_query(query: str) -> NotFound:
    return NotFound(
        f'There is no query "{query}".', hint="Rows are kept for a while only: ask it again."
    )


def error_facts(error: TrunklineError) -> dict[str, Any]:
    """An error as the answer shows it, with the place in the text if that is known."""
    facts: dict[str, Any] = error.to_dict()
    notes = getattr(error, "__notes__", ())
    return facts if "excerpt" in facts or not notes else {**facts, "excerpt": notes[0]}


def ours(error: BaseException) -> TrunklineError:
    """What to say of whatever a query ended in."""
    if (said := known(error)) is not None:
        return said
    log.error("bug in a query", exc_info=error)
    return Failed(f"The query failed: {type(error).__name__}.")


def known(error: BaseException) -> TrunklineError | None:
    """The same; None of a bug."""
    if isinstance(error, TrunklineError):
        return error
    if is_full(error):
        return DiskFull("The server has no space left.", hint="Free some, then ask again.")
    if isinstance(error, MemoryError):
        return Unavailable("The server has no memory left for this query.", hint="Ask for less.")
    return None
