"""Programs run by another user of this computer, who has a home and nothing else of ours."""

from __future__ import annotations

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
