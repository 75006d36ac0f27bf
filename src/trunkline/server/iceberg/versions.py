"""The commits that changed a table, and which of them a branch or tag shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import chain, islice, pairwise

from trunkline.errors import TrunklineError
from trunkline.lake.core import Core
from trunkline.lake.differences import differences
from trunkline.lake.history import fetcher
from trunkline.model.commits import Commit
from trunkline.model.tables import TABLE_FILE
from trunkline.server.iceberg.shapes import Shape
from trunkline.tables.layout import is_data

MOST_LOOKED_AT = 10_000
"""Commits that are walked through for one ref, however few of them changed the table."""
MOST_EFFORT = 500_000
"""Files that are looked through in all, for the sake of tables that have very many."""
FEW, MANY = 16, 256


@dataclass(frozen=True, slots=True)
class Change:
    """How many files a commit added and removed. One that is written anew counts as both."""

    added: int = 0
    removed: int = 0

    @property
    def operation(self) -> str:
        if not self.removed:
            return "append"
        return "overwrite" if self.added else "delete"


@dataclass(frozen=True, slots=True)
class Version:
    """A table as a commit left it. Without a shape it is not there; `flaw` says what is wrong."""

    commit: Commit
    change: Change
    shape: Shape | None
    flaw: TrunklineError | None = field(default=None, compare=False)

    @property
    def snapshot_id(self) -> int:
        return snapshot_id(self.commit.id)

    @property
    def at(self) -> int:
        """When it became visible, in milliseconds."""
        return (self.commit.finished or self.commit.started) // 1000


def snapshot_id(commit_id: str) -> int:
    """The number that a commit has in Iceberg: 63 bits of its id's SHA-256."""
    return int.from_bytes(sha256(commit_id.encode()).digest()[:8]) >> 1 or 1


class Walk:
    """Goes through the history of one table from ref to ref; what they share is seen once."""

    def __init__(
        self, core: Core, repo: int, path: str, shape_at: Callable[[Commit], Shape | None]
    ) -> None:
        self._core = core
        self._fetch = fetcher(core, repo)
        self._path = path
        self._shape_at = shape_at
        self._effort = 0
        self._placed: dict[str, Version] = {}
        self.versions: list[Version] = []
        self.parents: dict[str, Version] = {}

    def at(self, head: str, most: int) -> Version | None:
        """What a ref shows. Of the versions before it so many are found, and at least its own."""
        first: Version | None = None
        last: Version | None = None
        waiting: list[str] = []
        found = 0
        readable = islice(self._readable(head), MOST_LOOKED_AT)
        for commit, before in pairwise(chain(readable, [None])):
            assert commit is not None
            version = self._placed.get(commit.id)
            is_old = version is not None
            waiting.append(commit.id)
            if version is None:
                version = self._version(before, commit)
            if version is None:
                continue
            self._placed |= dict.fromkeys(waiting, version)
            waiting.clear()
            first = first or version
            if last is not None:
                self.parents[last.commit.id] = version
            if is_old:
                break
            self.versions.append(version)
            last, found = version, found + 1
            self._effort += version.shape.effort if version.shape else 0
            if found >= most or self._effort > MOST_EFFORT:
                break
        return first

    def _version(self, before: Commit | None, commit: Commit) -> Version | None:
        change = self._change(before, commit)
        if change is None:
            return None
        try:
            return Version(commit, change, self._shape_at(commit))
        except TrunklineError as error:
            return Version(commit, change, None, error)

    def _change(self, before: Commit | None, commit: Commit) -> Change | None:
        if before is not None and before.root_hash == commit.root_hash:
            return None
        return change_between(self._core, before, commit, self._path)

    def _readable(self, start: str) -> Iterator[Commit]:
        """The commits along first parents whose data is there."""
        going_on: str | None = start
        size = FEW
        while going_on is not None and (commits := self._fetch(going_on, size)):
            for one in commits:
                if one.finished is not None and one.error is None and one.forgotten is None:
                    yield one
            going_on, size = commits[-1].parent, MANY


def change_between(core: Core, before: Commit | None, commit: Commit, path: str) -> Change | None:
    """What became of the table's own files; None if nothing did."""
    added, removed, any_ = 0, 0, False
    for old, new in own_differences(core, before, commit, path):
        any_ = True
        added += new is not None
        removed += old is not None
    return Change(added, removed) if any_ else None


def own_differences(
    core: Core, before: Commit | None, commit: Commit, path: str
) -> Iterator[tuple[bytes | None, bytes | None]]:
    """The lines of the table's own files that differ: folders in it may be other tables.

    Where only the record of the table is another, neither side has a line.
    """
    prefix = path.rstrip("/").encode() + b"/"
    for one in differences(core.tree(before), core.tree(commit), prefix):
        rest = one.path[len(prefix) :].decode()
        if rest == TABLE_FILE:
            yield None, None
        elif is_data(rest):
            yield one.old, one.new
