"""Programs that use our SDK, but not our packages: each has a folder of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "integrations"
AWAY = ("Failed to establish a new connection", "name resolution", "ConnectTimeoutError")


@dataclass(frozen=True)
class Peer:
    """A program, the folder where it keeps what it knows, and what its processes are told."""

    home: Path
    environment: dict[str, str] = field(repr=False)

    def python(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *words],
            cwd=self.home,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
        )


def peer(config: pytest.Config, home: Path, *packages: str, files: Path) -> Peer:
    """With the packages, and with the modules in a folder."""
    folder = _installed(config, packages)
    paths = (folder, files, ROOT / "src")
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
        # Nothing is to be left among the examples.
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return Peer(home, environment)


def _installed(config: pytest.Config, packages: tuple[str, ...]) -> Path:
    assert config.cache is not None
    folder = config.cache.mkdir(packages[0].replace("==", "-"))
    done = folder / ".installed"
    wanted = "\n".join(packages)
    if not done.exists() or done.read_text() != wanted:
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--upgrade", "--target"]
        ran = subprocess.run(
            [*install, str(folder), *packages], capture_output=True, text=True, check=False
        )
        if ran.returncode and any(words in ran.stderr for words in AWAY):
            pytest.skip(f"{packages[0]} cannot be installed: the package registry is out of reach")
        assert ran.returncode == 0, ran.stderr
        done.write_text(wanted)
    return folder
