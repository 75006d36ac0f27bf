"""Twenty pipelines in a row, each a trivial Python function: what a step costs, ours and Spark's.

Spark's is the time between handing a job to it and its answer. The rest is ours: claiming,
planning, putting the output together, committing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from statistics import median

import trunkline as tl
from benchmarks.measure import Bench
from benchmarks.report import Result
from benchmarks.spark import warm_session
from trunkline.engine import submit
from trunkline.sdk import Lake

CLAIM = "chain"
STEPS = 20
OWN_MILLISECONDS = 25.0
FUNCTION = """
def step(datum):
    file = datum.file("files")
    datum.write(file.path, file.read() + b".")
"""


def run(bench: Bench) -> Iterator[Result]:
    os.chdir(bench.folder)
    (bench.folder / "step.py").write_text(FUNCTION)
    with warm_session() as session, tl.init(bench.folder / "lake") as lake:
        lake.create_repo("p0")
        lake.apply(*[_spec(number) for number in range(1, STEPS + 1)])
        spark: list[float] = []
        with _Timed(spark):
            own, theirs, jobs = [], [], []
            context = session.context
            assert context is not None
            for number in range(bench.size(12, 4)):
                spark.clear()
                with lake.commit("p0@main") as commit:
                    commit.put("/x", b"%d" % number)
                seconds = _drain(lake)
                own.append((seconds - sum(spark)) / STEPS)
                theirs.append(sum(spark) / STEPS)
                jobs.append(len(spark) / STEPS)
    mine, its = median(own[1:]) * 1000, median(theirs[1:]) * 1000
    budget = f"≤ {OWN_MILLISECONDS:g} ms"
    met = mine <= OWN_MILLISECONDS
    yield Result(CLAIM, "a step, our own time", f"{mine:.1f} ms", "", "", mine, "ms", budget, met)
    yield Result(CLAIM, "a step, Spark's time", f"{its:.1f} ms", "", "", its, "ms")
    most = max(jobs)
    yield Result(
        CLAIM, "Spark jobs for a step", f"{most:g}", "", "", most, "jobs", "≤ 1", most <= 1
    )
    first, last = median(own[1:4]) * 1000, median(own[-3:]) * 1000
    yield Result(
        CLAIM, "our own time, last rounds", f"{last:.1f} ms", "first rounds", f"{first:.1f} ms",
        last / first,
    )  # fmt: skip


def _spec(number: int) -> dict[str, object]:
    return {
        "pipeline": {"name": f"p{number}"},
        "input": {"pfs": {"repo": f"p{number - 1}", "name": "files", "glob": "/*"}},
        "transform": {"python": "step.py:step"},
    }


def _drain(lake: Lake) -> float:
    began = time.perf_counter()
    report = lake.run(jobs=1)
    seconds = time.perf_counter() - began
    assert [str(job.state) for job in report.jobs] == ["success"] * STEPS
    return seconds


class _Timed:
    """Notes how long each call of Spark takes."""

    def __init__(self, seconds: list[float]) -> None:
        self._seconds = seconds
        self._real = submit.run_sets

    def __enter__(self) -> None:
        def run_sets(*args: object, **options: object) -> object:
            began = time.perf_counter()
            try:
                return self._real(*args, **options)  # type: ignore[arg-type]
            finally:
                self._seconds.append(time.perf_counter() - began)

        submit.run_sets = run_sets  # type: ignore[assignment]

    def __exit__(self, *_: object) -> None:
        submit.run_sets = self._real
