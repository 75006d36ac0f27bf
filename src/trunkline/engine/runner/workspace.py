"""The folder of this worker process, and the guardian that removes it when the process dies."""

from __future__ import annotations

import mmap
import os
import stat
import tempfile
from contextlib import suppress

from trunkline.engine.runner.failure import disk_error
from trunkline.engine.runner.spares import Spares

# It waits for the end of a pipe that nobody writes to: that is the end of this process, however
# it came. Then everything that was started goes: the group of the last command, and whoever
# still has its environment (a daemon leaves the group, but keeps that).
_GUARDIAN = r"""
trap '' HUP INT TERM
folder=$1
(
  read -r _ <&3
  group=$(cat "$folder/group" 2>/dev/null)
  for round in 1 2 3; do
    [ -n "$group" ] && kill -9 -- "-$group" 2>/dev/null
    for place in $(grep -lzxF "HOME=$folder/datum" /proc/[0-9]*/environ 2>/dev/null); do
      process=${place#/proc/}
      kill -9 "${process%/environ}" 2>/dev/null
    done
    # Where a sandbox had its root. If anything were mounted there it would not be ours to delete.
    [ ! -e "$folder/root" ] || rmdir "$folder/root" || exit 1
    rm -rf "$folder" 2>/dev/null
    [ -e "$folder" ] || exit 0
    chmod -R u+rwx "$folder" 2>/dev/null
    sleep 0.2
  done
) >/dev/null 2>&1 </dev/null &
"""

_SCRATCH_MODE = stat.S_IFDIR | 0o1777

_spaces: dict[tuple[int, str], Workspace] = {}


class Workspace:
    """A folder that lives exactly as long as this process does.

    `datum` is the working folder that commands see, `scratch` where they may leave what they
    need no longer than they run. Everything else is beside these.
    """

    def __init__(self, parent: str) -> None:
        try:
            if parent:
                os.makedirs(parent, exist_ok=True)
            made = tempfile.mkdtemp(prefix="trunkline-", dir=parent or None)
            self.path = os.path.realpath(made)
            self.datum = self.path + "/datum"
            os.mkdir(self.datum)
            self.scratch = self.path + "/tmp"
            self.scratches = 0
            self._fixed: list[str] = []
            self.clear()
            self.spares = Spares(self.path + "/spare")
            self._group = _shared_line(self.path + "/group")
        except OSError as error:
            raise disk_error(error, parent or tempfile.gettempdir()) from None
        self.guard = _start_guardian(self.path)

    def clear(self, fixed: list[str] | None = None) -> None:
        """Remove all scratch. `fixed` is what stays from now on: others are mounted there."""
        if fixed is not None:
            self._fixed = fixed
        try:
            with suppress(FileNotFoundError):
                mode = os.lstat(self.scratch).st_mode
                if mode == _SCRATCH_MODE:
                    return _clear(self.scratch, self._fixed)
                if stat.S_ISDIR(mode):
                    os.chmod(self.scratch, stat.S_IMODE(_SCRATCH_MODE))
                    return _clear(self.scratch, self._fixed)
                os.unlink(self.scratch)
            os.mkdir(self.scratch)
            os.chmod(self.scratch, stat.S_IMODE(_SCRATCH_MODE))
            self.scratches += 1
        except OSError as error:
            raise disk_error(error, self.scratch) from None

    def started(self, group: int) -> None:
        """Tell the guardian which process group to end."""
        self._group[:] = b"%-10d\n" % group


def workspace(parent: str) -> Workspace:
    """The folder of this process below `parent` (empty: where the system keeps such things)."""
    key = (os.getpid(), parent)
    found = _spaces.get(key)
    if found is None or not os.path.isdir(found.datum):
        found = _spaces[key] = Workspace(parent)
    return found


def _shared_line(path: str) -> mmap.mmap:
    """A file with room for a number. It is mapped: to write there costs no call."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        # Written, not only made long: there is no error when a mapped file finds the disk full.
        size = os.write(fd, b"%-10s\n" % b"")
        return mmap.mmap(fd, size)
    finally:
        os.close(fd)


def _start_guardian(folder: str) -> int:
    """Start the guardian; the descriptor that must stay open in this process alone."""
    watched, held = os.pipe()
    try:
        # Its parent ends at once, so that it is no child of ours, and it has a session of its
        # own: Spark signals the group of its workers when it stops them.
        pid = os.posix_spawn(
            "/bin/sh",
            ["sh", "-c", _GUARDIAN, "trunkline-guardian", folder],
            {"PATH": os.environ.get("PATH", os.defpath)},
            file_actions=[(os.POSIX_SPAWN_DUP2, watched, 3)],
            setsid=True,
        )
        os.waitpid(pid, 0)
    finally:
        os.close(watched)
    return held


def _clear(folder: str, fixed: list[str]) -> None:
    with os.scandir(folder) as entries:
        for entry in list(entries):
            if entry.path in fixed:
                continue
            if not entry.is_dir(follow_symlinks=False):
                os.unlink(entry.path)
            elif any(path.startswith(entry.path + "/") for path in fixed):
                _clear(entry.path, fixed)
            else:
                remove_tree(entry.path)


def remove_tree(path: str) -> None:
    """Remove a folder and all below it, also where its permissions say no."""
    try:
        entries = list(os.scandir(path))
    except PermissionError:
        os.chmod(path, stat.S_IRWXU)
        entries = list(os.scandir(path))
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            remove_tree(entry.path)
        else:
            _remove_file(entry.path, path)
    try:
        os.rmdir(path)
    except PermissionError:
        os.chmod(os.path.dirname(path), stat.S_IRWXU)
        os.rmdir(path)


def _remove_file(path: str, folder: str) -> None:
    with suppress(FileNotFoundError):
        try:
            os.unlink(path)
        except PermissionError:
            os.chmod(folder, stat.S_IRWXU)
            os.unlink(path)
