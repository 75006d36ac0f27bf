"""What is late: streams that leave commits unread, schedules that nobody fires."""

from __future__ import annotations

from collections.abc import Iterator

from trunkline.errors import TrunklineError
from trunkline.jobs.streaming.status import BEHIND_SECONDS, streams
from trunkline.lake.core import Core
from trunkline.model.commits import RepoName
from trunkline.model.streams import FlowState
from trunkline.notices.messages import Kind, Message
from trunkline.pipelines.cron import slot_name
from trunkline.schedule.timetable import timetable
from trunkline.storage.catalog import pipelines, timing

OVERDUE_MICROS = 60 * 1_000_000
"""A slot that was not fired for so long after its time is late."""


class Lateness:
    """Remembers what was late, so that it is told once, and that it no longer is."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._late: dict[RepoName, str] = {}

    def changes(self) -> Iterator[Message]:
        now, found = self._look()
        for name, text in found.items():
            if name not in self._late:
                yield Message(Kind.LATE, name, text, now)
        for name in self._late:
            if name not in found:
                yield Message(Kind.RECOVERED, name, "is on time again", now)
        self._late = found

    def _look(self) -> tuple[int, dict[RepoName, str]]:
        with self._core.database.read() as session:
            now = session.now()
            rows = timing.crons(session)
            names = {
                row.repo: row.name for row in pipelines.all_pipelines(session) if not row.paused
            }
        found: dict[RepoName, str] = {}
        for row in rows:
            name = names.get(row.pipeline)
            if name is None:
                continue
            try:
                due = timetable(row).next(row.slot)
            except TrunklineError:
                continue  # the ticker says what is wrong with it
            if due is not None and now - due > OVERDUE_MICROS:
                found[name] = f"is late: its tick for {slot_name(due)} was not fired"
        for stream in streams(self._core, None):
            behind = stream.lag_seconds
            if behind > BEHIND_SECONDS and stream.state is not FlowState.PAUSED:
                found[stream.name] = f"is late: {behind:.0f} s behind"
        return now, found
