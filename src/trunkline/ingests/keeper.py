"""Takes ingests in hand, one thread for each, and lets go of those it must not hold.

An ingest has one holder at a time: a lease on its flow, with a fence that is looked at in every
commit. What becomes of ingests (paused, changed, deleted, taken by another) is seen within a
second, and at once if it happened in this process.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from trunkline.engine.runner.masking import masked_traceback, masker
from trunkline.errors import LeaseLost, NotFound, Precondition, TrunklineError, Unavailable
from trunkline.ingests.codefolders import CodeFolders
from trunkline.ingests.committing import Hold
from trunkline.ingests.feeds import open_feed
from trunkline.ingests.feeds.base import Site
from trunkline.ingests.feeds.endpoints import Endpoints
from trunkline.ingests.gathering import BACKOFF, Gathering, Tally, one_line
from trunkline.lake.core import Core
from trunkline.lake.manifests import EMPTY, Tree
from trunkline.model.commits import DEFAULT_BRANCH, RepoName
from trunkline.model.ids import new_id
from trunkline.model.jobs import RunEvent
from trunkline.model.pipelines import INGEST
from trunkline.model.streams import FlowState
from trunkline.pipelines.confinement import unconfined
from trunkline.pipelines.spec.codec import from_json, view_of
from trunkline.storage.catalog import Session, commits, flows, identity, pipelines, refs
from trunkline.storage.catalog.bell import bell_of
from trunkline.storage.catalog.pipelines import PipelineRow

if TYPE_CHECKING:
    from trunkline.engine.session import Session as Spark

log = logging.getLogger("trunkline.ingests")

LOOK_SECONDS = 1.0
LEASE_SECONDS = 30.0
_PAUSE = 0.05
_MICROS = 1_000_000

Listener = Callable[[RunEvent], None]


@dataclass(frozen=True, slots=True)
class Drained:
    """What one pass over an ingest brought in."""

    name: RepoName
    commits: int = 0
    rows: int = 0
    malformed: int = 0
    error: str = ""


@dataclass
class _Held:
    """An ingest in the hands of a thread."""

    row: PipelineRow
    hold: Hold
    stop: threading.Event = field(default_factory=threading.Event)
    lost: bool = False
    gathering: Gathering | None = None
    thread: threading.Thread | None = None
    renewed: float = field(default_factory=time.monotonic)
    secrets: Mapping[str, str] = field(default_factory=dict)
    """What must not be told when it fails."""

    def end(self, *, lost: bool = False) -> None:
        if lost:
            self.lost = True
            if self.gathering is not None:
                self.gathering.lost.set()
        self.stop.set()


class Keeper:
    """Holds ingests while it runs. Several, also of other processes, may look at the same lake."""

    def __init__(
        self,
        core: Core,
        *,
        secrets: Callable[[str], str | None] = lambda name: None,
        holder: str = "",
        listener: Listener = lambda event: None,
        lease_seconds: float = LEASE_SECONDS,
        work_folder: Path | None = None,
        spark: Callable[[], Spark] | None = None,
    ) -> None:
        """`spark` is asked for by sources that are read through it, and by no others."""
        self.core = core
        self.holder = holder or new_id()[:12]
        self.listener = listener
        self._secrets = secrets
        self._lease = lease_seconds
        self._spark = spark
        self._bell = bell_of(core.database.url)
        self._held: dict[int, _Held] = {}
        self._refused: dict[int, tuple[float, int]] = {}
        """Those that could not be started: when to try again, and how often it failed."""
        self._stop = threading.Event()
        self._loop: threading.Thread | None = None
        self._code = CodeFolders(core, work_folder)
        self._endpoints = Endpoints()

    # -- watching --------------------------------------------------------------------------

    def start(self) -> None:
        """Take what nobody holds, and go on with it until `stop`."""
        self._stop.clear()
        self._loop = threading.Thread(target=self._watch, name="ingests", daemon=True)
        self._loop.start()

    def stop(self, timeout: float = 30.0) -> None:
        """Let go of all; what was promised to senders is committed first."""
        self._stop.set()
        self._bell.ring()
        if self._loop is not None:
            self._loop.join(timeout)
            self._loop = None
        for held in list(self._held.values()):
            held.end()
        until = time.monotonic() + timeout
        for held in list(self._held.values()):
            if held.thread is not None:
                held.thread.join(max(0.0, until - time.monotonic()))
        self._endpoints.close()
        self._code.close()

    def holding(self) -> list[RepoName]:
        """The ingests that run here now."""
        return [held.row.name for held in list(self._held.values())]

    def _watch(self) -> None:
        while not self._stop.is_set():
            seen = self._bell.count()
            try:
                self._look()
            except Unavailable as error:
                log.warning("cannot look for ingests: %s", error)
            except Exception:  # or nothing would be taken in any more, without a word
                log.exception("looking for ingests met an error")
            # Its own commits ring too: a moment lets several of them be one look.
            self._stop.wait(_PAUSE)
            self._bell.wait(seen, min(LOOK_SECONDS, self._lease / 4))

    def _look(self) -> None:
        with self.core.database.read() as session:
            rows = {row.repo: row for row in _running(session)}
            free = [repo for repo in rows if repo not in self._held]
            now = session.now()
            flowing = {repo: flows.find(session, repo) for repo in free}
        for repo, held in list(self._held.items()):
            there = rows.get(repo)
            if there is None or there.version != held.row.version:
                held.end()
            elif time.monotonic() - held.renewed > self._lease / 4:
                self._renew(held)
        for repo in free:
            flow = flowing[repo]
            again = self._refused.get(repo, (0.0, 0))[0]
            if flow is not None and flow.expires <= now and time.monotonic() >= again:
                taken = self._take(rows[repo])
                if taken is not None:
                    self._begin(taken)

    def _renew(self, held: _Held) -> None:
        # Should the catalog be away for longer than the lease, the commit itself will tell.
        with self.core.database.write(durable=False) as session:
            ours = flows.renew(session, held.hold.repo, held.hold.fence, self._micros)
        if ours:
            held.renewed = time.monotonic()
        else:
            held.end(lost=True)

    def _begin(self, held: _Held) -> None:
        self._held[held.hold.repo] = held
        name = f"ingest-{held.row.name}"
        held.thread = threading.Thread(target=self._run, args=(held,), name=name, daemon=True)
        held.thread.start()

    def _run(self, held: _Held) -> None:
        try:
            self._work_on(held, drain=False)
        finally:
            self._held.pop(held.hold.repo, None)
            self._bell.ring()

    # -- draining --------------------------------------------------------------------------

    def drain(self) -> list[Drained]:
        """One pass: take in what is there now, of every ingest that nobody else holds."""
        done = []
        with self.core.database.read() as session:
            rows = _running(session)
        for row in rows:
            held = self._take(row)
            if held is None:
                continue
            with self._renewing(held):
                tally = self._work_on(held, drain=True)
            done.append(Drained(row.name, tally.commits, tally.rows, tally.malformed, tally.error))
        self._endpoints.close()
        self._code.close()
        return done

    @contextmanager
    def _renewing(self, held: _Held) -> Iterator[None]:
        over = threading.Event()

        def renew() -> None:
            while not over.wait(self._lease / 4):
                try:
                    self._renew(held)
                except TrunklineError as error:
                    log.warning("cannot renew: %s", error)

        thread = threading.Thread(target=renew, name="ingest-lease", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    # -- one ingest ------------------------------------------------------------------------

    @property
    def _micros(self) -> int:
        return int(self._lease * _MICROS)

    def _take(self, row: PipelineRow) -> _Held | None:
        with self.core.database.write(durable=False) as session:
            fence = flows.take(session, row.repo, self.holder, self._micros)
            if fence is None:
                return None
            version = pipelines.version(session, row.repo, row.version)
        branch = view_of(version.spec).output_branch if version else DEFAULT_BRANCH
        return _Held(row, Hold(row.repo, branch, fence))

    def _work_on(self, held: _Held, *, drain: bool) -> Tally:
        """Run it; whatever happens, it is let go at the end."""
        repo, tally = held.hold.repo, Tally()
        try:
            gathering = self._gathering(held)
            held.gathering = gathering
            if held.lost:
                gathering.lost.set()
            self._refused.pop(repo, None)
            tally = gathering.run(drain=drain)
        except Exception as error:
            if not isinstance(error, TrunklineError | OSError):
                shown = masked_traceback(error, held.secrets)
                log.error("the ingest %s met a bug:\n%s", held.row.name, shown)
            tally.error = masker(held.secrets)(one_line(error))
            tries = self._refused.get(repo, (0.0, 0))[1] + 1
            self._refused[repo] = (time.monotonic() + BACKOFF.pause(tries), tries)
            if tries == 1:
                self._tell(held.row.name, tally.error)
        self._let_go(held, tally.error)
        return tally

    def _let_go(self, held: _Held, error: str) -> None:
        try:
            with self.core.database.write(durable=False) as session:
                held.hold.check(session)
                if error:
                    flows.note(session, held.hold.repo, FlowState.FAILED, error)
                else:
                    flows.note(session, held.hold.repo, FlowState.IDLE)
                flows.let_go(session, held.hold.repo, held.hold.fence)
        except LeaseLost:
            return
        except TrunklineError as failed:
            # It runs out by itself.
            log.warning("cannot let go of %s: %s", held.row.name, failed)

    def _gathering(self, held: _Held) -> Gathering:
        row = held.row
        with self.core.database.read() as session:
            version = pipelines.version(session, row.repo, row.version)
        if version is None:
            raise NotFound(f"Version {row.version} of {row.name} is gone.")
        spec = from_json(version.spec)
        if self.core.options.sandbox_required and (why := unconfined(spec)):
            raise Precondition(
                f"{row.name} is not run: this worker runs code in sandboxes only "
                f"(sandbox.required), and {why}."
            )
        assert spec.source is not None
        secrets = {option: self._secret(row.name, name) for option, name in spec.source.secrets}
        hidden = {name: self._secret(row.name, key) for name, key in spec.transform.secrets}
        site = Site(
            self.core,
            row.name,
            spec.source,
            {**spec.source.options, **secrets},
            held.stop,
            _Head(self.core, held.hold),
            lambda: self._code.of(row.name, version),
            spec,
            self._endpoints,
            {**dict(spec.transform.env), **hidden},
            self._spark,
        )
        held.secrets = site.secrets()
        feed = open_feed(site)
        with self.core.database.write(durable=False) as session:
            held.hold.check(session)
            flows.note(session, row.repo, FlowState.RUNNING)
        return Gathering(site, held.hold, feed, lambda text: self._tell(row.name, text))

    def _secret(self, name: RepoName, secret: str) -> str:
        value = self._secrets(secret)
        if value is None:
            raise Precondition(
                f"{name} needs the secret {secret}, which is not set.",
                hint=f"trunkline secret set {secret}",
            )
        return value

    def _tell(self, name: RepoName, text: str) -> None:
        self.listener(RunEvent(INGEST, f"{name}: {text}"))


class _Head:
    """The newest tree of an ingest's own repo, read anew when the catalog has another."""

    def __init__(self, core: Core, hold: Hold) -> None:
        self._core = core
        self._hold = hold
        self._known: tuple[str | None, Tree] = (None, EMPTY)

    def __call__(self) -> Tree:
        repo = self._hold.repo
        with self._core.database.read() as session:
            branch = refs.branch(session, repo, self._hold.branch)
            head = commits.find(session, repo, branch.head) if branch and branch.head else None
        root = head.root if head is not None else None
        known = self._known
        if known[0] != root:
            known = self._known = root, self._core.tree(head)
        return known[1]


def _running(session: Session) -> list[PipelineRow]:
    """The ingests that are not paused; none in a copy of a lake, which would take from it."""
    if identity.is_held(session):
        return []
    kinds = {flow.repo for flow in flows.listed(session, INGEST)}
    found = pipelines.all_pipelines(session) if kinds else []
    return [row for row in found if row.repo in kinds and not row.paused]
