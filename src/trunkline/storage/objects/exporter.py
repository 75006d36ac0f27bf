"""Files written into a local folder, each verified against its hash."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator

from blake3 import blake3

from trunkline import errors
from trunkline.model.entries import LineBytes, line_bytes
from trunkline.storage.objects.failures import corrupt, missing
from trunkline.storage.objects.outside import Reference, is_outside, outside_of
from trunkline.storage.objects.port import ObjectStore
from trunkline.storage.objects.source import shown

_SPAN = 4 << 20
_GAP = 256 << 10


class Placer:
    """Writes files below `dest`, never outside of it. `strip` is the folder that becomes it."""

    def __init__(self, dest: bytes, strip: bytes, overwrite: bool) -> None:
        self._base = dest.rstrip(b"/") + b"/"
        self._strip = strip.rstrip(b"/") + b"/"
        self._made: set[bytes] = {self._base}
        flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        self._flags = flags | (os.O_TRUNC if overwrite else os.O_EXCL)

    def write(self, path: bytes, pieces: Iterable[bytes]) -> None:
        """Write one file; on an error nothing of it is left."""
        target = self.target(path)
        fd = self._create(target)
        try:
            for piece in pieces:
                _write_all(fd, piece, target)
        except BaseException:
            os.unlink(target)
            raise
        finally:
            os.close(fd)

    def target(self, path: bytes) -> bytes:
        """Where a path goes. Its folder is there when this returns."""
        below = path[len(self._strip) :]
        if not path.startswith(self._strip) or not below or b"\0" in below:
            raise _outside(path)
        if b"/../" in path + b"/" or b"/./" in path + b"/" or b"//" in path:
            raise _outside(path)
        target = self._base + below
        folder = target[: target.rindex(b"/") + 1]
        if folder not in self._made:
            self._make(folder)
        return target

    def _write(self, path: bytes, data: memoryview) -> None:
        target = self.target(path)
        fd = self._create(target)
        try:
            if data:
                _write_all(fd, data, target)
        except BaseException:
            os.unlink(target)
            raise
        finally:
            os.close(fd)

    def _create(self, target: bytes) -> int:
        try:
            return os.open(target, self._flags, 0o666)
        except OSError as error:
            raise _failed(target, error) from None

    def _make(self, folder: bytes) -> None:
        """Make a folder below the destination, following no links on the way."""
        parent = folder[: folder.rindex(b"/", 0, -1) + 1]
        if parent not in self._made:
            self._make(parent)
        try:
            os.mkdir(folder)
        except FileExistsError:
            if not stat.S_ISDIR(os.lstat(folder[:-1]).st_mode):
                raise errors.AlreadyExists(
                    f"Cannot make a folder at {shown(folder[:-1])}: something else is there."
                ) from None
        except OSError as error:
            raise _failed(folder, error) from None
        self._made.add(folder)


class Exporter(Placer):
    """Writes files of a store. Belongs to one thread."""

    def __init__(self, store: ObjectStore, dest: bytes, strip: bytes, overwrite: bool) -> None:
        super().__init__(dest, strip, overwrite)
        self._store = store

    def write_packed(self, lines: Iterable[bytes]) -> int:
        """Write packed files given in the order of their packs; the bytes written."""
        total = 0
        for span in spans(map(line_bytes, lines)):
            start = span[0][4]
            length = max(fields[4] + fields[2] for fields in span) - start
            key = span[0][3].decode()
            try:
                view = memoryview(self._store.get_range(key, start, length) if length else b"")
            except FileNotFoundError:
                raise missing(span[0][0].decode(), span[0][1].decode(), key) from None
            for path, digest, size, _, offset in span:
                data = view[offset - start : offset - start + size]
                if blake3(data).hexdigest().encode() != digest:
                    raise corrupt(path.decode(), digest.decode(), key)
                self._write(path, data)
            total += sum(fields[2] for fields in span)
        return total

    def write_whole(self, line: bytes, wrote: Callable[[int], None]) -> None:
        """Write a file that is an object of its own, piece by piece."""
        path, digest, size, key, _ = line_bytes(line)
        if is_outside(key.decode()):
            of = Reference(path.decode(), digest.decode(), size, key.decode())
            self.write(path, _counted(outside_of(self._store).read(of), wrote))
            return
        hasher = blake3()
        done = 0
        target = self.target(path)
        fd = self._create(target)
        try:
            for piece in self._store.stream(key.decode()):
                hasher.update(piece)
                _write_all(fd, piece, target)
                done += len(piece)
                wrote(len(piece))
            if done != size or hasher.hexdigest().encode() != digest:
                raise corrupt(path.decode(), digest.decode(), key.decode())
        except FileNotFoundError:
            os.unlink(target)
            raise missing(path.decode(), digest.decode(), key.decode()) from None
        except BaseException:
            os.unlink(target)
            raise
        finally:
            os.close(fd)


def spans(files: Iterable[LineBytes]) -> Iterator[list[LineBytes]]:
    """Neighbours in a pack, to be read at once."""
    span: list[LineBytes] = []
    key, start, end = b"", 0, 0
    for fields in files:
        offset, stop = fields[4], fields[4] + fields[2]
        near = start <= offset <= end + _GAP and stop - start <= _SPAN
        if span and not (near and fields[3] == key):
            yield span
            span = []
        if not span:
            key, start, end = fields[3], offset, stop
        span.append(fields)
        end = max(end, stop)
    if span:
        yield span


def _counted(pieces: Iterable[bytes], wrote: Callable[[int], None]) -> Iterator[bytes]:
    for piece in pieces:
        yield piece
        wrote(len(piece))


def _write_all(fd: int, data: bytes | memoryview, target: bytes) -> None:
    try:
        done = os.write(fd, data)
        while done < len(data):
            done += os.write(fd, data[done:])
    except OSError as error:
        raise _failed(target, error) from None


def _outside(path: bytes) -> errors.TrunklineError:
    return errors.InvalidPath(f"{shown(path)} would be written outside the destination.")


def _failed(target: bytes, error: OSError) -> errors.TrunklineError:
    where = shown(target)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return errors.DiskFull(f"No space left to write {where}.")
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return errors.NotAllowed(f"May not write {where}: {error.strerror}.")
    if error.errno == errno.EEXIST:
        return errors.AlreadyExists(f"{where} exists already.")
    if error.errno == errno.ELOOP:
        return errors.NotAllowed(f"{where} is a link: it is not followed.")
    return errors.Failed(f"Cannot write {where}: {error.strerror or error}.")
