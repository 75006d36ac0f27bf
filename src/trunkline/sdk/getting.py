"""Getting files of a commit: one, a folder, what a pattern matches, or an archive of them."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from pathlib import Path
from typing import BinaryIO

from trunkline.errors import AlreadyExists, DiskFull, Failed, NotFound, ReadOnly
from trunkline.lake import files
from trunkline.lake.core import Core, Resolved
from trunkline.model.entries import Entry, line_path
from trunkline.model.refs import Ref
from trunkline.pipelines.globs import Glob
from trunkline.sdk.chunks import open_chunks
from trunkline.sdk.results import GetReport
from trunkline.sdk.writer import Progress
from trunkline.storage.catalog import erasures
from trunkline.storage.objects.outlet import export


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
        import tarfile  # with every compression there is, for archives only

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
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(f"No space left to write {target}.", hint="Free some space, then retry.")
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return ReadOnly(f"{target} cannot be written: {error.strerror}.")
    return Failed(f"Cannot write {target}: {error.strerror}.")
