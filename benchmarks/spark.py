"""A warm Spark session, as a worker has one: jobs that run in this process use it.

Also what Spark itself tells about what it did: files read, time spent in jobs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from trunkline.engine.options import SparkOptions
from trunkline.engine.session import Session, start


@contextmanager
def warm_session() -> Iterator[Session]:
    session = start(SparkOptions())
    try:
        context = session.context
        assert context is not None
        for _ in range(3):
            context.parallelize(range(session.cores), session.cores).map(str).collect()
        yield session
    finally:
        session.stop()


def files_read(session: Session, jobs: tuple[int, ...]) -> int:
    """How many files the scans of these Spark jobs opened, by Spark's own metrics of its plans."""
    store: Any = session.spark._jsparkSession.sharedState().statusStore()
    _settle(session)
    counts: dict[int, int] = {}  # an adaptive plan lists its metrics again with every change
    executions = store.executionsList()
    for place in range(executions.length()):
        execution = executions.apply(place)
        if not any(execution.jobs().contains(job) for job in jobs):
            continue
        values = store.executionMetrics(execution.executionId())
        metrics = execution.metrics()
        for number in range(metrics.length()):
            metric = metrics.apply(number)
            found = values.get(metric.accumulatorId())
            if metric.name() == "number of files read" and found.isDefined():
                counts[metric.accumulatorId()] = int(found.get().replace(",", ""))
    return sum(counts.values())


def seconds_in_jobs(session: Session, jobs: tuple[int, ...]) -> float:
    """From handing jobs to Spark's scheduler until they were done, as Spark notes it."""
    context: Any = session.context
    _settle(session)
    store = context._jsc.sc().statusStore()
    infos = [store.job(job) for job in jobs]
    return float(
        sum(
            info.completionTime().get().getTime() - info.submissionTime().get().getTime()
            for info in infos
        )
        / 1000
    )


def files_selected(frame: Any) -> int:
    """How many files the plan of a DataFrame will open, without running it."""
    plan = frame._jdf.queryExecution().executedPlan()
    if plan.getClass().getSimpleName() == "AdaptiveSparkPlanExec":
        plan = plan.executedPlan()
    leaves = plan.collectLeaves()
    return sum(
        leaves.apply(number).selectedPartitions().totalNumberOfFiles()
        for number in range(leaves.length())
    )


def _settle(session: Session) -> None:
    """Spark tells its store by way of a queue."""
    context: Any = session.context
    context._jsc.sc().listenerBus().waitUntilEmpty()
