"""A lake to look at: what the demo leaves. It takes a minute to make, so it is kept until the
sources are others.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path

from tests.copies import copy_lake
from tests.docs.console import ROOT
from tests.spark import SHORT_LIVED_CONF

MAKING_SECONDS = 500
_MADE_FROM = ("src/trunkline", "examples/shop")
# For who works on the sources and looks again and again: a folder that the demo has left.
_GIVEN = os.environ.get("TRUNKLINE_SAMPLE")
_KINDS = (".py", ".yaml", ".sql", ".json", ".mako")


def copy_sample(kept: Path, to: Path) -> None:
    """Copy the sample lake, made now if no run has made it from these sources."""
    if _GIVEN:
        copy_lake(_GIVEN, to, symlinks=True)
        return
    with _alone(kept):
        # It is made where it stays: its ingest reads a folder beside it, by its whole path.
        whole = kept / _sources()
        made = whole.with_suffix(".made")
        if not made.is_file():
            for old in kept.glob("[0-9a-f]*"):
                shutil.rmtree(old) if old.is_dir() else old.unlink()
            _make(whole)
            made.touch()
        copy_lake(whole, to, symlinks=True)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Tests run in several processes, and one lake is enough for all."""
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _sources() -> str:
    digest = blake2b(digest_size=16)
    for part in _MADE_FROM:
        for file in sorted((ROOT / part).rglob("*")):
            if file.suffix in _KINDS and file.is_file() and "console" not in file.parts:
                digest.update(f"{file.relative_to(ROOT)}\0".encode() + file.read_bytes())
    return digest.hexdigest()


def _make(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    environ = {name: value for name, value in os.environ.items() if "TRUNKLINE" not in name}
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "trunkline",
            "demo",
            "shop",
            "--folder",
            str(folder),
            "--no-serve",
            "--json",
        ],
        capture_output=True,
        text=True,
        timeout=MAKING_SECONDS,
        env={
            **environ,
            "XDG_CONFIG_HOME": str(folder.parent / "no-config"),
            "TRUNKLINE_AUTHOR": "ada@example.org",
            "TRUNKLINE_SPARK_MASTER": "local[2]",
            "TRUNKLINE_SPARK_CONF": SHORT_LIVED_CONF,
            "TRUNKLINE_SPARK_LINGER": "0",
        },
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    assert json.loads(done.stdout) == {"lake": str(folder)}
