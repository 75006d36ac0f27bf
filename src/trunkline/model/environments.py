"""Environments: a branch of every repo of a project, and the pipelines that run on them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from trunkline.model.commits import RepoName
from trunkline.model.time import Moment


@dataclass(frozen=True, slots=True)
class Environment:
    """A project seen through branches of its own."""

    project: str
    name: str
    base: str
    created: Moment
    author: str

    def branch(self, name: str) -> str:
        """What stands for a branch here: the environment's own name for that of its base."""
        return self.name if name == self.base else f"{self.name}.{name}"

    def owns(self, branch: str) -> bool:
        return branch == self.name or branch.startswith(f"{self.name}.")

    def origin(self, branch: str) -> str:
        """The branch that one of its own stands for."""
        return self.base if branch == self.name else branch.removeprefix(f"{self.name}.")


class CodeState(StrEnum):
    """How a pipeline in an environment is to that of its base."""

    SAME = "same"
    NEW = "new"
    CHANGED = "changed"
    DELETED = "deleted"
    BEHIND = "behind"
    """Only the base has another version by now, or none."""
    CONFLICT = "conflict"
    """Both have another version by now."""

    @property
    def is_own(self) -> bool:
        """Whether the environment has something that its base has not."""
        return self in (CodeState.NEW, CodeState.CHANGED, CodeState.DELETED, CodeState.CONFLICT)


class DataState(StrEnum):
    """How a branch in an environment is to the one it stands for."""

    SAME = "same"
    AHEAD = "ahead"
    BEHIND = "behind"
    DIVERGED = "diverged"

    @property
    def is_own(self) -> bool:
        return self in (DataState.AHEAD, DataState.DIVERGED)


@dataclass(frozen=True, slots=True)
class PipelineState:
    """A pipeline in an environment. Version 0 is none."""

    name: RepoName
    state: CodeState
    version: int
    base_version: int
    last_job: str | None = None
    last_state: str | None = None


@dataclass(frozen=True, slots=True)
class BranchState:
    """A branch in an environment: commits that it has and its base has not, and the reverse."""

    repo: RepoName
    branch: str
    base: str
    state: DataState
    kind: str
    ahead: int = 0
    behind: int = 0


@dataclass(frozen=True, slots=True)
class EnvironmentStatus:
    """An environment, and where it is not as its base."""

    environment: Environment
    pipelines: tuple[PipelineState, ...]
    branches: tuple[BranchState, ...]
    unfinished: int = 0

    @property
    def changed(self) -> bool:
        """Whether a merge would bring anything."""
        inputs = (one for one in self.branches if one.kind == "user")
        return any(one.state.is_own for one in self.pipelines) or any(
            one.state.is_own for one in inputs
        )


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that a merge or a sync did, or would do."""

    what: str
    name: RepoName
    action: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class EnvironmentReport:
    """What a merge or a sync of an environment did, or would do.

    `conflicts` are in words; with any, nothing was done. `set_id` is that of its commits.
    """

    environment: Environment
    action: str
    steps: tuple[Step, ...] = ()
    conflicts: tuple[str, ...] = ()
    set_id: str | None = None
    published: int = 0
    started: int = 0
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class CodeDiff:
    """What the code of a pipeline differs in: `text` is a unified diff of its spec and files."""

    name: RepoName
    state: CodeState
    version: int
    base_version: int
    text: str


@dataclass(frozen=True, slots=True)
class TableDelta:
    """What a table differs in: columns as `+ city string`, rows in numbers and some as samples.

    `error` says why its rows could not be compared.
    """

    path: str
    columns: tuple[str, ...] = ()
    key: tuple[str, ...] = ()
    added: int = 0
    removed: int = 0
    changed: int = 0
    rows: int | None = None
    samples: tuple[dict[str, Any], ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True)
class RepoDelta:
    """What a repo holds in an environment and not in its base, and the reverse."""

    repo: RepoName
    branch: str
    base: str
    state: DataState
    kind: str
    added: int = 0
    removed: int = 0
    modified: int = 0
    bytes: int = 0
    paths: tuple[str, ...] = ()
    """The first paths that differ, each with a sign before it."""
    tables: tuple[TableDelta, ...] = ()


@dataclass(frozen=True, slots=True)
class EnvironmentDiff:
    """All that an environment differs in from its base: code, schema and rows."""

    environment: Environment
    code: tuple[CodeDiff, ...]
    repos: tuple[RepoDelta, ...]
