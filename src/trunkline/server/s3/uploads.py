"""Uploads in parts, as they are kept until they are complete: a folder for each.

    <upload id>/upload.json                       where it goes, and who began it when
    <upload id>/00007.<etag>.<size>               a part
    <upload id>/.<random>                         a part that is still coming

The names are the state, so a server that was killed goes on where it was. Nothing that a client
says becomes part of a name: ids are ours, parts are numbers.
"""

from __future__ import annotations

import errno
import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from blake3 import blake3

from trunkline.errors import DiskFull, Failed, ReadOnly, TrunklineError
from trunkline.model.time import now_micros
from trunkline.server.s3.failures import S3Error

KEEP_SECONDS = 7 * 86_400
"""Uploads that nobody completed or aborted are thrown away after this."""
_PIECE = 1 << 20
_id = re.compile(r"[0-9a-f]{32}\Z")
_part = re.compile(r"([0-9]{5})\.([0-9a-f]{32})\.([0-9]{1,16})\Z")


@dataclass(frozen=True, slots=True)
class Upload:
    """`repo` is what tells a repo from every other, also from a later one of the same name."""

    id: str
    repo: str
    key: str
    author: str
    started: int


@dataclass(frozen=True, slots=True)
class Part:
    number: int
    hash: str
    size: int
    path: Path
    modified: int

    @property
    def etag(self) -> str:
        return f'"{self.hash}-1"'


class Uploads:
    """The uploads of a lake that are not complete."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def begin(self, repo: str, key: str, author: str) -> Upload:
        self._sweep()
        upload = Upload(secrets.token_hex(16), repo, key, author, now_micros())
        place = self._folder / upload.id
        fresh = self._folder / f".{upload.id}"
        with _writing(place):
            fresh.mkdir(parents=True, mode=0o700)
            (fresh / "upload.json").write_text(json.dumps(asdict(upload)))
            fresh.rename(place)
        return upload

    def find(self, upload_id: str, repo: str, key: str) -> Upload:
        """An upload to this very key, or NoSuchUpload."""
        found = self._read(upload_id) if _id.match(upload_id) else None
        if found is None or (found.repo, found.key) != (repo, key):
            raise gone()
        return found

    def all(self, repo: str) -> list[Upload]:
        """The uploads to a repo, by key and id."""
        try:
            names = os.listdir(self._folder)
        except FileNotFoundError:
            return []
        found = [self._read(name) for name in names if _id.match(name)]
        mine = [one for one in found if one and one.repo == repo]
        return sorted(mine, key=lambda one: (one.key.encode(), one.id))

    def add(self, upload: Upload, number: int, pieces: Iterable[bytes]) -> Part:
        """Keep a part, in place of an earlier one of its number."""
        folder = self._folder / upload.id
        fresh = folder / f".{secrets.token_hex(8)}"
        hasher = blake3()
        size = 0
        try:
            with _writing(folder), open(fresh, "xb") as file:
                for piece in pieces:
                    hasher.update(piece)
                    file.write(piece)
                    size += len(piece)
            digest = hasher.hexdigest()[:32]
            place = folder / f"{number:05}.{digest}.{size}"
            earlier = [one.path for one in self.parts(upload) if one.number == number]
            with _writing(folder):
                fresh.rename(place)
            for path in earlier:
                if path != place:
                    path.unlink(missing_ok=True)
            return Part(number, digest, size, place, now_micros())
        finally:
            fresh.unlink(missing_ok=True)

    def parts(self, upload: Upload) -> list[Part]:
        """The parts that have come, in order."""
        found = []
        try:
            entries = list(os.scandir(self._folder / upload.id))
        except FileNotFoundError:
            raise gone() from None
        for entry in entries:
            if (name := _part.match(entry.name)) is not None:
                modified = int(entry.stat().st_mtime * 1_000_000)
                place = Path(entry.path)
                found.append(Part(int(name[1]), name[2], int(name[3]), place, modified))
        return sorted(found, key=lambda one: (one.number, one.modified))

    def content(self, parts: Iterable[Part]) -> Iterator[bytes]:
        """The bytes of parts, one after the other, compared with their hashes on the way."""
        for part in parts:
            hasher = blake3()
            try:
                with open(part.path, "rb") as file:
                    while piece := file.read(_PIECE):
                        hasher.update(piece)
                        yield piece
            except FileNotFoundError:
                raise gone() from None
            if hasher.hexdigest()[:32] != part.hash:
                raise S3Error("InvalidPart", f"Part {part.number} is damaged; upload it again.")

    def end(self, upload: Upload) -> None:
        """Forget an upload, complete or not."""
        shutil.rmtree(self._folder / upload.id, ignore_errors=True)

    def _read(self, upload_id: str) -> Upload | None:
        try:
            text = (self._folder / upload_id / "upload.json").read_text()
            return Upload(**json.loads(text))
        except (FileNotFoundError, ValueError, TypeError):
            return None

    def _sweep(self) -> None:
        before = time.time() - KEEP_SECONDS
        try:
            entries = list(os.scandir(self._folder))
        except FileNotFoundError:
            return
        for entry in entries:
            # A folder's time is that of the last part that came.
            if entry.stat().st_mtime < before:
                shutil.rmtree(entry.path, ignore_errors=True)


def gone() -> S3Error:
    return S3Error("NoSuchUpload", "There is no such upload: it was completed, aborted or swept.")


@contextmanager
def _writing(place: Path) -> Iterator[None]:
    """Says what a disk would not do in one of our own errors."""
    try:
        yield
    except FileNotFoundError:
        raise gone() from None
    except OSError as error:
        raise _said(error, place) from None


def _said(error: OSError, place: Path) -> TrunklineError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(f"No space left for uploads in {place.parent}.")
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return ReadOnly(f"{place.parent} cannot be written: {error.strerror}.")
    return Failed(f"Uploads cannot be kept in {place.parent}: {error.strerror}.")
