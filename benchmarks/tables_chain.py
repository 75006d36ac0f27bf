"""Twenty tiny PySpark steps in a row against Dagster and Spark Declarative Pipelines.

Each step reads the last one's Parquet. Ours are twenty pipelines, run by a worker with a warm
session. Dagster materializes twenty assets in one process with one session, and keeps its runs in
SQLite. Declarative Pipelines run on a server that stays warm. They run one after another, each the
median of its rounds but the first, with the same cores, memory and settings of Spark SQL; flags of
Java are ours, or Spark's defaults. The peers need an environment of their own, see the README.

Our own time is that outside of the calls that build and run a step in Spark: claiming, planning,
putting the output together, committing. For all three there is also the time outside of Spark's
jobs, as Spark notes them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import trunkline as tl
from benchmarks.measure import Bench, CommandFailed
from benchmarks.report import Result
from benchmarks.spark import seconds_in_jobs, warm_session
from benchmarks.tpch import CACHE
from trunkline.engine import submit
from trunkline.engine.options import SparkOptions, local_cores
from trunkline.sdk import Lake

CLAIM = "tables_chain"
STEPS = 20
OWN_MILLISECONDS = 25.0
FUNCTION = """
from pyspark.sql import functions as F


def step(rows):
    return rows.withColumn("n", F.col("n") + 1)
