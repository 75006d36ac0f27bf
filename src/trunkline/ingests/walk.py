"""Walk a folder quickly: one `scandir` per folder, no `stat` per file."""

from __future__ import annotations

import os
import stat
from typing import NoReturn

from trunkline.errors import NotAllowed, SourceUnreadable
from trunkline.lake.own_folders import SIGNS, is_own, refuse_own
from trunkline.model.suggest import shown


def walk(root: str) -> list[tuple[str, str]]:
    """(path below `root`, local path) of every file, hidden ones too.

    Links to files are followed. Links to folders are followed if they stay inside `root`
    and do not lead back to a folder they are in. Folders of lakes and their stores are left out.
    """
    return _Walk(root).run()


class _Walk:
    def __init__(self, root: str) -> None:
        self.root = root
        self.real_root = os.path.realpath(root)
        self.files: list[tuple[str, str]] = []

    def run(self) -> list[tuple[str, str]]:
        # Folders still to read: relative with a trailing slash, local, and through which
        # real folders links led here (none for nearly every folder).
        folders: list[tuple[str, str, tuple[str, ...]]] = [("", self.root, ())]
        add = self.files.append
        while folders:
            relative, local, links = folders.pop()
            # join() costs more than the walk itself.
            below = local if local.endswith("/") else local + "/"
            try:
                with os.scandir(local) as entries:
                    first, later = len(self.files), len(folders)
                    for entry in entries:
                        name = entry.name
                        if name in SIGNS and is_own(local):
                            del self.files[first:], folders[later:]
                            break
                        if entry.is_file(follow_symlinks=False):
                            add((relative + name, below + name))
                        elif entry.is_dir(follow_symlinks=False):
                            folders.append((f"{relative}{name}/", below + name, links))
                        elif entry.is_symlink():
                            folders.extend(self.follow(relative, name, below + name, links))
                        else:
                            refuse_special(below + name, entry.stat().st_mode)
            except OSError as error:
                refuse_unreadable(error.filename or local, error)
        return self.files

    def follow(
        self, relative: str, name: str, local: str, links: tuple[str, ...]
    ) -> list[tuple[str, str, tuple[str, ...]]]:
        """A link: the file it leads to is added, the folder it leads to is returned."""
        try:
            mode = os.stat(local).st_mode
        except OSError as error:
            raise SourceUnreadable(
                f"{shown(local)} is a link that leads nowhere: {error.strerror}.",
                hint="Remove the link or restore what it points at.",
            ) from None
        if stat.S_ISREG(mode):
            refuse_own(local)
            self.files.append((relative + name, local))
            return []
        if not stat.S_ISDIR(mode):
            refuse_special(local, mode)
        target = os.path.realpath(local)
        if not f"{target}/".startswith(self.real_root.rstrip("/") + "/"):
            raise NotAllowed(
                f"{shown(local)} is a link to a folder outside {shown(self.root)}.",
                hint="Put that folder by its own name.",
            )
        # Leading to a folder above the link, or again to one that a link led through.
        here = os.path.realpath(os.path.dirname(local))
        if f"{here}/".startswith(f"{target}/") or target in links:
            raise NotAllowed(
                f"{shown(local)} is a link to a folder that it is in.", hint="Remove the link."
            )
        return [(f"{relative}{name}/", local, (*links, target))]


def refuse_special(local: str, mode: int) -> NoReturn:
    raise NotAllowed(
        f"{shown(local)} is {kind_of(mode)}, not a file.", hint="Move it out of the folder."
    )


def refuse_unreadable(local: object, error: OSError) -> NoReturn:
    raise SourceUnreadable(
        f"{shown(os.fsdecode(str(local)))} cannot be read: {error.strerror}.",
        hint="Check its permissions.",
    ) from None


def kind_of(mode: int) -> str:
    """What a file that is none is called."""
    kinds = {
        stat.S_IFSOCK: "a socket",
        stat.S_IFIFO: "a named pipe",
        stat.S_IFBLK: "a device",
        stat.S_IFCHR: "a device",
    }
    return kinds.get(stat.S_IFMT(mode), "something special")
