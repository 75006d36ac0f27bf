"""What a commit does to a tree: files put, files and folders removed. A value, in call order.

`apply` gives the pieces of the new tree: ranges kept as they are, and new lists of lines.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from zlib import crc32

from trunkline.errors import PathClash
from trunkline.lake.manifests import EMPTY, INLINE_KEY, Lines, Range, Tree, prefix_end
from trunkline.model.entries import by_path, line_path

# Where ranges end: about every 2,048th line after the first 2,048, and never past the last.
SHORTEST = 2_048
LONGEST = 16_384
_BOUNDARY = 2_047


class Changes:
    """Puts, appends and removals, as if made one after the other on an unknown tree.

    `appends` are parts still to be joined to what is at their path when the tree is known.
    """

    def __init__(self) -> None:
        self.puts: dict[bytes, bytes] = {}
        self.appends: dict[bytes, Lines] = {}
        self.removed_files: set[bytes] = set()
        self.removed_folders: set[bytes] = set()

    def __bool__(self) -> bool:
        return bool(self.puts or self.appends or self.removed_files or self.removed_folders)

    def put_all(self, lines: Iterable[bytes]) -> None:
        puts = by_path(lines)
        self.puts.update(puts)
        for path in self.appends.keys() & puts.keys():
            del self.appends[path]

    def append(self, part: bytes) -> None:
        self.appends.setdefault(line_path(part), []).append(part)

    def remove(self, path: bytes) -> None:
        """Remove the file at `path`, or all below it if it is a folder."""
        self._drop_folder(path.rstrip(b"/") + b"/")
        self.remove_file(path)

    def remove_file(self, path: bytes) -> None:
        """Remove exactly this file; what lies below a folder of that name stays."""
        self.puts.pop(path, None)
        self.appends.pop(path, None)
        self.removed_files.add(path)

    def then(self, later: Changes) -> None:
        """Add what was done after this."""
        for folder in later.removed_folders:
            self._drop_folder(folder)
        for path in later.removed_files:
            self.remove_file(path)
        self.put_all(later.puts.values())
        for parts in later.appends.values():
            for part in parts:
                self.append(part)

    def removes(self, path: bytes) -> bool:
        """Whether a file that was at `path` before is gone."""
        if path in self.removed_files:
            return True
        return any(path.startswith(folder) for folder in self.removed_folders)

    def touches(self, path: bytes) -> bool:
        return path in self.puts or path in self.appends or self.removes(path)

    def _drop_folder(self, folder: bytes) -> None:
        self.removed_folders.add(folder)
        for pending in (self.puts, self.appends):
            for path in [p for p in pending if p.startswith(folder)]:
                del pending[path]

    def encode(self) -> bytes:
        """As bytes, for the staging area of an open commit."""
        rows = [b"-" + path for path in sorted(self.removed_files)]
        rows += [b"/" + folder for folder in sorted(self.removed_folders)]
        rows += [b"+" + line for line in self.puts.values()]
        rows += [b">" + part for parts in self.appends.values() for part in parts]
        return b"\n".join(rows)

    @classmethod
    def decode(cls, raw: bytes) -> Changes:
        changes = cls()
        for row in raw.split(b"\n") if raw else ():
            kind, rest = row[:1], row[1:]
            if kind == b"-":
                changes.removed_files.add(rest)
            elif kind == b"/":
                changes.removed_folders.add(rest)
            elif kind == b"+":
                changes.puts[line_path(rest)] = rest
            else:
                changes.append(rest)
        return changes


def build(lines: Iterable[bytes]) -> list[Range | Lines]:
    """The pieces of a tree that holds exactly these lines."""
    changes = Changes()
    changes.put_all(lines)
    return apply(EMPTY, changes)


def apply(tree: Tree, changes: Changes) -> list[Range | Lines]:
    """The pieces of `tree` after `changes`, in canonical shape.

    A range ends by what is in it alone, so one that starts at a cut and is not touched
    stays. Where a touched range no longer ends in a cut, it is joined with the next, until
    a cut falls on an old one: the result is the same as if built from scratch.
    """
    changes = _without_repeats(tree, changes)
    _refuse_clashes(tree, changes)
    return apply_unchecked(tree, changes)


def apply_unchecked(tree: Tree, changes: Changes) -> list[Range | Lines]:
    """As `apply`, though a path may become a file and a folder at once: not to be stored."""
    puts = sorted(changes.puts.values())
    if not tree.ranges:
        closed, rest = _cut(puts)
        return [*closed, rest] if rest else list(closed)
    firsts = [held.first for held in tree.ranges]
    shares = _share(puts, firsts)
    gone = _touched_by_removals(tree, changes)
    pieces: list[Range | Lines] = []
    carry: Lines = []
    for index, held in enumerate(tree.ranges):
        share = shares.get(index)
        movable = held.key != INLINE_KEY
        if not carry and share is None and index not in gone and movable:
            pieces.append(held)
            continue
        lines = tree.lines(held)
        if share is not None or index in gone:
            merged = _merge(lines, share or [], changes, index in gone)
            if not carry and movable and merged == lines:
                pieces.append(held)
                continue
            lines = merged
        closed, carry = _cut(carry + lines)
        pieces.extend(closed)
    if carry:
        pieces.append(carry)
    return pieces


def _without_repeats(tree: Tree, changes: Changes) -> Changes:
    """The same changes less what the tree has already, to the letter: a folder put again."""
    if len(changes.puts) < SHORTEST or changes.removed_files or changes.removed_folders:
        return changes
    fresh = Changes()
    shares = _share(sorted(changes.puts.values()), [held.first for held in tree.ranges])
    for index, share in shares.items():
        there = set(tree.lines(tree.ranges[index])) if tree.ranges else set()
        fresh.put_all(line for line in share if line not in there)
    return fresh


def _share(puts: Lines, firsts: list[bytes]) -> dict[int, Lines]:
    """Which puts fall into which range: between its first path and the next one's."""
    shares: dict[int, Lines] = {}
    start = 0
    while start < len(puts):
        index = max(bisect_right(firsts, line_path(puts[start])) - 1, 0)
        stop = len(puts)
        if index + 1 < len(firsts):
            stop = bisect_left(puts, firsts[index + 1], start)
        shares[index] = puts[start:stop]
        start = stop
    return shares


