"""What datums printed: read from the store, while the job runs or afterwards."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import zstandard

from trunkline.engine.runner.task import read_lines
from trunkline.errors import CorruptObject
from trunkline.jobs.claims import parts_prefix
from trunkline.lake.core import Core
from trunkline.model.jobs import Job, LogLine
from trunkline.storage.catalog import jobs

LOOK_SECONDS = 0.5


def lines(
    core: Core, repo: int, job: Job, datum: str | None = None, follow: bool = False
) -> Iterator[LogLine]:
    """The lines of a job, or of one datum (by the first digits of its id), oldest first.

    With `follow` new lines are waited for until the job is over.
    """
    seen: set[str] = set()
    while True:
        with core.database.read() as session:
            now = jobs.find(session, repo, job.id)
        over = now is None or now.state.is_over
        yield from _new_lines(core, repo, job, datum, seen)
        if over or not follow:
            return
        time.sleep(LOOK_SECONDS)


def _new_lines(
    core: Core, repo: int, job: Job, datum: str | None, seen: set[str]
) -> Iterator[LogLine]:
    found: list[LogLine] = []
    for info in core.objects.list(parts_prefix(repo, job.id)):
        if info.key.endswith(".log") and info.key not in seen:
            seen.add(info.key)
            found += _read(core, job, info.key)
    for line in sorted(found, key=lambda one: one.at):
        if datum is None or line.datum.startswith(datum):
            yield line


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
