"""365 daily partitions of which three changed, with `mode: together`, against all of them.

A run has a fixed cost, whatever it computes: claiming, planning, one Spark job, the commit. It is
measured as the same pipeline over a table of 365 days of ten rows, of which one changed. What is
left of the run with three days is held against three percent of the full run. That it read
nothing else is told by Spark's own metric of files read.

Spark counts a job for each shuffle of an adaptive plan, and one for the result. So summing up the
days is two jobs, for one day as for all; a pipeline that does not shuffle is one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import trunkline as tl
from benchmarks.measure import Bench, Cost, call, typical
from benchmarks.report import Result, shown
from benchmarks.spark import files_read, warm_session
from trunkline.engine.session import Session
from trunkline.model.jobs import Job
from trunkline.sdk import Lake

CLAIM = "tables_partitions"
SHARE = 0.03
DAYS = 365
CHANGED = 3
TINY = 10
DAILY = """
SELECT day, shop, count(*) AS orders, sum(amount) AS revenue, max(amount) AS most,
  approx_percentile(amount, 0.5) AS middle
FROM {table} GROUP BY day, shop
"""
ROWS = "SELECT id, shop, amount * 2 AS twice, day FROM {table}"


def run(bench: Bench) -> Iterator[Result]:
    os.chdir(bench.folder)
    rows = bench.size(100_000, 1_000)
    with warm_session() as session, tl.init(bench.folder / "lake") as lake:
        large = _Table(bench, lake, session, "orders", rows)
        tiny = _Table(bench, lake, session, "tiny", TINY)
        full: list[Cost] = []
        some: list[Cost] = []
        fixed: list[Cost] = []
        for number in range(bench.median_rounds + 1):
            whole = large.everything(full)
            assert whole.counts.processed == DAYS, whole.counts
            part = large.change(CHANGED, number, some)
            assert part.counts.processed == CHANGED
            assert part.counts.rows_in == CHANGED * rows
            tiny.everything([])
            tiny.change(1, number, fixed)
        # The first round of each warms up.
        ours, whole_cost, least = typical(some[1:]), typical(full[1:]), typical(fixed[1:])
        allowed = SHARE * whole_cost.wall + least.wall
        yield Result(
            CLAIM, f"{CHANGED} of {DAYS} days of {rows:,} rows", shown(ours),
            "all days", shown(whole_cost), ours.wall / whole_cost.wall,
            budget=f"≤ {SHARE:g}x + the fixed cost, {allowed / whole_cost.wall:.3f}x",
            met=ours.wall <= allowed,
        )  # fmt: skip
        yield Result(
            CLAIM, "the fixed cost: one of 365 days of ten rows", shown(least), "", "",
            least.wall * 1000, "ms",
        )  # fmt: skip
        jobs = len(part.counts.spark_jobs)
        yield Result(CLAIM, "Spark jobs for it, with its shuffle", str(jobs), "", "", jobs, "jobs")
        jobs = len(tiny.change_rows().counts.spark_jobs)
        yield Result(
            CLAIM, "Spark jobs, no shuffle", str(jobs), "", "", jobs, "jobs", "≤ 1", jobs <= 1
        )
        read = files_read(session, part.counts.spark_jobs)
        yield Result(
            CLAIM, "files that Spark read for it", str(read), "in the table", str(DAYS), read,
            "files", f"= {CHANGED}", read == CHANGED,
        )  # fmt: skip


class _Table:
    """A repo with a file for each day, and a pipeline that sums up the days."""

    def __init__(self, bench: Bench, lake: Lake, session: Session, name: str, rows: int) -> None:
        self._lake = lake
        self._session = session
        self._name = name
        self._rows = rows
        self._folder = bench.folder / f"{name}_days"
        self._folder.mkdir()
        lake.create_repo(name)
        self._put(list(range(DAYS)), 0)

    def everything(self, costs: list[Cost]) -> Job:
        self._lake.apply(self._spec("daily", DAILY), reprocess=True)
        return self._run(costs)

    def change(self, days: int, number: int, costs: list[Cost]) -> Job:
        """Other amounts in some days, far apart."""
        step = DAYS // days
        self._put([(n * step + number) % DAYS for n in range(days)], number + 1)
        return self._run(costs)

    def change_rows(self) -> Job:
        """The job of a pipeline that takes row by row, after a change of three days."""
        self._lake.apply(self._spec("rows", ROWS))
        self._lake.run(jobs=1)
        self._put([1, 2, 3], 99)
        jobs = [job for job in self._lake.run(jobs=1).jobs if job.pipeline.repo.endswith("rows")]
        return jobs[0]

    def _spec(self, name: str, sql: str) -> dict[str, object]:
        return {
            "pipeline": {"name": f"{self._name}_{name}"},
            "input": {"pfs": {"repo": self._name, "glob": "/day=*/"}},
            "transform": {
                "sql": sql.format(table=self._name),
                "mode": "together",
                "partition_by": ["day"],
            },
        }

    def _run(self, costs: list[Cost]) -> Job:
        found: list[Job] = []
        os.sync()
        costs.append(call(lambda: found.extend(self._lake.run(jobs=1).jobs)))
        (job,) = found
        assert str(job.state) == "success", job.reason
        return job

    def _put(self, days: list[int], seed: int) -> None:
        with self._lake.commit(f"{self._name}@main") as commit:
            commit.put_files(
                [(f"/day={_day(number)}/a.parquet", self._file(number, seed)) for number in days]
            )

    def _file(self, number: int, seed: int) -> Path:
        import duckdb

        path = self._folder / f"{number}.parquet"
        duckdb.sql(
            f"COPY (SELECT {number} * 1000000 + range AS id, range % 50 AS shop, "
            f"(hash(range + {number} + {seed} * 7919) % 100000) / 100 AS amount, "
            f"'note ' || hash(range) AS note FROM range({self._rows})) "
            f"TO '{path}' (FORMAT parquet)"
        )
        return path


def _day(number: int) -> str:
    return (date(2026, 1, 1) + timedelta(days=number)).isoformat()
