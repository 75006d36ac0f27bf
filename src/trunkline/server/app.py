"""The application: routes under /api/v1, one shape of errors, what can be seen of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from anyio.to_thread import run_sync
from fastapi import FastAPI

from trunkline import __version__
from trunkline.server import console, failures, health, metrics, tracing
from trunkline.server.auth import guards
from trunkline.server.auth.standing import StillAllowed
from trunkline.server.etags import ETags
from trunkline.server.iceberg.app import IcebergDoor
from trunkline.server.idempotency import IdempotencyKeys
from trunkline.server.logs import RequestIds
from trunkline.server.metrics import Measured
from trunkline.server.queries.keeper import close_queries
from trunkline.server.routes import (
    access,
    checks,
    comparing,
    content,
    deletions,
    docs,
    egress,
    environments,
    events,
    files,
    flows,
    history,
    info,
    jobs,
    lineage,
    logins,
    overview,
    pipelines,
    repos,
    sql,
    tables,
    transactions,
    upkeep,
)
from trunkline.server.service import Service
from trunkline.server.stopping import CutOff
from trunkline.server.version import ApiVersion

ROUTES = tuple(
    noun.routes
    for noun in (
        repos,
        deletions,
        files,
        content,
        transactions,
        history,
        upkeep,
        lineage,
        overview,
        pipelines,
        environments,
        jobs,
        flows,
        egress,
        tables,
        comparing,
        checks,
        sql,
        access,
        logins,
        events,
        info,
        docs,
    )
)
ROOT_ROUTES = (health.routes, metrics.routes, console.routes)
OUTER = (ApiVersion, RequestIds, Measured, CutOff)
"""Middlewares, the outermost first: these see every request, also what is refused."""
INNER = (StillAllowed, IdempotencyKeys, ETags, IcebergDoor)


def create_app(service: Service) -> FastAPI:
    app = FastAPI(
        title="Trunkline",
        version=__version__,
        summary="A versioned data lake whose pipelines run when the data changes.",
        docs_url=None,
        openapi_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=_lifespan,
    )
    app.state.service = service
    failures.install(app)
    metrics.install(app, service)
    for routes in (*ROUTES, *ROOT_ROUTES):
        # Not `include_router`: it keeps routers inside each other, and looks through them anew
        # for each request.
        app.router.routes.extend(routes.routes)
    console.install(app)
    tracing.instrument(app)
    for inner in reversed(INNER):
        app.add_middleware(inner)
    guards.install(app, service)
    for outer in reversed(OUTER):
        app.add_middleware(outer)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    service: Service = app.state.service
    if service.engine != "here":  # a worker's own app: nobody listens there
        await run_sync(service.hub.start)
    try:
        yield
    finally:
        await run_sync(service.stop)
        await run_sync(close_queries, service)
