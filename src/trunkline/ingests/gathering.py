"""The loop of one ingest: gather, commit, tell the source; and what is done when that fails.

A source that is gone is no reason to stop: the reason is noted, and it is tried again, later
each time, until it is back.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from trunkline.engine.runner.masking import masked_traceback, masker
from trunkline.errors import LeaseLost, TrunklineError, Unavailable
from trunkline.ingests.committing import Hold, commit
from trunkline.ingests.feeds.base import Feed, Gathered, Site, Written
from trunkline.model.backoff import Backoff
from trunkline.model.streams import FlowState, Position
from trunkline.storage.catalog import flows
from trunkline.storage.crashpoints import crashpoint
from trunkline.tables.upkeep import look_after

log = logging.getLogger("trunkline.ingests")

BACKOFF = Backoff(0.5, 30.0)
Told = Callable[[str], None]


@dataclass
class Tally:
    """What a run of the loop brought."""

    commits: int = 0
    rows: int = 0
    malformed: int = 0
    files: int = 0
    error: str = ""


class Gathering:
    """Runs a feed while it is held. `lost` is set by whoever finds that another has it."""

    def __init__(self, site: Site, hold: Hold, feed: Feed, told: Told) -> None:
        self.site = site
        self.hold = hold
        self.tally = Tally()
        self.lost = threading.Event()
        self._feed = feed
        self._told = told
        self._position: Position | None = None
        self._failures = 0
        self._since = time.monotonic()

    def run(self, *, drain: bool) -> Tally:
        """Until told to stop; with `drain` until there is nothing more now."""
        stop = self.site.stop
        try:
            while not stop.is_set() and not self.lost.is_set():
                if not self._turn(drain) and drain:
                    break
            if not self.lost.is_set():
                self._owed()
        finally:
            self._feed.close()
        return self.tally

    def _turn(self, drain: bool) -> bool:
        """One batch, if there is one; whether to go on draining."""
        gathered: Gathered | None = None
        try:
            gathered = self._feed.gather(self._start(), drain=drain)
            if gathered is None:
                self._went_well()
                return False
            self._commit(gathered)
            return True
        except LeaseLost as error:
            self._drop(gathered, error)
            self.lost.set()
            return False
        except Exception as error:
            self._drop(gathered, error)
            self._failed(error)
            self._failures += 1
            if not drain:
                self.site.stop.wait(BACKOFF.jittered(self._failures))
            return False

    def _owed(self) -> None:
        """Who was told that his data was taken in gets it committed, also on the way out."""
        self._feed.closing()
        while self._feed.owes and not self.lost.is_set():
            if not self._turn(drain=True):
                return

    def _start(self) -> Position:
        if self._position is None:
            with self.site.core.database.read() as session:
                found = flows.find(session, self.hold.repo)
            if found is None:
                raise LeaseLost("The ingest is gone.")
            self._position = found.position
        return self._position

    def _commit(self, gathered: Gathered) -> None:
        crashpoint("ingest.gathered")
        seconds = time.monotonic() - self._since
        written = commit(self.site, self.hold, gathered, self._feed.facts(), seconds)
        self._position = gathered.end
        if written.commit is not None:
            self._since = time.monotonic()
            crashpoint("ingest.committed")
        self._feed.committed(gathered, written)
        if written.commit is not None:
            crashpoint("ingest.source_told")
            self._count(written)
            self._look_after()
        self._went_well()

    def _look_after(self) -> None:
        """Between two commits nobody else writes here. What is only joined moves no position."""
        site, history = self.site, self.site.spec.history
        if not self._feed.may_compact:
            history = replace(history, compact=0)
        with site.core.database.read() as session:
            flow = flows.find(session, self.hold.repo)
        if flow is not None:
            look_after(site.core, flow, self.hold.branch, history, site.source.folder)

    def _count(self, written: Written) -> None:
        assert written.commit is not None
        self.tally.commits += 1
        self.tally.rows += written.rows
        self.tally.files += written.files
        self.tally.malformed += sum(written.malformed.values())
        self._told(written.commit.message.removeprefix("ingest: "))

    def _drop(self, gathered: Gathered | None, error: Exception) -> None:
        # It may have been committed all the same: only the catalog knows.
        self._position = None
        if gathered is not None:
            self._feed.refused(gathered, error)

    def _went_well(self) -> None:
        if self._failures or self.tally.error:
            self._failures, self.tally.error = 0, ""
            self._note(FlowState.RUNNING, "")

    def _failed(self, error: Exception) -> None:
        secrets = self.site.secrets()
        reason = masker(secrets)(one_line(error))
        if reason != self.tally.error:
            if not isinstance(error, TrunklineError | OSError):
                shown = masked_traceback(error, secrets)
                log.error("the ingest %s met a bug:\n%s", self.site.name, shown)
            self.tally.error = reason
            self._told(reason)
            self._note(FlowState.FAILED, reason)

    def _note(self, state: FlowState, reason: str) -> None:
        try:
            with self.site.core.database.write(durable=False) as session:
                self.hold.check(session)
                flows.note(session, self.hold.repo, state, reason)
        except Unavailable as error:
            log.warning("cannot note how %s goes: %s", self.site.name, error)


def one_line(error: BaseException) -> str:
    """An error as people read it."""
    if isinstance(error, TrunklineError):
        return f"{error.message.splitlines()[0]}{f' {error.hint}' if error.hint else ''}"
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror}"
    lines = str(error).strip().splitlines()
    name = type(error).__name__
    return f"{name}: {lines[0][:500]}" if lines else name
