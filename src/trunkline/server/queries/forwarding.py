"""Spark's queries: asked of the worker's process, which has the Spark, over its unix socket.

The socket is the worker's own and only its parent's to open: who asks is said in a header, and
believed. No other door believes it.
"""

from __future__ import annotations

import json
import socket
import time
from pathlib import Path

import httpx2
from fastapi import Request
from pydantic import ValidationError

from trunkline.errors import TrunklineError, Unavailable, Usage
from trunkline.model.access import Principal
from trunkline.query.result import Result, Stop
from trunkline.sdk.remote.client import CONNECT_SECONDS, READ_SECONDS, Client
from trunkline.sdk.remote.results import RemoteAnswer
from trunkline.sdk.wire.sql import NewQuery
from trunkline.sdk.wire.values import API, adapter

PRINCIPAL = "X-Trunkline-Principal"
STARTING_SECONDS = 30.0


def forwarded_principal(request: Request) -> Principal | None:
    """Who asks, as the server says that passes it on; on no other way in than a unix socket.

    To be asked only where that socket is the worker's, which nobody but its user can open.
    """
    told = request.headers.get(PRINCIPAL)
    _, port = request.scope.get("server") or ("", 0)
    if told is None or port is not None:
        return None
    try:
        found: Principal = adapter(Principal).validate_json(told)
    except ValidationError:
        raise Usage(f"The header {PRINCIPAL} cannot be read.") from None
    return found


class SocketClient(Client):
    """The way to a worker's process, in the name of who asks."""

    def __init__(self, path: Path, who: Principal) -> None:
        self.url = "http://worker"
        self._http = httpx2.Client(
            base_url=self.url + API,
            transport=httpx2.HTTPTransport(uds=str(path)),
            headers={PRINCIPAL: json.dumps(adapter(Principal).dump_python(who, mode="json"))},
            timeout=httpx2.Timeout(READ_SECONDS, connect=CONNECT_SECONDS),
            trust_env=False,
        )

    def _unreachable(self, error: Exception) -> TrunklineError:
        return Unavailable("The worker that runs Spark has gone away.", hint="Ask again.")


def ask_worker(path: Path, who: Principal, asked: NewQuery, stop: Stop) -> Result:
    """The query as the worker answers it. Its rows come as they are read."""
    _wait_for(path)
    answer = RemoteAnswer(SocketClient(path, who), asked, stop)
    return Result(answer, asked.text, answer.sources)


def _wait_for(path: Path) -> None:
    """A worker that has just been started does not listen yet."""
    until = time.monotonic() + STARTING_SECONDS
    while True:
        with socket.socket(socket.AF_UNIX) as door:
            try:
                door.connect(str(path))
                return
            except OSError:
                if time.monotonic() > until:
                    raise Unavailable(
                        "The worker that runs Spark does not answer.", hint="Ask again."
                    ) from None
        time.sleep(0.1)
