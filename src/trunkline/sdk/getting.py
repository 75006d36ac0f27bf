"""Getting files of a commit: one, a folder, what a pattern matches, or an archive of them."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

from trunkline.errors import AlreadyExists, DiskFull, Failed, NotFound, ReadOnly
from trunkline.lake import files
from trunkline.lake.core import Core, Resolved
from trunkline.lake.manifests import Tree
from trunkline.lake.own_folders import is_own, refuse_own
from trunkline.model.entries import Entry, line_path
from trunkline.model.refs import Ref
from trunkline.pipelines.globs import Glob
from trunkline.sdk.chunks import open_chunks
from trunkline.sdk.results import GetReport
from trunkline.sdk.writer import Progress
from trunkline.storage.catalog import erasures
from trunkline.storage.objects.outlet import export


class Selection(NamedTuple):
    """What a ref's path means: its lines, and the folder that becomes the destination."""

    lines: list[bytes]
    base: str
    single: bool
    erased: int


def select(core: Core, tree: Tree, ref: Ref, single: bool = True) -> Selection:
    """A file, a folder or what a pattern matches, without what was erased on purpose.

    One file by its own path is an error if it was erased, unless it may be left out.
    """
    lines, base = _selected(tree, ref)
    alone = single and len(lines) == 1 and line_path(lines[0]).decode() == ref.path
    lines, erased = _without_erased(core, lines, alone)
    return Selection(lines, base, alone, erased)


class Getter:
    """Writes files of a commit to this computer, whole or not at all."""

    def __init__(self, core: Core, found: Resolved, ref: Ref, progress: Progress | None) -> None:
        self._core = core
        self._tree = core.tree(found.commit)
        self._ref = ref
        self._progress = progress

    def get(self, dest: str | os.PathLike[str], force: bool) -> GetReport:
        """A file goes to `dest`, or into it if it is a folder; a folder's contents go below it."""
        lines, base, single, erased = select(self._core, self._tree, self._ref)
        target = Path(dest)
        try:
            if single:
                return self._get_file(lines[0], target, force)
            return self._get_folder(lines, base, target, force, erased)
        except OSError as error:
            raise cannot_write(error, target) from error

    def tar(self, dest: str | os.PathLike[str] | BinaryIO, force: bool) -> GetReport:
        """One archive with everything, in path order."""
        lines, base, _, erased = select(self._core, self._tree, self._ref, single=False)

        def write(stream: BinaryIO, name: str) -> GetReport:
            return self._write_tar(stream, lines, base, name, erased)

        return write_archive(dest, f"{self._ref.repo.repo}.tar", force, write)

    def _get_file(self, line: bytes, target: Path, force: bool) -> GetReport:
        entry = Entry.decode(line)
        with new_file(target, entry.path, force) as (stream, place):
            for chunk in files.read(self._core, entry):
                stream.write(chunk)
                if self._progress:
                    self._progress(0, len(chunk))
        return GetReport(1, entry.size, str(place))

    def _get_folder(
        self, lines: list[bytes], base: str, target: Path, force: bool, erased: int
    ) -> GetReport:
        if not force:
            refuse_overwriting((line_path(line).decode() for line in lines), base, target)
        with new_folder(target) as partial:
            count, size = export(
                self._core.objects,
                lines,
                partial,
                strip=base,
                workers=self._core.options.workers,
                progress=self._progress,
            )
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


def _selected(tree: Tree, ref: Ref) -> tuple[list[bytes], str]:
    path, where = ref.path or "/", f"{ref.repo}@{ref.ref}"
    if Glob(path).is_literal or tree.find(path.encode()) or tree.has_below(_stem(path)):
        lines = files.shown_below(tree, path)
        if not lines and path != "/" and not tree.has_below(_stem(path)):
            files.find(tree, path, where)
        return lines, path
    picked: dict[bytes, None] = {}
    for info in files.matching(tree, path):
        picked.update(dict.fromkeys(files.shown_below(tree, info.path)))
    if not picked:
        raise NotFound(f'Nothing in {where} matches "{path}".')
    return list(picked), Glob(path).prefix


