"""Spark as the engine of jobs: started when the first needs it, and again should it die."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from trunkline.engine.options import SparkOptions, local_cores
from trunkline.engine.runner.task import SetReport, Work
from trunkline.jobs.claims import Claim
from trunkline.model.recent import Recent
from trunkline.storage.crashpoints import crashpoint

if TYPE_CHECKING:
    from trunkline.engine.session import Session
    from trunkline.engine.streaming.live import LiveStream
    from trunkline.engine.streaming.task import StreamTask
    from trunkline.engine.transform import TableResult, TableTask


_MOST_KINDS = 500


def group_of(claim: Claim) -> str:
    return f"{claim.job.pipeline}@{claim.job.id}#{claim.job.fence}"


class SparkEngine:
    """One warm session, shared by all jobs of a worker."""

    def __init__(
        self, options: SparkOptions, told: Callable[[str], None] = lambda text: None
    ) -> None:
        self._options = options
        self._told = told
        self._session: Session | None = None
        self._application = ""
        self._lock = threading.Lock()
        self._over = False
        self._kinds: Recent[Hashable, tuple[str, ...]] = Recent(_MOST_KINDS)
        self._streams: dict[int, LiveStream] = {}

    def warm(self) -> None:
        """Start the session ahead of need, beside whatever else goes on."""
        if self._session is None:
            threading.Thread(target=self._try, name="spark-start", daemon=True).start()

    def _try(self) -> None:
        from trunkline.errors import TrunklineError

        try:
            self.session()
        except TrunklineError:
            # The first job that needs it meets the same error, and can say so.
            return

    def session(self) -> Session:
        with self._lock:
            if self._session is not None and not self._session.alive():
                self._told("Spark ended by itself; starting it again")
                self._session.stop()
                self._session = None
            if self._session is None:
                from trunkline.engine.session import is_running, start
                from trunkline.engine.submit import explained

                began = time.monotonic()
                tell = self._told if not is_running() else lambda text: None
                tell("Starting Spark")
                self._session = start(self._options)
                # Asked for now: who wants to know later must not depend on a JVM that may be gone.
                with explained(self._session):
                    self._application = self._session.application_id
                tell(f"Spark is ready ({time.monotonic() - began:.1f} s)")
                crashpoint("job.spark_started")
            return self._session

    def cores(self) -> int:
        # A local master is known without waiting for it.
        if self._options.is_local:
            return local_cores(self._options.master)
        return self.session().cores

    def application(self) -> str:
        """Spark's name for the session that runs, or ran last."""
        return self._application

    def explains(self, error: Exception) -> bool:
        """Whether an error that has no words came about because Spark has ended."""
        from trunkline.engine.failures import is_no_answer

        session = self._session
        # Another job may have started a new one meanwhile.
        return is_no_answer(error) or (session is not None and not session.alive())

    def run(
        self, work: Work, sets: list[bytes], claim: Claim, parallelism: int | None
    ) -> tuple[list[SetReport], tuple[int, ...]]:
        """Run every set and wait for all: what each came to, and Spark's numbers of the job."""
        from trunkline.engine.runner.entry import run_encoded
        from trunkline.engine.submit import run_sets

        outcome = run_sets(
            self.session(),
            work.encode(),
            sets,
            run_encoded,
            group=group_of(claim),
            description=f"{claim.job.pipeline}@{claim.job.short_id}",
            parallelism=parallelism,
        )
        return [SetReport.decode(result) for result in outcome.results], outcome.job_ids

    def run_tables(
        self, tasks: Sequence[TableTask], claim: Claim, parallelism: int | None
    ) -> tuple[list[dict[str, TableResult]], tuple[int, ...]]:
        """Call a transform on tables once for each task, several at a time."""
        from trunkline.engine.submit import run_actions
        from trunkline.engine.transform import run

        session = self.session()
        return run_actions(
            session,
            [partial(run, session, task) for task in tasks],
            group=group_of(claim),
            description=f"{claim.job.pipeline}@{claim.job.short_id}",
            parallelism=parallelism or max(2, self.cores()),
        )

    # -- streams ----------------------------------------------------------------------------

    def stateful(self, task: StreamTask) -> tuple[str, ...]:
        """What keeps state in a query; nothing if each of its batches stands alone."""
        from trunkline.engine.streaming.live import stateful_operators

        return self._kinds.get(task.identity, lambda: stateful_operators(self.session(), task))

    def live(self, repo: int) -> LiveStream | None:
        """The query of a stream that waits here for its next batch."""
        found = self._streams.get(repo)
        return found if found is not None and found.alive() else None

    def start_stream(
        self, repo: int, task: StreamTask, name: str, uri: str, generation: int
    ) -> LiveStream:
        """Start a query in place of the one that the stream may have."""
        from trunkline.engine.streaming.live import LiveStream

        self.end_stream(repo)
        found = LiveStream(self.session(), task, name, uri, generation)
        self._streams[repo] = found
        return found

    def end_stream(self, repo: int) -> None:
        if (old := self._streams.pop(repo, None)) is not None:
            old.close()

    def cancel(self, claim: Claim) -> None:
        stream = self._streams.get(claim.repo)
        # A worker that was stopped for long may have claimed the same job once more.
        if stream is not None and stream.owner == claim.txn:
            stream.cancel()
        session = self._session
        if session is not None:
            from trunkline.engine.submit import cancel

            cancel(session, group_of(claim))

    def stop(self) -> None:
        for repo in list(self._streams):
            self.end_stream(repo)
        with self._lock:
            if self._session is not None:
                self._session.stop()
                self._session = None
