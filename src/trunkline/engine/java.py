"""Which Java runs Spark: the first one that is new enough and has the modules Spark asks for.

Looked for in JAVA_HOME, on PATH, then where systems and version managers put it. What a runtime
is, is read from its `release` file; only a runtime without one is asked (`java -version`).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from trunkline.errors import Precondition

OLDEST = 17
NEEDED_MODULE = "jdk.incubator.vector"  # on the command line that Spark's launcher writes

_FOLDERS = (
    "/usr/lib/jvm/*",
    "/usr/java/*",
    "/opt/java/*",
    "/opt/jdk*",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home",
    "/opt/homebrew/opt/openjdk*/libexec/openjdk.jdk/Contents/Home",
    "/usr/local/opt/openjdk*/libexec/openjdk.jdk/Contents/Home",
    "/home/linuxbrew/.linuxbrew/opt/openjdk*/libexec",
    "~/.sdkman/candidates/java/*",
    "~/.jdks/*",
    "~/.asdf/installs/java/*",
    "~/.local/share/mise/installs/java/*",
)


@dataclass(frozen=True, slots=True)
class Java:
    """A Java runtime: its home folder, and its version as it states it."""

    home: Path
    version: str
    complete: bool = True

    @property
    def path(self) -> Path:
        return self.home / "bin" / "java"

    @property
    def major(self) -> int:
        found = re.match(r"(?:1\.)?(\d+)", self.version)  # Java 8 calls itself 1.8
        return int(found[1]) if found else 0

    @property
    def unfit(self) -> str:
        """Why Spark cannot run on it; empty when it can."""
        if self.major < OLDEST:
            return f"is Java {self.version}"
        if not self.complete:
            return f"lacks the module {NEEDED_MODULE}"
        return ""


def find_java(environ: Mapping[str, str] | None = None) -> Java:
    """The Java to use, or `Precondition` with the command that installs one."""
    environ = os.environ if environ is None else environ
    rejected: list[str] = []
    for home in _homes(environ):
        java = _look(home)
        if java is not None and not java.unfit:
            return java
        if java is not None:
            rejected.append(f"{java.path} {java.unfit}")
    found = f"; {rejected[0]}" if rejected else ", and there is none here"
    raise Precondition(f"Spark needs Java {OLDEST} or newer{found}.", hint=_mend())


def _homes(environ: Mapping[str, str]) -> Iterator[Path]:
    seen: set[Path] = set()
    for home in _candidates(environ):
        try:
            real = home.resolve()
        except OSError:
            continue
        if real not in seen:
            seen.add(real)
            yield real


def _candidates(environ: Mapping[str, str]) -> Iterator[Path]:
    if home := environ.get("JAVA_HOME"):
        yield Path(home)
    if program := shutil.which("java", path=environ.get("PATH")):
        yield Path(os.path.realpath(program)).parent.parent
    user = environ.get("HOME") or os.path.expanduser("~")
    for pattern in _FOLDERS:
        folder = Path(pattern.replace("~", user, 1))
        base = Path(*folder.parts[: next(i for i, p in enumerate(folder.parts) if "*" in p)])
        found = base.glob(str(folder.relative_to(base)))
        # The oldest that will do: the one Spark was tested with for longest.
        yield from sorted(found, key=_natural)


def _natural(path: Path) -> list[int | str]:
    return [int(p) if p.isdigit() else p for p in re.split(r"(\d+)", str(path))]


def _look(home: Path) -> Java | None:
    if not os.access(home / "bin" / "java", os.X_OK):
        return None
    try:
        release = (home / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return _ask(home)
    facts = dict(re.findall(r'^(\w+)="?(.*?)"?$', release, re.MULTILINE))
    version, modules = facts.get("JAVA_VERSION"), facts.get("MODULES", NEEDED_MODULE)
    return Java(home, version, NEEDED_MODULE in modules.split()) if version else None


def _ask(home: Path) -> Java | None:
    try:
        done = subprocess.run(
            [home / "bin" / "java", "-version"], capture_output=True, text=True, timeout=20
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    version = re.search(r'version "([^"]+)"', done.stderr)
    return Java(home, version[1]) if version else None


_INSTALL = (
    ("apt-get", f"apt-get install openjdk-{OLDEST}-jre-headless (or a later one)"),
    ("dnf", f"dnf install java-{OLDEST}-openjdk-headless"),
    ("yum", f"yum install java-{OLDEST}-openjdk-headless"),
    ("apk", f"apk add openjdk{OLDEST}-jre-headless"),
    ("pacman", f"pacman -S jre{OLDEST}-openjdk-headless"),
    ("zypper", f"zypper install java-{OLDEST}-openjdk-headless"),
)


def _mend() -> str:
    if sys.platform == "darwin":
        command = f"brew install openjdk@{OLDEST}"
    else:
        command = next((line for tool, line in _INSTALL if shutil.which(tool)), "")
    install = f"{command} installs it" if command else f"Install a Java {OLDEST} runtime"
    return f"{install}; if it is elsewhere, set JAVA_HOME to its folder."
