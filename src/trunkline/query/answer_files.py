"""Where servers keep the rows of answers: below the lake's folder, one folder for each server.

A server holds a lock on a file in its folder as long as it lives: what nobody holds is left over.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from trunkline.errors import Unavailable

_FOLDER = "answers"
_LOCK = ".lock"
_NEW_SECONDS = 60.0
_TRIES = 3
"""Another server that starts may hold the lock of a new folder for a moment."""


def own_folder(lake: Path) -> tuple[Path, int]:
    """A new folder on the lake's own disk, which has room (temporary ones are often in memory),
    and the descriptor of its lock. What servers that were killed have left behind is removed.
    """
    place = lake / _FOLDER
    place.mkdir(mode=0o700, exist_ok=True)
    _remove_left(place)
    for _ in range(_TRIES):
        made = Path(tempfile.mkdtemp(dir=place))
        lock = os.open(made / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        if _locked(lock):
            return made, lock
        os.close(lock)
    raise Unavailable(f"No file in {place} can be locked.", hint="Is it on a network's disk?")


def forget_answers(lake: Path) -> None:
    """Remove all rows that are kept here, whoever keeps them: some may be of what was erased.

    A server that lives finds its files gone.
    """
    place = lake / _FOLDER
    if not place.is_dir():
        return
    _remove_left(place)
    for file in place.glob("*/*"):
        if file.name != _LOCK:
            file.unlink(missing_ok=True)


def _remove_left(place: Path) -> None:
    for folder in place.iterdir():
        if _is_left(folder):
            shutil.rmtree(folder, ignore_errors=True)


def _is_left(folder: Path) -> bool:
    try:
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        with suppress(OSError):
            return time.time() - folder.stat().st_mtime > _NEW_SECONDS
        return False
    try:
        return _locked(lock)
    finally:
        os.close(lock)


def _locked(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
