"""Traces by OpenTelemetry, for who has set OTEL_… in the environment.

The packages come with the extra `otel`; without them a line in the log says so.
"""

from __future__ import annotations

import logging
import os
import threading
from typing import Any

from fastapi import FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send

from trunkline import __version__
from trunkline.jobs.telling import is_traced

log = logging.getLogger("trunkline.server")
_lock = threading.Lock()
_provider: Any = None


def start(name: str = "trunkline") -> bool:
    """Send the spans of this process where the environment says; whether it does."""
    global _provider
    if not is_traced():
        return False
    with _lock:
        if _provider is None:
            try:
                _provider = _provided(name)
            except ImportError as error:
                log.warning(
                    'OTEL_… asks for traces, but %s is missing: pip install "trunkline[otel]"',
                    error.name,
                )
                return False
    return True


def stop() -> None:
    """Send what is left. The process is about to end."""
    if _provider is not None:
        _provider.force_flush(5000)


def instrument(app: FastAPI) -> None:
    """A span for each request, with its id, if traces are wanted at all."""
    if not start():
        return
    try:
        from opentelemetry.instrumentation.fastapi import FastAPIInstrumentor
    except ImportError:
        log.warning('Requests are not traced: pip install "trunkline[otel]"')
        return
    FastAPIInstrumentor.instrument_app(
        app,
        tracer_provider=_provider,
        excluded_urls="healthz,readyz,metrics",
        exclude_spans=["receive", "send"],
    )
    app.add_middleware(_Named)


class _Named:
    """Puts the id of a request into its span."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        from opentelemetry.trace import get_current_span

        request_id = scope.get("state", {}).get("request_id")
        if request_id:
            get_current_span().set_attribute("trunkline.request_id", request_id)
        await self._app(scope, receive, send)


def _provided(name: str) -> Any:
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import (
        BatchSpanProcessor,
        ConsoleSpanExporter,
        SpanExporter,
    )

    facts = {"service.name": os.environ.get("OTEL_SERVICE_NAME") or name}
    provider = TracerProvider(resource=Resource.create({**facts, "service.version": __version__}))
    to_console = os.environ.get("OTEL_TRACES_EXPORTER") == "console"
    exporter: SpanExporter = ConsoleSpanExporter() if to_console else OTLPSpanExporter()
    provider.add_span_processor(BatchSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return provider
