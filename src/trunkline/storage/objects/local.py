"""A local folder as an object store that survives a power cut.

An object is written to `tmp/`, synced, renamed into place, and its folder synced. What a
killed process leaves in `tmp/` is never read and may be deleted.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Self

from trunkline import errors
from trunkline.storage.objects.keys import TEMPORARY, check_key
from trunkline.storage.objects.port import Buffer, ObjectInfo
from trunkline.storage.objects.probe import probe

PIECE = 1 << 20

_FULL = frozenset((errno.ENOSPC, errno.EDQUOT))
_FORBIDDEN = frozenset((errno.EROFS, errno.EACCES, errno.EPERM))
# As much as is written before the disk is told to start: the sync at the end then waits less.
_AHEAD = 16 << 20
# A file that is locked while an object is exchanged, and is gone afterwards.
_EDITS = f"{TEMPORARY}edit."
_EDITING = f"{_EDITS}lock"
_PATIENCE = 60.0
# Objects never change: take away the permission to do so by accident.
_MODE = 0o444


class LocalStore:
    """Objects as files below `root`, which is made when the first object is."""

    def __init__(self, root: str) -> None:
        self.root = os.path.abspath(root)
        self._base = self.root + "/"
        self._folders: set[str] = set()

    @property
    def address(self) -> tuple[str, Mapping[str, str]] | None:
        return self.root, {}

    def put(self, key: str, data: Buffer) -> None:
        with self.writer(key) as writer:
            writer.write(data)

    def writer(self, key: str, size: int | None = None) -> LocalWriter:
        return LocalWriter(self, key)

    def edit(self, key: str, change: Callable[[bytes], Buffer]) -> None:
        with self._editing(), LocalWriter(self, key, "edit") as writer:
            writer.write(change(self.get(key)))

    def get(self, key: str) -> bytes:
        with self._open(key) as fd:
            return _read_fully(fd, os.fstat(fd).st_size)

    def get_range(self, key: str, start: int, length: int) -> bytes:
        with self._open(key) as fd:
            os.lseek(fd, start, os.SEEK_SET)
            return _read_fully(fd, length)

    def stream(self, key: str, start: int = 0, length: int | None = None) -> Iterator[bytes]:
        with self._open(key) as fd:
            os.lseek(fd, start, os.SEEK_SET)
            while length is None or length > 0:
                piece = os.read(fd, PIECE if length is None else min(PIECE, length))
                if not piece:
                    return
                if length is not None:
                    length -= len(piece)
                yield piece

    def head(self, key: str) -> ObjectInfo:
        try:
            status = os.stat(self._base + check_key(key))
        except OSError as error:
            raise self._reading(error, key) from None
        return ObjectInfo(key, status.st_size, status.st_mtime_ns // 1000)

    def list(self, prefix: str = "") -> Iterator[ObjectInfo]:
        if prefix and not prefix.endswith("/"):
            raise ValueError("a prefix ends with a slash")
        if prefix:
            check_key(prefix[:-1])
        for info in self._walk(prefix):
            if not info.key.startswith(TEMPORARY):
                yield info

    def delete(self, keys: Iterable[str]) -> None:
        for key in keys:
            try:
                os.unlink(self._base + check_key(key))
            except FileNotFoundError:
                pass
            except OSError as error:
                raise self.writing(error) from None

    def abandoned(self) -> Iterator[ObjectInfo]:
        return (info for info in self._walk(TEMPORARY) if not info.key.startswith(_EDITS))

    def uri(self, key: str) -> str:
        from urllib.parse import quote  # slow to load, and most commands never ask

        return "file://" + quote(self._base + (check_key(key) if key else ""))

    def check(self) -> None:
        probe(self)

    def temporary_path(self, key: str) -> str:
        """A new name below `tmp/`, from which its transaction can be told."""
        name = key.rpartition("/")[2][:180]
        return f"{self._base}{TEMPORARY}{name}.{os.urandom(6).hex()}"

    def create(self, path: str) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        try:
            try:
                return os.open(path, flags, _MODE)
            except FileNotFoundError:
                self._make_folder(os.path.dirname(path))
                return os.open(path, flags, _MODE)
        except OSError as error:
            raise self.writing(error) from None

    def move_into_place(self, temporary: str, key: str) -> None:
        target = self._base + key
        folder = os.path.dirname(target)
        if folder not in self._folders:
            self._make_folder(folder)
        try:
            os.rename(temporary, target)
        except FileNotFoundError:
            self._make_folder(folder)
            os.rename(temporary, target)
        _sync_folder(folder)

    def writing(self, error: OSError) -> Exception:
        """The error to raise when a write failed."""
        if error.errno in _FULL:
            return errors.DiskFull(
                f"No space left for objects in {self.root}.",
                hint="Free some space and try again; nothing was changed.",
            )
        if error.errno in _FORBIDDEN:
            return errors.ReadOnly(f"May not write to {self.root}: {error.strerror}.")
        return errors.Failed(f"Cannot write to {self.root}: {error.strerror or error}.")

    def _reading(self, error: OSError, key: str) -> Exception:
        if isinstance(error, (FileNotFoundError, NotADirectoryError)):
            return FileNotFoundError(key)
        if error.errno in _FORBIDDEN:
            return errors.NotAllowed(f"May not read {key} in {self.root}: {error.strerror}.")
        return errors.Failed(f"Cannot read {key} in {self.root}: {error.strerror or error}.")

    @contextmanager
    def _editing(self) -> Iterator[None]:
        """One who edits at a time, over all processes: the system ends it with its process."""
        fd = self._lock()
        try:
            # Who was killed left what it was about to exchange; nobody else may be at it.
            self.delete(one.key for one in self._walk(TEMPORARY) if _is_left(one.key))
            yield
        finally:
            # While it is locked: who waits for this file sees that it is gone, and makes another.
            with suppress(FileNotFoundError):
                os.unlink(self._base + _EDITING)
            os.close(fd)

    def _lock(self) -> int:
        import fcntl  # only those who erase need it

        until = time.monotonic() + _PATIENCE
        while True:
            try:
                self._make_folder(os.path.dirname(self._base + _EDITING))
                fd = os.open(self._base + _EDITING, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            except OSError as error:
                raise self.writing(error) from None
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if _is_at(fd, self._base + _EDITING):
                    return fd
            except BlockingIOError:
                if time.monotonic() > until:
                    os.close(fd)
                    raise errors.Unavailable(
                        f"Another process is erasing in {self.root}.",
                        hint="Try again; what is recorded is erased by the next gc as well.",
                    ) from None
                time.sleep(0.02)
            except OSError as error:
                os.close(fd)
                raise self.writing(error) from None
            os.close(fd)

    def _open(self, key: str) -> _Reader:
        return _Reader(self, key)

    def _make_folder(self, folder: str) -> None:
        """Make a folder that a power cut does not undo."""
        try:
            os.makedirs(folder, exist_ok=True)
            # Another process may have made one of them a moment ago and not synced it yet.
            parent = folder
            while len(parent) > len(self.root):
                parent = os.path.dirname(parent)
                _sync_folder(parent)
            _sync_folder(os.path.dirname(self.root))
        except OSError as error:
            raise self.writing(error) from None
        self._folders.add(folder)

    def _walk(self, prefix: str) -> Iterator[ObjectInfo]:
        try:
            with os.scandir(self._base + prefix) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            raise self._reading(error, prefix or ".") from None
        for entry in entries:
            key = prefix + entry.name
            if entry.is_dir(follow_symlinks=False):
                yield from self._walk(key + "/")
                continue
            try:
                status = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            yield ObjectInfo(key, status.st_size, status.st_mtime_ns // 1000)


class LocalWriter:
    """An object under a temporary name. The file is made by the first write."""

    def __init__(self, store: LocalStore, key: str, temporary: str = "") -> None:
        """With a temporary name other than its own, the key may be any."""
        self.key = key if temporary else check_key(key)
        self._store = store
        self._temporary = temporary or key
        self._fd = -1
        self._path = ""
        self._written = 0
        self._started = 0

    def write(self, buffer: Buffer, /) -> None:
        if self._fd < 0:
            # Known before the file is there: an interruption may come right after it is made.
            self._path = self._store.temporary_path(self._temporary)
            self._fd = self._store.create(self._path)
        view = memoryview(buffer)
        try:
            while view:
                count = os.write(self._fd, view)
                view = view[count:]
                self._written += count
            if self._written - self._started >= _AHEAD:
                _start_writing(self._fd, self._started, self._written)
                self._started = self._written
        except OSError as error:
            self.discard()
            raise self._store.writing(error) from None

    def publish(self) -> None:
        try:
            if self._fd < 0:
                self.write(b"")
            os.fdatasync(self._fd)
            self._close()
            self._store.move_into_place(self._path, self.key)
        except OSError as error:
            self.discard()
            raise self._store.writing(error) from None
        except BaseException:
            self.discard()
            raise
        self._path = ""

    def discard(self) -> None:
        self._close()
        if self._path:
            path, self._path = self._path, ""
            try:
                os.unlink(path)
            except OSError:
                # Renamed already, or a disk that fails: gc removes what is left in tmp/.
                return

    def _close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.publish()
        else:
            self.discard()


class _Reader:
    """An open file of the store; errors below it are those of the port."""

    def __init__(self, store: LocalStore, key: str) -> None:
        self._store = store
        self._key = key

    def __enter__(self) -> int:
        path = f"{self._store.root}/{check_key(self._key)}"
        try:
            self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise self._store._reading(error, self._key) from None
        return self._fd

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._fd)
        if isinstance(error, OSError):
            raise self._store._reading(error, self._key) from None


def _is_left(key: str) -> bool:
    return key.startswith(_EDITS) and key != _EDITING


def _start_writing(fd: int, start: int, stop: int) -> None:
    """Have the system begin to write a part of a file to the disk, beside what we do next.

    Pages that are not needed are dropped, but dirty ones are only written: these are dirty.
    """
    if hasattr(os, "posix_fadvise"):
        os.posix_fadvise(fd, start, stop - start, os.POSIX_FADV_DONTNEED)


def _read_fully(fd: int, length: int) -> bytes:
    data = os.read(fd, length)
    if len(data) == length or not data:
        return data
    pieces = [data]
    missing = length - len(data)
    while missing and (piece := os.read(fd, missing)):
        pieces.append(piece)
        missing -= len(piece)
    return b"".join(pieces)


def _is_at(fd: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), os.stat(path))
    except FileNotFoundError:
        return False


def _sync_folder(folder: str) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
