"""From events to messages, and the messages to those who are to have them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from time import monotonic
from typing import Protocol

from trunkline.lake.core import Core
from trunkline.model.egress import DeliveryState
from trunkline.model.events import Event
from trunkline.model.expectations import CheckState
from trunkline.model.jobs import Job, JobState
from trunkline.model.verification import Verdict
from trunkline.notices.follower import NotNow
from trunkline.notices.grouping import Grouping
from trunkline.notices.lateness import Lateness
from trunkline.notices.messages import Kind, Message
from trunkline.storage.catalog import Session, checks, deliveries, jobs, repos

LATE_SECONDS = 15.0
"""So often it is looked for what is late."""
GIVE_UP_SECONDS = 3600.0
"""A message that cannot be delivered for so long is dropped: it is no news any more."""
_RECENT = 50

log = logging.getLogger("trunkline.notices")


class Channel(Protocol):
    """A way to tell people. Raises `NotNow` if it may work later."""

    @property
    def name(self) -> str: ...

    def send(self, message: Message) -> None: ...


class Noticing:
    """The handler of a follower that tells people, by one channel: others do not wait for it."""

    def __init__(
        self,
        core: Core,
        wanted: frozenset[Kind],
        channel: Channel,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._core = core
        self._wanted = wanted
        self._channel = channel
        self._clock = clock
        self._grouping = Grouping(clock)
        self._lateness = Lateness(core)
        self._looked = -LATE_SECONDS
        self._failing: float | None = None

    def handle(self, new: Sequence[Event]) -> None:
        over = [one for one in new if one.kind in ("job", "schedule", "delivery", "verify")]
        if not over:
            return
        with self._core.database.read() as session:
            found = [message for event in over for message in self._of_event(session, event)]
        for message in found:
            self._add(message)

    def tick(self) -> None:
        now = self._clock()
        if now - self._looked > LATE_SECONDS and self._wanted & {Kind.LATE, Kind.RECOVERED}:
            self._looked = now
            for message in self._lateness.changes():
                self._add(message)
        for message in list(self._grouping.due()):
            self._send(message)

    def settled(self, position: int) -> int:
        oldest = self._grouping.oldest()
        return position if oldest is None else min(position, oldest - 1)

    def _add(self, message: Message) -> None:
        if message.kind in self._wanted:
            self._grouping.add(message)

    def _send(self, message: Message) -> None:
        try:
            self._channel.send(message)
        except NotNow:
            now = self._clock()
            self._failing = now if self._failing is None else self._failing
            if now - self._failing < GIVE_UP_SECONDS:
                raise
            log.error("%s: given up: %s", self._channel.name, message.title)
        else:
            self._failing = None
        self._grouping.sent(message)

    def _of_event(self, session: Session, event: Event) -> Iterator[Message]:
        if event.kind == "schedule":
            missed = event.facts.get("missed_up_to")
            if missed:
                text = f"is late: its ticks up to {missed} were missed"
                yield Message(Kind.LATE, event.repo, text, event.at, position=event.position)
            return
        if event.kind == "delivery":
            yield from _of_delivery(session, event)
            return
        if event.kind == "verify":
            if not Verdict(event.facts["verdict"]).is_good:
                text = f"is not what a run from scratch gives: {event.facts['verdict']}"
                yield Message(
                    Kind.CHECK_FAILED, event.repo, text, event.at, position=event.position
                )
            return
        state = event.facts.get("state")
        if state not in (JobState.SUCCESS, JobState.FAILURE, JobState.KILLED):
            return
        repo = repos.key_of(session, event.repo)
        job = jobs.find(session, repo, event.facts["id"]) if repo is not None else None
        if repo is None or job is None or job.environment:
            return  # in an environment somebody tries things, and looks
        broken = checks.listed(session, repo=repo, job=job.id, state=CheckState.FAILED)
        names = tuple(one.result.name for one in broken)
        if names and Kind.CHECK_FAILED in self._wanted:
            text = f"broke its expectations: {', '.join(names)}"
            yield self._message(Kind.CHECK_FAILED, job, text, event, names)
        elif job.is_failure:
            yield self._message(Kind.FAILED, job, "failed", event, names)
        if job.state is JobState.SUCCESS and _failed_before(session, repo, job):
            yield self._message(Kind.RECOVERED, job, "works again", event)

    def _message(
        self, kind: Kind, job: Job, text: str, event: Event, names: tuple[str, ...] = ()
    ) -> Message:
        return Message(
            kind,
            job.pipeline,
            text,
            job.finished or event.at,
            job.id,
            job.reason if job.is_failure else "",
            names,
            position=event.position,
        )


def _of_delivery(session: Session, event: Event) -> Iterator[Message]:
    job, target = str(event.facts["id"]), str(event.facts["target"])
    repo = repos.key_of(session, event.repo)
    found = deliveries.find(session, repo, job, target) if repo is not None else None
    if event.facts["state"] == DeliveryState.FAILED and found is not None:
        text, reason = f"could not be delivered to {target}", found.shown.reason
        at, place = event.at, event.position
        yield Message(Kind.FAILED, event.repo, text, at, job, reason, position=place)
    elif event.facts.get("recovered"):
        text = f"is delivered to {target} again"
        yield Message(Kind.RECOVERED, event.repo, text, event.at, job, position=event.position)


def _failed_before(session: Session, repo: int, job: Job) -> bool:
    """Whether the job before this one, of those that ran to an end, failed."""
    for one in jobs.listed(session, repo=repo, limit=_RECENT):
        if one.branch != job.branch or (one.created, one.id) >= (job.created, job.id):
            continue
        if one.state is JobState.SUCCESS or one.is_failure:
            return one.is_failure
    return False
