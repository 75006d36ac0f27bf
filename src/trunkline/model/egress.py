"""Egress: where the output of a pipeline goes, and what became of each delivery."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from trunkline.model.commits import RepoName
from trunkline.model.time import Moment


@dataclass(frozen=True, slots=True)
class Target:
    """A place that gets the output. `kind` is folder, objects, sql, kafka, delta, iceberg or
    webhook; `options` are that kind's, checked. `secrets` are pairs of an option and the secret
    it gets. `path` is the table or folder of the output that is delivered.

    A delivery is tried `tries` times; the pause before the second is `backoff` seconds, and
    twice as long each time.
    """

    name: str
    kind: str
    path: str = "/"
    options: Mapping[str, Any] = field(default_factory=dict)
    secrets: tuple[tuple[str, str], ...] = ()
    tries: int = 10
    backoff: float = 1.0


class DeliveryState(StrEnum):
    """WAITING also between two tries. SKIPPED: a newer version went out instead."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"

    @property
    def is_over(self) -> bool:
        return self in (DeliveryState.DONE, DeliveryState.FAILED, DeliveryState.SKIPPED)


BLOCKED = "waits: "
"""Begins the reason of a delivery that goes out only when a person does something: settles one
before it, or resumes the pipeline."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """One version of a pipeline's output on its way to one target."""

    pipeline: RepoName
    commit: str
    """Also the id of the job that made it."""
    target: str
    kind: str
    state: DeliveryState
    reason: str = ""
    attempt: int = 0
    created: Moment = 0
    started: Moment | None = None
    finished: Moment | None = None
    next_try: Moment | None = None
    receipt: Mapping[str, Any] = field(default_factory=dict)
    """What was sent: rows, files, bytes, where, and what the target said."""

    @property
    def is_blocked(self) -> bool:
        return self.state is DeliveryState.WAITING and self.reason.startswith(BLOCKED)
