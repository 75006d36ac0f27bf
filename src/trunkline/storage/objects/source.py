"""Local files as they are being stored: opened with care, and checked for changes.

A file is whole if its size and its time of change are the same before and after it is read. That
holds because the state before is a settled one: no write was under way, and its time is so old
that every later write has another. What this cannot tell: a writer that pauses between two
writes, one that writes to mapped memory (its time changes with the first write to a page, not
with the later ones), one that sets the time back, and writes from other computers to a shared
file system before it knows of them.
"""

from __future__ import annotations

import os
import stat
import time

from trunkline import errors

# A pipe opened without O_NONBLOCK waits for its other end.
OPEN_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY

# CLOCK_REALTIME_COARSE, by which the kernel dates changes. It stands still for some milliseconds,
# longer on a machine that has too much to do: two writes may have the same time. Since Linux 6.13
# a write after somebody looked is dated by a finer clock, between two steps of this one.
_CLOCK = 5
_TICK = 20_000_000
_STEP = 10_000_000
_SECOND = 1_000_000_000
_PATIENCE = 20
_NOWHERE = (1 << 63) - 1

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
        status = settled(local, fd)
        if not stat.S_ISREG(status.st_mode):
            raise _not_a_file(local, status.st_mode)
    except BaseException:
        os.close(fd)
        raise
    return fd, status


def settled(local: str | bytes, fd: int = -1) -> os.stat_result:
    """The state of a file, when it can tell of all further writes. Of an open one, no write that
    began before is still under way.

    A file with a time in the future, by a clock that is not ours or by will, is taken as it is.
    """
    for _ in range(_PATIENCE):
        began = time.clock_gettime_ns(_CLOCK)
        if fd >= 0:
            _await_writer(fd)
        status = os.stat(local) if fd < 0 else os.fstat(fd)
        tick = grain(status)
        modified = status.st_mtime_ns
        if modified <= began - tick or not stat.S_ISREG(status.st_mode):
            return status
        ended = time.clock_gettime_ns(_CLOCK)
        if modified > ended + tick:
            return status
        time.sleep(max(_STEP, modified + tick - ended) / _SECOND)
    raise changed(local)


def grain(status: os.stat_result) -> int:
    """The nanoseconds within which two writes to a file may have the same time."""
    # Whole seconds: FAT has every other one, old ext3 and NFS each. A ctime is never set by will.
    return _TICK if status.st_ctime_ns % _SECOND else 2 * _SECOND


def _await_writer(fd: int) -> None:
    """Wait until the write to a file that is under way has ended.

    A write dates the file first and copies its bytes then, and may be held up in between for as
    long as the machine is busy, or its disk. Reading does not wait for it (XFS alone does), but
    asking for data does, and where there cannot be any it has no other effect.
    """
    try:
        os.lseek(fd, _NOWHERE, os.SEEK_DATA)
    except OSError:
        return


def same(before: os.stat_result, after: os.stat_result) -> bool:
    return before.st_mtime_ns == after.st_mtime_ns and before.st_size == after.st_size


def unreadable(local: str | bytes, error: OSError) -> errors.TrunklineError:
    return errors.SourceUnreadable(f"Cannot read {shown(local)}: {error.strerror or error}.")


def _not_a_file(local: str | bytes, mode: int) -> errors.TrunklineError:
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
