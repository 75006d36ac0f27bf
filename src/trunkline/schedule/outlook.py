"""What a schedule will do, for people to read."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from trunkline.errors import InvalidSchedule
from trunkline.lake.core import Core
from trunkline.lake.pipelines import require
from trunkline.model.commits import RepoName
from trunkline.model.time import Moment
from trunkline.schedule.ticks import schedules
from trunkline.schedule.timetable import timetable
from trunkline.storage.catalog import Session, pipelines, timing
from trunkline.storage.catalog.timing import CronRow


@dataclass(frozen=True, slots=True)
class NextTick:
    """A tick to come: for which pipeline, in which repo, and when."""

    pipeline: RepoName
    repo: RepoName
    at: Moment


def next_ticks(core: Core, pipeline: RepoName | None = None, n: int = 5) -> list[NextTick]:
    """The next `n` ticks of a pipeline, or of all pipelines together, in order of time."""
    with core.database.read() as session:
        now = session.now()
        if pipeline is None:
            rows = timing.crons(session)
        else:
            rows = timing.crons(session, require(session, pipeline).repo)
        names = {row.repo: row.name for row in pipelines.all_pipelines(session)}
    ahead = [_ticks(names[row.pipeline], row, now) for row in rows]
    return list(islice(heapq.merge(*ahead, key=lambda tick: tick.at), n))


def _ticks(pipeline: RepoName, row: CronRow, now: int) -> Iterator[NextTick]:
    try:
        coming = timetable(row).coming(row.slot, now)
    except InvalidSchedule:
        return
    for slot in coming:
        yield NextTick(pipeline, row.name, slot)


def in_words(session: Session, pipeline: RepoName) -> str:
    """When a pipeline ticks: `every day at 06:00 (Europe/Berlin)`. Several schedules are named."""
    found = schedules(session, pipeline)
    words = {name: _words(row) for name, row in found.items()}
    if len(words) == 1:
        return next(iter(words.values()))
    return "; ".join(f"{name}: {text}" for name, text in words.items())


def _words(row: CronRow) -> str:
    try:
        return timetable(row).words
    except InvalidSchedule:
        return row.ticks.cron
