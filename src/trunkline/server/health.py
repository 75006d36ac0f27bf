"""Whether the server lives, and whether it can do its work."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import monotonic
from weakref import WeakKeyDictionary

from fastapi import Response

from trunkline.errors import TrunklineError
from trunkline.server.calls import PUBLIC, Caller, Routes
from trunkline.server.service import Service
from trunkline.storage.catalog.open import read_format

routes = Routes(tags=["health"], prefix="")

_PROBE = "lake.probe"
OK = "ok"
KNOWN_SECONDS = 1.0
_asked: WeakKeyDictionary[Service, tuple[float, dict[str, str]]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Alive:
    status: str = OK


@dataclass(frozen=True, slots=True)
class Ready:
    """Each part with "ok", or with the kind of its trouble: this is for everybody to read."""

    status: str
    parts: dict[str, str] = field(default_factory=dict)


@routes.GET("/healthz", PUBLIC)
async def alive() -> Alive:
    """The process answers."""
    return Alive()


@routes.GET("/readyz", PUBLIC, responses={503: {"model": Ready}})
def ready(call: Caller, response: Response) -> Ready:
    """The catalog and the store answer, and the server is not about to stop."""
    parts = {**_stores(call.service), "server": "stopping" if call.service.stopping else OK}
    good = all(state == OK for state in parts.values())
    if not good:
        response.status_code = 503
        response.headers["Retry-After"] = "1"
    response.headers["Cache-Control"] = "no-store"
    return Ready(OK if good else "unavailable", parts)


def _stores(service: Service) -> dict[str, str]:
    """What both stores say, asked once a second at most: everybody may ask."""
    at, parts = _asked.get(service, (0.0, {}))
    if monotonic() - at > KNOWN_SECONDS:
        parts = {"catalog": _catalog(service), "store": _store(service)}
        _asked[service] = monotonic(), parts
    return parts


def _catalog(service: Service) -> str:
    try:
        read_format(service.lake._core.database)
    except TrunklineError as error:
        return error.code
    return OK


def _store(service: Service) -> str:
    try:
        service.lake._core.objects.head(_PROBE)
    except FileNotFoundError:
        pass  # so it answers
    except TrunklineError as error:
        return error.code
    return OK
