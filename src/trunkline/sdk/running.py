"""Running jobs in this process: until none is left, or for as long as it is told."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from trunkline.model.jobs import Job, JobState, RunEvent
from trunkline.sdk.base import LakeBase


@dataclass(frozen=True, slots=True)
class RunReport:
    """The jobs that ended, in order, and how long it took."""

    jobs: tuple[Job, ...]
    seconds: float

    @property
    def failed(self) -> int:
        bad = (JobState.FAILURE, JobState.UNRUNNABLE)
        return sum(job.state in bad for job in self.jobs)

    def to_dict(self) -> dict[str, object]:
        return {
            "jobs": [job.to_dict() for job in self.jobs],
            "failed": self.failed,
            "seconds": round(self.seconds, 3),
        }


class Running(LakeBase):
    """The lake as its own worker."""

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
        from trunkline.engine.options import SparkOptions
        from trunkline.jobs.runner import RunnerOptions
        from trunkline.jobs.spark import SparkEngine
        from trunkline.jobs.worker import Worker
        from trunkline.schedule.clock import Scheduler
        from trunkline.schedule.ticker import Ticker
        from trunkline.sdk.secrets import secret_reader

        began = time.monotonic()
        told = listener or (lambda event: None)
        engine = SparkEngine(
            SparkOptions.of(self._settings, self._core.objects.address),
            lambda text: told(RunEvent("spark", text)),
        )
        options = RunnerOptions(
            secret_reader(self._folder),
            self._settings.text("work.folder"),
            self._settings.number("log.limit"),
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
        scheduler = Scheduler(self._core) if watch else None
        # Planning makes very many small objects that stay: looking through them again and again
        # for cycles, of which there are none, takes longer than making them.
        thresholds = gc.get_threshold()
        gc.set_threshold(50_000, 20, 50)
        try:
            if scheduler is not None:
                scheduler.start()
                engine.warm()
            else:
                Ticker(self._core).fire_due()
            worker.run(watch=watch, stop=stop or threading.Event())
        finally:
            gc.set_threshold(*thresholds)
            if scheduler is not None:
                scheduler.stop()
            engine.stop()
        return RunReport(tuple(worker.ended), time.monotonic() - began)
