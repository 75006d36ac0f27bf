"""A datum that failed: one line that says how."""

from __future__ import annotations

import errno
import signal

from trunkline import errors

_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)


class DatumFailed(Exception):
    """The user's code did not do its part. `code` is its exit code, -n for signal n.

    `is_final` if another try cannot end otherwise.
    """

    def __init__(self, error: str, code: int | None = None, *, is_final: bool = False) -> None:
        super().__init__(error)
        self.error = error
        self.code = code
        self.is_final = is_final


def exit_error(code: int) -> str:
    """How a process ended that did not end well."""
    if code >= 0:
        return f"exited with {code}"
    try:
        name = f" ({signal.Signals(-code).name})"
    except ValueError:
        name = ""
    return f"killed by signal {-code}{name}"


def timeout_error(seconds: float) -> str:
    return f"timed out after {seconds:g} s"


def disk_error(error: OSError, where: str) -> errors.TrunklineError:
    """The working folder could not be written: no fault of the datum."""
    if error.errno in _NO_SPACE:
        return errors.DiskFull(
            f"No space left to lay out the files of a datum in {where}.",
            hint="Free some space, or choose another folder for the work.",
        )
    return errors.Failed(f"Cannot use the working folder {where}: {error.strerror or error}.")
