"""What the log and the traces say of a job: that it began, how it ended, and all in between
under its name.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from structlog.contextvars import bound_contextvars

from trunkline.model.jobs import Job, JobState

log = logging.getLogger("trunkline.jobs")
_COUNTS = ("processed", "skipped", "failed", "recovered", "total")


class Telling:
    """A job in hand. `span` is None where nobody traces."""

    def __init__(self, span: Any) -> None:
        self._span = span

    def ended(self, job: Job) -> None:
        """Say how it ended, or that it will be tried again."""
        counts = {name: getattr(job.counts, name) for name in _COUNTS}
        told = {"state": str(job.state), **({"reason": job.reason} if job.reason else {}), **counts}
        # A failure is no trouble of the worker's, so it is no warning.
        log.info("job ended" if job.state.is_over else "job handed back", extra=told)
        if self._span is not None:
            self._trace(job, counts)

    def _trace(self, job: Job, counts: dict[str, int]) -> None:
        from opentelemetry.trace import StatusCode

        self._span.set_attribute("trunkline.job.state", str(job.state))
        for name, value in counts.items():
            self._span.set_attribute(f"trunkline.datums.{name}", value)
        if job.state is JobState.FAILURE:
            self._span.set_status(StatusCode.ERROR, job.reason)


@contextmanager
def telling(job: Job, worker: str) -> Iterator[Telling]:
    """While a job is in this thread's hands."""
    with ExitStack() as held:
        held.enter_context(bound_contextvars(job=job.id, pipeline=str(job.pipeline)))
        span = held.enter_context(_span(job, worker)) if is_traced() else None
        log.info("job begins", extra={"attempt": job.attempt, "worker": worker})
        yield Telling(span)


def is_traced() -> bool:
    """Whether the environment asks for traces."""
    wanted = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
    if os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return False
    exporter = os.environ.get("OTEL_TRACES_EXPORTER", "")
    return exporter != "none" and (bool(exporter) or any(os.environ.get(name) for name in wanted))


@contextmanager
def _span(job: Job, worker: str) -> Iterator[Any]:
    try:
        from opentelemetry.trace import get_tracer
    except ImportError:
        yield None
        return
    facts: dict[str, str | int] = {
        "trunkline.pipeline": str(job.pipeline),
        "trunkline.job": job.id,
        "trunkline.attempt": job.attempt,
        "trunkline.worker": worker,
    }
    tracer = get_tracer("trunkline.jobs")
    with tracer.start_as_current_span(f"job {job.pipeline}", attributes=facts) as span:
        yield span
