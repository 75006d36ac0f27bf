"""What a datum left in its out folder, on its way into the store."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from trunkline import errors
from trunkline.engine.runner.failure import DatumFailed
from trunkline.engine.runner.sink import Sink
from trunkline.model.entries import Entry, text_path
from trunkline.model.paths import normalize_path
from trunkline.storage.objects.packer import PACK_LIMIT
from trunkline.storage.objects.whole import store_stream

_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_PIECE = 1 << 20
_MOST_LINKS = 40

_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


@dataclass(slots=True)
class Outputs:
    """Entry lines of what was stored, and what is on disk: all of it is in one of the lists.

    `mode` is that of the out folder itself. `hollow` are copies of inputs whose names only were
    there.
    """

    lines: list[str] = field(default_factory=list)
    size: int = 0
    files: list[tuple[str, os.stat_result]] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    is_respelled: bool = False
    hollow: list[str] = field(default_factory=list)
    mode: int = 0


class Collector:
    """Stores the files of an out folder that nobody writes to any more."""

    def __init__(
        self,
        sink: Sink,
        root: str,
        limit: int = PACK_LIMIT,
        names: Mapping[str, str] | None = None,
    ) -> None:
        self._sink = sink
        self._root = root
        self._limit = limit
        # Inputs of which only the names are there: a link to one stands for all of it.
        self._names = {} if names is None else names
        self.pfs_link = False
        self._known = (-1, -1)

    def collect(self, out: str, owner: str) -> Outputs:
        """Store every file below `out`, in the order of their paths."""
        found = Outputs(mode=self._check_out(out))
        self._walk(out, "", (), found, "\t" + owner)
        if found.is_respelled:
            _check_twins(found.lines)
        return found

    def _check_out(self, out: str) -> int:
        """Make sure that the folder is where it was, and no link to another place; its mode."""
        try:
            status = os.lstat(out)
            if (status.st_dev, status.st_ino) == self._known:
                return status.st_mode
            if stat.S_ISDIR(status.st_mode) and os.path.realpath(out) == out:
                self._known = (status.st_dev, status.st_ino)
                return status.st_mode
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            pass
        raise DatumFailed("took pfs/out away")

    def _walk(
        self,
        folder: str,
        below: str,
        above: tuple[str, ...],
        found: Outputs,
        tail: str,
        is_own: bool = True,
    ) -> None:
        """Store each file; `tail` ends its line. `below` is where it is in the repo.

        `is_own` unless a link led here: then what is there is not the out folder's.
        """
        try:
            with os.scandir(folder) as scan:
                entries = list(scan)
        except PermissionError:
            raise DatumFailed(f"wrote a folder that cannot be read: {below or '/'!r}") from None
        if len(entries) > 1:
            entries.sort(key=lambda entry: entry.name)
        for entry in entries:
            written = f"{below}/{entry.name}"
            local = entry.path
            if entry.is_file(follow_symlinks=False):
                status = self._store(local, written, found, tail)
                if is_own:
                    found.files.append((local, status))
                continue
            is_link = entry.is_symlink()
            if is_link:
                if is_own:
                    found.links.append(local)
                local = self._follow(local, written)
            mode = _mode(local, written)
            if stat.S_ISDIR(mode):
                if is_own and not is_link:
                    found.folders.append(local)
                real = os.path.realpath(local)
                if real in above or real == os.path.realpath(folder):
                    raise DatumFailed(f"wrote a link to a folder that it is in: {written!r}")
                higher = (*above, os.path.realpath(folder))
                self._walk(local, written, higher, found, tail, is_own and not is_link)
            elif stat.S_ISREG(mode):
                self._store(local, written, found, tail)
            else:
                kind = _KINDS.get(stat.S_IFMT(mode), "something")
                raise DatumFailed(f"wrote {kind}, which cannot be stored: {written!r}")

    def _store(self, local: str, name: str, found: Outputs, tail: str) -> os.stat_result:
        path = checked_path(name)
        if path != name:
            found.is_respelled = True
        try:
            fd = os.open(local, _OPEN)
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EPERM):
                raise DatumFailed(f"wrote a file that cannot be read: {name!r}") from None
            raise _unreadable(name, error) from None
        try:
            status = os.fstat(fd)
            size = status.st_size
            if not size and self._names:
                if entry := self._meant(local, path, tail):
                    found.size += entry.size
                    found.lines.append(entry.encode().decode())
                    return status
                if self._is_hollow(local):
                    found.hollow.append(path)
            if size > self._limit:
                pieces = _pieces(fd)
                sink = self._sink
                line = store_stream(sink.store, sink.keys, path, next(pieces, b""), pieces)
            else:
                line = self._sink.pack(path.encode(), os.read(fd, size + 1) if size else b"")
        except OSError as error:
            raise _unreadable(name, error) from None
        finally:
            os.close(fd)
        found.size += size
        found.lines.append(line.decode() + tail)
        return status

    def _meant(self, local: str, path: str, tail: str) -> Entry | None:
        """The entry of the input that a name stands for: no byte of it is moved."""
        line = self._names.get(local)
        if line is None:
            return None
        return replace(Entry.decode(line.encode()), path=path, owner=tail.removeprefix("\t"))

    def _is_hollow(self, local: str) -> bool:
        """Whether a file looks like the copy of an input, and has nothing of it."""
        name = os.path.basename(local)
        same = (line for place, line in self._names.items() if os.path.basename(place) == name)
        return any(Entry.decode(line.encode()).size for line in same)

    def _follow(self, link: str, written: str) -> str:
        """Where a link leads, if that is inside of the datum's folder."""
        target = link
        for _ in range(_MOST_LINKS):
            if not os.path.islink(target):
                break
            to = os.readlink(target)
            if self.pfs_link and (to == "/pfs" or to.startswith("/pfs/")):
                to = self._root + to
            target = os.path.join(os.path.dirname(target), to)
        try:
            real = os.path.realpath(target, strict=True)
        except OSError:
            raise DatumFailed(f"wrote a link that leads nowhere: {written!r}") from None
        if not f"{real}/".startswith(self._root + "/"):
            raise DatumFailed(f"wrote a link that leads out of its folder: {written!r}")
        return real


def _check_twins(lines: list[str]) -> None:
    seen: set[str] = set()
    for line in lines:
        path = text_path(line)
        if path in seen:
            raise DatumFailed(f"wrote two files whose names differ only in encoding: {path!r}")
        seen.add(path)


def checked_path(written: str) -> str:
    """The path a file gets in the repo."""
    try:
        return normalize_path(written)
    except errors.InvalidPath:
        raise DatumFailed(f"wrote a file with a bad name: {written[1:]!r}") from None


def _mode(local: str, written: str) -> int:
    try:
        return os.stat(local).st_mode
    except PermissionError:
        raise DatumFailed(f"wrote a folder that cannot be read: {written!r}") from None


def _pieces(fd: int) -> Iterator[bytes]:
    while piece := os.read(fd, _PIECE):
        yield piece


def _unreadable(name: str, error: OSError) -> errors.TrunklineError:
    return errors.Failed(f"Cannot read the output {name!r}: {error.strerror or error}.")
