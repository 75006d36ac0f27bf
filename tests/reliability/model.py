"""A lake as a dict of dicts: what one repo must hold, worked out without any storage."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

Files = dict[str, bytes]
Operation = tuple[str, str, bytes]
"""What to do (put, append, delete), the path, and the bytes."""


class Refused(Exception):
    """The request must fail, with the error of this code, and change nothing."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass
class Node:
    """A commit; `files` is None while it is not finished."""

    parent: str | None
    files: Files | None
    merged: tuple[str, ...] = ()

    @property
    def parents(self) -> tuple[str, ...]:
        return (self.parent, *self.merged) if self.parent else self.merged


@dataclass
class Model:
    nodes: dict[str, Node] = field(default_factory=dict)
    branches: dict[str, str | None] = field(default_factory=lambda: {"main": None})
    open: dict[str, str] = field(default_factory=dict)
    staged: dict[str, list[Operation]] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)

    def files(self, commit: str | None) -> Files:
        return (self.nodes[commit].files or {}) if commit else {}

    def head(self, branch: str) -> Files:
        return self.files(self.branches[branch])

    def add(self, branch: str, commit: str, files: Files, merged: tuple[str, ...] = ()) -> None:
        self.nodes[commit] = Node(self.branches[branch], files, merged)
        self.branches[branch] = commit

    def children(self, commit: str) -> list[str]:
        return [other for other, node in self.nodes.items() if commit in node.parents]

    def named(self, commit: str) -> bool:
        return commit in self.branches.values() or commit in self.tags.values()

    def refuse_open(self, branch: str) -> None:
        if branch in self.open:
            raise Refused("precondition")

    # -- joining -----------------------------------------------------------------------------

    def ancestors(self, commit: str | None) -> set[str]:
        seen: set[str] = set()
        waiting = [commit] if commit else []
        while waiting:
            current = waiting.pop()
            if current not in seen:
                seen.add(current)
                waiting.extend(self.nodes[current].parents)
        return seen

    def base(self, ours: str | None, theirs: str) -> str | None:
        """The common ancestor with the longest history behind it."""
        generations: dict[str, int] = {}

        def generation(commit: str) -> int:
            if commit not in generations:
                above = [generation(parent) for parent in self.nodes[commit].parents]
                generations[commit] = max(above, default=0) + 1
            return generations[commit]

        common = self.ancestors(ours) & self.ancestors(theirs)
        return min(common, key=lambda commit: (-generation(commit), commit), default=None)

    # -- pruning -----------------------------------------------------------------------------

    def squash(self, commit: str) -> None:
        node, children = self.nodes[commit], self.children(commit)
        unfinished = any(self.nodes[child].files is None for child in children)
        if node.files is None or (unfinished and not self.named(commit)):
            raise Refused("commit_unfinished")
        if self.named(commit) or not children or node.merged:
            raise Refused("precondition")
        for child in children:
            below = self.nodes[child]
            merged = (node.parent if m == commit else m for m in below.merged)
            below.merged = tuple(m for m in merged if m)
            below.parent = node.parent if below.parent == commit else below.parent
        del self.nodes[commit]

    def drop(self, commit: str) -> None:
        if commit in self.tags.values() or self.children(commit):
            raise Refused("precondition")
        for branch, opened in list(self.open.items()):
            if opened == commit:
                del self.open[branch], self.staged[branch]
        for branch, head in self.branches.items():
            if head == commit:
                self.branches[branch] = self.nodes[commit].parent
        del self.nodes[commit]

    def collect(self) -> None:
        """Only what a branch, a tag or an open commit leads to is left."""
        kept: set[str] = set()
        for head in (*self.branches.values(), *self.tags.values(), *self.open.values()):
            kept |= self.ancestors(head)
        self.nodes = {commit: node for commit, node in self.nodes.items() if commit in kept}


def changed(files: Files, operations: Iterable[Operation]) -> Files:
    """Files after operations in their order."""
    result = dict(files)
    for verb, path, data in operations:
        if verb == "put":
            result[path] = data
        elif verb == "append":
            result[path] = result.get(path, b"") + data
        else:
            result = {p: d for p, d in result.items() if p != path and not below(p, path)}
    return without_clash(result)


def three_way(base: Files, ours: Files, theirs: Files, strategy: str | None) -> Files:
    result = dict(ours)
    for path in base.keys() | theirs.keys():
        new = theirs.get(path)
        if new == base.get(path):
            continue
        if ours.get(path) not in (base.get(path), new):
            if strategy is None:
                raise Refused("merge_conflict")
            if strategy == "ours":
                continue
        if new is None:
            result.pop(path, None)
        else:
            result[path] = new
    return without_clash(result)


def copied(files: Files, source: Files, old: str, new: str) -> Files:
    """`files` with the file or folder `old` of `source` at `new`."""
    found = {new: source[old]} if old in source else {}
    for path, data in source.items():
        if not found.keys() & {new} and below(path, old):
            found[new + path[len(old) :]] = data
    if not found:
        raise Refused("not_found")
    return without_clash({**files, **found})


def below(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip("/") + "/")


def without_clash(files: Files) -> Files:
    if any(below(path, folder) for folder in files for path in files):
        raise Refused("path_clash")
    return files
