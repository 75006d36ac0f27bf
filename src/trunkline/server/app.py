"""The application: routes under /api/v1, one shape of errors, an id for every request."""

from __future__ import annotations

import re
from uuid import uuid4

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from trunkline import __version__
from trunkline.sdk.wire.values import API, REQUEST_ID
from trunkline.server import failures
from trunkline.server.routes import (
    access,
    events,
    files,
    flows,
    history,
    jobs,
    pipelines,
    repos,
    sql,
    tables,
    upkeep,
)
from trunkline.server.service import Service

ROUTES = tuple(
    noun.routes
    for noun in (
        repos,
        files,
        history,
        upkeep,
        pipelines,
        jobs,
        flows,
        tables,
        sql,
        access,
        events,
    )
)
_request_id = re.compile(r"[A-Za-z0-9._-]{1,64}\Z")


def create_app(service: Service) -> FastAPI:
    app = FastAPI(
        title="Trunkline",
        version=__version__,
        summary="A versioned data lake whose pipelines run when the data changes.",
        docs_url=f"{API}/docs",
        openapi_url=f"{API}/openapi.json",
        redoc_url=None,
        generate_unique_id_function=_operation,
    )
    app.state.service = service
    failures.install(app)
    for routes in ROUTES:
        app.include_router(routes, prefix=API)
    app.add_middleware(RequestIds)
    return app


def _operation(route: APIRoute) -> str:
    """Names of operations for generated clients: `repos_create_repo`."""
    return f"{route.tags[0]}_{route.name}" if route.tags else route.name


class RequestIds:
    """Gives every request an id, or keeps the one it came with, and says it in the answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = next((v for k, v in scope["headers"] if k == b"x-request-id"), b"").decode(
            "latin-1"
        )
        request_id = given if _request_id.match(given) else uuid4().hex
        scope.setdefault("state", {})["request_id"] = request_id

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[REQUEST_ID] = request_id
            await send(message)

        await self._app(scope, receive, sending)
