"""Listing keys: in order of their bytes, folded at a delimiter, a page at a time.

A repo's keys are those of its branches and tags, one ref after the other. A page reads only
the part of a tree that it shows: it begins at its first key, and leaps over what is folded.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from trunkline.lake.manifests import Tree, prefix_end
from trunkline.model.entries import Entry, line_path
from trunkline.model.hidden import hidden

Place = tuple[bytes, Callable[[], tuple[Tree, int]]]
"""The prefix of a ref's keys ("main/"), and how to get its tree and time."""


@dataclass(frozen=True, slots=True)
class Listed:
    """An object of a page."""

    key: str
    entry: Entry
    modified: int


@dataclass(frozen=True, slots=True)
class Listing:
    """A page. `last` is what the next one comes after; None on the last page."""

    objects: list[Listed]
    folders: list[str]
    last: str | None


@dataclass(frozen=True, slots=True)
class Wanted:
    prefix: bytes
    delimiter: bytes
    after: bytes
    most: int


def page(places: Sequence[Place], wanted: Wanted) -> Listing:
    """The next keys of places that are sorted by their prefixes."""
    objects: list[Listed] = []
    folders: list[str] = []
    last = ""
    if wanted.most == 0:
        return Listing([], [], None)
    for key, line, modified in _folded(places, wanted):
        if len(objects) + len(folders) == wanted.most:
            return Listing(objects, folders, last)
        last = key.decode()
        if line is None:
            folders.append(last)
        else:
            objects.append(Listed(last, Entry.decode(line), modified))
    return Listing(objects, folders, None)


def _folded(places: Sequence[Place], wanted: Wanted) -> Iterator[tuple[bytes, bytes | None, int]]:
    """Keys with their lines, or folders without one, that come after `wanted.after`."""
    shown = b""
    for ref, get in places:
        if not _may_hold(ref, wanted):
            continue
        # Where all of a ref is folded, as in the list of branches, it is shown without a look
        # at what is in it: an empty branch, too.
        if folder := _fold(ref, wanted):
            if folder > wanted.after and folder != shown:
                yield folder, None, 0
            shown = folder
            continue
        tree, modified = get()
        cursor = wanted.prefix[len(ref) :] if wanted.prefix.startswith(ref) else b""
        if wanted.after.startswith(ref):
            cursor = max(cursor, wanted.after[len(ref) :])
        yield from _of_tree(ref, tree, modified, cursor, wanted)


def _may_hold(ref: bytes, wanted: Wanted) -> bool:
    if not (ref.startswith(wanted.prefix) or wanted.prefix.startswith(ref)):
        return False
    return ref >= wanted.after or wanted.after.startswith(ref)


def _fold(key: bytes, wanted: Wanted) -> bytes:
    """What a key is shown as if it goes on behind a delimiter; nothing if it does not."""
    end = key.find(wanted.delimiter, len(wanted.prefix)) if wanted.delimiter else -1
    return key[: end + len(wanted.delimiter)] if end >= 0 else b""


def _of_tree(
    ref: bytes, tree: Tree, modified: int, cursor: bytes, wanted: Wanted
) -> Iterator[tuple[bytes, bytes | None, int]]:
    asked = wanted.prefix.decode()
    while True:
        leap = None
        for line in _lines(tree, b"/" + cursor):
            key = ref + line_path(line)[1:]
            if not key.startswith(wanted.prefix):
                return
            if hidden(key.decode(), asked):
                continue
            if folder := _fold(key, wanted):
                if folder > wanted.after:
                    yield folder, None, modified
                leap = folder
                break
            if key > wanted.after:
                yield key, line, modified
        if leap is None:
            return
        after = prefix_end(leap[len(ref) :])
        assert after is not None
        cursor = after


def _lines(tree: Tree, low: bytes) -> Iterator[bytes]:
    """The lines of a tree from a path on. No range is read before it is needed."""
    for held in tree.overlapping(low, None):
        lines = tree.lines(held)
        for index in range(bisect_left(lines, low), len(lines)):
            yield lines[index]
