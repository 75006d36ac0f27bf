"""What a server says of itself, of its workers, and of the jobs that they run."""

from __future__ import annotations

from dataclasses import dataclass

from trunkline.model.jobs import Job
from trunkline.model.streams import Batch
from trunkline.model.time import Moment

API_VERSION = 1
"""Raised when an older client would misread an answer. New fields and routes do not count."""
API_HEADER = "X-Trunkline-Api"


@dataclass(frozen=True, slots=True)
class Info:
    """Which server this is. `user` is who asks, where it knows."""

    version: str
    api: int
    name: str = "trunkline"
    authenticated: bool = False
    user: str | None = None
    features: tuple[str, ...] = ()
    workers: int = 0


@dataclass(frozen=True, slots=True)
class RanJob:
    """A job as it is now. One of a stream has its batch, where it made a commit."""

    job: Job
    batch: Batch | None = None


@dataclass(frozen=True, slots=True)
class Running:
    """Jobs that are not over, and those that ended since a moment; `now` is the server's.

    Of very many that are not over these are the newest; `oldest` is when the first was made.
    """

    now: Moment
    unfinished: list[Job]
    ended: list[RanJob]
    oldest: Moment | None = None


@dataclass(frozen=True, slots=True)
class Fired:
    """How many slots and streams were due."""

    fired: int