"""
PEERS = {"dagster_chain": "Dagster", "declarative_chain": "Declarative Pipelines"}
SHARED = (
    "spark.driver.memory",
    "spark.ui.enabled",
    "spark.ui.showConsoleProgress",
    "spark.sql.session.timeZone",
    "spark.sql.shuffle.partitions",
    "spark.sql.files.openCostInBytes",
    "spark.driver.host",
    "spark.driver.bindAddress",
)


@dataclass(frozen=True, slots=True)
class Chain:
    """Milliseconds and jobs of a step, each the median over rounds."""

    step: float
    outside: float
    jobs: float

    def __str__(self) -> str:
        return f"{self.step:.0f} ms, {self.outside:.0f} outside of {self.jobs:g} jobs"


def run(bench: Bench) -> Iterator[Result]:
    rounds = bench.size(12, 3)
    ours, own = _ours(bench, rounds)
    yield Result(CLAIM, "a step, by the clock", f"{ours.step:.1f} ms", "", "", ours.step, "ms")
    yield Result(
        CLAIM, "a step, our own time", f"{own:.1f} ms", "", "", own, "ms",
        f"≤ {OWN_MILLISECONDS:g} ms", own <= OWN_MILLISECONDS,
    )  # fmt: skip
    yield Result(
        CLAIM, "a step, outside of Spark's jobs", f"{ours.outside:.1f} ms", "", "", ours.outside,
        "ms",
    )  # fmt: skip
    yield Result(
        CLAIM, "Spark jobs for a step", f"{ours.jobs:g}", "", "", ours.jobs, "jobs", "≤ 1",
        ours.jobs <= 1,
    )  # fmt: skip
    python = (bench.peers or CACHE / "peers") / "bin" / "python"
    if not python.exists():
        print(f"  no peers: there is no {python}; see benchmarks/README.md", file=sys.stderr)
        return
    for script, name in (
        ("dagster_chain", "Dagster"),
        ("declarative_chain", "Declarative Pipelines"),
    ):
        version, peer = _peer(bench, python, script, rounds)
        yield Result(
            CLAIM, "a step", str(ours), f"{name} {version}", str(peer), peer.step / ours.step,
            budget="> 1x", met=peer.step > ours.step,
        )  # fmt: skip


def _ours(bench: Bench, rounds: int) -> tuple[Chain, float]:
    import pyarrow as pa

    os.chdir(bench.folder)
    (bench.folder / "step.py").write_text(FUNCTION)
    steps, own, outside, jobs = [], [], [], []
    with warm_session() as session, tl.init(bench.folder / "lake") as lake:
        lake.create_repo("p0")
        lake.write_table("p0@main", _rows(pa, 0))
        lake.apply(*[_spec(number) for number in range(1, STEPS + 1)])
        spent: list[float] = []
        with _Timed(spent):
            for number in range(rounds):
                lake.write_table("p0@main", _rows(pa, number), mode="overwrite")
                spent.clear()
                seconds, numbers = _drain(lake)
                steps.append(seconds / STEPS)
                own.append((seconds - sum(spent)) / STEPS)
                outside.append((seconds - seconds_in_jobs(session, numbers)) / STEPS)
                jobs.append(len(numbers) / STEPS)
        least = min(lake.table(f"p{STEPS}@main").arrow().column("n").to_pylist())
        assert least == rounds - 1 + STEPS, least
    chain = Chain(_milliseconds(steps), _milliseconds(outside), max(jobs[1:]))
    return chain, _milliseconds(own)


def _rows(pa: object, number: int) -> object:
    return pa.table({"n": list(range(number, number + 1000))})  # type: ignore[attr-defined]


def _spec(number: int) -> dict[str, object]:
    return {
        "pipeline": {"name": f"p{number}"},
        "input": {"pfs": {"repo": f"p{number - 1}", "name": "rows", "glob": "/"}},
        "transform": {"spark": "step.py:step"},
    }


def _drain(lake: Lake) -> tuple[float, tuple[int, ...]]:
    began = time.perf_counter()
    report = lake.run(jobs=1)
    seconds = time.perf_counter() - began
    for job in report.jobs:
        assert str(job.state) == "success", job.reason
    # In the first round each pipeline may have run for its declaration too.
    assert len(report.jobs) >= STEPS
    return seconds, tuple(number for job in report.jobs for number in job.counts.spark_jobs)


def _peer(bench: Bench, python: Path, script: str, rounds: int) -> tuple[str, Chain]:
    folder = bench.folder / script
    home = folder / "home"
    home.mkdir(parents=True)
    (home / "dagster.yaml").write_text("telemetry:\n  enabled: false\n")
    ours = SparkOptions().spark_conf()
    conf = {name: ours[name] for name in SHARED if name in ours}
    conf["spark.master"] = f"local[{local_cores(SparkOptions().master)}]"
    conf["spark.sql.warehouse.dir"] = f"file:{folder}/warehouse"
    file = Path(__file__).parent / "peers" / f"{script}.py"
    command = [str(python), str(file), str(folder), str(STEPS), str(rounds), json.dumps(conf)]
    environ = {
        **bench.environment,
        "DAGSTER_HOME": str(home),
        "PYSPARK_PYTHON": str(python),
        "SPARK_LOCAL_IP": "127.0.0.1",
        **{name: os.environ[name] for name in ("JAVA_HOME",) if name in os.environ},
    }
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True)
    if done.returncode:
        raise CommandFailed(f"{script}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    said = json.loads(done.stdout.splitlines()[-1])
    found = said["rounds"]
    return said["version"], Chain(
        _milliseconds([one["seconds"] / STEPS for one in found]),
        _milliseconds([(one["seconds"] - one["in_jobs"]) / STEPS for one in found]),
        max(one["jobs"] / STEPS for one in found[1:]),
    )


def _milliseconds(seconds: list[float]) -> float:
    """The median without the first round, which warms up."""
    return median(seconds[1:]) * 1000


class _Timed:
    """Notes how long each call takes that builds a step and runs it in Spark."""

    def __init__(self, seconds: list[float]) -> None:
        self._seconds = seconds
        self._real = submit.run_actions

    def __enter__(self) -> None:
        def run_actions(*args: object, **options: object) -> object:
            began = time.perf_counter()
            try:
                return self._real(*args, **options)  # type: ignore[arg-type]
            finally:
                self._seconds.append(time.perf_counter() - began)

        submit.run_actions = run_actions  # type: ignore[assignment]

    def __exit__(self, *_: object) -> None:
        submit.run_actions = self._real
