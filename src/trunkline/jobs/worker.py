"""A worker: claims jobs, runs some at a time, keeps its claims alive, and stops what it lost.

There is no sleep on the way from a commit to its job: who commits in this process rings, and a
job that ends looks for the next at once. Other processes are heard of within half a second.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from trunkline.engine.submit import JobCancelled
from trunkline.errors import (
    CorruptObject,
    Failed,
    LeaseLost,
    Precondition,
    TransformFailed,
    TrunklineError,
    Unavailable,
)
from trunkline.jobs import claims, finishing
from trunkline.jobs.claims import Claim
from trunkline.jobs.ledger import Parts
from trunkline.jobs.runner import JobRun, RunnerOptions
from trunkline.jobs.spark import SparkEngine
from trunkline.jobs.tally import Totals
from trunkline.jobs.telling import Telling, telling
from trunkline.lake.core import Core
from trunkline.model.backoff import Backoff
from trunkline.model.jobs import Counts, Job, JobState, RunEvent
from trunkline.model.streams import Batch
from trunkline.model.told import Kind, Told, said
from trunkline.pipelines.spec.codec import view_of
from trunkline.storage.catalog import Session, events, flows, jobs, pipelines, workers
from trunkline.storage.catalog.bell import bell_of
from trunkline.storage.crashpoints import crashpoint

LOOK_SECONDS = 0.25
REPORT_SECONDS = 1.0  # between a job's end and the word of it
PROGRESS_SECONDS = 1.0
BEAT_SECONDS = 5.0
ATTEMPTS = 4
"""How often a job is tried when the machine, not the pipeline, is at fault."""
_BACKOFF = Backoff(0.5, 8.0, 4.0)
DEATHS = 10
"""How often a job may be lost with its worker: it may be what kills them."""

log = logging.getLogger("trunkline.worker")
Listener = Callable[[RunEvent], None]


def worker_name() -> str:
    return f"{socket.gethostname()}:{os.getpid()}:{os.urandom(2).hex()}"


class GentleStop(threading.Event):
    """Stops a worker, whose jobs may go on for `grace` seconds before others get them."""

    def __init__(self, grace: float) -> None:
        super().__init__()
        self.grace = grace

    def at_once(self) -> None:
        """Stop, and wait for nothing."""
        self.grace = 0.0
        self.set()


@dataclass
class _Running:
    """A job in the hands of a thread."""

    claim: Claim
    began: float = field(default_factory=time.monotonic)
    lost: str = ""
    timeout: float | None = None
    tries: int = 1
    is_stream: bool = False
    timed_out: bool = False
    seen: set[str] = field(default_factory=set)
    totals: Totals = field(default_factory=Totals)
    looked: float = 0.0
    first: float = 0.0
    told: tuple[int, Counts] | None = None
    """The event that says how far it is, and the counts that are in it."""
    telling: Telling | None = None
    reported: threading.Event = field(default_factory=threading.Event)


class Worker:
    """Runs jobs until told to stop, or until there are none left."""

    def __init__(
        self,
        core: Core,
        engine: SparkEngine,
        options: RunnerOptions,
        *,
        slots: int = 1,
        name: str = "",
        listener: Listener = lambda event: None,
        lease_seconds: float = claims.LEASE_SECONDS,
    ) -> None:
        self.core = core
        self.engine = engine
        self.options = options
        self.slots = slots
        self.name = name or worker_name()
        self.listener = listener
        self.ended: list[Job] = []
        self._lease = lease_seconds
        self._stays = False
        self._beaten = 0.0
        self._running: dict[str, _Running] = {}
        self._lock = threading.Lock()
        self._bell = bell_of(core.database.url)
        self._position = -1
        self._due: int | None = None
        self._renewed = 0.0
        self._parts = Parts(core)
        self._over = threading.Event()
        self._told_of: set[tuple[str, str | None]] = set()

    # -- the loop --------------------------------------------------------------------------

    def run(self, *, watch: bool, stop: threading.Event) -> None:
        """Claim and run. Without `watch` it ends when nothing is left that could run here."""
        self._over.clear()
        self._stays = watch
        keeper = threading.Thread(target=self._keep, name="keeper", daemon=True)
        keeper.start()
        try:
            while not stop.is_set():
                seen = self._bell.count()
                claimed = self._claim()
                if claimed:
                    continue
                if not watch and not self._running and not self._more_to_come():
                    # Since it was looked for, a job may have ended here, or another's lease.
                    if self._claim():
                        continue
                    return
                if not watch and not self._running:
                    self._tell_held()
                self._wait(seen, stop)
        finally:
            self._finish_or_hand_back(stop)
            self._over.set()
            keeper.join(5)
            self._leave()

    def _claim(self) -> bool:
        with self._lock:
            held = len([one for one in self._running.values() if not one.is_stream])
            # Streams do not wait for a slot: batch jobs may be long.
            lane = jobs.STREAM if held >= self.slots else None
        try:
            claim = claims.claim_next(self.core, self.name, self._lease, lane)
            if claim is None:
                return False
            running = self._running_of(claim)
            ended = self._ended_of_those_that_run()
        except Unavailable as error:
            # Should it have been claimed, the claim runs out.
            log.warning("cannot look for jobs: %s", error)
            time.sleep(LOOK_SECONDS)
            return False
        for before in ended:
            before.reported.wait(REPORT_SECONDS)
            before.reported.set()  # one that was cancelled, and does not stop, is waited for once
        with self._lock:
            self._running[claim.txn] = running
        self._tell(running, claim.job)
        threading.Thread(target=self._told_work, args=(running,), daemon=True).start()
        return True

    def _running_of(self, claim: Claim) -> _Running:
        """With how long it may take, and how often its pipeline wants it tried."""
        with self.core.database.read() as session:
            version = pipelines.version(session, claim.repo, claim.job.version)
            is_stream = flows.find(session, claim.repo) is not None
        spec = view_of(version.spec) if version else None
        return _Running(
            claim,
            timeout=spec.job_timeout if spec else None,
            tries=spec.retry.tries if spec else 1,
            is_stream=is_stream,
        )

    def _ended_of_those_that_run(self) -> list[_Running]:
        """Their commits may have called for the next job: that they ended is told before."""
        with self._lock:
            held = list(self._running.values())
        if not held:
            return []
        with self.core.database.read() as session:
            found = [jobs.find(session, one.claim.repo, one.claim.job.id) for one in held]
        return [
            one for one, job in zip(held, found, strict=True) if job is None or job.state.is_over
        ]

    def _more_to_come(self) -> bool:
        """Whether a job waits for its next try, or is in another worker's hands."""
        try:
            with self.core.database.read() as session:
                return jobs.next_due(session) is not None
        except Unavailable:
            return True  # nobody can tell: look again

    def _tell_held(self) -> None:
        """Say what is waited for: a worker that died keeps its jobs until its claims run out."""
        try:
            with self.core.database.read() as session:
                held = jobs.held(session)
        except Unavailable:
            return
        for job, left in held:
            if (job.id, job.worker) in self._told_of or job.worker == self.name:
                continue
            self._told_of.add((job.id, job.worker))
            self.listener(
                RunEvent(
                    "note",
                    f"{job.pipeline}@{job.short_id} is in the hands of {job.worker}; if that has "
                    f"died, it is run here in {left / 1_000_000:.0f} s.",
                )
            )

    def _wait(self, seen: int, stop: threading.Event) -> None:
        """Until somebody rings, or another process has written something."""
        while not stop.is_set():
            if self._bell.wait(seen, LOOK_SECONDS) or self._news():
                return

    def _news(self) -> bool:
        try:
            with self.core.database.read() as session:
                position = events.last(session)
                due, now = jobs.next_due(session), session.now()
        except Unavailable:
            return False
        # What was due to come is no longer among what is to come once it may be claimed.
        overdue = self._due is not None and self._due <= now
        changed = position != self._position
        self._position, self._due = position, due
        return changed or overdue or due is None

    # -- one job ---------------------------------------------------------------------------

    def _told_work(self, running: _Running) -> None:
        with telling(running.claim.job, self.name) as running.telling:
            self._work(running)

    def _work(self, running: _Running) -> None:
        claim = running.claim
        run = JobRun(self.core, claim, self.engine, self.options)
        try:
            if claim.job.attempt > running.tries + DEATHS:
                raise Precondition(f"Its worker was lost {claim.job.attempt - 1} times.")
            run.run()
        except (LeaseLost, JobCancelled):
            self._stopped(running)
        except TrunklineError as error:
            # The machine's fault may pass; the pipeline's will not.
            is_ours = isinstance(error, Unavailable | Failed)
            self._failed(running, error, is_ours and not isinstance(error, TransformFailed))
        except Exception as error:
            self._broke(running, error)
        finally:
            try:
                # A drain is over, and its report made, when nothing runs any more.
                self._report_end(running)
                self._quietly(lambda: self._forget_progress(running))
            finally:
                running.reported.set()
                with self._lock:
                    self._running.pop(claim.txn, None)
                self._bell.ring()

    def _stopped(self, running: _Running) -> None:
        if running.timed_out and not running.lost:
            assert running.timeout is not None
            reason = Told(Kind.TIMED_OUT, what=f"{running.timeout:g} s")
            self._end(running.claim, reason, JobState.KILLED)
        else:
            self._quietly(lambda: claims.give_up(self.core, running.claim))

    def _failed(self, running: _Running, error: TrunklineError, may_pass: bool) -> None:
        claim = running.claim
        hint = f" {error.hint}" if error.hint else ""
        # Damage stays, unless what was read has been replaced meanwhile: one more look tells.
        attempts = min(2, ATTEMPTS) if isinstance(error, CorruptObject) else ATTEMPTS
        if may_pass and claim.job.attempt < attempts:
            wait = _BACKOFF.pause(claim.job.attempt)
            told = said(error.message)
            self._quietly(lambda: claims.hand_back(self.core, claim, told, wait))
        else:
            self._end(claim, said(f"{error.message}{hint}"))

    def _broke(self, running: _Running, error: Exception) -> None:
        """What nobody has words for: Spark was gone when it was asked something, or a bug."""
        if self.engine.explains(error):
            log.info("a job lost its Spark", exc_info=True)
            self._failed(running, Unavailable("Spark ended while the job ran."), True)
            return
        job = running.claim.job
        log.exception("job %s@%s met a bug", job.pipeline, job.id)
        text = f"{type(error).__name__}: {' '.join(str(error).split())} (this is a bug)"
        self._failed(running, TrunklineError(text), False)

    def _end(self, claim: Claim, reason: Told, state: JobState = JobState.FAILURE) -> None:
        self._quietly(lambda: finishing.fail(self.core, claim, None, state, reason))

    def _quietly(self, act: Callable[[], None]) -> None:
        try:
            act()
        except TrunklineError as error:
            # The claim runs out by itself, and somebody takes the job up again.
            log.warning("%s", error)

    def _report_end(self, running: _Running) -> None:
        claim, is_stream = running.claim, running.is_stream
        try:
            with self.core.database.read() as session:
                job = jobs.find(session, claim.repo, claim.job.id)
                batch = flows.batch_of(session, claim.repo, claim.job.id) if is_stream else None
        except TrunklineError:
            return
        if job is None:
            if is_stream:
                self.listener(RunEvent("empty", "", claim.job))
            return
        ours = job.state.is_over and job.fence == claim.job.fence
        if ours:
            self.ended.append(job)
        if running.telling is not None:
            running.telling.ended(job)
        self._tell(None, job, batch)
        if ours and job.state is not JobState.SUCCESS:
            self._report_unrunnable((claim.repo, job.id))

    def _report_unrunnable(self, failed: tuple[int, str]) -> None:
        """Those that waited for it are over too, though nobody ran them."""
        found: dict[tuple[int, str], Job] = {}
        with self.core.database.read() as session:
            waiting = [failed]
            while waiting:
                for place in jobs.using(session, *waiting.pop(0), JobState.UNRUNNABLE):
                    job = jobs.find(session, *place)
                    if job is not None and place not in found:
                        found[place] = job
                        waiting.append(place)
        known = {(job.pipeline, job.id) for job in self.ended}
        for job in found.values():
            if (job.pipeline, job.id) not in known:
                self.ended.append(job)
                self._tell(None, job)

    # -- keeping claims --------------------------------------------------------------------

    def _keep(self) -> None:
        self._beat()
        while not self._over.wait(LOOK_SECONDS):
            self._beat()
            with self._lock:
                held = list(self._running.values())
            if not held:
                continue
            try:
                self._look_after(held)
            except TrunklineError as error:
                log.warning("cannot renew: %s", error)
            except Exception:  # jobs that nobody keeps are lost
                log.exception("looking after jobs met a bug")

    def _beat(self) -> None:
        """Say that there is somebody who runs what comes; one that only drains is soon gone."""
        now = time.monotonic()
        pause = min(BEAT_SECONDS, self._lease / 4)
        if self._beaten and now - self._beaten < pause:
            return
        self._beaten = now
        try:
            with self.core.database.write(durable=False) as session:
                workers.follow_clock(session)
                if self._stays:
                    workers.beat(session, self.name, int(self._lease * 1_000_000))
        except TrunklineError as error:
            log.warning("cannot say that this worker is alive: %s", error)

    def _leave(self) -> None:
        if self._stays:
            self._quietly(self._unregister)

    def _unregister(self) -> None:
        with self.core.database.write(durable=False) as session:
            workers.leave(session, self.name)

    def _look_after(self, held: list[_Running]) -> None:
        now = time.monotonic()
        if now - self._renewed > min(claims.RENEW_SECONDS, self._lease / 4):
            lost = claims.renew(self.core, [one.claim for one in held], self._lease)
            self._renewed = now
        else:
            lost = claims.still_ours(self.core, [one.claim for one in held])
        for one in held:
            if reason := lost.get(one.claim.txn):
                one.lost = reason
                self.engine.cancel(one.claim)
            elif one.timeout is not None and now - one.began > one.timeout:
                one.timed_out = True
                self.engine.cancel(one.claim)
            elif now - max(one.looked, one.began) > PROGRESS_SECONDS:
                one.looked = now
                self._progress(one)

    def _progress(self, running: _Running) -> None:
        """Count the results that are there by now, and say so."""
        for part in self._parts.listed(running.claim.parts):
            if part in running.seen:
                continue
            running.seen.add(part)
            crashpoint("job.half_done")
            for result in self._parts.read(part):
                running.totals.add(result)
        job, claim = running.claim.job, running.claim
        with self.core.database.write(durable=False) as session:
            found = jobs.find(session, claim.repo, job.id)
            counts = running.totals.on(found.counts if found else Counts())
            jobs.note(
                session,
                claim.repo,
                job.id,
                job.fence,
                counts=counts,
                spark_application=self.engine.application() or None,
            )
            if found is not None and not found.state.is_over:
                self._emit(session, running, counts)
        with self._lock:
            # It may have ended while its results were counted: then that was the last word.
            if claim.txn in self._running:
                self._tell(running, replace(job, counts=counts))

    def _emit(self, session: Session, running: _Running, counts: Counts) -> None:
        """Let others see it. One such event a job is enough: the new one replaces the old."""
        position, known = running.told or (None, None)
        if counts == known:
            return
        job = running.claim.job
        facts = {
            "id": job.id,
            "done": counts.processed + counts.recovered,
            "failed": counts.failed,
            "skipped": counts.skipped,
            "total": counts.total,
        }
        new = events.replace_progress(session, job.pipeline, facts, position)
        running.told = new, counts

    def _forget_progress(self, running: _Running) -> None:
        if running.told is None:
            return
        with self.core.database.write(durable=False) as session:
            events.remove(session, running.told[0])

    def _tell(self, running: _Running | None, job: Job, batch: Batch | None = None) -> None:
        counts = job.counts
        done = counts.processed + counts.failed + counts.recovered
        rate, left = 0.0, None
        if running is not None and done:
            # Not from the claim: Spark may have had to be started first.
            running.first = running.first or (time.monotonic() - PROGRESS_SECONDS)
            rate = done / max(time.monotonic() - running.first, 0.001)
            left = max(counts.total - counts.skipped - done, 0) / rate
        self.listener(
            RunEvent(
                "job",
                str(job.state),
                job,
                done,
                counts.failed,
                counts.skipped,
                counts.total,
                rate,
                left,
                batch,
            )
        )

    def _finish_or_hand_back(self, stop: threading.Event) -> None:
        """On the way out: jobs that still run are cancelled and given back for others."""
        stopped, reason = time.monotonic(), Told(Kind.WORKER_STOPPED)
        while isinstance(stop, GentleStop) and self._running:
            if time.monotonic() - stopped > stop.grace:
                break
            self._bell.wait(self._bell.count(), LOOK_SECONDS)
        with self._lock:
            held = list(self._running.values())
        for one in held:
            self._quietly(
                lambda claim=one.claim: claims.hand_back(  # type: ignore[misc]
                    self.core, claim, reason, 0.0, tried=False
                )
            )
            one.lost = str(reason)
            self.engine.cancel(one.claim)
        until = time.monotonic() + 10
        while self._running and time.monotonic() < until:
            time.sleep(0.05)
