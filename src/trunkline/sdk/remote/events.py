"""What happens in a lake, through a server."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator

from trunkline.errors import Unavailable
from trunkline.model.events import Event
from trunkline.sdk.events import Events
from trunkline.sdk.remote.base import RemoteBase
from trunkline.sdk.remote.following import lines_of
from trunkline.sdk.wire.values import decode

AWAY_SECONDS = 60.0
"""A server that is away for longer is not waited for."""
AGAIN_SECONDS = 0.5


class RemoteEvents(RemoteBase, Events):
    def events(
        self, since: int | None = None, kinds: Collection[str] = (), follow: bool = False
    ) -> Iterator[Event]:
        wanted = ",".join(kinds) or None
        if follow:
            return self._followed(since, wanted)
        found: Iterator[Event] = self._client.pages(
            Event, "/events/history", since=since or 0, kinds=wanted
        )
        return found

    def _followed(self, position: int | None, kinds: str | None) -> Iterator[Event]:
        """Events until the caller has enough. A connection that breaks is made again."""
        heard = time.monotonic()
        while True:
            try:
                with self._client.stream("GET", "/events", since=position, kinds=kinds) as answer:
                    for line in lines_of(answer):
                        heard = time.monotonic()
                        name, _, value = line.decode().partition(": ")
                        if name == "data":
                            event: Event = decode(Event, value.encode())
                            yield event
                        elif name == "id":
                            position = int(value)
                        elif name == "" and position is None:
                            position = self._begin(value)
            except Unavailable:
                if time.monotonic() - heard > AWAY_SECONDS:
                    raise
            time.sleep(AGAIN_SECONDS)

    @staticmethod
    def _begin(comment: str) -> int | None:
        """Where the server begins when it is not told: to go on there if nothing came at all."""
        word, _, position = comment.partition(" after ")
        return int(position) if word == "listening" and position.isdigit() else None
