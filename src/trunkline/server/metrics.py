"""Metrics for Prometheus: requests as they are answered, jobs as they end, the rest when asked."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from time import monotonic

from fastapi import FastAPI, Request, Response
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_1_0_0
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from trunkline.errors import TrunklineError
from trunkline.jobs.streaming.status import ingests, streams
from trunkline.lake.core import Core
from trunkline.model.access import Permission
from trunkline.model.events import Event
from trunkline.model.expectations import CheckState
from trunkline.model.jobs import OVER, JobState
from trunkline.server.calls import Needs, On, Routes
from trunkline.server.service import Service
from trunkline.storage.catalog import checks, jobs, repos
from trunkline.storage.catalog.measures import measure

routes = Routes(tags=["metrics"], prefix="")
# When a counter began is nothing that anybody draws, and half of all lines.
disable_created_metrics()  # type: ignore[no-untyped-call]

KEPT_SECONDS = 2.0
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_JOB_SECONDS = (0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 14400)


@routes.GET("/metrics", Needs(On.LAKE, Permission.READ), response_class=Response)
def metrics(request: Request) -> Response:
    """All metrics, as Prometheus reads them."""
    found: Metrics = request.app.state.metrics
    return Response(generate_latest(found.registry), media_type=CONTENT_TYPE_PLAIN_1_0_0)


class Metrics:
    """The metrics of one server. Counters begin at nothing when it starts."""

    def __init__(self, service: Service) -> None:
        self._core = service.lake._core
        one = self.registry = CollectorRegistry()
        name = ("method", "route")
        self.requests = Counter(
            "trunkline_http_requests", "Requests answered.", (*name, "status"), registry=one
        )
        self.seconds = Histogram(
            "trunkline_http_request_duration_seconds",
            "From the first byte in to the last byte out.",
            name,
            buckets=_SECONDS,
            registry=one,
        )
        self.in_flight = Gauge(
            "trunkline_http_requests_in_flight", "Requests being answered.", registry=one
        )
        self.bytes_in = Counter(
            "trunkline_http_request_bytes", "Bytes of bodies that came in.", registry=one
        )
        self.bytes_out = Counter(
            "trunkline_http_response_bytes", "Bytes of bodies that went out.", registry=one
        )
        self._ended = Counter("trunkline_jobs_ended", "Jobs that ended.", ("state",), registry=one)
        self._lasted = Histogram(
            "trunkline_job_duration_seconds",
            "From a job's first start to its end.",
            buckets=_JOB_SECONDS,
            registry=one,
        )
        self._datums = Counter(
            "trunkline_datums", "Datums of jobs that ended.", ("outcome",), registry=one
        )
        self._broken = Counter(
            "trunkline_checks_failed", "Expectations that were not met.", registry=one
        )
        for state in OVER:
            self._ended.labels(str(state))
        listeners = Gauge("trunkline_event_listeners", "Who listens to events.", registry=one)
        listeners.set_function(lambda: service.hub.listeners)
        workers = Gauge("trunkline_workers", "Workers that this server keeps.", registry=one)
        workers.set_function(lambda: len(service.workers))
        one.register(_Asked(self._core))

    def watch(self, new: Sequence[Event]) -> None:
        """Count the jobs whose end is among new events."""
        over = [one for one in new if one.kind == "job" and one.facts.get("state") in OVER]
        if not over:
            return
        with self._core.database.read() as session:
            for event in over:
                self._ended.labels(event.facts["state"]).inc()
                repo = repos.key_of(session, event.repo)
                job = jobs.find(session, repo, event.facts["id"]) if repo is not None else None
                if repo is None or job is None:
                    continue
                if job.started is not None and job.finished is not None:
                    self._lasted.observe((job.finished - job.started) / 1_000_000)
                counts = job.counts
                for outcome in ("processed", "skipped", "failed", "recovered"):
                    self._datums.labels(outcome).inc(getattr(counts, outcome))
                if job.state in (JobState.SUCCESS, JobState.FAILURE):
                    made = checks.listed(session, repo=repo, job=job.id, state=CheckState.FAILED)
                    self._broken.inc(len(made))


class Measured:
    """Counts and times requests. Routes are told by their template, so that names do not."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        metrics: Metrics = scope["app"].state.metrics
        status, began = 500, monotonic()

        async def receiving() -> Message:
            message = await receive()
            metrics.bytes_in.inc(len(message.get("body", b"")))
            return message

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            metrics.bytes_out.inc(len(message.get("body", b"")))
            await send(message)

        metrics.in_flight.inc()
        try:
            await self._app(scope, receiving, sending)
        finally:
            metrics.in_flight.dec()
            name = (_method(scope), route_of(scope))
            metrics.requests.labels(*name, str(status)).inc()
            metrics.seconds.labels(*name).observe(monotonic() - began)


