"""A watched folder: each of its files once, as rows or as it is.

A file is taken when it has settled: when two looks, or its own time, show it unchanged for long
enough. What was taken is remembered with the data (see `taken`), so a file that is read and not
committed is read again, and one that is committed never. A folder that is gone is an error until
it is back; a file that is gone is left out.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from trunkline.errors import Failed, InvalidPath, SourceChanged
from trunkline.ingests.feeds import reading, taken
from trunkline.ingests.feeds.base import (
    Feed,
    Gathered,
    Piece,
    Refused,
    Site,
    Stored,
    StoredFile,
    Written,
)
from trunkline.ingests.feeds.taken import Known, Stat
from trunkline.ingests.feeds.unpacking import archive_pieces, is_archive
from trunkline.lake.manifests import Tree
from trunkline.lake.own_folders import is_own, own_folder, refuse_own
from trunkline.model.paths import normalize_path
from trunkline.pipelines.globs import Glob
from trunkline.storage.objects.source import settled

_hidden = ("_", ".")
MOST_FILES = 10_000


@dataclass(slots=True)
class _Seen:
    """A file as it was when it was first seen so."""

    stat: Stat
    since: float
    taken: bool = False
    empty: bool = False


@dataclass(slots=True)
class _Batch:
    """The files of a batch, and what became of them."""

    files: list[tuple[str, Stat]]
    done: dict[str, bytes] = field(default_factory=dict)
    """Their marks, once they were read."""
    removed: list[str] = field(default_factory=list)
    cleared: list[str] = field(default_factory=list)
    members: dict[str, set[str]] = field(default_factory=dict)
    """Of an archive, the labels of what is in it."""


class FolderFeed(Feed):
    def __init__(self, site: Site) -> None:
        super().__init__(site)
        given = site.options
        self._root = Path(given["path"]).expanduser()
        pattern = str(given.get("pattern", "*"))
        self._by_name = "/" not in pattern
        self._glob = Glob("/" + pattern)
        self._settle = float(given.get("settle", 1.0))
        self._changed = str(given.get("changed", "replace"))
        # The rows of a file can only be replaced while they have a file of their own.
        self.may_compact = self._changed != "replace"
        self._then: Any = given.get("then", "keep")
        self._format = str(given.get("format", "auto"))
        self._unpack = given.get("archives", "keep") == "unpack"
        self._seen: dict[str, _Seen] = {}
        self._known: Tree | None = None
        self._waiting = 0

    def gather(self, position: Mapping[str, Any], *, drain: bool) -> Gathered | None:
        self._known = None
        refuse_own(self._root)
        if moved_to := self._moved_to():
            refuse_own(moved_to)
        files = self._look()
        if not files and drain and self._waiting:
            # What came just now may still be growing: one more look tells.
            self.site.stop.wait(self._settle)
            files = self._look()
        if not files:
            if not drain:
                self.site.stop.wait(max(0.05, min(self.site.source.interval, 1.0)))
            return None
        batch = _Batch(files)
        end = dict(position)

        def noted(stored: Stored) -> dict[str, bytes]:
            end["files"] = int(position.get("files", 0)) + len(batch.done)
            return self._noted(batch, stored.parts)

        return Gathered(
            self._pieces(batch),
            end,
            origin=lambda: _files(list(batch.done)),
            noted=noted,
            removed=batch.removed,
            cleared=batch.cleared,
            token=batch,
        )

    def committed(self, batch: Gathered, written: Written) -> None:
        done: _Batch = batch.token
        for relative, stat in done.files:
            seen = self._seen.get(relative)
            if relative not in done.done or seen is None or seen.stat != stat:
                continue
            seen.taken = written.commit is not None
            seen.empty = not seen.taken
            if seen.taken:
                self._tell(relative, stat)

    def facts(self) -> Mapping[str, Any]:
        return {"waiting": self._waiting}

    @property
    def _tree(self) -> Tree:
        if self._known is None:
            self._known = self.site.head()
        return self._known

    # -- looking ---------------------------------------------------------------------------

    def _look(self) -> list[tuple[str, Stat]]:
        """The settled files that are to be taken, the oldest first, as many as a batch holds."""
        now, wall = time.monotonic(), time.time_ns()
        there: dict[str, _Seen] = {}
        ready: list[tuple[int, str, Stat]] = []
        self._waiting = 0
        for relative, stat in _walk(self._root, self._root, self._moved_to()):
            if not self._matches(relative):
                continue
            before = self._seen.get(relative)
            seen = before if before and before.stat == stat else _Seen(stat, now)
            there[relative] = seen
            if seen.taken:
                self._tell(relative, stat)
            elif not seen.empty:
                old = wall - stat[1] >= self._settle * 1e9
                if not old and now - seen.since < self._settle:
                    self._waiting += 1
                elif self._wanted(relative, seen):
                    ready.append((stat[1], relative, stat))
        self._seen = there
        ready.sort()
        chosen: list[tuple[str, Stat]] = []
        size = 0
        for _, relative, stat in ready:
            if chosen and (size + stat[0] > self.site.source.bytes or len(chosen) >= MOST_FILES):
                break
            chosen.append((relative, stat))
            size += stat[0]
        self._waiting += len(ready) - len(chosen)
        return chosen

    def _wanted(self, relative: str, seen: _Seen) -> bool:
        """Whether a settled file is still to be taken, as far as the tree knows."""
        match taken.known(self._tree, relative, seen.stat):
            case Known.TAKEN:
                # Told again, as it is still there: the one who took it may have died before.
                seen.taken = True
                self._tell(relative, seen.stat)
                return False
            case Known.UNREADABLE:
                return os.access(self._root / relative, os.R_OK)
            case Known.CHANGED if self._then == "keep" and self._changed == "ignore":
                seen.taken = True
                return False
            case Known.CHANGED if self._then == "keep" and self._changed == "error":
                raise Failed(
                    f"{relative} changed after it was taken.",
                    hint="Put what is new into a file of its own, and the old one back.",
                )
        return True

    def _matches(self, relative: str) -> bool:
        name = relative.rpartition("/")[2] if self._by_name else relative
        return self._glob.matches("/" + name)

    def _moved_to(self) -> str:
        return os.path.abspath(self._then["move"]) if isinstance(self._then, Mapping) else ""

    # -- reading ---------------------------------------------------------------------------

    def _pieces(self, batch: _Batch) -> Iterator[Piece]:
        joined = reading.Joined(self.site.source.bytes)
        apart = self._changed == "replace" and self._then == "keep"
        for relative, stat in batch.files:
            for piece in self._file(batch, relative, stat):
                if apart:
                    yield piece
                else:
                    yield from joined.add(piece)
        yield from joined.rest()

    def _file(self, batch: _Batch, relative: str, stat: Stat) -> Iterator[Piece]:
        local = self._root / relative
        try:
            replaced = self._replaced(relative, stat)
            kind = self._format if self._format != "auto" else reading.kind_of(relative)
            if self._unpack and is_archive(relative):
                if replaced is None:
                    yield Refused("", _COMPACTED, _label(relative))
                else:
                    batch.removed += replaced
                    yield from self._archive(batch, relative, stat)
            elif kind == "files":
                with _opened(local, stat):
                    pass
                yield StoredFile(normalize_path("/" + relative), local)
            else:
                if replaced is None:
                    yield Refused("", _COMPACTED, _label(relative))
                    batch.done[relative] = taken.mark(stat)
                    return
                batch.removed += replaced
                with _opened(local, stat) as file:
                    yield from reading.pieces(file, _label(relative), kind, self.site.source.bytes)
        except FileNotFoundError:
            return
        except PermissionError as error:
            yield Refused("", f"cannot be read: {error.strerror}", _label(relative))
            batch.done[relative] = taken.mark(stat, readable=False)
            return
        except InvalidPath as error:
            yield Refused("", error.message, _label(relative))
        batch.done[relative] = taken.mark(stat)

    def _archive(self, batch: _Batch, relative: str, stat: Stat) -> Iterator[Piece]:
        local, path = self._root / relative, normalize_path("/" + relative)
        if taken.known(self._tree, relative, stat) is Known.CHANGED:
            batch.cleared.append(path)
        members = batch.members[relative] = set()
        with _opened(local, stat) as file:
            label, most = _label(relative), self.site.source.bytes
            for member, piece in archive_pieces(file, label, path, self._format, most):
                members.add(member)
                yield piece

    def _replaced(self, relative: str, stat: Stat) -> list[str] | None:
        """The files of the table that a changed file takes the place of."""
        if self._then != "keep" or self._changed != "replace":
            return []
        if taken.known(self._tree, relative, stat) is not Known.CHANGED:
            return []
        return taken.parts(self.site.core, self._tree, relative)

    def _noted(self, batch: _Batch, parts: Mapping[str, Sequence[str]]) -> dict[str, bytes]:
        found = {taken.taken_path(relative): mark for relative, mark in batch.done.items()}
        if self._changed == "replace" and self._then == "keep":
            for relative in batch.done:
                labels = batch.members.get(relative, {_label(relative)})
                data = taken.parts_data([path for one in labels for path in parts.get(one, ())])
                found[taken.parts_path(relative)] = data
        return found

    # -- afterwards ------------------------------------------------------------------------

    def _tell(self, relative: str, stat: Stat) -> None:
        """Do with a file that is durably in what is to be done with it, unless it changed."""
        if self._then == "keep":
            return
        local = self._root / relative
        try:
            now = local.stat()
            if (now.st_size, now.st_mtime_ns) != stat:
                return
            if self._then == "delete":
                local.unlink()
            else:
                target = Path(self._moved_to()) / relative
                target.parent.mkdir(parents=True, exist_ok=True)
                os.replace(local, target)
        except FileNotFoundError:
            return


_COMPACTED = (
    "changed after its rows were joined with others, so they cannot be replaced: they stay as "
    "they were"
)


def _walk(root: Path, folder: Path, but: str) -> Iterator[tuple[str, Stat]]:
    """Files below a folder by their paths from it, hidden ones and lakes left out."""
    if is_own(folder):
        return
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(_hidden):
                continue
            try:
                if entry.is_dir(follow_symlinks=False):
                    if os.path.abspath(entry.path) != but:
                        yield from _walk(root, Path(entry.path), but)
                elif entry.is_file() and not (entry.is_symlink() and own_folder(entry.path)):
                    stat = entry.stat()
                    yield os.path.relpath(entry.path, root), (stat.st_size, stat.st_mtime_ns)
            except FileNotFoundError:
                continue  # gone between the listing and the look


@contextmanager
def _opened(local: Path, stat: Stat) -> Iterator[BinaryIO]:
    """A file to read from, that must be as it was seen, before and after."""
    with open(local, "rb") as file:
        _unchanged(settled(bytes(local), file.fileno()), stat, local)
        yield file
        _unchanged(os.fstat(file.fileno()), stat, local)


def _unchanged(now: os.stat_result, stat: Stat, local: Path) -> None:
    if (now.st_size, now.st_mtime_ns) != stat:
        raise SourceChanged(f"{local} changed while it was read.", hint="It is read again.")


def _files(names: list[str]) -> str:
    return _label(names[0]) if len(names) == 1 else f"{len(names):,} files"


def _label(relative: str) -> str:
    """A path as people read it, also one that is no text."""
    return os.fsencode(relative).decode(errors="backslashreplace")
