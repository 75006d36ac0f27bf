"""What tests let executors run. Imported there by name, as the real runner is."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

from trunkline import errors


def echo(work: bytes, one: bytes, *, attempt: int, unique: str) -> bytes:
    facts = {"work": work.decode(), "set": one.decode(), "attempt": attempt, "unique": unique}
    return json.dumps({**facts, "pid": os.getpid()}).encode()


def unlucky(work: bytes, one: bytes, *, attempt: int, unique: str) -> bytes:
    if attempt < 2:
        raise errors.Unavailable("The store is away.")
    return echo(work, one, attempt=attempt, unique=unique)


def full(work: bytes, one: bytes, *, attempt: int, unique: str) -> bytes:
    raise errors.DiskFull('No "space" is left.', hint="Free some.")


def refuse(work: bytes, one: bytes, *, attempt: int, unique: str) -> bytes:
    Path(work.decode(), f"{one.decode()}-{attempt}").touch()
    raise errors.Precondition("It must not be so.", hint="Change it.")


def wrong(work: bytes, one: bytes, *, attempt: int, unique: str) -> bytes:
    raise ValueError("strange\nvalue")


def crash(work: bytes, one: bytes, *, attempt: int, unique: str) -> bytes:
    if attempt == 0 or work == b"always":
        os._exit(3)
    return echo(work, one, attempt=attempt, unique=unique)


def wait(work: bytes, one: bytes, *, attempt: int, unique: str) -> bytes:
    """Leave word of who waits in the folder `work`, then wait for long."""
    child = subprocess.Popen(["sleep", "600"])
    Path(work.decode(), one.decode()).write_text(f"{os.getpid()} {child.pid}")
    child.wait()
    return b""


def note_times(work: bytes, one: bytes, *, attempt: int, unique: str) -> bytes:
    begin = time.time()
    time.sleep(0.1)
    return json.dumps([begin, time.time()]).encode()


def slow(work: bytes, one: bytes, *, attempt: int, unique: str) -> bytes:
    Path(work.decode(), f"{one.decode()}-{unique}").touch()
    time.sleep(0.4)
    return echo(work, one, attempt=attempt, unique=unique)


def environment(work: bytes, one: bytes, *, attempt: int, unique: str) -> bytes:
    return json.dumps(dict(os.environ)).encode()
