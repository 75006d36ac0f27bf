"""The checks of `trunkline doctor`. Each answers, whatever happens: a doctor does not faint."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata, util
from pathlib import Path
from typing import TYPE_CHECKING

from trunkline.cli.session import Session
from trunkline.cli.text import human_size
from trunkline.engine import warm
from trunkline.engine.java import find_java
from trunkline.engine.options import SparkOptions, local_cores, machine_memory
from trunkline.errors import NotAllowed, NotFound, Precondition, TrunklineError

if TYPE_CHECKING:
    from trunkline.sdk import Lake

OK, NOTE, PROBLEM = "ok", "note", "problem"
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
    yield from _guarded("java", lambda: java(session))
    yield from _guarded("spark", lambda: spark(session))
    yield from _guarded("settings", lambda: settings(session))
    yield from _guarded("sandbox", lambda: sandbox(session))
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


def java(session: Session) -> Iterator[Check]:
    if session.settings.text("spark.remote"):
        yield Check("java", OK, "not needed here: spark.remote has its own")
        return
    found = find_java()
    yield Check("java", OK, f"{found.version} at {found.home}")


def spark(session: Session) -> Iterator[Check]:
    if util.find_spec("pyspark") is None:
        yield Check("spark", PROBLEM, "pyspark is not installed", "Run make install.")
        return
    options = SparkOptions.of(session.settings)
    version = f"pyspark {metadata.version('pyspark')}"
    if options.remote:
        yield Check("spark", OK, f"{version}, on {_without_token(options.remote)}")
        return
    memory = f"{human_size(options.driver_memory)} of memory"
    if options.is_local and options.driver_memory > machine_memory():
        much = f"spark.memory is more than the {human_size(machine_memory())} of this machine"
        yield Check("spark", PROBLEM, much, "trunkline config unset spark.memory")
    elif options.is_local:
        cores = local_cores(options.master)
        here = f"{cores} core{'s' * (cores > 1)} and {memory}"
        kept = sum(left.memory for left in warm.waiting())
        waits = f"; one waits for the next command, with up to {human_size(kept)}" if kept else ""
        yield Check("spark", OK, f"{version}, here with {here}{waits}")
    else:
        yield Check("spark", OK, f"{version}, on {options.master}; its driver has {memory}")


def _without_token(remote: str) -> str:
    """A Spark Connect address without its parameters: one of them may be a secret."""
    return remote.partition(";")[0]


def settings(session: Session) -> Iterator[Check]:
    for name in session.settings:
        session.settings[name]
    if unknown := session.settings.unknown():
        yield Check(
            "settings", NOTE, f"unknown: {', '.join(unknown)}", "trunkline config list shows all."
        )
    else:
        yield Check("settings", OK, "all can be read")


def sandbox(session: Session) -> Iterator[Check]:
    from trunkline.engine.runner.sandbox import why_no_wall

    required = session.settings.flag("sandbox.required")
    if why := why_no_wall():
        mend = (
            "Allow user namespaces for the worker's user; Linux 5.12 or newer has what is needed."
        )
        yield Check("sandbox", PROBLEM if required else NOTE, f"none can be had: {why}", mend)
    else:
        only = "people's code runs in one only" if required else "for pipelines with sandbox: on"
        yield Check("sandbox", OK, f"can be had; {only}")


def disk(session: Session) -> Iterator[Check]:
    try:
        folder = session.lake_folder()
    except (NotFound, Precondition):
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
        session.place  # noqa: B018
    except NotFound as error:
        yield Check("lake", NOTE, error.message, error.hint)
        return
    with session.open() as opened:
        status = opened.status()
        yield Check("catalog", OK, f"{status.catalog} answers, and has this version's format")
        yield from _guarded("store", lambda: store(opened, status.store))


def store(opened: Lake, address: str) -> Iterator[Check]:
    try:
        opened.check()
    except NotAllowed as error:
        yield Check("store", NOTE, f"not tried: {error.message}", error.hint)
        return
    yield Check("store", OK, f"{address} keeps what is written to it")
