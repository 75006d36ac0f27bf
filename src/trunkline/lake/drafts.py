"""Commits in the making, and how they are worked out on the head of their branch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

import zstandard

from trunkline.errors import BranchMoved, Usage
from trunkline.lake.changes import Changes, apply
from trunkline.lake.core import Core
from trunkline.lake.differences import differences
from trunkline.lake.files import read
from trunkline.lake.manifests import Tree
from trunkline.model.commits import Branch, Commit, Origin, RepoKind, RepoName
from trunkline.model.entries import Entry, line_hash
from trunkline.model.refs import Ref
from trunkline.storage.objects.intake import Intake
from trunkline.storage.objects.keys import KeyMaker


@dataclass
class Draft:
    """A commit in the making: what changes, on which branch, and what must still hold.

    `base` is the head that its author saw. With `follow` there is none: the changes go on top
    of whatever the head is by then. `requires` are commits whose files are reused. `kind` is
    that of the repo: only Trunkline itself writes to those that are not of people. `rework`
    gives the changes anew for a head that its author did not see, or raises BranchMoved; without
    it the same changes are made there if no path of theirs changed meanwhile.
    """

    target: Ref
    message: str
    author: str
    changes: Changes = field(default_factory=Changes)
    base: Commit | None = None
    follow: bool = False
    if_head: str | None = None
    request: str | None = None
    origin: Origin = Origin.USER
    kind: RepoKind = RepoKind.USER
    merged: tuple[str, ...] = ()
    requires: set[tuple[RepoName, str]] = field(default_factory=set)
    rework: Callable[[Tree], Changes] | None = None
    quiet: bool = False
    """Whether nobody is told, since the commit holds the same rows as the one before."""
    started: int = 0
    result: Commit | None = None


class StoredTree(NamedTuple):
    """A tree, and where its root is kept."""

    root: str
    root_hash: str
    tree: Tree

    @property
    def files(self) -> int:
        return self.tree.files

    @property
    def size(self) -> int:
        return self.tree.size


@dataclass(frozen=True, slots=True)
class Plan:
    """A draft worked out against the head it was read with."""

    draft: Draft
    head: str | None
    open: str | None
    staged: str | None = None
    built: StoredTree | None = None


class Planner:
    """Works drafts out, and makes what they need durable. Nothing is visible yet."""

    def __init__(self, core: Core, keys: KeyMaker, intake: Intake) -> None:
        self._core = core
        self._keys = keys
        self._intake = intake

    def staging(self, draft: Draft, branch: Branch) -> Plan:
        """An open commit only gathers changes; its tree is worked out when it is finished."""
        if draft.request is not None:
            raise Usage(
                f"{draft.target.repo}@{branch.name} has an open commit, which remembers no keys.",
                hint="Finish it first, or put without --key.",
            )
        key = self._keys.manifest()
        compressor = zstandard.ZstdCompressor(write_checksum=True)
        self._core.objects.put(key, compressor.compress(draft.changes.encode()))
        return Plan(draft, branch.head, branch.open, staged=key)

    def tree(self, draft: Draft, head: Commit | None) -> Plan:
        """The tree of a draft on top of `head`, stored."""
        seen, now = (commit.id if commit else None for commit in (draft.base, head))
        if not draft.follow and seen != now:
            if draft.rework is not None:
                draft.changes = draft.rework(self._core.tree(head))
            else:
                self._refuse_overlap(draft, self._core.tree(head))
        return Plan(draft, now, None, built=self.build(head, draft.changes))

    def build(self, head: Commit | None, changes: Changes) -> StoredTree:
        """Apply changes to the tree of `head` and store what is new of the result."""
        tree = self._core.tree(head)
        pieces = apply(tree, self._joined(changes, tree))
        return StoredTree(*self._core.manifests.write(pieces, self._keys.manifest))

    def _refuse_overlap(self, draft: Draft, head: Tree) -> None:
        """The branch moved since the draft began: fine, unless it moved under the same paths."""
        both = []
        for difference in differences(self._core.tree(draft.base), head):
            path = difference.path
            if not draft.changes.touches(path):
                continue
            mine = draft.changes.puts.get(path)
            same = (
                difference.new is None
                if mine is None
                else difference.new is not None and line_hash(mine) == line_hash(difference.new)
            )
            if not same or path in draft.changes.appends:
                both.append(path.decode())
        if both:
            more = f" and {len(both) - 1} more" if len(both) > 1 else ""
            raise BranchMoved(
                f"{draft.target.repo}@{draft.target.ref} moved while you worked: "
                f"{both[0]}{more} changed on both sides.",
                hint="Nothing was changed; look at the new head, then try again.",
            )

    def _joined(self, changes: Changes, tree: Tree) -> Changes:
        """The changes with every append joined to what it is appended to."""
        if not changes.appends:
            return changes
        result = Changes()
        result.then(changes)
        result.appends.clear()
        self._intake.flush()
        for path, parts in changes.appends.items():
            before = changes.puts.get(path)
            if before is None and not changes.removes(path):
                before = tree.find(path)
            pieces = [*([before] if before else []), *parts]
            if len(pieces) == 1:
                result.puts[path] = pieces[0]
                continue
            streams = [read(self._core, Entry.decode(piece)) for piece in pieces]
            result.puts[path] = self._intake.add_stream(path.decode(), chain.from_iterable(streams))
        self._intake.close()
        return result
