"""What Spark calls: bytes in, bytes out."""

from __future__ import annotations

from trunkline.engine.runner.execute import run_set
from trunkline.engine.runner.task import SetTask, Work

CRASHES = 2
"""After so many lost workers, each Python function gets a process that may die alone."""


def run_encoded(work: bytes, one_set: bytes, *, attempt: int, unique: str) -> bytes:
    report = run_set(
        Work.decode(work),
        SetTask.decode(one_set),
        attempt=attempt,
        unique=unique,
        isolate=attempt >= CRASHES,
    )
    return report.encode()
