"""Space on disk: what is left above a reserve, and errors that say there is none."""

from __future__ import annotations

import errno
import os
import shutil

MOST_RESERVED = 2 << 30
_FULL = frozenset((errno.ENOSPC, errno.EDQUOT))
_SAID = ("No space left on device", "Disk quota exceeded")


def spare(folder: str | os.PathLike[str], reserve: int | None = None) -> int:
    """Bytes that may be used there; negative if the reserve is touched already.

    The reserve is a twentieth of the disk and at most 2 GiB, unless it is given.
    """
    found = shutil.disk_usage(folder)
    kept = min(MOST_RESERVED, found.total // 20) if reserve is None else reserve
    return found.free - kept


def is_full(error: BaseException) -> bool:
    """Whether something could not be written for want of space; Arrow tells it in words only."""
    if not isinstance(error, OSError):
        return False
    return error.errno in _FULL or any(sign in str(error) for sign in _SAID)
