"""Somebody else's objects: listed in order, looked at, and read as the version that was seen.

A store calls each version of an object by a tag; for a file on this computer its time of change
stands for it. Who reads says which version is meant, and never gets the bytes of another. That
time can be set, as `cp -p` and `rsync -t` do; a file's stamp cannot.
Nothing is written here.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from trunkline import errors
from trunkline.model.suggest import shown
from trunkline.storage.objects.source import OPEN_FLAGS, settled

if TYPE_CHECKING:
    from trunkline.storage.objects.cloud import CloudStore

SCHEMES = ("s3", "gs", "az", "file")
_PIECE = 4 << 20
_PLAIN = "/=+,@:"
"""What a path may have and an address need not quote. Hashes of entries depend on it."""
_invalid = re.compile(r'Path "((?:[^"\\]|\\.)*)"').search


class Place(NamedTuple):
    """Where an object is. A file's bucket is empty, and its key the path without the first "/"."""

    scheme: str
    bucket: str
    key: str

    @property
    def url(self) -> str:
        if self.scheme == "file":
            from urllib.parse import quote  # slow to load, and most commands never ask

            return f"file:///{quote(os.fsencode(self.key), safe=_PLAIN)}"
        return f"{self.scheme}://{self.bucket}/{self.key}"


class Found(NamedTuple):
    """An object as its store tells of it. `modified` is in microseconds since 1970.

    `stamp` is what a file system says of a file besides (its number, and when anything about it
    changed last): another file in its place has another, and so has one whose rights changed.
    """

    key: str
    size: int
    version: str
    modified: int
    stamp: str = ""

    @property
    def exact(self) -> str:
        return f"{self.version} {self.stamp}" if self.stamp else self.version


class VersionGone(Exception):
    """The object is there, but not in the version that was asked for."""


class Foreign(Protocol):
    """A bucket to read from. A missing object raises FileNotFoundError; else as the port says."""

    def list(self, prefix: str, after: str = "") -> Iterator[Found]:
        """Every object below `prefix` by the bytes of its key; with `after`, what follows it."""

    def head(self, key: str) -> Found: ...

    def read(self, key: str, version: str, start: int, length: int) -> Iterator[bytes]:
        """Bytes of this version (or exact one), in pieces; VersionGone at the end at the latest."""


def split_url(url: str) -> Place:
    """The parts of the address of an object, or of all below a prefix."""
    scheme, found, rest = url.partition("://")
    if not found or scheme not in SCHEMES:
        raise errors.Usage(
            f"{shown(url)} is not the URL of an object.",
            hint="Write s3://bucket/key, gs://, az:// or file:///path.",
        )
    bucket, _, key = rest.partition("/")
    if "@" in bucket:
        raise errors.Usage("An address holds no credentials.", hint="Pass them in the environment.")
    if scheme == "file":
        if bucket or not key:
            raise errors.Usage(f"{shown(url)} is not the URL of a file.", hint="File:///path.")
        from urllib.parse import unquote

        return Place(scheme, "", unquote(key, errors="surrogateescape"))
    if not bucket:
        raise errors.Usage(f"{shown(url)} names no bucket.", hint="Write s3://bucket/key.")
    return Place(scheme, bucket, key)


def open_bucket(scheme: str, bucket: str, options: Mapping[str, str]) -> Foreign:
    """Open what `split_url` names. Nothing is contacted yet."""
    if scheme == "file":
        return LocalFiles()
    from trunkline.storage.objects.cloud import open_cloud

    return CloudObjects(open_cloud(f"{scheme}://{bucket}", options, check=str))


class CloudObjects:
    """A bucket. Each piece is asked for on the condition that the object has not changed."""

    def __init__(self, store: CloudStore) -> None:
        self._store = store

    def list(self, prefix: str, after: str = "") -> Iterator[Found]:
        for found in self._listed(prefix, after):
            # The marker of a folder is an empty object whose name has lost its last slash here.
            if found.size or not self._is_marker(found.key):
                yield found

    def _is_marker(self, key: str) -> bool:
        try:
            self.head(key)
        except FileNotFoundError:
            return True
        return False

    def _listed(self, prefix: str, after: str) -> Iterator[Found]:
        import obstore

        # A half name is matched by its whole parts only: ask for the folder above it.
        folder = prefix[: prefix.rfind("/") + 1]
        batches = obstore.list(
            self._store.bucket, folder or None, offset=after or None, chunk_size=1000
        )
        while True:
            try:
                batch = next(batches, None)
            except Exception as error:
                raise self._error(error, prefix) from None
            if not batch:
                return
            for meta in batch:
                if meta["path"].startswith(prefix):
                    yield _found(meta)

    def head(self, key: str) -> Found:
        import obstore

        try:
            return _found(obstore.head(self._store.bucket, key))
        except Exception as error:
            raise self._error(error, key) from None

    def read(self, key: str, version: str, start: int, length: int) -> Iterator[bytes]:
        import obstore

        for at in range(start, start + length, _PIECE):
            stop = min(start + length, at + _PIECE)
            options: dict[str, Any] = {"if_match": version, "range": (at, stop)}
            try:
                answer = obstore.get(self._store.bucket, key, options=options)  # type: ignore[arg-type]
                yield answer.bytes().to_bytes()
            except Exception as error:
                raise self._error(error, key) from None

    def _error(self, error: Exception, key: str) -> Exception:
        kind = type(error).__name__
        if kind == "PreconditionError":
            return VersionGone(key)
        if kind == "InvalidPathError":
            bad = _invalid(str(error))
            return errors.Precondition(
                f"{self._store.uri('')} has an object whose name cannot be read: "
                f"{shown(bad[1] if bad else key)}.",
                hint='Rename it (no "//", "." or ".."), or name a prefix that leaves it out.',
            )
        return self._store.error(error, key)


