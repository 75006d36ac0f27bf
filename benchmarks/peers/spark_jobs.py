"""What Spark tells of its jobs: how many there were, and how long they took."""

from __future__ import annotations

from typing import Any


def jobs_so_far(context: Any) -> tuple[int, float]:
    """The number of jobs that ended, and the seconds in them."""
    inner = context._jsc.sc()
    inner.listenerBus().waitUntilEmpty()
    found = inner.statusStore().jobsList(None)
    spent = 0
    for number in range(found.length()):
        job = found.apply(number)
        spent += job.completionTime().get().getTime() - job.submissionTime().get().getTime()
    return found.length(), spent / 1000


def add(rounds: list[dict[str, float]], context: Any, seconds: float, before: Any) -> None:
    count, spent = jobs_so_far(context)
    rounds.append({"seconds": seconds, "jobs": count - before[0], "in_jobs": spent - before[1]})
