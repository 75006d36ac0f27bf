"""Builds the console into the wheel, where there is a Node.js to do it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SKIP = "TRUNKLINE_SKIP_CONSOLE"


class ConsoleBuild(BuildHookInterface[Any]):
    """What is built is what `artifacts` of pyproject.toml names. Editable installs do without."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable" or os.environ.get(SKIP, "") not in ("", "0"):
            return
        root = Path(self.root)
        sources, page = root / "console", root / "src" / "trunkline" / "console" / "index.html"
        if page.is_file() and (root / "PKG-INFO").is_file():
            return  # a source distribution brings it along
        if (sources / "package.json").is_file() and (npm := _npm()) is not None:
            self._build(npm, sources)
        elif not page.is_file():
            self.app.display_warning(
                "There is no Node.js 20.19 or newer, so this package has no console."
            )

    def _build(self, npm: str, sources: Path) -> None:
        commands = [[npm, "run", "build"]]
        if not _has_modules(sources):
            commands.insert(0, [npm, "install", "--no-save"])
        for command in commands:
            done = subprocess.run(command, cwd=sources, capture_output=True, text=True)
            if done.returncode:
                told = (done.stdout + done.stderr).strip()
                raise RuntimeError(
                    f"{' '.join(['npm', *command[1:]])} failed in {sources}:\n{told}\n"
                    f"To build the package without a console, set {SKIP}=1."
                )


def _has_modules(sources: Path) -> bool:
    """Whether what the lock names is installed. npm writes down when it did so."""
    installed = sources / "node_modules" / ".package-lock.json"
    lock = sources / "package-lock.json"
    return installed.is_file() and installed.stat().st_mtime >= lock.stat().st_mtime


def _npm() -> str | None:
    """The npm of a Node.js that is new enough."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        return None
    said = subprocess.run([node, "--version"], capture_output=True, text=True).stdout
    found = re.match(r"v(\d+)\.(\d+)\.", said)
    if found is None or not _is_new_enough(int(found[1]), int(found[2])):
        return None
    return npm


def _is_new_enough(major: int, minor: int) -> bool:
    """As `engines` of console/package.json says."""
    return (20, 19) <= (major, minor) < (21, 0) or (major, minor) >= (22, 12)