def install(app: FastAPI, service: Service) -> None:
    app.state.metrics = Metrics(service)
    service.hub.watch(app.state.metrics.watch)


def route_of(scope: Scope) -> str:
    """The template of a request's route, such as /api/v1/repos/{project}/{repo}."""
    route = scope.get("fastapi", {}).get("effective_route_context") or scope.get("route")
    return str(getattr(route, "path", "")) or "none"


def _method(scope: Scope) -> str:
    known = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
    return scope["method"] if scope["method"] in known else "other"


class _Asked(Collector):
    """What the catalog knows, asked when somebody wants to know, but not twice in a moment."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._lock = threading.Lock()
        self._at = 0.0
        self._found: list[Metric] = []

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterable[Metric]:
        with self._lock:
            if monotonic() - self._at > KEPT_SECONDS:
                self._found = [*self._measured(), *self._flowing()]
                self._at = monotonic()
            return self._found

    def _measured(self) -> Iterable[Metric]:
        up = GaugeMetricFamily("trunkline_catalog_up", "Whether the catalog answers.")
        try:
            found = measure(self._core.database)
        except TrunklineError:
            up.add_metric((), 0)
            yield up
            return
        up.add_metric((), 1)
        yield up
        yield _by("trunkline_jobs", "Jobs that are not over.", "state", found.jobs)
        yield _by("trunkline_leases", "Leases that are held.", "kind", found.leases)
        for name, text, value in (
            ("trunkline_queue_jobs", "Jobs that no worker has.", found.waiting),
            (
                "trunkline_queue_oldest_seconds",
                "For how long the oldest of them has waited.",
                found.oldest_waiting_seconds,
            ),
            ("trunkline_workers_busy", "Workers that have jobs.", found.workers),
            ("trunkline_repos", "Repos.", found.repos),
            ("trunkline_pipelines", "Pipelines.", found.pipelines),
            ("trunkline_events_position", "The position of the newest event.", found.events),
            ("trunkline_catalog_bytes", "The size of the catalog.", found.bytes),
        ):
            yield GaugeMetricFamily(name, text, value)

    def _flowing(self) -> Iterable[Metric]:
        lag = GaugeMetricFamily(
            "trunkline_stream_lag_commits", "Commits not yet read.", labels=["stream"]
        )
        age = GaugeMetricFamily(
            "trunkline_stream_lag_seconds", "Age of the oldest unread one.", labels=["stream"]
        )
        rate = GaugeMetricFamily(
            "trunkline_flow_rows_per_second", "Rows of late.", labels=["kind", "name"]
        )
        late = GaugeMetricFamily(
            "trunkline_stream_late_rows", "Rows that came too late.", labels=["stream"]
        )
        try:
            for stream in streams(self._core, None):
                name = str(stream.name)
                lag.add_metric((name,), stream.lag_commits)
                age.add_metric((name,), stream.lag_seconds)
                late.add_metric((name,), stream.late)
                rate.add_metric(("stream", name), stream.speed.rows_per_second)
            for ingest in ingests(self._core, None):
                rate.add_metric(("ingest", str(ingest.name)), ingest.speed.rows_per_second)
        except TrunklineError:
            return ()
        return lag, age, rate, late


def _by(name: str, text: str, label: str, values: dict[str, int]) -> Metric:
    family = GaugeMetricFamily(name, text, labels=[label])
    for key, value in sorted(values.items()):
        family.add_metric((key,), value)
    return family