def _without_erased(core: Core, lines: list[bytes], single: bool) -> tuple[list[bytes], int]:
    with core.database.read() as session:
        gone = erasures.places(session)
    if not gone:
        return lines, 0
    entries = [(line, Entry.decode(line)) for line in lines]
    kept = [line for line, entry in entries if erasures.place_of(entry) not in gone]
    if single and not kept:
        files.explain_erasure(core, entries[0][1])
    return kept, len(lines) - len(kept)


def _stem(path: str) -> bytes:
    return path.rstrip("/").encode()


# -- whole or not at all -------------------------------------------------------------------


@contextmanager
def new_file(target: Path, path: str, force: bool) -> Iterator[tuple[BinaryIO, Path]]:
    """A file to write to, and where it will be: at the target, or in it by the path's name."""
    refuse_own(target)
    if target.is_dir():
        target = target / path.rpartition("/")[2]
    _refuse_existing(target, force)
    partial = _partial(target)
    try:
        with open(partial, "wb") as stream:
            yield stream, target
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """A folder to write to, whose files are in the target at the end.

    It is beside the target: an interruption leaves nothing in it.
    """
    refuse_own(target)
    if target.exists() and not target.is_dir():
        raise AlreadyExists(f"{target} is a file.", hint="Name a folder.")
    partial = _partial(target)
    try:
        yield partial
        if target.is_dir():
            _move_into(partial, target)
        else:
            os.rename(partial, target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def write_archive(
    dest: str | os.PathLike[str] | BinaryIO,
    name: str,
    force: bool,
    write: Callable[[BinaryIO, str], GetReport],
) -> GetReport:
    """Have an archive written to a stream, or to a file that is there when it is whole."""
    if not isinstance(dest, str | os.PathLike):
        return write(dest, "standard output")
    target = Path(dest)
    try:
        with new_file(target, name, force) as (stream, place):
            return write(stream, str(place))
    except OSError as error:
        raise cannot_write(error, target) from error


def _partial(target: Path) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    name = target.name or target.absolute().name or "lake"
    folder = target.absolute().parent
    return folder / f".{name}.partial-{secrets.token_hex(4)}"


def _refuse_existing(target: Path, force: bool) -> None:
    if os.path.lexists(target) and not force:
        raise AlreadyExists(f"{target} exists already.", hint="Use --force to replace it.")


def refuse_overwriting(paths: Iterable[str], base: str, target: Path) -> None:
    """Refuse if any of the paths, seen from the folder `base`, is in the target already."""
    if not target.is_dir() or not any(target.iterdir()):
        return
    start = len(base.rstrip("/")) + 1
    for path in paths:
        place = target / path[start:]
        if os.path.lexists(place):
            raise AlreadyExists(f"{place} exists already.", hint="Use --force to replace it.")


def _move_into(source: Path, target: Path) -> None:
    moves = [
        (folder, target / Path(folder).relative_to(source), names)
        for folder, _, names in os.walk(source)
    ]
    for _, inside, names in moves:
        if inside != target and inside.is_symlink():
            raise AlreadyExists(
                f"{inside} is a link, and files would be written where it leads.",
                hint="Remove it, or get into another folder.",
            )
        if is_own(inside):
            refuse_own(inside)
        for place in (inside, *(inside / name for name in names)):
            is_there = os.path.lexists(place) and not place.is_symlink()
            if is_there and place.is_dir() != (place == inside):
                what = "folder" if place.is_dir() else "file"
                raise AlreadyExists(
                    f"{place} is a {what}, and something else would be there.",
                    hint="Remove it, or get into another folder.",
                )
    for folder, inside, names in moves:
        inside.mkdir(parents=True, exist_ok=True)
        for name in names:
            os.replace(os.path.join(folder, name), inside / name)


def cannot_write(error: OSError, target: Path) -> Failed | DiskFull | ReadOnly:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(f"No space left to write {target}.", hint="Free some space, then retry.")
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return ReadOnly(f"{target} cannot be written: {error.strerror}.")
    return Failed(f"Cannot write {target}: {error.strerror}.")
