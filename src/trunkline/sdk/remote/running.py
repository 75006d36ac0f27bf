"""Running jobs, through a server: its workers do, and we look on."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from itertools import takewhile

from trunkline.errors import Precondition
from trunkline.model.egress import Delivery, DeliveryState
from trunkline.model.jobs import Job, RunEvent
from trunkline.model.time import to_rfc3339
from trunkline.model.workers import WorkerInfo
from trunkline.sdk.remote.base import RemoteBase
from trunkline.sdk.running import Running, RunReport
from trunkline.sdk.wire.running import Fired, RanJob
from trunkline.sdk.wire.running import Running as Now

LOOK_SECONDS = 0.1
QUIET_SECONDS = 1.0
"""How long to wait at most before looking again where nothing happens."""
# A job that ends says when; it is seen when its transaction is.
OVERLAP_MICROS = 10 * 1_000_000

Key = tuple[str, str, str]


class RemoteRunning(RemoteBase, Running):
    """The server's workers as ours."""

    def workers(self) -> list[WorkerInfo]:
        return list(self._client.pages(WorkerInfo, "/workers"))

    def run(
        self,
        watch: bool = False,
        listener: Callable[[RunEvent], None] | None = None,
        stop: threading.Event | None = None,
        jobs: int | None = None,
        name: str = "",
    ) -> RunReport:
        """Wait until the server's workers have run all jobs, and sent what those made to where it
        goes; with `watch` until `stop` is set.

        How many they run at once, and who they are, is the server's business.
        """
        if not self.workers():
            raise Precondition(
                f"The server {self.server} has no worker that could run jobs.",
                hint="Start one where the lake is: trunkline worker.",
            )
        return _Looker(self, listener or (lambda event: None), stop or threading.Event()).run(watch)


class _Looker:
    """Follows the jobs of a server from when it was made."""

    def __init__(
        self, lake: RemoteRunning, told: Callable[[RunEvent], None], stop: threading.Event
    ) -> None:
        self._client = lake._client
        self._told = told
        self._stop = stop
        self._waiting: dict[Key, Job] = {}
        self._ended: dict[Key, Job] = {}
        self._first: dict[Key, float] = {}
        self._start = self._mark = self._oldest = 0

    def run(self, watch: bool) -> RunReport:
        began = time.monotonic()
        self._begin(self._client.get(Now, "/run"))
        pause = LOOK_SECONDS
        while not self._stop.is_set():
            if not self._waiting and not watch and not self._fired():
                break
            self._stop.wait(pause)
            pause = LOOK_SECONDS if self._look() else min(pause * 1.5, QUIET_SECONDS)
        sent = [] if watch else self._sent()
        took = time.monotonic() - began
        return RunReport(tuple(self._ended.values()), took, deliveries=tuple(sent))

    def _sent(self) -> list[Delivery]:
        """What went out of what the jobs made, when all of it did, was given up, or is blocked."""
        over: dict[tuple[Key, str], Delivery] = {}
        pause = LOOK_SECONDS
        while self._ended and not self._stop.is_set():
            # Newest first: those of our jobs are not older than the first of them.
            every = self._client.pages(Delivery, "/deliveries")
            fresh = takewhile(lambda one: one.created >= self._oldest, every)
            ours = {(_made(one), one.target): one for one in fresh if _made(one) in self._ended}
            for key, one in ours.items():
                if (one.state.is_over or one.is_blocked) and key not in over:
                    over[key] = one
                    ended = one.receipt.get("note") or f"{one.state}: {one.reason}"
                    said = one.reason if one.is_blocked else ended
                    told = f"{one.pipeline} → {one.target}: {said}"
                    self._told(RunEvent("delivery", told))
            if len(over) == len(ours):
                break
            self._stop.wait(pause)
            pause = min(pause * 1.5, QUIET_SECONDS)
        went = (DeliveryState.DONE, DeliveryState.FAILED)
        return [one for one in over.values() if one.state in went]

    def _fired(self) -> bool:
        """Whether something was due that nobody had fired yet: then there is more to come."""
        fired: Fired = self._client.send("POST", "/run", kind=Fired)
        self._look()
        return bool(fired.fired or self._waiting)

    def _begin(self, now: Now) -> None:
        self._start = now.now
        self._oldest = now.now if now.oldest is None else min(now.now, now.oldest)
        self._take(now)

    def _look(self) -> bool:
        """Whether anything is another than before."""
        before = self._waiting
        since, oldest = to_rfc3339(self._mark - OVERLAP_MICROS), to_rfc3339(self._oldest)
        self._take(self._client.get(Now, "/run", since=since, oldest=oldest))
        return self._waiting != before

    def _take(self, now: Now) -> None:
        self._mark = now.now
        for ran in now.ended:
            self._end(ran)
        there = {_key(job): job for job in now.unfinished}
        for key, job in there.items():
            if job != self._waiting.get(key) and (job.attempt or key in self._waiting):
                self._tell(key, job)
        for key in self._waiting.keys() - there.keys() - self._ended.keys():
            if self._waiting[key].is_stream:
                # Nothing came of it: it is gone.
                self._told(RunEvent("empty", "", self._waiting[key]))
        self._waiting = there

    def _end(self, ran: RanJob) -> None:
        key = _key(ran.job)
        ours = key in self._waiting or (ran.job.finished or 0) >= self._start
        if ours and key not in self._ended:
            self._ended[key] = ran.job
            self._tell(key, ran.job, ran)

    def _tell(self, key: Key, job: Job, ran: RanJob | None = None) -> None:
        counts = job.counts
        done = counts.processed + counts.failed + counts.recovered
        rate, left = 0.0, None
        if ran is None and done:
            first = self._first.setdefault(key, time.monotonic() - LOOK_SECONDS)
            rate = done / max(time.monotonic() - first, 0.001)
            left = max(counts.total - counts.skipped - done, 0) / rate
        self._told(
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
                ran.batch if ran else None,
            )
        )


def _key(job: Job) -> Key:
    return job.pipeline.project, job.pipeline.repo, job.id


def _made(delivery: Delivery) -> Key:
    """The job whose output is delivered."""
    return delivery.pipeline.project, delivery.pipeline.repo, delivery.commit
