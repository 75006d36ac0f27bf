"""Projects, repos, branches, tags and commits."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from trunkline.model.display import fields
from trunkline.model.time import Moment, to_rfc3339

DEFAULT_PROJECT = "default"
DEFAULT_BRANCH = "main"


class Origin(StrEnum):
    """Who caused a commit."""

    USER = "user"
    MERGE = "merge"
    REVERT = "revert"
    CHERRY_PICK = "cherry-pick"
    PIPELINE = "pipeline"
    SCHEDULE = "schedule"
    INGEST = "ingest"


class RepoKind(StrEnum):
    """What a repo is for. Only `USER` repos are written to by people."""

    USER = "user"
    OUTPUT = "output"
    CRON = "cron"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True, order=True)
class RepoName:
    project: str
    repo: str

    def __str__(self) -> str:
        return self.repo if self.project == DEFAULT_PROJECT else f"{self.project}/{self.repo}"


@dataclass(frozen=True, slots=True)
class Project:
    name: str
    description: str
    created: Moment
    repos: int = 0

    def to_dict(self) -> dict[str, object]:
        return {
            "name": self.name,
            "description": self.description,
            "repos": self.repos,
            "created": to_rfc3339(self.created),
        }


@dataclass(frozen=True, slots=True)
class Repo:
    """A versioned tree of files. `size` is that of the head of its default branch."""

    key: int = field(repr=False)
    name: RepoName
    kind: RepoKind
    description: str
    created: Moment
    branches: tuple[str, ...] = ()
    size: int = 0
    files: int = 0

    def to_dict(self) -> dict[str, object]:
        return {
            "name": self.name.repo,
            "project": self.name.project,
            "kind": str(self.kind),
            "description": self.description,
            "size": self.size,
            "files": self.files,
            "branches": list(self.branches),
            "created": to_rfc3339(self.created),
        }

    def _repr_html_(self) -> str:
        return fields(f"Repo {self.name}", self.to_dict())


@dataclass(frozen=True, slots=True)
class Commit:
    """An immutable tree with its message, author, parents and time.

    `depth` counts from the first commit along first parents (the n of `branch.n`);
    `generation` is one more than the greatest of its parents', so parents sort before children.
    """

    id: str
    repo: RepoName
    branch: str
    parent: str | None
    message: str
    author: str
    started: Moment
    finished: Moment | None
    origin: Origin
    error: str | None = None
    files: int = 0
    size: int = 0
    merged: tuple[str, ...] = ()
    root: str | None = field(default=None, repr=False)
    root_hash: str | None = field(default=None, repr=False)
    depth: int = field(default=1, repr=False)
    generation: int = field(default=1, repr=False)
    forgotten: Moment | None = None

    @property
    def parents(self) -> tuple[str, ...]:
        return (self.parent, *self.merged) if self.parent else self.merged

    @property
    def short_id(self) -> str:
        return self.id[:12]

    def to_dict(self) -> dict[str, object]:
        return {
            "id": self.id,
            "repo": self.repo.repo,
            "project": self.repo.project,
            "branch": self.branch,
            "parent": self.parent,
            "parents": list(self.parents),
            "message": self.message,
            "author": self.author,
            "started": to_rfc3339(self.started),
            "finished": to_rfc3339(self.finished) if self.finished is not None else None,
            "size": self.size,
            "files": self.files,
            "origin": str(self.origin),
            "error": self.error,
            "forgotten": to_rfc3339(self.forgotten) if self.forgotten is not None else None,
        }

    def _repr_html_(self) -> str:
        return fields(f"Commit {self.short_id} of {self.repo}", self.to_dict())


@dataclass(frozen=True, slots=True)
class Branch:
    """A name that points at a commit. `open` is a commit started on it and not yet finished."""

    repo: RepoName
    name: str
    head: str | None
    created: Moment
    open: str | None = None

    def to_dict(self) -> dict[str, object]:
        return {
            "name": self.name,
            "repo": self.repo.repo,
            "project": self.repo.project,
            "head": self.head,
            "open": self.open,
            "created": to_rfc3339(self.created),
        }


@dataclass(frozen=True, slots=True)
class Tag:
    """A name that never moves."""

    repo: RepoName
    name: str
    commit: str
    message: str
    author: str
    created: Moment

    def to_dict(self) -> dict[str, object]:
        return {
            "name": self.name,
            "repo": self.repo.repo,
            "project": self.repo.project,
            "commit": self.commit,
            "message": self.message,
            "author": self.author,
            "created": to_rfc3339(self.created),
        }


@dataclass(frozen=True, slots=True)
class RepoCommit:
    """A commit named without its data: an edge of provenance, a member of a commit set."""

    repo: RepoName
    id: str

    def to_dict(self) -> dict[str, object]:
        return {"project": self.repo.project, "repo": self.repo.repo, "id": self.id}
