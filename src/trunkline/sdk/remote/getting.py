"""Getting files through a server: one answer for a folder, each file checked as it is written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from blake3 import blake3

from trunkline.errors import Failed, InvalidPath
from trunkline.model.paths import normalize_path
from trunkline.model.suggest import shown
from trunkline.sdk.chunks import open_chunks
from trunkline.sdk.getting import (
    cannot_write,
    new_file,
    new_folder,
    refuse_overwriting,
    write_archive,
)
from trunkline.sdk.remote.client import Client
from trunkline.sdk.remote.reading import PIECE, damaged
from trunkline.sdk.results import GetReport
from trunkline.sdk.wire.bundles import Header, read_files, read_header
from trunkline.sdk.wire.files import ARCHIVE
from trunkline.sdk.writer import Progress
from trunkline.storage.objects.exporter import Placer

_REPORTED = 200


class RemoteGetter:
    """Writes files of a commit to this computer, whole or not at all."""

    def __init__(
        self, client: Client, place: str, at: str, path: str, progress: Progress | None
    ) -> None:
        self._client = client
        self._place = f"{place}/archive"
        self._at = at
        self._path = path
        self._progress = progress or (lambda files, size: None)

    def get(self, dest: str | os.PathLike[str], force: bool) -> GetReport:
        """A file goes to `dest`, or into it if it is a folder; a folder's contents go below it."""
        target = Path(dest)
        try:
            with self._bundle(self._at, None) as (stream, header):
                if header.more["single"]:
                    return self._file(stream, header, target, force)
                return self._folder(stream, header, target, force)
        except OSError as error:
            raise cannot_write(error, target) from error

    def tar(self, dest: str | os.PathLike[str] | BinaryIO, name: str, force: bool) -> GetReport:
        """One archive with everything, in path order."""

        def write(stream: BinaryIO, where: str) -> GetReport:
            asked: dict[str, Any] = {"at": self._at, "path": self._path, "format": "tar"}
            with self._client.stream("GET", self._place, **asked) as answer:
                _copy_archive(open_chunks(answer.iter_bytes(PIECE)), stream)
                files, size, erased = map(int, answer.headers[ARCHIVE].split())
            self._progress(files, size)
            return GetReport(files, size, where, erased)

        return write_archive(dest, name, force, write)

    def _file(self, stream: BinaryIO, header: Header, target: Path, force: bool) -> GetReport:
        # Asking for a second file would read past the bytes of this one.
        path, pieces = next(read_files(stream, header))
        with new_file(target, path, force) as (file, place):
            for piece in _checked(path, header.files[0][2], pieces):
                file.write(piece)
                self._progress(0, len(piece))
        return GetReport(1, header.size, str(place))

    def _folder(self, stream: BinaryIO, header: Header, target: Path, force: bool) -> GetReport:
        count = size = 0
        with new_folder(target) as partial, ExitStack() as stack:
            partial.mkdir()
            placer = Placer(os.fsencode(partial), header.more["base"].encode(), overwrite=False)
            while True:
                if not force:
                    paths = (path for path, _, _ in header.files)
                    refuse_overwriting(paths, header.more["base"], target)
                self._write_all(placer, stream, header)
                count, size = count + len(header.files), size + header.size
                following = header.more["next"]
                if following is None:
                    break
                # The rest is of the same commit, wherever the branch is by now.
                stack.close()
                stream, header = stack.enter_context(self._bundle(header.more["commit"], following))
        return GetReport(count, size, str(target), header.more["erased"])

    def _write_all(self, placer: Placer, stream: BinaryIO, header: Header) -> None:
        done = written = 0
        for (path, pieces), (_, size, digest) in zip(
            read_files(stream, header), header.files, strict=True
        ):
            placer.write(path.encode(), _checked(path, digest, pieces))
            done, written = done + 1, written + size
            if done == _REPORTED or written >= PIECE:
                self._progress(done, written)
                done = written = 0
        self._progress(done, written)

    @contextmanager
    def _bundle(self, at: str, after: str | None) -> Iterator[tuple[BinaryIO, Header]]:
        asked: dict[str, Any] = {"at": at, "path": self._path, "format": "bundle", "after": after}
        with self._client.stream("GET", self._place, **asked) as answer:
            stream = open_chunks(answer.iter_bytes(PIECE))
            yield stream, read_header(stream)


def _copy_archive(source: BinaryIO, dest: BinaryIO) -> None:
    """Write the files of an archive to another: what it has beside them is not believed."""
    import tarfile  # with every compression there is, for archives only

    try:
        with (
            tarfile.open(fileobj=source, mode="r|") as theirs,
            tarfile.open(fileobj=dest, mode="w|", format=tarfile.PAX_FORMAT) as ours,
        ):
            for member in theirs:
                content = theirs.extractfile(member) if member.isreg() else None
                if content is None or member.issparse() or not _is_below(member.name):
                    raise Failed(
                        f"The server sent an archive with {shown(member.name)}, "
                        "which is no file of a repo.",
                        hint="Nothing of it was kept. Ask whoever runs the server.",
                    )
                info = tarfile.TarInfo(member.name)
                info.size, info.mode = member.size, 0o644
                ours.addfile(info, content)
    except tarfile.TarError as error:
        raise Failed(f"The server sent no archive: {error}.", hint="Try again.") from None


def _is_below(name: str) -> bool:
    """Whether a name leads nowhere but below the folder that it is unpacked in."""
    try:
        return normalize_path(f"/{name}") == f"/{name}"
    except InvalidPath:
        return False


def _checked(path: str, digest: str, pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The pieces, and an error at their end if they are not what the server lists."""
    hasher = blake3()
    for piece in pieces:
        hasher.update(piece)
        yield piece
    if hasher.hexdigest() != digest:
        raise damaged(path, digest)
