"""What deleting takes along, and what was deleted and can be had back."""

from __future__ import annotations

from dataclasses import dataclass, field

from trunkline.model.commits import RepoName
from trunkline.model.time import Moment

KINDS = ("repo", "branch", "tag", "pipeline", "env", "project", "commit")
"""What a deletion can be looked at of before it is done; a commit is forgotten."""


@dataclass(frozen=True, slots=True)
class Deleted:
    """A branch, tag, repo or pipeline that can be had back: until then, and until gc runs."""

    id: int
    kind: str
    repo: RepoName
    ref: str
    """The branch or tag; "" for a repo or a pipeline."""
    commit: str | None
    author: str
    at: Moment
    until: Moment
    takes: tuple[str, ...] = ()
    """What was deleted with it and comes back with it."""

    @property
    def name(self) -> str:
        return f"{self.repo}@{self.ref}" if self.ref else str(self.repo)


@dataclass(frozen=True, slots=True)
class Reader:
    """Somebody who needs what is to be deleted, or needed what was, in words."""

    repo: RepoName
    how: str


@dataclass(frozen=True, slots=True)
class Undeleted:
    """What was had back, and what is to be known of it."""

    kind: str
    name: str
    notes: tuple[str, ...] = ()
    readers: tuple[Reader, ...] = ()


@dataclass(frozen=True, slots=True)
class Deletion:
    """What deleting something would take. Nothing of it is done."""

    kind: str
    name: str
    commits: int = 0
    """That nothing else leads to."""
    files: int = 0
    bytes: int = 0
    """What these alone hold: gc frees it, in its time."""
    takes: tuple[str, ...] = ()
    """What goes with it."""
    readers: tuple[Reader, ...] = ()
    refused: str | None = None
    """Why it would be refused."""
    restorable_seconds: float | None = None
    """How long it can be had back at least; None: not at all."""
    notes: tuple[str, ...] = field(default=())
