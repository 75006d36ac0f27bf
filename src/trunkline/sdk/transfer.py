"""Whole trees in and out: what `put` and `get` do beyond single files."""

from __future__ import annotations

import os
import secrets
import shutil
import sys
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from trunkline.errors import AlreadyExists, DiskFull, Failed, NotFound, ReadOnly, Usage
from trunkline.ingest.archives import iter_tar
from trunkline.ingest.object_urls import open_object_url
from trunkline.ingest.sources import local_files
from trunkline.ingest.urls import UrlPolicy, open_url
from trunkline.lake import files
from trunkline.lake.core import Core, Resolved
from trunkline.model.entries import Entry, line_path
from trunkline.model.paths import join, normalize_path
from trunkline.model.refs import Ref
from trunkline.pipeline.globs import Glob
from trunkline.sdk.results import GetReport
from trunkline.sdk.streams import open_chunks
from trunkline.sdk.writer import CommitWriter, Progress
from trunkline.storage.catalog import erasures
from trunkline.storage.objects.open import open_foreign
from trunkline.storage.objects.outlet import export
from trunkline.storage.objects.port import ObjectStore
from trunkline.storage.objects.source import changed, open_source, same, unreadable

STDIN = "-"


class Putter:
    """Puts everything that a user may name into one commit."""

    def __init__(
        self,
        writer: CommitWriter,
        policy: UrlPolicy,
        store_options: dict[str, str],
        *,
        append: bool,
        untar: bool,
        recursive: bool,
        progress: Progress | None,
    ) -> None:
        self._writer = writer
        self._policy = policy
        self._store_options = store_options
        self._append = append
        self._untar = untar
        self._recursive = recursive
        self._progress = progress

    def put(self, sources: Sequence[str], target: str | None) -> None:
        """`target` is the path as it was typed: a trailing slash means a folder."""
        if not sources:
            raise Usage("There is nothing to put.", hint="Name a file, a folder or a URL.")
        local = [source for source in sources if source != STDIN and "://" not in source]
        remote = [source for source in sources if source not in local]
        into = target is None or target.endswith("/") or len(sources) > 1 or self._untar
        # Two or more sources go below the target, whatever kinds they are of.
        folder = f"{target.rstrip('/')}/" if target and len(sources) > 1 else target
        pairs = local_files(local, folder, recursive=self._recursive) if local else []
        if pairs and not (self._append or self._untar):
            self._writer._put_placed(pairs, self._progress)
            pairs = []
        for path, source in pairs:
            with _open(source) as stream:
                place = (target or "/") if self._untar else path
                self._stream(place, stream, os.path.basename(source))
        for source in remote:
            self._remote(source, target or "/", into)

    def _remote(self, source: str, target: str, into: bool) -> None:
        if source == STDIN:
            if into and not self._untar:
                raise Usage(
                    "Standard input has no name of its own.", hint="Name one: REPO@BRANCH:/path."
                )
            self._stream(target, sys.stdin.buffer, "standard input")
            return
        if source.startswith(("http://", "https://")):
            remote = open_url(source, self._policy)
            place = join(normalize_path(target), remote.name) if into else target
            with open_chunks(remote.chunks) as stream:
                self._stream(target if self._untar else place, stream, source)
            return
        for found in open_object_url(source, self._open_bucket, recursive=self._recursive):
            below = into or self._recursive
            place = join(normalize_path(target), found.relative) if below else target
            with open_chunks(found.open()) as stream:
                self._stream(target if self._untar else place, stream, source)

    def _open_bucket(self, url: str) -> ObjectStore:
        return open_foreign(url, self._store_options if url.startswith("s3://") else {})

    def _stream(self, path: str, stream: BinaryIO, name: str) -> None:
        if self._untar:
            for member, chunks, _ in iter_tar(stream, name=name):
                counted = self._counted(chunks)
                self._writer.put(join(normalize_path(path), member), counted, append=self._append)
                self._report(1, 0)
            return
        self._writer.put(path, self._counted(_chunks(stream)), append=self._append)
        self._report(1, 0)

    def _counted(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        for chunk in chunks:
            yield chunk
            self._report(0, len(chunk))

    def _report(self, done: int, size: int) -> None:
        if self._progress is not None:
            self._progress(done, size)


@contextmanager
def _open(source: str) -> Iterator[BinaryIO]:
    """A local file to read from, that must be the same at the end."""
    local = os.fsencode(source)
    fd, before = open_source(local)
    with open(fd, "rb") as stream:
        try:
            yield stream
        except OSError as error:
            raise unreadable(local, error) from None
        if not same(before, os.fstat(fd)):
            raise changed(local)


def _chunks(stream: BinaryIO) -> Iterator[bytes]:
    while chunk := stream.read(1 << 20):
        yield chunk


class Getter:
    """Writes files of a commit to this computer, whole or not at all."""

    def __init__(self, core: Core, found: Resolved, ref: Ref, progress: Progress | None) -> None:
        self._core = core
        self._tree = core.tree(found.commit)
        self._ref = ref
        self._progress = progress
        self._where = f"{ref.repo}@{ref.ref}"

    def get(self, dest: str | os.PathLike[str], force: bool) -> GetReport:
        """A file goes to `dest`, or into it if it is a folder; a folder's contents go below it."""
        lines, base = self._selected()
        target = Path(dest)
        single = len(lines) == 1 and line_path(lines[0]).decode() == self._ref.path
        lines, erased = self._without_erased(lines, single)
        try:
            if single:
                return self._get_file(lines[0], target, force)
            return self._get_folder(lines, base, target, force, erased)
        except OSError as error:
            raise _cannot_write(error, target) from error

    def tar(self, dest: str | os.PathLike[str] | BinaryIO, force: bool) -> GetReport:
        """One archive with everything, in path order."""
        lines, base = self._selected()
        lines, erased = self._without_erased(lines, False)
        if not isinstance(dest, str | os.PathLike):
            return self._write_tar(dest, lines, base, "standard output", erased)
        target = Path(dest)
        if target.is_dir():
            target = target / f"{self._ref.repo.repo}.tar"
        _refuse_existing(target, force)
        partial = _partial(target)
        try:
            with open(partial, "wb") as stream:
                report = self._write_tar(stream, lines, base, str(target), erased)
            os.replace(partial, target)
        except OSError as error:
            raise _cannot_write(error, target) from error
        finally:
            partial.unlink(missing_ok=True)
        return report

    def _selected(self) -> tuple[list[bytes], str]:
        """The lines that the ref's path means, and the folder that becomes the destination."""
        path = self._ref.path or "/"
        if (
            Glob(path).is_literal
            or self._tree.find(path.encode())
            or self._tree.has_below(_stem(path))
        ):
            lines = files.lines_below(self._tree, path)
            if not lines and path != "/":
                files.find(self._tree, path, self._where)
            return lines, path
        picked: dict[bytes, None] = {}
        for info in files.matching(self._tree, path):
            picked.update(dict.fromkeys(files.lines_below(self._tree, info.path)))
        if not picked:
            raise NotFound(f'Nothing in {self._where} matches "{path}".')
        return list(picked), Glob(path).prefix

    def _without_erased(self, lines: list[bytes], single: bool) -> tuple[list[bytes], int]:
        with self._core.database.read() as session:
            gone = erasures.places(session)
        if not gone:
            return lines, 0
        entries = [(line, Entry.decode(line)) for line in lines]
        kept = [line for line, entry in entries if erasures.place_of(entry) not in gone]
        if single and not kept:
            files.explain_erasure(self._core, entries[0][1])
        return kept, len(lines) - len(kept)

    def _get_file(self, line: bytes, target: Path, force: bool) -> GetReport:
        entry = Entry.decode(line)
        if target.is_dir():
            target = target / entry.path.rpartition("/")[2]
        _refuse_existing(target, force)
        partial = _partial(target)
        try:
            with open(partial, "wb") as stream:
                for chunk in files.read(self._core, entry):
                    stream.write(chunk)
                    if self._progress:
                        self._progress(0, len(chunk))
            os.replace(partial, target)
        finally:
            partial.unlink(missing_ok=True)
        return GetReport(1, entry.size, str(target))

    def _get_folder(
        self, lines: list[bytes], base: str, target: Path, force: bool, erased: int
    ) -> GetReport:
        if target.exists() and not target.is_dir():
            raise AlreadyExists(f"{target} is a file.", hint="Name a folder.")
        if target.is_dir() and not force:
            _refuse_overwriting(lines, base, target)
        # Everything is written beside the target first: an interruption leaves nothing in it.
        partial = _partial(target)
        try:
            count, size = export(
                self._core.objects,
                lines,
                partial,
                strip=base,
                workers=self._core.options.workers,
                progress=self._progress,
            )
            if target.is_dir():
                _move_into(partial, target)
            else:
                os.rename(partial, target)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
        return GetReport(count, size, str(target), erased)

    def _write_tar(
        self, stream: BinaryIO, lines: list[bytes], base: str, name: str, erased: int
    ) -> GetReport:
        size = 0
        start = len(base.rstrip("/")) + 1
        with tarfile.open(fileobj=stream, mode="w|", format=tarfile.PAX_FORMAT) as archive:
            for line in lines:
                entry = Entry.decode(line)
                info = tarfile.TarInfo(entry.path[start:] or entry.path.rpartition("/")[2])
                info.size = entry.size
                info.mode = 0o644
                with open_chunks(files.read(self._core, entry)) as content:
                    archive.addfile(info, content)
                    # The archive takes as many bytes as it needs; the hash is compared after them.
                    content.read(1)
                size += entry.size
                if self._progress:
                    self._progress(1, entry.size)
        return GetReport(len(lines), size, name, erased)


def _stem(path: str) -> bytes:
    return path.rstrip("/").encode()


def _partial(target: Path) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    name = target.name or target.absolute().name or "lake"
    folder = target.absolute().parent
    return folder / f".{name}.partial-{secrets.token_hex(4)}"


def _refuse_existing(target: Path, force: bool) -> None:
    if target.exists() and not force:
        raise AlreadyExists(f"{target} exists already.", hint="Use --force to replace it.")


def _refuse_overwriting(lines: list[bytes], base: str, target: Path) -> None:
    if not any(target.iterdir()):
        return
    start = len(base.rstrip("/")) + 1
    for line in lines:
        place = target / line_path(line).decode()[start:]
        if place.exists():
            raise AlreadyExists(f"{place} exists already.", hint="Use --force to replace it.")


def _move_into(source: Path, target: Path) -> None:
    for folder, _, names in os.walk(source):
        inside = target / Path(folder).relative_to(source)
        inside.mkdir(parents=True, exist_ok=True)
        for name in names:
            os.replace(os.path.join(folder, name), inside / name)


def _cannot_write(error: OSError, target: Path) -> Failed | DiskFull | ReadOnly:
    import errno

    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(f"No space left to write {target}.", hint="Free some space, then retry.")
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return ReadOnly(f"{target} cannot be written: {error.strerror}.")
    return Failed(f"Cannot write {target}: {error.strerror}.")
