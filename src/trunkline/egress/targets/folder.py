"""A folder of this machine, or one that is mounted here.

mirror     The folder has the newest version. Each file is whole at every moment: it is written
           under a hidden name, then renamed. The folder as a whole is not switched at once: new
           and changed files come first, those that are no longer in the output go last. Only what
           was delivered before is ever removed or replaced without a word.
versions   Each version is a folder named by its commit, built under a hidden name and renamed
           when it is whole. `latest` is a link to the newest, switched at once: who reads through
           it sees one version or the other. (Where links cannot be made it is a file with the
           commit's id.)

What was delivered is noted in `.trunkline.json`.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import secrets
import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from trunkline.egress.base import Sender, Sent, Shipment
from trunkline.egress.targets.notes import Notes, described
from trunkline.egress.targets.parcels import NOTES, Parcel, base_of, parcels_of
from trunkline.errors import DiskFull, Precondition, ReadOnly, TrunklineError, Unavailable
from trunkline.lake.own_folders import is_own, refuse_own
from trunkline.storage.crashpoints import crashpoint
from trunkline.storage.objects.outlet import export

LATEST = "latest"
_PARTIAL = ".trunkline-partial-"
_FEW = 100
_OLD_SECONDS = 86_400.0


class FolderSender(Sender):
    def send(self, shipment: Shipment) -> Sent:
        root = Path(self.berth.options["path"])
        refuse_own(root)
        try:
            root.mkdir(parents=True, exist_ok=True)
            with _partial(root) as work:
                _sweep(root)
                made = work / "made"
                parcels = parcels_of(shipment, str(self.berth.options["format"]), made)
                if self.berth.options["mode"] == "versions":
                    return self._version(shipment, root, work, parcels)
                return self._mirror(shipment, root, work, parcels)
        except OSError as error:
            raise _refusal(error, root) from None

    # -- mirror ----------------------------------------------------------------------------

    def _mirror(
        self, shipment: Shipment, root: Path, work: Path, parcels: Sequence[Parcel]
    ) -> Sent:
        notes = Notes.read(_bytes(root / NOTES), self.berth, "mirror", str(root))
        changed = [one for one in parcels if not self._has(root, notes, one)]
        for one in changed:
            place = root / one.name
            # A folder in its place may be one that goes with the files in it.
            is_folder = place.is_dir() and not place.is_symlink()
            if one.name not in notes.files and os.path.lexists(place) and not is_folder:
                raise _not_ours(place)
            _refuse_way(root, one, notes)
        stale = notes.files.keys() - {one.name for one in parcels}
        self._build(shipment, work / "files", changed)
        self.refuse_if_stopped()
        # Noted before they are there: what a crash leaves half done is known to be ours.
        _write(root / NOTES, notes.coming(changed))
        first = _in_the_way(stale, changed)
        _remove(root, first)
        for number, one in enumerate(changed, start=1):
            _place(root, work / "files" / one.name, one)
            if number == 1:
                crashpoint("egress.sending")
            self.berth.progress(number)
        _remove(root, stale - first)
        _write(root / NOTES, notes.done(shipment.commit.id, parcels))
        return described(root, parcels, len(changed), len(stale))

    def _has(self, root: Path, notes: Notes, one: Parcel) -> bool:
        if notes.files.get(one.name) != one.identity:
            return False
        try:
            found = os.lstat(root / one.name)
        except OSError:
            return False
        return found.st_size == one.size and os.path.isfile(root / one.name)

    # -- versions --------------------------------------------------------------------------

    def _version(
        self, shipment: Shipment, root: Path, work: Path, parcels: Sequence[Parcel]
    ) -> Sent:
        notes = Notes.read(_bytes(root / NOTES), self.berth, "versions", str(root))
        name = shipment.commit.id
        what = [self.berth.target.path, self.berth.options["format"]]
        place, link = root / name, root / LATEST
        if os.path.lexists(link) and not _is_latest(link, notes):
            raise _not_ours(link)
        if notes.versions.get(name) != what or not place.is_dir():
            self._build(shipment, work / "files", parcels)
            crashpoint("egress.sending")
            if place.exists():  # by a crash, or of another path
                os.rename(place, work / "old")
            os.rename(work / "files", place)
        self.refuse_if_stopped()
        # Noted before it is there: a link that a crash leaves is known to be ours.
        notes.add_version(name, what)
        _write(root / NOTES, notes.encoded(name))
        _switch(link, name)
        if gone := notes.drop_versions(self.berth.options.get("keep")):
            for old in gone:
                shutil.rmtree(root / old, ignore_errors=True)
            _write(root / NOTES, notes.encoded(name))
        return described(place, parcels, len(parcels), 0)

    def _build(self, shipment: Shipment, folder: Path, parcels: Sequence[Parcel]) -> None:
        """All of them below the folder, durable."""
        folder.mkdir(parents=True)
        export(
            shipment.core.objects,
            [one.line for one in parcels if one.file is None],
            folder,
            strip=base_of(shipment),
            workers=shipment.core.options.workers,
        )
        for one in parcels:
            if one.file is not None:
                (folder / one.name).parent.mkdir(parents=True, exist_ok=True)
                os.replace(one.file, folder / one.name)
        if len(parcels) > _FEW:
            os.sync()
            return
        for one in parcels:
            _sync(folder / one.name)


@contextmanager
def _partial(root: Path) -> Iterator[Path]:
    folder = root / f"{_PARTIAL}{secrets.token_hex(4)}"
    folder.mkdir()
    lock = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # where there are no locks, what a killed one left goes by its age
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _sweep(root: Path) -> None:
    """Remove what deliveries that were killed have left; others may be at work beside this one."""
    for left in root.glob(f"{_PARTIAL}*"):
        try:
            lock = os.open(left, os.O_RDONLY)
        except OSError:
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            continue
        except OSError:
            if time.time() - os.fstat(lock).st_mtime < _OLD_SECONDS:
                continue
        finally:
            os.close(lock)
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)


def _refuse_way(root: Path, one: Parcel, notes: Notes) -> None:
    """Nothing is written before it is known that no link and no lake is on the way."""
    folder = root
    for part in Path(one.name).parts[:-1]:
        folder = folder / part
        # A file in place of a folder may be one that was delivered, and goes.
        is_file = folder.exists() and not folder.is_dir()
        if folder.is_symlink() or (
            is_file and folder.relative_to(root).as_posix() not in notes.files
        ):
            raise _not_ours(folder)
        if is_own(folder):
            refuse_own(folder)


def _place(root: Path, source: Path, one: Parcel) -> None:
    folder = root
    for part in Path(one.name).parts[:-1]:
        folder = folder / part
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            raise _not_ours(folder)
        folder.mkdir(exist_ok=True)
    os.replace(source, root / one.name)


def _in_the_way(stale: Iterable[str], changed: Sequence[Parcel]) -> set[str]:
    """What must go first: a file where a folder will be, or what is in one where a file will."""
    names = {one.name for one in changed}
    folders = {parent.as_posix() for name in names for parent in Path(name).parents}
    return {
        one
        for one in stale
        if one in folders or any(parent.as_posix() in names for parent in Path(one).parents)
    }


def _remove(root: Path, names: Iterable[str]) -> None:
    """Files go, and with them the folders that are empty then."""
    for name in names:
        place = root / name
        if any((root / part).is_symlink() for part in Path(name).parents):
            continue
        place.unlink(missing_ok=True)
        folder = place.parent
        while folder != root:
            try:
                folder.rmdir()
            except OSError:
                break
            folder = folder.parent


def _is_latest(link: Path, notes: Notes) -> bool:
    """Whether it leads to a version that was delivered, so that a delivery made it."""
    try:
        named = os.readlink(link) if link.is_symlink() else link.read_text("utf-8").strip()
    except (OSError, ValueError):
        return False
    return named in notes.versions


def _switch(link: Path, name: str) -> None:
    fresh = link.with_name(f"{_PARTIAL}{secrets.token_hex(4)}")
    try:
        os.symlink(name, fresh)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS):
            raise
        fresh.write_text(f"{name}\n", encoding="utf-8")
    os.replace(fresh, link)


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _write(path: Path, notes: Any) -> None:
    fresh = path.with_name(f"{_PARTIAL}{secrets.token_hex(4)}")
    fresh.write_text(json.dumps(notes, indent=1, ensure_ascii=False), encoding="utf-8")
    _sync(fresh)
    os.replace(fresh, path)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _not_ours(place: Path) -> Precondition:
    return Precondition(
        f"{place} is there already, and was not delivered.",
        hint="Remove it, or deliver to another folder.",
    )


def _refusal(error: OSError, root: Path) -> TrunklineError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(f"No space left to write {root}.", hint="Free some space.")
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return ReadOnly(f"{root} cannot be written: {error.strerror}.")
    if error.errno in (errno.ENOTDIR, errno.EEXIST, errno.ENAMETOOLONG, errno.EISDIR):
        return Precondition(f"{root} cannot be written: {error.strerror}.")
    return Unavailable(f"{root} cannot be written: {error.strerror}.")