def _found(meta: Any) -> Found:
    from trunkline.storage.objects.cloud import micros

    modified = micros(meta["last_modified"])
    # A store that gives no tag tells versions by their time.
    return Found(meta["path"], meta["size"], meta["e_tag"] or str(modified), modified)


class LocalFiles:
    """All files of this computer, by their paths without the first slash."""

    def list(self, prefix: str, after: str = "") -> Iterator[Found]:
        folder = prefix[: prefix.rfind("/") + 1]
        if not os.path.isdir("/" + folder):
            raise errors.NotFound(f"There is no folder {shown('/' + folder)}.")
        for found in _walk(folder, os.fsencode(after)):
            if found.key.startswith(prefix):
                yield found

    def head(self, key: str) -> Found:
        try:
            return _local(key, os.stat("/" + key))
        except (FileNotFoundError, NotADirectoryError):
            raise FileNotFoundError(key) from None
        except OSError as error:
            raise _unreadable(key, error) from None

    def read(self, key: str, version: str, start: int, length: int) -> Iterator[bytes]:
        try:
            fd = os.open("/" + key, OPEN_FLAGS)
        except (FileNotFoundError, NotADirectoryError):
            raise FileNotFoundError(key) from None
        except OSError as error:
            raise _unreadable(key, error) from None
        try:
            _same(key, os.fstat(fd), version)
            _same(key, settled("/" + key, fd), version)
            os.lseek(fd, start, os.SEEK_SET)
            while length > 0 and (piece := os.read(fd, min(_PIECE, length))):
                length -= len(piece)
                # Only what was there after it was read is known to be of this version.
                _same(key, os.fstat(fd), version)
                yield piece
        except OSError as error:
            raise _unreadable(key, error) from None
        finally:
            os.close(fd)


def _walk(folder: str, after: bytes) -> Iterator[Found]:
    """Files below a folder in the order of a bucket: a folder's name counts with its slash."""
    try:
        with os.scandir("/" + folder) as entries:
            names = sorted(
                (os.fsencode(entry.name) + (b"/" if entry.is_dir(follow_symlinks=False) else b""))
                for entry in entries
            )
    except FileNotFoundError:
        return
    except OSError as error:
        raise _unreadable(folder, error) from None
    base = os.fsencode(folder)
    for name in names:
        whole = base + name
        if name.endswith(b"/"):
            if whole > after or after.startswith(whole):
                yield from _walk(os.fsdecode(whole), after)
        elif whole > after:
            key = os.fsdecode(whole)
            try:
                status = os.stat(b"/" + whole)
            except OSError:
                continue  # gone between the listing and the look, or a link to nothing
            if stat.S_ISREG(status.st_mode):
                yield _local(key, status)


def _local(key: str, status: os.stat_result) -> Found:
    if not stat.S_ISREG(status.st_mode):
        raise FileNotFoundError(key)
    stamp = f"{status.st_ino}-{status.st_ctime_ns}"
    modified = status.st_mtime_ns
    return Found(key, status.st_size, str(modified), modified // 1000, stamp)


def settled_file(key: str) -> Found:
    """A file of this computer, when its time can tell of all further writes."""
    try:
        return _local(key, settled("/" + key))
    except OSError as error:
        raise _unreadable(key, error) from None


def _same(key: str, status: os.stat_result, version: str) -> None:
    found = _local(key, status)
    if version not in (found.version, found.exact):
        raise VersionGone(key)


def _unreadable(key: str, error: OSError) -> errors.TrunklineError:
    return errors.SourceUnreadable(f"Cannot read {shown('/' + key)}: {error.strerror or error}.")
