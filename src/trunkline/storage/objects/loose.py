"""Files that other programs keep in the store. They may have any name, also a hidden one.

Spark writes its checkpoints by itself, and on a local folder a hidden checksum beside each file.
Our own objects have no such names, so the port cannot reach them. No file is ever changed once
it is there; so a copy on the same disk is a second name for the same bytes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol

from trunkline.storage.objects.local import PIECE, LocalStore, LocalWriter
from trunkline.storage.objects.port import ObjectInfo, ObjectStore, ObjectWriter

_AT_ONCE = 16


class LooseFiles(Protocol):
    """Files below the root of a store. A missing one raises FileNotFoundError."""

    def list(self, prefix: str) -> Iterator[ObjectInfo]:
        """Every file below a folder, which ends with "/"."""

    def read(self, name: str) -> bytes: ...

    def tail(self, name: str, size: int, length: int) -> bytes:
        """The last bytes of a file of that size."""

    def stream(self, name: str) -> Iterator[bytes]: ...

    def write(self, files: Mapping[str, bytes]) -> None:
        """New files, durable when this returns."""

    def writer(self, name: str) -> ObjectWriter:
        """Write a file piece by piece, in place of what was there: all of it or nothing."""

    def copy(self, names: Mapping[str, str]) -> None:
        """New files with the bytes of others, by their names: target from source. Durable."""

    def settle(self, names: Iterable[str]) -> None:
        """Make files that another program has written survive a power cut."""

    def delete(self, names: Iterable[str]) -> None:
        """Delete files, and folders that become empty. A missing one is no error."""


def loose(store: ObjectStore) -> LooseFiles:
    return LocalFiles(store) if isinstance(store, LocalStore) else CloudFiles(store)


class LocalFiles:
    """On a disk: copies are hard links."""

    def __init__(self, store: LocalStore) -> None:
        self._store = store
        self._base = store.root + "/"

    def list(self, prefix: str) -> Iterator[ObjectInfo]:
        waiting = [prefix]
        while waiting:
            folder = waiting.pop()
            try:
                with os.scandir(self._base + folder) as found:
                    entries = sorted(found, key=lambda entry: entry.name)
            except (FileNotFoundError, NotADirectoryError):
                continue
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(f"{folder}{entry.name}/")
                    continue
                try:
                    status = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue
                yield ObjectInfo(folder + entry.name, status.st_size, status.st_mtime_ns // 1000)

    def read(self, name: str) -> bytes:
        return b"".join(self.stream(name))

    def tail(self, name: str, size: int, length: int) -> bytes:
        with open(self._base + name, "rb") as file:
            file.seek(max(0, size - length))
            return file.read(length)

    def stream(self, name: str) -> Iterator[bytes]:
        with open(self._base + name, "rb") as file:
            while piece := file.read(PIECE):
                yield piece

    def write(self, files: Mapping[str, bytes]) -> None:
        def make(name: str) -> None:
            with open(self._base + name, "xb") as file:
                file.write(files[name])
                file.flush()
                os.fsync(file.fileno())

        self._make(files, make)

    def writer(self, name: str) -> ObjectWriter:
        return LocalWriter(self._store, name, "loose")

    def copy(self, names: Mapping[str, str]) -> None:
        def make(target: str) -> None:
            source = self._base + names[target]
            try:
                os.link(source, self._base + target)
            except (FileNotFoundError, FileExistsError):
                raise
            except OSError:  # a disk that knows no links, or too many of one file
                import shutil  # slow to load, and rarely needed

                shutil.copyfile(source, self._base + target)
            _sync(self._base + target)

        self._make(names, make)

    def settle(self, names: Iterable[str]) -> None:
        folders = set()
        for name in names:
            _sync(self._base + name)
            folders.add(name.rpartition("/")[0])
        self._sync_folders(folders)

    def delete(self, names: Iterable[str]) -> None:
        folders = set()
        try:
            for name in names:
                folders.add(name.rpartition("/")[0])
                try:
                    os.unlink(self._base + name)
                except FileNotFoundError:
                    continue
        except OSError as error:
            raise self._store.writing(error) from None
        for folder in sorted(folders, key=len, reverse=True):
            self._drop_empty(folder)

    def _make(self, names: Iterable[str], make: Callable[[str], None]) -> None:
        folders: set[str] = set()
        try:
            for name in names:
                folder = name.rpartition("/")[0]
                if folder not in folders:
                    os.makedirs(self._base + folder, exist_ok=True)
                    folders.add(folder)
                make(name)
            self._sync_folders(folders)
        except (FileNotFoundError, FileExistsError):
            raise
        except OSError as error:
            raise self._store.writing(error) from None

    def _sync_folders(self, folders: set[str]) -> None:
        above = {folder[: -len(rest)] for folder in folders for rest in _ends(folder)}
        for folder in folders | above:
            _sync(self._base + folder)

    def _drop_empty(self, folder: str) -> None:
        while folder:
            try:
                os.rmdir(self._base + folder)
            except OSError:
                return  # something else is in it, or somebody was faster
            folder = folder.rpartition("/")[0]


class CloudFiles:
    """In a bucket, which copies by itself, many files at a time."""

    def __init__(self, store: ObjectStore) -> None:
        from trunkline.storage.objects.cloud import CloudStore  # slow to load

        assert isinstance(store, CloudStore)
        self._store = store.any_name()

    def list(self, prefix: str) -> Iterator[ObjectInfo]:
        return (info for info in self._store.list(prefix) if info.size or self._is_file(info.key))

    def _is_file(self, name: str) -> bool:
        """Hadoop marks folders by empty objects, which can be listed and not read."""
        try:
            self._store.get(name)
        except FileNotFoundError:
            return False
        return True

    def read(self, name: str) -> bytes:
        return self._store.get(name)

    def tail(self, name: str, size: int, length: int) -> bytes:
        return self._store.get_range(name, max(0, size - length), length)

    def stream(self, name: str) -> Iterator[bytes]:
        return self._store.stream(name)

    def write(self, files: Mapping[str, bytes]) -> None:
        _together(files, lambda name: self._store.put(name, files[name]))

    def writer(self, name: str) -> ObjectWriter:
        return self._store.writer(name)

    def copy(self, names: Mapping[str, str]) -> None:
        _together(names, lambda target: self._store.copy(names[target], target))

    def settle(self, names: Iterable[str]) -> None:
        """What a bucket has taken is durable."""

    def delete(self, names: Iterable[str]) -> None:
        self._store.delete(names)


def _together(names: Iterable[str], act: Callable[[str], None]) -> None:
    from concurrent.futures import ThreadPoolExecutor  # slow to load

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for _ in pool.map(act, names):
            pass


def _ends(folder: str) -> Iterator[str]:
    """ "/c", "/b/c" of "a/b/c": what to cut off for each folder above."""
    parts = folder.split("/")
    return ("/" + "/".join(parts[n:]) for n in range(len(parts) - 1, 0, -1))


def _sync(path: str) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
