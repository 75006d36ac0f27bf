"""Where two trees differ. Ranges that both share are skipped without being read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from trunkline.lake.manifests import Lines, Range, Tree, prefix_end
from trunkline.model.entries import line_hash, line_path, line_size
from trunkline.model.files import Change, ChangeKind

# Steps over what is the same: in lines, and in bytes from far to near.
_STRIDE = 512
_STRIDES = (1 << 16, 1 << 12, 1 << 8, 1 << 4, 1)


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


def differences(
    old: Tree, new: Tree, prefix: bytes = b"/", start_at: bytes = b""
) -> Iterator[Difference]:
    """Paths below `prefix` whose content differs, in path order; none that sort before a start."""
    for difference in line_differences(old, new, prefix, start_at):
        if not difference.same_content:
            yield difference


def line_differences(
    old: Tree, new: Tree, prefix: bytes = b"/", start_at: bytes = b""
) -> Iterator[Difference]:
    """As `differences`, but a line that differs in any field counts."""
    shared = {held.id for held in old.ranges} & {held.id for held in new.ranges}
    left = _Side(old, prefix, shared, start_at)
    right = _Side(new, prefix, shared, start_at)
    while left.fill() | right.fill():
        bound = min(side.last() for side in (left, right) if side.text)
        stop = line_path(bound) + b"\t\xff"
        yield from _compare(left.take(stop), right.take(stop))


class _Side:
    """The lines of one tree that the other does not share, a range at a time, as text.

    Most of the text is the same on the other side and never needs to be cut into lines.
    """

    def __init__(self, tree: Tree, prefix: bytes, shared: set[str], start_at: bytes) -> None:
        self._low = max(prefix, start_at)
        self._high = prefix_end(prefix)
        ranges: Sequence[Range] = tree.overlapping(self._low, self._high)
        self._texts = tree.texts([held for held in ranges if held.id not in shared])
        self.text = b""

    def fill(self) -> bool:
        """Load the next range if nothing is at hand; whether anything is."""
        while not self.text:
            text = next(self._texts, None)
            if text is None:
                return False
            text += b"\n"
            stop = len(text) if self._high is None else _place(text, self._high)
            self.text = text[_place(text, self._low) : stop]
        return True

    def last(self) -> bytes:
        return self.text[self.text.rfind(b"\n", 0, -1) + 1 : -1]

    def take(self, stop: bytes) -> bytes:
        place = _place(self.text, stop)
        taken, self.text = self.text[:place], self.text[place:]
        return taken


def _place(text: bytes, key: bytes) -> int:
    """Where the first line that is not less than `key` begins."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high) // 2
        start = max(text.rfind(b"\n", low, middle) + 1, low)
        end = text.index(b"\n", middle) + 1
        if text[start:end] < key:
            low = end
        else:
            high = start
    return low


def _compare(old: bytes, new: bytes) -> Iterator[Difference]:
    """Only what lies between the first and the last difference is cut into lines."""
    start = old.rfind(b"\n", 0, _same_start(old, new)) + 1
    stop = old.find(b"\n", len(old) - _same_end(old, new, start)) + 1
    if not stop:
        stop = len(old)
    yield from _walk(
        old[start:stop].split(b"\n")[:-1],
        new[start : stop + len(new) - len(old)].split(b"\n")[:-1],
    )


def _same_start(old: bytes, new: bytes) -> int:
    """How many bytes both begin with."""
    size, place = min(len(old), len(new)), 0
    for stride in _STRIDES:
        while place < size and old[place : place + stride] == new[place : place + stride]:
            place += stride
    return min(place, size)


def _same_end(old: bytes, new: bytes, start: int) -> int:
    """How many bytes after `start` both end with."""
    left, right = len(old), len(new)
    for stride in _STRIDES:
        while (
            min(left, right) - start >= stride
            and old[left - stride : left] == new[right - stride : right]
        ):
            left, right = left - stride, right - stride
    return len(old) - left


def _walk(old: Lines, new: Lines) -> Iterator[Difference]:
    """Both in path order. Lines that are the same are passed in strides, not one by one."""
    left = right = 0
    stride = _STRIDE
    while left < len(old) and right < len(new):
        if old[left : left + stride] == new[right : right + stride]:
            left, right = left + stride, right + stride
            stride = min(stride * 8, _STRIDE)
            continue
        if stride > 1:
            stride //= 8
            continue
        before, after = old[left], new[right]
        path, other = line_path(before), line_path(after)
        if path == other:
            yield Difference(path, before, after)
        elif path < other:
            yield Difference(path, before, None)
        else:
            yield Difference(other, None, after)
        left += path <= other
        right += other <= path
    for line in old[left:]:
        yield Difference(line_path(line), line, None)
    for line in new[right:]:
        yield Difference(line_path(line), None, line)
