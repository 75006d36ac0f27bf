"""One message for one cause: what comes again within a minute waits, and is told as one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import monotonic

from trunkline.model.commits import RepoName
from trunkline.notices.messages import Kind, Message

WINDOW_SECONDS = 60.0

Cause = tuple[Kind, RepoName]


class Grouping:
    """The first of a kind and pipeline goes out at once; those after it when a minute is over."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._sent: dict[Cause, float] = {}
        self._waiting: dict[Cause, list[Message]] = {}

    def add(self, message: Message) -> None:
        self._waiting.setdefault((message.kind, message.pipeline), []).append(message)

    def due(self) -> Iterator[Message]:
        """What is to be sent now. It waits on if the caller does not say `sent`."""
        now = self._clock()
        self._sent = {cause: at for cause, at in self._sent.items() if now - at < WINDOW_SECONDS}
        for cause, waiting in list(self._waiting.items()):
            if cause not in self._sent:
                yield waiting[-1].and_more(len(waiting) - 1)

    def sent(self, message: Message) -> None:
        cause = (message.kind, message.pipeline)
        self._waiting.pop(cause, None)
        self._sent[cause] = self._clock()

    def oldest(self) -> int | None:
        """The position of the first event whose message still waits."""
        held = [one.position for waiting in self._waiting.values() for one in waiting]
        return min((one for one in held if one), default=None)