def _touched_by_removals(tree: Tree, changes: Changes) -> set[int]:
    number = {held.first: index for index, held in enumerate(tree.ranges)}
    touched: set[int] = set()
    for path in changes.removed_files:
        touched.update(number[r.first] for r in tree.overlapping(path, path + b"\t"))
    for folder in changes.removed_folders:
        touched.update(number[r.first] for r in tree.overlapping(folder, prefix_end(folder)))
    return touched


def _merge(lines: Lines, puts: Lines, changes: Changes, removals: bool) -> Lines:
    replaced = {line_path(put) for put in puts}
    if removals:
        removed = changes.removed_files
        replaced |= removed
        folders = tuple(changes.removed_folders)
        kept = [
            line
            for line in lines
            if not line.startswith(folders) and line_path(line) not in replaced
        ]
    elif len(puts) <= 8:
        # The usual small commit: find the few places instead of looking at every line.
        kept = list(lines)
        for path in replaced:
            index = bisect_left(kept, path + b"\t")
            if index < len(kept) and kept[index].startswith(path + b"\t"):
                del kept[index]
    else:
        kept = [line for line in lines if line_path(line) not in replaced]
    kept.extend(puts)
    kept.sort()
    return kept


def _cut(lines: Lines) -> tuple[list[Lines], Lines]:
    """Cut off every complete range; what is left has not ended yet."""
    closed: list[Lines] = []
    start = 0
    while len(lines) - start >= SHORTEST:
        stop = _end(lines, start + SHORTEST - 1, min(start + LONGEST, len(lines)))
        if stop is None:
            if len(lines) - start < LONGEST:
                break
            stop = start + LONGEST
        closed.append(lines[start:stop])
        start = stop
    return closed, lines[start:]


def _end(lines: Lines, low: int, high: int) -> int | None:
    for index in range(low, high):
        if not crc32(lines[index]) & _BOUNDARY:
            return index + 1
    return None


def _refuse_clashes(tree: Tree, changes: Changes) -> None:
    """One path cannot be a file and a folder at once."""
    # In path order, so that no range of the tree is read twice.
    for folder in sorted(_folders_of(changes.puts)):
        if folder in changes.puts:
            inside = min(p for p in changes.puts if p.startswith(folder + b"/"))
            raise _clash(folder, inside)
        if tree.ranges and tree.find(folder) is not None and not changes.removes(folder):
            inside = min(p for p in changes.puts if p.startswith(folder + b"/"))
            raise _clash(folder, inside)
    if not tree.ranges:
        return
    for path in sorted(changes.puts):
        for line in tree.scan(path + b"/") if tree.has_below(path) else ():
            if not changes.removes(line_path(line)):
                raise _clash(path, line_path(line))


def _folders_of(paths: Iterable[bytes]) -> Iterator[bytes]:
    """Every folder above the given files, once."""
    seen = {b""}
    level = {path.rpartition(b"/")[0] for path in paths}
    while level := level - seen:
        seen |= level
        yield from level
        level = {folder.rpartition(b"/")[0] for folder in level}


def _clash(file: bytes, inside: bytes) -> PathClash:
    return PathClash(
        f'"{file.decode()}" would be a file and a folder at once: '
        f'"{inside.decode()}" lies below it.',
        hint="Remove or rename one of the two.",
    )
