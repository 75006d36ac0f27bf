"""Workers for processes that are killed, stopped, or run beside each other.

`python -m tests.reliability.workers NAME ARGUMENTS` calls the function of that name here; what
it returns is printed as JSON.
"""

from __future__ import annotations

import json
import logging
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

import trunkline as tl
from trunkline.model.jobs import RunEvent
from trunkline.model.shape import as_json


def drain(location: str, ready: str = "") -> list[dict[str, Any]]:
    """Run jobs until there are none; those that ended here. `ready` is made when Spark is up."""

    def listen(event: RunEvent) -> None:
        if ready and event.kind == "spark" and "ready" in event.text:
            Path(ready).touch()

    with tl.open(location) as lake:
        return [as_json(job) for job in lake.run(listener=listen).jobs]


def drain_stopping_at(location: str, point: str) -> list[dict[str, Any]]:
    """As `drain`, but stop at the first passing of a crash point until somebody goes on."""

    def pause() -> None:
        # To this thread: it must not run on until another one gets the signal.
        signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)

    _at(point, pause)
    return drain(location)


def drain_without_spark_at(location: str, point: str) -> list[dict[str, Any]]:
    """As `drain`, but Spark's JVM is killed at the first passing of a crash point."""

    def kill() -> None:
        for child in psutil.Process().children():
            if "java" in child.name():
                child.kill()

    _at(point, kill)
    return drain(location)


def _at(point: str, act: Callable[[], None]) -> None:
    """Do something at the first passing of a crash point."""
    from trunkline.engine.streaming import live
    from trunkline.jobs import finishing, runner, spark, tablework
    from trunkline.jobs.streaming import run

    passed: list[str] = []

    def pause(name: str) -> None:
        if name == point and not passed:
            passed.append(name)
            act()

    for module in (finishing, runner, spark, tablework, run, live):
        setattr(module, "crashpoint", pause)  # noqa: B010


def watch(location: str, stop: str) -> list[dict[str, Any]]:
    """Run jobs as they come until a file appears; those that ended here."""
    over = threading.Event()

    def look() -> None:
        while not Path(stop).exists():
            time.sleep(0.05)
        over.set()

    threading.Thread(target=look, daemon=True).start()
    with tl.open(location) as lake:
        return [as_json(job) for job in lake.run(watch=True, stop=over).jobs]


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)
    _, name, *arguments = sys.argv
    print(json.dumps(globals()[name](*arguments)))
