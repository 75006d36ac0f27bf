"""What the interface answers with, where no noun of the model will do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from trunkline.model.display import table
from trunkline.model.files import Change, ChangeKind
from trunkline.model.shape import as_json


@dataclass(frozen=True, slots=True)
class DiffStat:
    """A diff in numbers. Bytes of a modified file count on both sides."""

    added: int = 0
    removed: int = 0
    modified: int = 0
    bytes_added: int = 0
    bytes_removed: int = 0


class Diff:
    """What differs between two commits. Computed when looked at, in path order."""

    def __init__(self, old: str, new: str, compute: Callable[[], Iterator[Change]]) -> None:
        self.old = old
        self.new = new
        self._compute = compute

    @property
    def changes(self) -> Iterator[Change]:
        return self._compute()

    def __iter__(self) -> Iterator[Change]:
        return self._compute()

    def summary(self) -> DiffStat:
        counts = dict.fromkeys(ChangeKind, 0)
        added = removed = 0
        for change in self._compute():
            counts[change.change] += 1
            added += change.new_size or 0
            removed += change.old_size or 0
        return DiffStat(
            counts[ChangeKind.ADDED],
            counts[ChangeKind.REMOVED],
            counts[ChangeKind.MODIFIED],
            added,
            removed,
        )

    def __repr__(self) -> str:
        return f"Diff({self.old!r}, {self.new!r})"

    def _repr_html_(self) -> str:
        return table(f"{self.old} → {self.new}", map(as_json, self))


@dataclass(frozen=True, slots=True)
class GetReport:
    """What a `get` wrote, and where. Files erased on purpose are left out and counted."""

    files: int
    bytes: int
    dest: str
    erased: int = 0


@dataclass(frozen=True, slots=True)
class OpenCommit:
    """A commit that was started and not finished."""

    repo: str
    branch: str
    id: str


@dataclass(frozen=True, slots=True)
class Status:
    """The lake at a glance."""

    location: str
    catalog: str
    store: str
    project: str
    projects: int
    repos: int
    commits: int
    files: int
    size: int
    open_commits: tuple[OpenCommit, ...]
    pipelines: int = 0
    jobs_waiting: int = 0
    jobs_running: int = 0
    jobs_failed: int = 0
    streams: int = 0
    ingests: int = 0
    flows_failed: tuple[str, ...] = ()
    """Streams and ingests that have failed."""
    flows_behind: tuple[str, ...] = ()
    """Streams that have not read what has been there for more than a minute."""
    undelivered: tuple[str, ...] = ()
    """Pipelines with a target that lacks the newest output, since it could not be delivered."""
    held: str = ""
    """Why the lake does nothing to the outside: it is a copy, and nobody has adopted it."""
    server: str = ""
    """The address of the server that it was asked through."""
    context: str = ""
    """The context that says which lake it is."""
