"""The keys of all objects that a catalog names, as a walk over it finds them (`reach`)."""

from __future__ import annotations

from collections.abc import Iterable

from trunkline.lake.manifests import INLINE_KEY, Lines, Tree
from trunkline.model.entries import objects_of


class Named:
    """For gc the keys are enough. A backup also notes what must be in the objects."""

    def __init__(self) -> None:
        self.keys: set[str] = set()
        self.passing: set[str] = set()
        """Those among them that may be gone a moment later: of jobs that run, and logs."""

    def manifest(self, key: str, digest: str) -> None:
        """The root of a tree, or one of its ranges."""
        self.keys.add(key)

    def tree(self, root: str | None, digest: str | None, tree: Tree) -> None:
        """The objects that a tree itself is kept in."""
        if root is not None and digest is not None:
            self.manifest(root, digest)
        for held in tree.ranges:
            if held.key != INLINE_KEY:
                self.manifest(held.key, held.id)

    def files(self, lines: Lines) -> None:
        """The objects that hold files, by the lines that list them."""
        self.keys |= objects_of(lines)

    def others(self, keys: Iterable[str]) -> None:
        """Changes of open commits, results and logs of jobs."""
        self.keys.update(keys)
