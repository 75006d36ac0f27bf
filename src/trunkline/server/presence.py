"""That a lake is being served: a lock for as long as the server lives, and where it answers.

`sdk.places.server_of` is the other side: it believes the file only while the lock is held.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from pathlib import Path

from trunkline import __version__
from trunkline.errors import InUse, Precondition, ReadOnly
from trunkline.sdk.places import LOCK_FILE, SERVER_FILE, folder_key, server_of

# Who looks whether the lock is held, holds it for a moment.
PATIENCE = 1.0


class Presence:
    """One server's. Taken first and given back last."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = folder / SERVER_FILE
        self._lock: int | None = None

    def take(self) -> None:
        """Be the lake's server; `InUse`, naming the other, if there is one."""
        try:
            lock = os.open(self._folder / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise ReadOnly(f"{self._folder} cannot be written: {error.strerror}.") from None
        if not _locked(lock):
            os.close(lock)
            other = server_of(self._folder, {})
            named = f" at {other.url} (process {other.pid})" if other else ""
            raise InUse(
                f"This lake is served already{named}.", hint="Use that server, or stop it first."
            )
        self._lock = lock
        # What a server that was killed has left.
        self._file.unlink(missing_ok=True)

    def announce(self, url: str, token: str) -> None:
        """Tell the lake's owner where the server answers, and how they are known to it."""
        told = {
            "url": url,
            "token": token,
            "pid": os.getpid(),
            "host": os.uname().nodename,
            "folder": folder_key(self._folder),
            "version": __version__,
        }
        temporary = self._file.with_suffix(".tmp")
        temporary.unlink(missing_ok=True)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "w", encoding="utf-8") as file:
            json.dump(told, file)
        os.replace(temporary, self._file)

    def hide(self) -> None:
        """From now on nobody is sent here."""
        if self._lock is not None:
            self._file.unlink(missing_ok=True)

    def leave(self) -> None:
        self.hide()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _locked(lock: int) -> bool:
    until = time.monotonic() + PATIENCE
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() > until:
                return False
            time.sleep(0.02)
        except OSError as error:
            raise Precondition(
                f"The file system of the lake refuses locks: {error.strerror}.",
                hint="Serve it from a file system that has them, or with PostgreSQL and S3.",
            ) from None
