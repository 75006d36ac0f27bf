"""Large files that come in parts, and go on after a lost connection or a killed server.

Each is a file in the lake's folder `uploads/<transaction>/`, as long as what has been received,
beside a note of what it is to become. They go with their transaction, or after a day.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import secrets
import shutil
import threading
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from blake3 import blake3

from trunkline.errors import Conflict, DiskFull, Failed, NotFound, Precondition, Usage
from trunkline.lake.core import Core
from trunkline.sdk.wire.files import Upload
from trunkline.storage.objects.intake import Intake
from trunkline.storage.objects.keys import KeyMaker
from trunkline.storage.objects.local import LocalStore
from trunkline.storage.objects.whole import line

FOLDER = "uploads"
KEEP_SECONDS = 86_400.0
_PIECE = 1 << 20
_id = re.compile(r"[0-9a-f]{32}").fullmatch


@dataclass(frozen=True, slots=True)
class _Note:
    """What an upload is to become; its line when it is in the store."""

    path: str
    size: int
    line: str = ""


class WrongOffset(Conflict):
    """Another part is wanted next."""

    def __init__(self, offset: int) -> None:
        super().__init__(f"{offset:,} bytes are here.", hint=f"Go on from byte {offset}.")
        self.offset = offset


class Parts:
    """The unfinished uploads of one transaction."""

    def __init__(self, lake_folder: Path, txn: str) -> None:
        if not _id(txn):
            raise Usage("The id of a transaction is 32 hex digits.")
        self._folder = lake_folder / FOLDER / txn

    def begin(self, path: str, size: int) -> Upload:
        if size < 0:
            raise Usage("A file has no negative size.")
        upload = secrets.token_hex(16)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._data(upload).touch()
            self._note(upload).write_text(json.dumps(asdict(_Note(path, size))))
        except OSError as error:
            raise _failed(error) from None
        return Upload(upload, path, size)

    def find(self, upload: str) -> Upload:
        told = self._told(upload)
        try:
            offset = told.size if told.line else self._data(upload).stat().st_size
        except FileNotFoundError:
            raise _unknown(upload) from None
        return Upload(upload, told.path, told.size, offset)

    def open(self, upload: str, offset: int) -> Part:
        """To write what comes from `offset` on."""
        found = self.find(upload)
        try:
            fd = os.open(self._data(upload), os.O_WRONLY | os.O_CLOEXEC)
        except OSError:
            raise _unknown(upload) from None
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(fd).st_size != offset:
                raise WrongOffset(os.fstat(fd).st_size)
        except BlockingIOError:
            os.close(fd)
            raise Conflict("This upload is being written to.", hint="Try again.") from None
        except BaseException:
            os.close(fd)
            raise
        return Part(fd, offset, found.size, str(self._data(upload)))

    def finish(self, core: Core, upload: str, keys: KeyMaker) -> bytes:
        """The line of the whole file, which is in the store now. Asked again, the same."""
        told = self._told(upload)
        if told.line:
            return told.line.encode()
        found = self.find(upload)
        if found.offset != found.size:
            raise Precondition(
                f"Of {found.size:,} bytes {found.offset:,} are here.", hint="Send the rest."
            )
        stored = self._stored(core, found, keys)
        fresh = self._note(upload).with_suffix(".new")
        fresh.write_text(json.dumps(asdict(replace(told, line=stored.decode()))))
        os.replace(fresh, self._note(upload))
        self._data(upload).unlink(missing_ok=True)
        return stored

    def remove(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def _stored(self, core: Core, found: Upload, keys: KeyMaker) -> bytes:
        data = self._data(found.id)
        store = core.objects
        if isinstance(store, LocalStore) and found.size > core.options.pack_limit:
            digest = _running.digest(str(data), found.size) or _hash(data)
            if key := _moved(store, data, keys.data(found.path)):
                return line(found.path, digest, found.size, key)
        with Intake(store, keys, pack_limit=core.options.pack_limit) as intake:
            return intake.add_file(found.path, data)

    def _told(self, upload: str) -> _Note:
        if not _id(upload):
            raise _unknown(upload)
        try:
            return _Note(**json.loads(self._note(upload).read_text()))
        except (FileNotFoundError, ValueError, TypeError):
            raise _unknown(upload) from None

    def _data(self, upload: str) -> Path:
        return self._folder / f"{upload}.part"

    def _note(self, upload: str) -> Path:
        return self._folder / f"{upload}.json"


class Part:
    """A part that is being received. Belongs to one request."""

    def __init__(self, fd: int, offset: int, size: int, name: str) -> None:
        self._fd = fd
        self._name = name
        self._start = offset
        self.offset = offset
        self.size = size

    @property
    def left(self) -> int:
        return self.size - self._start

    def write(self, block: bytes) -> None:
        view = memoryview(block)
        try:
            while view:
                count = os.pwrite(self._fd, view, self.offset)
                _running.add(self._name, self.offset, view[:count])
                view = view[count:]
                self.offset += count
        except OSError as error:
            raise _failed(error) from None

    def close(self) -> None:
        os.close(self._fd)


class _Running:
    """Hashes of uploads as far as they came through this process, so that few are read again."""

    MOST = 1000

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._hashers: dict[str, tuple[int, blake3]] = {}

    def add(self, name: str, offset: int, data: memoryview) -> None:
        with self._lock:
            at, hasher = self._hashers.pop(name, (0, blake3()))
        if at != offset:
            return
        hasher.update(data)
        with self._lock:
            self._hashers[name] = at + len(data), hasher
            while len(self._hashers) > self.MOST:
                del self._hashers[next(iter(self._hashers))]

    def digest(self, name: str, size: int) -> str | None:
        """The hash of the whole file, if all of it came by."""
        with self._lock:
            at, hasher = self._hashers.pop(name, (-1, None))
        return hasher.hexdigest() if hasher is not None and at == size else None


_running = _Running()
_swept: dict[Path, float] = {}


def sweep(lake_folder: Path) -> None:
    """Remove what transactions of the day before left; looked for once in an hour."""
    if time.monotonic() - _swept.get(lake_folder, -1e9) < 3600:
        return
    _swept[lake_folder] = time.monotonic()
    old = time.time() - KEEP_SECONDS
    try:
        for found in (lake_folder / FOLDER).iterdir():
            newest = max((one.stat().st_mtime for one in found.iterdir()), default=0.0)
            if _id(found.name) and max(newest, found.stat().st_mtime) < old:
                shutil.rmtree(found, ignore_errors=True)
    except OSError:
        return


def _moved(store: LocalStore, data: Path, key: str) -> str:
    """Make a file an object of a store on the same disk, without a copy; "" if it cannot be."""
    temporary = store.temporary_path(key)
    try:
        os.close(store.create(temporary))
        os.rename(data, temporary)
    except OSError:
        os.unlink(temporary)
        return ""
    try:
        os.chmod(temporary, 0o444)
        with open(temporary, "rb") as file:
            os.fdatasync(file.fileno())
        store.move_into_place(temporary, key)
    except OSError as error:
        raise store.writing(error) from None
    return key


def _hash(data: Path) -> str:
    hasher = blake3()
    with open(data, "rb", buffering=0) as file:
        while piece := file.read(_PIECE):
            hasher.update(piece)
    return hasher.hexdigest()


def _unknown(upload: str) -> NotFound:
    return NotFound(f"There is no upload {upload[:32]!r} here.", hint="Begin it again.")


def _failed(error: OSError) -> DiskFull | Failed:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull("The server has no space left.", hint="Free some, then try again.")
    return Failed(f"The server cannot take this: {error.strerror}.")
