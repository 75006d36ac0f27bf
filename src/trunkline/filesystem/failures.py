"""Our errors as those that libraries of files expect: OSErrors, with our one line as the text."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from trunkline.errors import (
    AlreadyExists,
    CommitFinished,
    DiskFull,
    InvalidName,
    InvalidPath,
    InvalidRef,
    NotAllowed,
    NotFound,
    TimedOut,
    TrunklineError,
    Unavailable,
    Usage,
)

_KINDS: tuple[tuple[type[TrunklineError], type[OSError], int], ...] = (
    (NotFound, FileNotFoundError, errno.ENOENT),
    # A name that nothing can have is the name of nothing.
    (InvalidName, FileNotFoundError, errno.ENOENT),
    (InvalidPath, FileNotFoundError, errno.ENOENT),
    (InvalidRef, FileNotFoundError, errno.ENOENT),
    (AlreadyExists, FileExistsError, errno.EEXIST),
    (NotAllowed, PermissionError, errno.EACCES),
    (CommitFinished, PermissionError, errno.EROFS),
    (TimedOut, TimeoutError, errno.ETIMEDOUT),
    (DiskFull, OSError, errno.ENOSPC),
    (Unavailable, ConnectionError, errno.ECONNREFUSED),
)


@contextmanager
def as_os_errors() -> Iterator[None]:
    """Raise what goes wrong inside as files' errors; the lake's own is their cause."""
    try:
        yield
    except TrunklineError as error:
        raise os_error(error) from error


def os_error(error: TrunklineError) -> Exception:
    for ours, theirs, number in _KINDS:
        if isinstance(error, ours):
            return numbered(theirs, number, str(error))
    if isinstance(error, Usage):
        return ValueError(str(error))
    return numbered(OSError, errno.EIO, str(error))


def numbered(kind: type[OSError], number: int, text: str) -> OSError:
    """With the text alone: given to OSError, a number would become part of it."""
    made = kind(text)
    made.errno = number
    return made


def is_folder(path: str) -> OSError:
    return numbered(IsADirectoryError, errno.EISDIR, f"{path} is a folder.")
