"""Where two trees differ. Ranges that both share are skipped without being read."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from trunkline.lake.manifests import Lines, Range, Tree, prefix_end
from trunkline.model.entries import line_hash, line_path, line_size
from trunkline.model.files import Change, ChangeKind


@dataclass(frozen=True, slots=True)
class Difference:
    """One path with its line on either side; None where it is absent."""

    path: bytes
    old: bytes | None
    new: bytes | None

    @property
    def same_content(self) -> bool:
        """Both sides hold the same bytes, only kept in another place."""
        return (
            self.old is not None
            and self.new is not None
            and line_hash(self.old) == line_hash(self.new)
        )

    def to_change(self) -> Change:
        kind = ChangeKind.MODIFIED
        if self.old is None:
            kind = ChangeKind.ADDED
        elif self.new is None:
            kind = ChangeKind.REMOVED
        return Change(
            self.path.decode(),
            kind,
            line_size(self.old) if self.old else None,
            line_size(self.new) if self.new else None,
            line_hash(self.old).decode() if self.old else None,
            line_hash(self.new).decode() if self.new else None,
        )


def differences(old: Tree, new: Tree, prefix: bytes = b"/") -> Iterator[Difference]:
    """Paths below `prefix` whose content differs, in path order."""
    for difference in line_differences(old, new, prefix):
        if not difference.same_content:
            yield difference


def line_differences(old: Tree, new: Tree, prefix: bytes = b"/") -> Iterator[Difference]:
    """As `differences`, but a line that differs in any field counts."""
    shared = {held.id for held in old.ranges} & {held.id for held in new.ranges}
    left = _Side(old, prefix, shared)
    right = _Side(new, prefix, shared)
    while left.fill() | right.fill():
        bound = min(side.lines[-1] for side in (left, right) if side.lines)
        stop = line_path(bound) + b"\t\xff"
        yield from _compare(left.take(stop), right.take(stop))


class _Side:
    """The lines of one tree that the other does not share, a range at a time."""

    def __init__(self, tree: Tree, prefix: bytes, shared: set[str]) -> None:
        self._tree = tree
        self._prefix = prefix
        self._high = prefix_end(prefix)
        ranges: Sequence[Range] = tree.overlapping(prefix, self._high)
        self._left = iter([held for held in ranges if held.id not in shared])
        self.lines: Lines = []

    def fill(self) -> bool:
        """Load the next range if nothing is at hand; whether anything is."""
        while not self.lines:
            held = next(self._left, None)
            if held is None:
                return False
            lines = self._tree.lines(held)
            start = bisect_left(lines, self._prefix)
            stop = bisect_left(lines, self._high) if self._high is not None else len(lines)
            self.lines = lines[start:stop]
        return True

    def take(self, stop: bytes) -> Lines:
        index = bisect_left(self.lines, stop)
        taken, self.lines = self.lines[:index], self.lines[index:]
        return taken


def _compare(old: Lines, new: Lines) -> Iterator[Difference]:
    if old == new:
        return
    before, after = set(old), set(new)
    gone = {line_path(line): line for line in before - after}
    come = {line_path(line): line for line in after - before}
    for path in sorted(gone.keys() | come.keys()):
        yield Difference(path, gone.get(path), come.get(path))
