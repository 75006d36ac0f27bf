"""Local files as they are being stored: opened with care, and checked for changes."""

from __future__ import annotations

import os
import stat
import time

from trunkline import errors

# A pipe opened without O_NONBLOCK waits for its other end.
OPEN_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY

# File times stand still for some milliseconds: two writes may have the same one.
TICK = 20_000_000
_PATIENCE = 20

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def open_source(local: str | bytes) -> tuple[int, os.stat_result]:
    """A descriptor of a regular file, and its state when it was opened."""
    try:
        fd = os.open(local, OPEN_FLAGS)
    except OSError as error:
        raise unreadable(local, error) from None
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise not_a_file(local, status.st_mode)
        if status.st_mtime_ns > time.time_ns() - TICK:
            status = settled(fd, local)
    except BaseException:
        os.close(fd)
        raise
    return fd, status


def settled(fd: int, local: str | bytes) -> os.stat_result:
    """The state of a file that was written to just now, when it can tell of further writes."""
    for _ in range(_PATIENCE):
        status = os.fstat(fd)
        young = status.st_mtime_ns + TICK - time.time_ns()
        if not 0 < young <= TICK:
            return status
        time.sleep(young / 1e9)
    raise changed(local)


def same(before: os.stat_result, after: os.stat_result) -> bool:
    return before.st_mtime_ns == after.st_mtime_ns and before.st_size == after.st_size


def unreadable(local: str | bytes, error: OSError) -> errors.TrunklineError:
    return errors.SourceUnreadable(f"Cannot read {shown(local)}: {error.strerror or error}.")


def not_a_file(local: str | bytes, mode: int) -> errors.TrunklineError:
    kind = _KINDS.get(stat.S_IFMT(mode), "not a file")
    return errors.SourceUnreadable(f"Cannot read {shown(local)}: it is {kind}, not a file.")


def changed(local: str | bytes) -> errors.TrunklineError:
    return errors.SourceChanged(
        f"{shown(local)} changed while it was being read.",
        hint="Put it again when nothing writes to it.",
    )


def shown(local: str | bytes) -> str:
    """A path fit for a message of one line."""
    text = os.fsdecode(local)
    return text if text.isprintable() else ascii(text)
