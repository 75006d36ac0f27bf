"""Running jobs in this process: until none is left, or for as long as it is told."""

from __future__ import annotations

import gc
import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from trunkline.model.egress import Delivery, DeliveryState
from trunkline.model.jobs import Job, JobState, RunEvent
from trunkline.model.words import count
from trunkline.model.workers import WorkerInfo
from trunkline.sdk.base import LakeBase
from trunkline.storage.catalog import pipelines, workers

if TYPE_CHECKING:
    from trunkline.egress.deliverer import Deliverer
    from trunkline.ingests.keeper import Drained, Keeper
    from trunkline.jobs.worker import Worker
    from trunkline.schedule.ticker import Ticker


SERVER_VARIABLE = "TRUNKLINE_SERVER_URL"
"""Where serve tells its workers what their jobs can ask."""


@dataclass(frozen=True, slots=True)
class RunReport:
    """The jobs that ended, in order, what ingests brought in and what went out, and how long it
    took."""

    jobs: tuple[Job, ...]
    seconds: float
    ingests: tuple[Drained, ...] = ()
    deliveries: tuple[Delivery, ...] = ()
    held: tuple[str, ...] = ()
    """What still waits, since its pool has no room: in words."""

    @property
    def failed(self) -> int:
        ingests = sum(bool(one.error) for one in self.ingests)
        undelivered = sum(one.state is DeliveryState.FAILED for one in self.deliveries)
        bad = sum(one.is_failure or one.state is JobState.UNRUNNABLE for one in self.jobs)
        return bad + ingests + undelivered


class Running(LakeBase):
    """The lake as its own worker."""

    def workers(self) -> list[WorkerInfo]:
        """Who runs jobs as they come, here or anywhere else that reaches the lake."""
        with self._core.database.read() as session:
            return workers.alive(session)

    def run(
        self,
        watch: bool = False,
        listener: Callable[[RunEvent], None] | None = None,
        stop: threading.Event | None = None,
        jobs: int | None = None,
        name: str = "",
    ) -> RunReport:
        """Fire what is due, then run jobs until none is left; with `watch` until `stop` is set.

        Spark starts when the first datum needs it, with `watch` at once, and stops at the end.
        """
        from trunkline import notices
        from trunkline.egress.deliverer import Deliverer
        from trunkline.engine.options import SparkOptions
        from trunkline.ingests.keeper import Keeper
        from trunkline.jobs.runner import RunnerOptions
        from trunkline.jobs.spark import SparkEngine
        from trunkline.jobs.worker import Worker
        from trunkline.schedule.clock import Scheduler
        from trunkline.schedule.ticker import Ticker
        from trunkline.sdk.secrets import secret_reader

        began = time.monotonic()
        told = listener or (lambda event: None)
        spark = SparkOptions.of(self._settings, self._core.objects.address)
        engine = SparkEngine(
            # One that is always at work has nothing to leave to others.
            replace(spark, linger=0) if watch else spark,
            lambda text: told(RunEvent("spark", text)),
        )
        options = RunnerOptions(
            secret_reader(self._folder),
            self._settings.text("work.folder"),
            self._settings.number("log.limit"),
            os.environ.get(SERVER_VARIABLE, ""),
            hidden=(str(self._folder),),
        )
        slots = jobs or self._settings.number("worker.jobs")
        worker = Worker(
            self._core,
            engine,
            options,
            slots=slots,
            name=name,
            listener=told,
            lease_seconds=self._settings.seconds("worker.lease"),
        )
        keeper = Keeper(
            self._core,
            secrets=options.secrets,
            holder=worker.name,
            listener=told,
            lease_seconds=self._settings.seconds("worker.lease"),
            spark=engine.session,
        )
        deliverer = Deliverer(
            self._core,
            secrets=options.secrets,
            holder=worker.name,
            listener=told,
            lease_seconds=self._settings.seconds("worker.lease"),
        )
        scheduler = Scheduler(self._core) if watch else None
        # Under a server, that one tells the world.
        alone = watch and not options.server
        others = (
            notices.start(self._core, self._settings, options.secrets, self.location)
            if alone
            else None
        )
        ending = stop or threading.Event()
        drained: Sequence[Drained] = ()
        # Planning makes very many small objects that stay: looking through them again and again
        # for cycles, of which there are none, takes longer than making them.
        thresholds = gc.get_threshold()
        gc.set_threshold(50_000, 20, 50)
        self._engine = engine
        try:
            if scheduler is not None:
                scheduler.start()
                keeper.start()
                deliverer.start()
                engine.warm()
                worker.run(watch=True, stop=ending)
            else:
                drained = self._drain(Ticker(self._core), keeper, worker, deliverer, ending)
        finally:
            gc.set_threshold(*thresholds)
            self._engine = None
            if scheduler is not None:
                scheduler.stop()
            if others is not None:
                others.stop()
            keeper.stop()
            deliverer.stop()
            engine.stop()
        took = time.monotonic() - began
        sent = tuple(deliverer.ended)
        return RunReport(tuple(worker.ended), took, tuple(drained), sent, self._held_back())

    def _held_back(self) -> tuple[str, ...]:
        """Jobs that nobody may run now."""
        with self._core.database.read() as session:
            found = pipelines.pools(session)
        return tuple(
            f"{count(pool['waiting'], 'job')} held back by the pool {pool['name']}, which has "
            f"{count(pool['slots'], 'slot')}: trunkline pool set {pool['name']} SLOTS"
            for pool in found
            if pool["waiting"] and pool["running"] >= pool["slots"]
        )

    def _drain(
        self,
        ticker: Ticker,
        keeper: Keeper,
        worker: Worker,
        deliverer: Deliverer,
        ending: threading.Event,
    ) -> Sequence[Drained]:
        """Until nothing waits of what was due at the start: what a job leaves for a stream counts
        too, and what is to go out. What the clock asks for meanwhile is for the next run."""
        began = ticker.now()
        drained = keeper.drain()
        while not ending.is_set():
            before = ticker.fired, len(worker.ended)
            ticker.fire_due(ending, waits=False, until=began)
            worker.run(watch=False, stop=ending)
            # A batch that another worker left may have been all that kept the next from its turn.
            if (ticker.fired, len(worker.ended)) == before:
                break
        deliverer.drain(ending)
        return drained
