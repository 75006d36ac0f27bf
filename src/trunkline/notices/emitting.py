"""Where OpenLineage events go: to a file, a line each, or to a server."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from openlineage.client.serde import Serde

from trunkline.lake.core import Core
from trunkline.model.events import Event
from trunkline.notices.follower import NotNow
from trunkline.notices.lineage import LineageEvents
from trunkline.notices.sending import Post

TOKEN_SECRET = "openlineage.token"
ENDPOINT = "/api/v1/lineage"


class Sink(Protocol):
    def __call__(self, line: bytes) -> None: ...


class ToFile:
    """Adds lines to a file. A line is written at once, so readers see whole ones."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __call__(self, line: bytes) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            try:
                os.write(handle, line + b"\n")
            finally:
                os.close(handle)
        except OSError as error:
            raise NotNow(f"{self._path}: {error.strerror}") from error


class ToServer:
    """Posts to a server; its address may leave out /api/v1/lineage. The secret
    "openlineage.token" is sent along if it is set.
    """

    def __init__(self, url: str, secret: Callable[[str], str | None]) -> None:
        whole = urlsplit(url).path.strip("/")
        self._post = Post(url if whole else url.rstrip("/") + ENDPOINT)
        self._secret = secret

    def __call__(self, line: bytes) -> None:
        token = self._secret(TOKEN_SECRET)
        self._post(line, {"Authorization": f"Bearer {token}"} if token else {})


class Emitting:
    """The handler of the follower that tells OpenLineage of jobs."""

    def __init__(self, core: Core, namespace: str, sinks: Sequence[Sink]) -> None:
        self._events = LineageEvents(core, namespace)
        self._sinks = sinks
        self._done = 0

    def handle(self, new: Sequence[Event]) -> None:
        for event in new:
            if event.kind == "job" and event.position > self._done:
                for one in self._events.of(event.repo, event.facts["id"], event.facts["state"]):
                    line = Serde.to_json(one).encode()
                    for sink in self._sinks:
                        sink(line)
            # Should a later one fail, this one is not told again.
            self._done = event.position

    def tick(self) -> None:
        """Nothing to do between events."""

    def settled(self, position: int) -> int:
        return position
