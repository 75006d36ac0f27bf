"""The working folder of a datum. It is used again for the next one when it is clean."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from trunkline import errors
from trunkline.engine.runner.failure import DatumFailed, disk_error
from trunkline.engine.runner.inputs import InputReader
from trunkline.engine.runner.outputs import Outputs
from trunkline.engine.runner.spares import Spares
from trunkline.engine.runner.task import DatumInput
from trunkline.engine.runner.workspace import remove_tree
from trunkline.model.entries import FileBytes, text_path

# A time that no program sets: a file that has it still is as it was laid out, and in a folder
# that has it nothing was made, renamed or removed.
_UNTOUCHED = 946_684_800_123_456_000
_FOLDER_MODE = 0o755
_STAMP = (_UNTOUCHED, _UNTOUCHED)
_NAMES = (errno.ENAMETOOLONG, errno.EILSEQ, errno.EINVAL)


class Folder:
    """`root` with `pfs/<name>/…` and `pfs/out`, and links to the code.

    `lay_out` brings what a datum matched, and nothing else; `sweep` takes away what is left.
    Making folders and files is most of what a short datum costs: what the next datum needs as
    well stays, large files too if nobody touched them.
    """

    def __init__(
        self,
        root: str,
        reader: InputReader,
        spares: Spares,
        links: Mapping[str, str],
        working_dir: str = "",
        scratch: str = "",
    ) -> None:
        self.root = root
        self.scratch = scratch
        self.pfs = root + "/pfs"
        self.out = root + "/pfs/out"
        self.cwd = os.path.normpath(f"{root}/{working_dir.strip('/')}")
        if not f"{self.cwd}/".startswith(root + "/"):
            raise errors.Usage(f"The working folder {working_dir!r} is outside of the datum's.")
        self.generation = 0
        # How often the folders were made anew: whoever is in one of them is nowhere then.
        self.scrubs = 0
        self._reader = reader
        self._spares = spares
        self._links = {name: target for name, target in links.items() if name != "pfs"}
        # Folders below root, each with what is in it after a sweep (True for a link).
        self._fixed: dict[str, dict[str, bool]] = {}
        self._folders: dict[str, set[str]] = {}
        self._bases: dict[str, str] = {}
        self._files: list[str] = []
        self._kept: dict[str, str] = {}
        # Files of which only the name is there, with their lines.
        self.names: dict[str, str] = {}
        self._unstamped: set[str] = set()
        # The only file of the datum before, still in its place.
        self._last = ""
        self._mode = 0
        self._scrub()

    def lay_out(self, inputs: Sequence[DatumInput]) -> int:
        """Bring the files of a datum into the swept folder; their size together."""
        wanted: dict[str, tuple[str, bool]] = {}
        folders = {self.pfs, self.out}
        self.names.clear()
        for one in inputs:
            base = self._bases.get(one.name) or self._base(one.name)
            folders.add(base)
            for line in one.lines:
                path = text_path(line)
                if "/." in path or "//" in path:
                    _check_path(path)
                target = base + path
                wanted[target] = (line, one.empty_files)
                folder = target[: target.rindex("/")]
                while folder not in folders:
                    folders.add(folder)
                    folder = folder[: folder.rindex("/")]
        if self._kept:
            self._drop_kept(wanted)
        is_other = self._folders.keys() != folders
        if self._last and (is_other or len(wanted) != 1):
            self._spares.give(self._last)
            self._last = ""
        if is_other:
            self._shape(folders)
        total = 0
        for target, (line, is_empty) in wanted.items():
            total += self._bring(target, line, is_empty)
        for folder in self._unstamped:
            os.utime(folder, ns=_STAMP)
        self._unstamped.clear()
        return total

    def sweep(self, outputs: Outputs | None = None) -> list[str]:
        """Make the folder as it was; the files that were written where they are lost.

        `outputs` is what is in `out`, if that is known: folders come before what is in them.
        """
        if outputs is not None:
            try:
                if self._is_tidy(outputs):
                    return []
            except OSError:
                # Something that was laid out is gone: look at everything.
                pass
        return self._scrub()

    def close(self) -> None:
        """Leave no file of a datum behind."""
        with suppress(errors.TrunklineError):
            self._scrub()

    def path_of(self, one: DatumInput) -> str:
        """Where a match is, once it is laid out."""
        return f"{self.pfs}/{one.name}{one.path}".rstrip("/")

    def _base(self, name: str) -> str:
        """Where the files of an input are."""
        found = self._bases[name] = f"{self.pfs}/{_checked_name(name)}"
        return found

    def _bring(self, target: str, line: str, is_empty: bool) -> int:
        fields = FileBytes.decode(line)
        if target in self._kept:
            return fields.size
        self._unstamped.add(target[: target.rindex("/")])
        if is_empty:
            self._files.append(target)
            self._write(target, (b"",))
            self.names[target] = line
            return 0
        if fields.offset >= 0:
            data = self._reader.read(fields)
            self._files.append(target)
            self._write(target, (data,))
            return fields.size
        self._files.append(target)
        self._write(target, self._reader.stream(fields))
        os.utime(target, ns=_STAMP)
        self._files.pop()
        self._kept[target] = line
        folder, _, name = target.rpartition("/")
        self._folders[folder].add(name)
        return fields.size

    def _write(self, target: str, pieces: Iterable[bytes]) -> None:
        try:
            last, self._last = self._last, ""
            fd, old = self._spares.open(target, last)
        except OSError as error:
            raise self._unwritable(target, error) from None
        try:
            size = 0
            for piece in pieces:
                done = os.write(fd, piece) if piece else 0
                while done < len(piece):
                    done += os.write(fd, piece[done:])
                size += done
            if old > size:
                os.ftruncate(fd, size)
        except OSError as error:
            raise disk_error(error, self.root) from None
        finally:
            os.close(fd)

    def _drop_kept(self, wanted: Mapping[str, tuple[str, bool]]) -> None:
        """Remove large files of the datum before, but for those that are wanted again."""
        for target, line in list(self._kept.items()):
            status = os.lstat(target)
            is_same = (
                status.st_mtime_ns == _UNTOUCHED
                and status.st_size == FileBytes.decode(line).size
                and stat.S_ISREG(status.st_mode)
            )
            if is_same and wanted.get(target) == (line, False):
                continue
            os.unlink(target)
            del self._kept[target]
            folder, _, name = target.rpartition("/")
            self._folders[folder].discard(name)
            self._unstamped.add(folder)

    def _shape(self, wanted: set[str]) -> None:
        """Have exactly these folders below pfs/. They are swept."""
        known = self._folders
        for folder in sorted(known.keys() - wanted, reverse=True):
            os.rmdir(folder)
            del known[folder]
            parent, _, name = folder.rpartition("/")
            known[parent].discard(name)
            self._unstamped.discard(folder)
            self._unstamped.add(parent)
        for folder in sorted(wanted - known.keys()):
            try:
                os.mkdir(folder, _FOLDER_MODE)
            except OSError as error:
                raise self._unwritable(folder, error) from None
            parent, _, name = folder.rpartition("/")
            known[parent].add(name)
            known[folder] = set()
            self._unstamped.update((parent, folder))

    def _is_tidy(self, outputs: Outputs) -> bool:
        """Remove the files of this datum; whether nothing else was there."""
        if outputs.mode != self._mode:
            return False
        touched: list[str] = []
        for folder in (*self._fixed, *self._folders):
            if folder == self.out:
                continue
            status = os.lstat(folder)
            if status.st_mode != self._mode:
                return False
            if status.st_mtime_ns != _UNTOUCHED:
                touched.append(folder)
        give = self._spares.give
        if len(self._files) == 1 and not touched and not self._kept:
            self._last = self._files.pop()
        for path in self._files:
            give(path)
        self._files.clear()
        for path, status in outputs.files:
            give(path, status)
        for path in outputs.links:
            os.unlink(path)
        for path in reversed(outputs.folders):
            os.rmdir(path)
        return not touched or self._is_as_before(touched)

    def _is_as_before(self, folders: list[str]) -> bool:
        """Whether what was made in these folders is gone again."""
        for folder in folders:
            names = self._folders.get(folder)
            if names is not None and names != set(os.listdir(folder)):
                return False
            if folder in self._fixed:
                with os.scandir(folder) as entries:
                    found = {entry.name: entry.is_symlink() for entry in entries}
                if found != self._fixed[folder]:
                    return False
        self._unstamped.update(folders)
        return True

    def _scrub(self) -> list[str]:
        """Begin with an empty folder; the files that were in places where none should be."""
        lost: list[str] = []
        known = {*self._files, *self._kept, self._last}
        for path in _files_below(self.root, self.out):
            folder, _, name = path.rpartition("/")
            is_link = self._fixed.get(folder, {}).get(name, False)
            if path not in known and not is_link:
                lost.append(path[len(self.root) + 1 :])
        self._files.clear()
        self._kept.clear()
        self._last = ""
        try:
            self._empty()
        except OSError as error:
            raise disk_error(error, self.root) from None
        return lost

    def _empty(self) -> None:
        self.scrubs += 1
        if os.path.islink(self.root):
            os.unlink(self.root)
        os.makedirs(self.root, exist_ok=True)
        os.chmod(self.root, _FOLDER_MODE)
        for entry in list(os.scandir(self.root)):
            if not entry.is_dir(follow_symlinks=False):
                os.unlink(entry.path)
            elif entry.name != "pfs":
                remove_tree(entry.path)
        if not os.path.isdir(self.pfs):
            # A sandbox has the old one.
            self.generation += 1
            os.mkdir(self.pfs)
        os.chmod(self.pfs, _FOLDER_MODE)
        for entry in list(os.scandir(self.pfs)):
            if entry.is_dir(follow_symlinks=False):
                remove_tree(entry.path)
            else:
                os.unlink(entry.path)
        os.mkdir(self.out, _FOLDER_MODE)
        self._mode = os.stat(self.out).st_mode
        os.chmod(self.root, stat.S_IMODE(self._mode))
        os.chmod(self.pfs, stat.S_IMODE(self._mode))
        self._folders = {self.pfs: {"out"}, self.out: set()}
        self._fixed = {self.root: {"pfs": False}}
        self._link(self.root)
        if not os.path.isdir(self.cwd):
            self._make_cwd()
        self._unstamped = {self.pfs, *self._fixed}

    def _make_cwd(self) -> None:
        """A folder to work in that the code does not have. It has pfs/ and the code too."""
        folder = self.root
        for part in self.cwd[len(self.root) + 1 :].split("/"):
            self._fixed[folder][part] = False
            folder = f"{folder}/{part}"
            if os.path.lexists(folder):
                raise errors.Usage(f"The working folder {part!r} is not a folder in the code.")
            os.mkdir(folder, _FOLDER_MODE)
            self._fixed[folder] = {}
        self._link(self.cwd)
        os.symlink(self.pfs, self.cwd + "/pfs")
        self._fixed[self.cwd]["pfs"] = True

    def _link(self, folder: str) -> None:
        for name, target in self._links.items():
            os.symlink(target, f"{folder}/{name}")
            self._fixed[folder][name] = True

    def _unwritable(self, target: str, error: OSError) -> Exception:
        if error.errno in _NAMES:
            shown = target[len(self.pfs) :]
            return DatumFailed(
                f"the input {shown!r} cannot be a file here: {error.strerror}", is_final=True
            )
        return disk_error(error, self.root)


def _files_below(folder: str, but: str) -> Iterator[str]:
    """Everything below a folder that is no folder."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if not entry.is_dir(follow_symlinks=False):
            yield entry.path
        elif entry.path != but:
            yield from _files_below(entry.path, but)


def _checked_name(name: str) -> str:
    if "/" in name or "\0" in name or name in ("", ".", "..", "out"):
        raise errors.InvalidName(f"{name!r} cannot be the name of an input.")
    return name


def _check_path(path: str) -> None:
    if any(part in ("", ".", "..") for part in path.split("/")[1:]) or "\0" in path:
        raise errors.InvalidPath(f"{path!r} would be written outside of the datum's folder.")
