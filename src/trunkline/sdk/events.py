"""What happens in a lake, as the lake's users see it."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from trunkline.model.events import Event
from trunkline.sdk.base import LakeBase
from trunkline.storage.catalog import events
from trunkline.storage.catalog.bell import bell_of

LOOK_SECONDS = 0.25
_PAGE = 1000


class Events(LakeBase):
    """The outbox of a lake."""

    def events(
        self, since: int | None = None, kinds: Collection[str] = (), follow: bool = False
    ) -> Iterator[Event]:
        """What happened after the position `since`, oldest first: commit, job, branch, …

        Without `since` these are all that are kept or, with `follow`, those that are still to
        come. With `follow` there is no end: it waits for more.
        """
        if since is None:
            since = self._newest_event() if follow else 0
        return self._events_after(since, tuple(kinds), follow)

    def _newest_event(self) -> int:
        with self._core.database.read() as session:
            return events.last(session)

    def _events_after(self, position: int, kinds: tuple[str, ...], follow: bool) -> Iterator[Event]:
        bell = bell_of(self._core.database.url)
        while True:
            seen = bell.count()
            with self._core.database.read() as session:
                found = events.listed(session, position, kinds=kinds, limit=_PAGE)
            yield from found
            if found:
                position = found[-1].position
            if len(found) < _PAGE:
                if not follow:
                    return
                bell.wait(seen, LOOK_SECONDS)
