"""The checks of `trunkline doctor`. Each answers, whatever happens: a doctor does not faint."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata, util
from pathlib import Path
from typing import TYPE_CHECKING

from trunkline.cli.session import Session
from trunkline.cli.text import human_size
from trunkline.errors import NotFound, TrunklineError

if TYPE_CHECKING:
    from trunkline.sdk import Lake

OK, NOTE, PROBLEM = "ok", "note", "problem"
OLDEST_JAVA = 17
LITTLE_SPACE = 1 << 30


@dataclass(frozen=True, slots=True)
class Check:
    """What was looked at, how it is, and what to do about it."""

    name: str
    state: str
    detail: str
    mend: str = ""


def run_all(session: Session) -> Iterator[Check]:
    yield from _guarded("python", python)
    yield from _guarded("packages", packages)
    yield from _guarded("java", java)
    yield from _guarded("spark", spark)
    yield from _guarded("settings", lambda: settings(session))
    yield from _guarded("disk", lambda: disk(session))
    yield from _guarded("lake", lambda: lake(session))


def _guarded(name: str, check: Callable[[], Iterator[Check]]) -> Iterator[Check]:
    try:
        yield from check()
    except TrunklineError as error:
        yield Check(name, PROBLEM, error.message, error.hint)
    except Exception as error:  # shown as a finding instead
        yield Check(name, PROBLEM, f"{type(error).__name__}: {error}")


def python() -> Iterator[Check]:
    version = ".".join(map(str, sys.version_info[:3]))
    good = sys.version_info >= (3, 11)
    yield Check(
        "python", OK if good else PROBLEM, version, "" if good else "Use Python 3.11 or newer."
    )


def packages() -> Iterator[Check]:
    missing = [name for name in _requirements() if not _installed(name)]
    if missing:
        yield Check("packages", PROBLEM, f"missing: {', '.join(missing)}", "Run make install.")
    else:
        yield Check("packages", OK, f"trunkline {metadata.version('trunkline')} and what it needs")


def _requirements() -> list[str]:
    lines = metadata.requires("trunkline") or []
    return [re.split(r"[^A-Za-z0-9._-]", line, maxsplit=1)[0] for line in lines if ";" not in line]


def _installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def java() -> Iterator[Check]:
    mend = f"Pipelines on Spark will need Java {OLDEST_JAVA}+; the lake itself does not."
    home = os.environ.get("JAVA_HOME")
    program = os.path.join(home, "bin", "java") if home else "java"
    found = shutil.which(program)
    if found is None:
        yield Check("java", NOTE, f"{program} is not there", mend)
        return
    done = subprocess.run([found, "-version"], capture_output=True, text=True, timeout=20)
    version = re.search(r'version "(?:1\.)?(\d+)([^"]*)"', done.stderr)
    if version is None:
        yield Check("java", NOTE, f"{found} does not say its version", mend)
    elif int(version[1]) < OLDEST_JAVA:
        yield Check("java", NOTE, f"{version[1]}{version[2]} at {found}", mend)
    else:
        yield Check("java", OK, f"{version[1]}{version[2]} at {found}")


def spark() -> Iterator[Check]:
    if util.find_spec("pyspark") is None:
        yield Check("spark", NOTE, "pyspark is not installed", "The lake works without it.")
    else:
        yield Check("spark", OK, f"pyspark {metadata.version('pyspark')}")


def settings(session: Session) -> Iterator[Check]:
    for name in session.settings:
        session.settings[name]
    if unknown := session.settings.unknown():
        yield Check(
            "settings", NOTE, f"unknown: {', '.join(unknown)}", "trunkline config list shows all."
        )
    else:
        yield Check("settings", OK, "all can be read")


def disk(session: Session) -> Iterator[Check]:
    try:
        folder = session.lake_folder()
    except NotFound:
        folder = Path.cwd()
    free = shutil.disk_usage(folder).free
    detail = f"{human_size(free)} free at {folder}"
    if free < LITTLE_SPACE:
        yield Check("disk", PROBLEM, detail, "Make room, or run trunkline gc.")
    elif not os.access(folder, os.W_OK):
        yield Check("disk", NOTE, f"{folder} is read-only", "You can read, but not commit.")
    else:
        yield Check("disk", OK, detail)


def lake(session: Session) -> Iterator[Check]:
    try:
        session.lake_folder()
    except NotFound as error:
        yield Check("lake", NOTE, error.message, error.hint)
        return
    with session.open() as opened:
        status = opened.status()
        yield Check("catalog", OK, f"{status.catalog} answers, and has this version's format")
        yield from _guarded("store", lambda: store(opened, status.store))


def store(opened: Lake, address: str) -> Iterator[Check]:
    opened.check()
    yield Check("store", OK, f"{address} keeps what is written to it")
