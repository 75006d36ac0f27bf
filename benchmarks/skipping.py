"""What has not changed costs little: 100,000 datums of which none, or one, must run.

Planning and skipping them all, against listing them. One file added to 100,000, against one
added to 1,000. A pipeline with a thousand jobs behind it, against one with ten.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import trunkline as tl
from benchmarks.measure import Bench, Cost, call, in_turns, typical
from benchmarks.report import Result, times_as_long
from benchmarks.spark import warm_session
from trunkline.jobs.context import declared
from trunkline.jobs.listing import plan_of
from trunkline.model.commits import RepoName
from trunkline.sdk import Lake
from trunkline.storage.catalog import pipelines, repos

CLAIM = "skipping"
SKIP_BUDGET, ADD_BUDGET, HISTORY_BUDGET = 2.0, 3.0, 1.3
FUNCTION = """
def same(datum):
    file = datum.file("files")
    datum.write(file.path, file.read())
"""


def run(bench: Bench) -> Iterator[Result]:
    os.chdir(bench.folder)
    (bench.folder / "same.py").write_text(FUNCTION)
    many, few = bench.size(100_000, 10_000), 1_000
    with warm_session(), tl.init(bench.folder / "lake") as lake:
        for repo, size in (("many", many), ("few", few)):
            _fill(lake, repo, size)
        yield from _skip(lake, bench, many)
        yield from _add(lake, bench, many, few)
        yield from _history(lake, bench)


def _fill(lake: Lake, repo: str, files: int) -> None:
    lake.create_repo(repo)
    with lake.commit(f"{repo}@main") as commit:
        for number in range(files):
            commit.put(f"/{number % 100:02d}/{number:06d}", b"%d" % number)
    lake.apply(_spec(repo))
    _drain(lake)


def _spec(repo: str, glob: str = "/*/*") -> dict[str, object]:
    return {
        "pipeline": {"name": f"{repo}_out"},
        "input": {"pfs": {"repo": repo, "name": "files", "glob": glob}},
        "transform": {"python": "same.py:same"},
    }


def _drain(lake: Lake) -> None:
    for job in lake.run(jobs=1).jobs:
        assert str(job.state) == "success", job.reason


def _skip(lake: Lake, bench: Bench, many: int) -> Iterator[Result]:
    def listing(number: int) -> Cost:
        return call(lambda: sum(1 for _ in lake.glob("many@main:/*/*")))

    def full(number: int) -> Cost:
        """Every datum made, compared with its line in the last index, and kept."""
        return call(lambda: _plan(lake, "many_out", many))

    def job(number: int) -> Cost:
        lake.run_pipeline("many_out")
        return call(lambda: _drain(lake))

    costs = in_turns({"list": listing, "plan": full, "job": job}, bench.size(7, 3), sync=False)
    peer, theirs = "listing them", typical(costs["list"])
    yield times_as_long(
        CLAIM, f"{many:,} unchanged: planned one by one", typical(costs["plan"]), peer, theirs,
        SKIP_BUDGET,
    )  # fmt: skip
    yield times_as_long(
        CLAIM, f"{many:,} unchanged: a whole job", typical(costs["job"]), peer, theirs,
        SKIP_BUDGET,
    )  # fmt: skip


def _plan(lake: Lake, name: str, expected: int) -> None:
    with lake._core.database.read() as session:
        repo = repos.key_of(session, RepoName("default", name))
        assert repo is not None
        row = pipelines.find(session, repo)
        assert row is not None
        version = pipelines.version(session, repo, row.version)
        assert version is not None
    plan = plan_of(lake._core, declared(row.name, version), "unchanged", ())
    assert (plan.keep, plan.run) == (expected, 0)


def _add(lake: Lake, bench: Bench, many: int, few: int) -> Iterator[Result]:
    def added(repo: str, number: int) -> Cost:
        with lake.commit(f"{repo}@main") as commit:
            commit.put(f"/00/new-{number}", b"new")
        return call(lambda: _drain(lake))

    costs = in_turns(
        {"many": lambda n: added("many", n), "few": lambda n: added("few", n)},
        bench.size(9, 4),
        sync=False,
    )
    yield times_as_long(
        CLAIM, f"one file added to {many:,}: the job", typical(costs["many"]),
        f"the same, {few:,}", typical(costs["few"]), ADD_BUDGET,
    )  # fmt: skip


def _history(lake: Lake, bench: Bench) -> Iterator[Result]:
    long = bench.size(1_000, 100)
    for repo, jobs in (("old", long), ("young", 10)):
        lake.create_repo(repo)
        lake.apply(_spec(repo, "/*"))
        for number in range(jobs):
            with lake.commit(f"{repo}@main") as commit:
                commit.put(f"/{number % 10}", b"%d" % number)
        _drain(lake)

    def again(repo: str, number: int) -> Cost:
        """No datum runs: what is left is claiming, planning and committing."""
        lake.run_pipeline(f"{repo}_out")
        return call(lambda: _drain(lake))

    costs = in_turns(
        {"old": lambda n: again("old", n), "young": lambda n: again("young", n)},
        bench.size(30, 10),
        sync=False,
    )
    yield times_as_long(
        CLAIM, f"a job after {long:,} jobs", typical(costs["old"]), "after 10",
        typical(costs["young"]), HISTORY_BUDGET,
    )  # fmt: skip
