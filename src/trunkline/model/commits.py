"""Projects, repos, branches, tags and commits."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from trunkline.model.display import fields
from trunkline.model.shape import INTERNAL, as_json
from trunkline.model.time import Moment

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


@dataclass(frozen=True, slots=True)
class Repo:
    """A versioned tree of files. `size` is that of the head of its default branch."""

    name: RepoName
    kind: RepoKind
    description: str
    created: Moment
    branches: tuple[str, ...] = ()
    size: int = 0
    files: int = 0
    key: int = field(default=0, repr=False, compare=False, metadata=INTERNAL)

    def _repr_html_(self) -> str:
        return fields(f"Repo {self.name}", as_json(self))


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
    root: str | None = field(default=None, repr=False, compare=False, metadata=INTERNAL)
    root_hash: str | None = field(default=None, repr=False, compare=False, metadata=INTERNAL)
    depth: int = field(default=1, repr=False, compare=False, metadata=INTERNAL)
    generation: int = field(default=1, repr=False, compare=False, metadata=INTERNAL)
    forgotten: Moment | None = None

    @property
    def parents(self) -> tuple[str, ...]:
        return (self.parent, *self.merged) if self.parent else self.merged

    @property
    def short_id(self) -> str:
        return self.id[:12]

    def _repr_html_(self) -> str:
        return fields(f"Commit {self.short_id} of {self.repo}", as_json(self))


@dataclass(frozen=True, slots=True)
class Branch:
    """A name that points at a commit. `open` is a commit started on it and not yet finished."""

    repo: RepoName
    name: str
    head: str | None
    created: Moment
    open: str | None = None


@dataclass(frozen=True, slots=True)
class Tag:
    """A name that never moves."""

    repo: RepoName
    name: str
    commit: str
    message: str
    author: str
    created: Moment


@dataclass(frozen=True, slots=True)
class RepoCommit:
    """A commit named without its data: an edge of provenance, a member of a commit set."""

    repo: RepoName
    id: str
