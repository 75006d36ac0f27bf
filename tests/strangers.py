"""Programs run by another user of this computer, who has a home and nothing else of ours.

And how root is, for a moment, somebody whom the modes of files bind.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

NOBODY = 65534
# Where our Python is in a home that is closed to others, they see one with Python alone in it.
_OPENED = """
set -e
mount --bind "$1" "$3"
mount -t tmpfs -o mode=755 tmpfs "$2"
mkdir -p "$1"
mount --move "$3" "$1"
shift 3
exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
"""


class Stranger:
    """Somebody with a home of their own."""

    def __init__(self, home: Path, environ: Mapping[str, str]) -> None:
        self.home = home
        self._environ = {"HOME": str(home), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", **environ}

    def python(self, *args: str) -> subprocess.CompletedProcess[str]:
        """Run our Python in their home, as them."""
        with tempfile.TemporaryDirectory() as spare:
            command = [*_as_nobody(Path(spare)), sys.executable, *args]
            return subprocess.run(
                command,
                cwd=self.home,
                env=self._environ,
                capture_output=True,
                text=True,
                timeout=240,
            )


@contextmanager
def stranger(**environ: str) -> Iterator[Stranger]:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        shutil.chown(home, NOBODY, NOBODY)
        yield Stranger(home, environ)


def can_be_another() -> bool:
    """Whether this process may start others in another's name."""
    if os.geteuid() != 0:
        return False
    with stranger() as somebody:
        return somebody.python("-c", "import trunkline").returncode == 0


def _as_nobody(spare: Path) -> list[str]:
    python = Path(sys.base_prefix)
    closed = [one for one in python.parents if not one.stat().st_mode & 0o001]
    if not closed:
        return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    whole = ["unshare", "--mount", "--propagation", "private", "sh", "-c", _OPENED, "sh"]
    return [*whole, str(python), str(closed[-1]), str(spare)]


@contextmanager
def modes_respected() -> Iterator[None]:
    """Take from this thread, if it is root's, the right to read and write against modes."""
    if os.geteuid() != 0:
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    before = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable; then the higher ones
    assert libc.capget(header, before) == 0, os.strerror(ctypes.get_errno())
    bound = type(before)(*before)
    bound[0] &= ~(_DAC_OVERRIDE | _DAC_READ_SEARCH)
    assert libc.capset(header, bound) == 0, os.strerror(ctypes.get_errno())
    try:
        yield
    finally:
        assert libc.capset(header, before) == 0, os.strerror(ctypes.get_errno())


_CAPABILITY_VERSION_3 = 0x20080522
_DAC_OVERRIDE, _DAC_READ_SEARCH = 1 << 1, 1 << 2
