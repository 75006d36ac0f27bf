"""What a leaf of an input expression matches in a commit: files, and folders as one.

A manifest lists files in path order. One pass over it meets every folder just before the
first file in it and leaves it after the last, so matches come out in the order of their
paths, a folder's with a slash at the end, and its hash is ready when the pass leaves it.
Work is done on whole runs of lines: there may be millions.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise, repeat
from typing import NamedTuple, Protocol

from blake3 import blake3

from trunkline.model.entries import undecoded
from trunkline.model.hidden import hidden
from trunkline.model.inputs import Leaf
from trunkline.pipelines.globs import Glob, substitute

NO_CONTENT = b"-"

Row = list[bytes]
Captures = tuple[str, ...]


class Listing(Protocol):
    """The files of a commit, one line each (see `model.entries`), in path order."""

    def chunks(self, prefix: bytes) -> Iterator[list[bytes]]:
        """The lines whose paths start with `prefix`, in order, in non-empty lists."""

    def find(self, path: bytes) -> bytes | None:
        """The line of a file, or None."""

    def has_below(self, folder: bytes) -> bool:
        """Whether any file lies below `folder`, given without its trailing slash."""


class Match(NamedTuple):
    """A file or folder that leaf number `leaf` matched; a folder's `path` ends in a slash.

    `hash` is what the content is known by: "-" where the leaf is a `reference`.
    """

    leaf: int
    path: bytes
    hash: bytes
    size: int
    files: int
    join_on: str
    group_by: str


def matches(leaf: Leaf, number: int, listing: Listing) -> Iterator[Match]:
    """What `leaf` matches, in path order, from one pass over the files below its pattern."""
    for batch in matcher(leaf, number).batches(listing):
        yield from batch


def match_at(leaf: Leaf, number: int, listing: Listing, text: bytes) -> Match | None:
    """The match of one file, or of a folder given with its slash; None if there is none."""
    return matcher(leaf, number).at(listing, text)


class Matcher:
    """A leaf, compiled."""

    def __init__(self, leaf: Leaf, number: int) -> None:
        self.glob = Glob(leaf.glob)
        self.number = number
        self.reference = leaf.reference
        self._join_on = _filler(leaf.join_on)
        self._group_by = _filler(leaf.group_by)
        self._captures = "$" in leaf.join_on or "$" in leaf.group_by

    def matches(self, path: str) -> bool:
        """Whether the pattern takes it: a hidden one only by its name."""
        return self.glob.matches(path) and not hidden(path, self.glob.pattern)

    def select(self, paths: Iterable[str]) -> list[str]:
        """The paths that the pattern takes, in the order given."""
        chosen, pattern = self.glob.select(paths), self.glob.pattern
        return [path for path in chosen if "/_" not in path or not hidden(path, pattern)]

    def batches(self, listing: Listing) -> Iterator[list[Match]]:
        if not self.glob.is_literal:
            return _Pass(self).run(listing)
        name = self.glob.prefix.encode()
        found = self.at(listing, name) or self.at(listing, name.rstrip(b"/") + b"/")
        return iter([[found]] if found else [])

    def at(self, listing: Listing, text: bytes) -> Match | None:
        if not self.matches(path_of(text)):
            return None
        if text.endswith(b"/"):
            folder = Folder(text, self.reference)
            for lines in listing.chunks(text):
                folder.add(_rows(lines))
            return self.folder(folder) if folder.files else None
        line = listing.find(text)
        return self.files(_rows([line]), [path_of(text)])[0] if line else None

    def files(self, rows: Sequence[Row], paths: Sequence[str]) -> list[Match]:
        new = tuple.__new__
        number, reference = self.number, self.reference
        joins, groups = self._keys(paths)
        return [
            new(Match, (number, row[0], NO_CONTENT if reference else row[1], int(row[2]), 1, j, g))
            for row, j, g in zip(rows, joins, groups, strict=False)
        ]

    def folder(self, folder: Folder) -> Match:
        joins, groups = self._keys([path_of(folder.text)])
        content = folder.hash()
        join_on, group_by = next(iter(joins)), next(iter(groups))
        return Match(
            self.number, folder.text, content, folder.size, folder.files, join_on, group_by
        )

    def _keys(self, paths: Sequence[str]) -> tuple[Iterable[str], Iterable[str]]:
        """`join_on` and `group_by` for each path, all of which match."""
        if not self._captures:
            return repeat(self._join_on(())), repeat(self._group_by(()))
        captured = [self.glob.captures(path) or () for path in paths]
        return map(self._join_on, captured), map(self._group_by, captured)


class Folder:
    """A folder while its files go by. Its hash is that of `lake.files.folder_hash`."""

    __slots__ = ("_hasher", "_start", "files", "place", "since", "size", "text")

    def __init__(self, text: bytes, reference: bool, place: int = 0, since: int = 0) -> None:
        self.text = text
        self.place = place
        self.since = since
        self.files = self.size = 0
        self._start = len(text)
        self._hasher = None if reference else blake3()

    def add(self, rows: Sequence[Row]) -> None:
        start = self._start
        if self._hasher is not None:
            named = [b"%b\t%b\n" % (row[0][start:], row[1]) for row in rows]
            self._hasher.update(b"".join(named))
        self.files += len(rows)
        self.size += sum([int(row[2]) for row in rows])

    def hash(self) -> bytes:
        return NO_CONTENT if self._hasher is None else self._hasher.hexdigest().encode()


class _Pass:
    """One pass over a manifest.

    `above` are the folders around the current file, outermost first, each with its slash and,
    if it matched, its `Folder`. A folder's match comes before those inside it but is known
    after them: `waiting` keeps a place for it.
    """

    def __init__(self, matcher: Matcher) -> None:
        self._matcher = matcher
        self._base = matcher.glob.prefix.rstrip("/")
        self._above: list[tuple[str, Folder | None]] = []
        self._waiting: list[Match | None] = []

    def run(self, listing: Listing) -> Iterator[list[Match]]:
        for lines in listing.chunks(self._base.encode() + b"/"):
            self._chunk(_rows(lines))
            yield self._ready()
        self._leave([], 0, "")
        yield self._ready()

    def _chunk(self, rows: list[Row]) -> None:
        paths = b"\n".join([row[0] for row in rows]).decode().split("\n")
        parents = [path.rpartition("/")[0] for path in paths]
        files, where = self._files(rows, paths)
        taken = 0
        changes = [at for at, (one, next_) in enumerate(pairwise(parents), 1) if one != next_]
        for at in (0, *changes):
            parent = parents[at]
            self._leave(rows, at, parent + "/")
            for path in self._entered(parent):
                folder = None
                if self._matcher.matches(path):
                    before = bisect_left(where, at)
                    self._waiting += files[taken:before]
                    taken = before
                    text = path.encode() + b"/"
                    folder = Folder(text, self._matcher.reference, len(self._waiting), at)
                    self._waiting.append(None)
                self._above.append((path + "/", folder))
        self._waiting += files[taken:]
        for folder in self._open():
            folder.add(rows[folder.since :])
            folder.since = 0

    def _files(self, rows: list[Row], paths: list[str]) -> tuple[list[Match], Sequence[int]]:
        """The matches among the files, and which rows they are."""
        chosen = self._matcher.select(paths)
        if not chosen:
            return [], ()
        if len(chosen) == len(paths):
            return self._matcher.files(rows, paths), range(len(rows))
        wanted = set(chosen)
        where = [at for at, path in enumerate(paths) if path in wanted]
        return self._matcher.files([rows[at] for at in where], chosen), where

    def _entered(self, parent: str) -> Iterable[str]:
        """The folders from the innermost open one down to `parent`, outermost first."""
        top = self._above[-1][0][:-1] if self._above else self._base
        if parent == top:
            return ()
        fresh = []
        while parent != top:
            fresh.append(parent)
            parent = parent.rpartition("/")[0]
        return reversed(fresh)

    def _leave(self, rows: list[Row], at: int, parent: str) -> None:
        """Close the folders that do not hold `parent`; their files end before row `at`."""
        while self._above and not parent.startswith(self._above[-1][0]):
            _, folder = self._above.pop()
            if folder is not None:
                folder.add(rows[folder.since : at])
                self._waiting[folder.place] = self._matcher.folder(folder)

    def _ready(self) -> list[Match]:
        """What waits for no folder any more."""
        first = next(self._open(), None)
        place = len(self._waiting) if first is None else first.place
        ready, self._waiting = self._waiting[:place], self._waiting[place:]
        for folder in self._open():
            folder.place -= place
        return ready  # type: ignore[return-value]  # no place before the first open one is empty

    def _open(self) -> Iterator[Folder]:
        return (folder for _, folder in self._above if folder is not None)


@lru_cache(maxsize=256)
def matcher(leaf: Leaf, number: int) -> Matcher:
    return Matcher(leaf, number)


def path_of(text: bytes) -> str:
    """The path that a glob sees: a folder's without its slash."""
    return text.decode().rstrip("/") or "/"


def _rows(lines: list[bytes]) -> list[Row]:
    return undecoded(lines, 3)


_one_capture = re.compile(r"\$([1-9][0-9]?)").fullmatch


def _filler(template: str) -> Callable[[Captures], str]:
    """`substitute` for one template, quick for the usual ones."""
    if "$" not in template:
        return lambda captures: template
    if found := _one_capture(template):
        place = int(found[1]) - 1
        return lambda captures: (
            captures[place] if place < len(captures) else substitute(template, captures)
        )
    return lambda captures: substitute(template, captures)
