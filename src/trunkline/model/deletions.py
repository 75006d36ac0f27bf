"""What deleting takes along, and what was deleted and can be had back."""

from __future__ import annotations

from dataclasses import dataclass, field

from trunkline.model.commits import RepoName
from trunkline.model.time import Moment, to_rfc3339

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

    def to_dict(self) -> dict[str, object]:
        return {
            "id": self.id,
            "kind": self.kind,
            "repo": self.repo.repo,
            "project": self.repo.project,
            "ref": self.ref,
            "commit": self.commit,
            "author": self.author,
            "at": to_rfc3339(self.at),
            "until": to_rfc3339(self.until),
            "takes": list(self.takes),
        }


@dataclass(frozen=True, slots=True)
class Undeleted:
    """What was had back, and what is to be known of it."""

    kind: str
    name: str
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, object]:
        return {"kind": self.kind, "name": self.name, "notes": list(self.notes)}


@dataclass(frozen=True, slots=True)
class Reader:
    """Somebody who needs what is to be deleted, in words."""

    repo: RepoName
    how: str

    def to_dict(self) -> dict[str, object]:
        return {"project": self.repo.project, "repo": self.repo.repo, "how": self.how}


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

    def to_dict(self) -> dict[str, object]:
        return {
            "kind": self.kind,
            "name": self.name,
            "commits": self.commits,
            "files": self.files,
            "bytes": self.bytes,
            "takes": list(self.takes),
            "readers": [one.to_dict() for one in self.readers],
            "refused": self.refused,
            "restorable_seconds": self.restorable_seconds,
            "notes": list(self.notes),
        }
