"""Files that are used again under another name instead of being deleted and made anew.

Not for the renames' sake: ext4 does not give out the number of a file that was deleted within
the last minutes, and looks at each of those whenever a file is made. A thousand small datums
that delete as much as they make cost ten times what they should.
"""

from __future__ import annotations

import os
import stat

_MOST = 20_000
# Enough to hold on to the number; more would hold on to the disk.
_LARGEST = 4096
_OPEN = os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
_MODE = 0o666


class Spares:
    """Files of datums that are over. They are in a folder of the same disk."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._names: list[str] = []
        self._next = 0
        self._mode = _MODE & ~_umask() | stat.S_IFREG
        self._owner = os.geteuid()
        os.makedirs(folder, exist_ok=True)

    def give(self, path: str, status: os.stat_result | None = None) -> None:
        """Take a file away that nobody has open any more. `status`, if it is known."""
        if status is None:
            status = os.lstat(path)
        if not self._is_ours(status) or len(self._names) >= _MOST:
            os.unlink(path)
            return
        if status.st_size > _LARGEST:
            os.truncate(path, _LARGEST)
        name = f"{self._folder}/{self._next:x}"
        self._next += 1
        os.rename(path, name)
        self._names.append(name)

    def open(self, target: str, last: str = "") -> tuple[int, int]:
        """A file at `target`, open to be written, and how many old bytes are in it.

        Made of `last`, if that is given. To be cut to its size after it was written: ext4 has
        the bytes of a file that was cut to nothing before on their way to the disk when it is
        closed.
        """
        if not last and not self._names:
            return os.open(target, _CREATE, _MODE), 0
        os.rename(last or self._names[-1], target)
        if not last:
            self._names.pop()
        try:
            fd = os.open(target, _OPEN)
        except OSError:
            # Not what it was any more.
            os.unlink(target)
            return os.open(target, _CREATE, _MODE), 0
        status = os.fstat(fd)
        if not self._is_ours(status):
            os.close(fd)
            os.unlink(target)
            return os.open(target, _CREATE, _MODE), 0
        if status.st_mode != self._mode:
            os.fchmod(fd, stat.S_IMODE(self._mode))
        return fd, status.st_size

    def _is_ours(self, status: os.stat_result) -> bool:
        """Whether nobody minds what becomes of a file: another name of it may be anywhere."""
        is_plain = status.st_mode == self._mode or stat.S_ISREG(status.st_mode)
        return is_plain and status.st_nlink == 1 and status.st_uid == self._owner


def _umask() -> int:
    found = os.umask(0o077)
    os.umask(found)
    return found
