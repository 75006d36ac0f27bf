"""What datums printed: read from the store, while the job runs or afterwards."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import zstandard
from blake3 import blake3

from trunkline.engine.runner.task import read_lines
from trunkline.errors import CorruptObject
from trunkline.jobs.claims import parts_prefix
from trunkline.lake.core import Core
from trunkline.model.jobs import Job, LogLine
from trunkline.storage.catalog import jobs

LOOK_SECONDS = 0.5


Position = dict[str, int]
"""What was read: the number of the newest log of each writer, by a digest of its name."""


def lines(
    core: Core, repo: int, job: Job, datum: str | None = None, follow: bool = False
) -> Iterator[LogLine]:
    """The lines of a job, or of one datum (by the first digits of its id), oldest first.

    With `follow` new lines are waited for until the job is over.
    """
    tail = Tail(core, repo, job, datum)
    while True:
        found, over = tail.look()
        yield from found
        if over or not follow:
            return
        time.sleep(LOOK_SECONDS)


class Tail:
    """The lines of a job as they come, after a position."""

    def __init__(
        self,
        core: Core,
        repo: int,
        job: Job,
        datum: str | None = None,
        after: Position | None = None,
    ) -> None:
        self.position: Position = dict(after or {})
        self._core = core
        self._repo = repo
        self._job = job
        self._datum = datum or ""
        self._before = dict(self.position)
        self._seen: set[str] = set()

    def look(self) -> tuple[list[LogLine], bool]:
        """The lines that are new, in order of time; whether there will be no others."""
        with self._core.database.read() as session:
            now = jobs.find(session, self._repo, self._job.id)
        over = now is None or now.state.is_over
        found: list[LogLine] = []
        for info in self._core.objects.list(parts_prefix(self._repo, self._job.id)):
            if info.key.endswith(".log") and info.key not in self._seen:
                self._seen.add(info.key)
                found += self._unread(info.key)
        found.sort(key=lambda one: one.at)
        return [line for line in found if line.datum.startswith(self._datum)], over

    def _unread(self, key: str) -> Iterator[LogLine]:
        writer, number = _writer_of(key)
        if number <= self._before.get(writer, -1):
            return
        yield from _read(self._core, self._job, key)
        self.position[writer] = max(number, self.position.get(writer, -1))


def _writer_of(key: str) -> tuple[str, int]:
    """Who wrote a log, and which of the writer's it is: they are numbered as they are made."""
    stem, _, number = key.removesuffix(".log").rpartition("x")
    try:
        return blake3(stem.encode()).hexdigest(8), int(number, 16)
    except ValueError:
        return blake3(key.encode()).hexdigest(8), 0


def _read(core: Core, job: Job, key: str) -> Iterator[LogLine]:
    try:
        raw = read_lines(core.objects.get(key))
    except (FileNotFoundError, zstandard.ZstdError):
        raise CorruptObject(f"The log {key} is missing or damaged.") from None
    for line in raw:
        one = json.loads(line)
        yield LogLine(
            one["at"], job.id, str(job.pipeline), one["datum"], one["stream"], one["text"]
        )
