"""Tables on a standalone cluster: the same rows, fingerprints and statistics as on one machine."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import trunkline as tl
from tests.jobs.tables import Tables
from tests.reliability import graph, tablegraph
from tests.reliability.harness import assert_no_orphans, drain, finish, start_worker
from tests.reliability.test_cluster_jobs import on
from tests.spark import standalone_cluster
from tests.waiting import until
from trunkline.model.jobs import JobState

pytestmark = pytest.mark.slow

# Each row takes a while, and lies in a task of its own.
SLOWLY = """
def f(orders):
    rows = orders.sparkSession.range(0, 24, 1, 24)
    return rows.selectExpr("id", "reflect('java.lang.Thread', 'sleep', 400L) AS slept")
"""


def test_a_cluster_makes_the_same_tables_and_survives_the_loss_of_a_worker(
    spark: object, tmp_path: Path
):
    here, there, again = tmp_path / "here", tmp_path / "there", tmp_path / "again"
    with tl.init(here) as lake:
        tables = tablegraph.make(lake, tmp_path / "code")
    shutil.copytree(here, there)
    with tl.open(here) as lake:
        Tables(lake, tmp_path).run_well()
        wanted = tablegraph.made(lake)
        tablegraph.assert_right(lake, wanted)
    shutil.copytree(here, again)

    with standalone_cluster(tmp_path) as cluster:
        drain(there, **on(cluster))
        with tl.open(there) as lake:
            tablegraph.assert_right(lake, wanted)

        # What this machine made, made again there: not one file is another.
        with tl.open(again) as lake:
            before = {name: graph.entries(lake, name) for name in tablegraph.PIPELINES}
            tables = Tables(lake, tmp_path / "code")
            tablegraph.declare(tables, reprocess=True)
            tables.spark("slowly", SLOWLY, tl.pfs("orders", "/"), mode="whole")
            running = start_worker("drain", again, **on(cluster))
            stored = again / ".trunkline" / "objects"
            known = set(stored.rglob("*.parquet"))

            def writes() -> bool:
                (job,) = lake.jobs("slowly")
                begun = job.state is JobState.RUNNING
                return begun and len(set(stored.rglob("*.parquet")) - known) > 8

            until(writes, "some files of the slow job")
            assert cluster.kill_worker(0) == 1
            result = finish(running)
            assert result.code == 0, result.err
            ended = {job["pipeline"]["repo"]: job for job in result.json}
            assert {job["state"] for job in ended.values()} == {"success"}
            assert (
                ended["daily"]["counts"]["processed"],
                ended["clean"]["counts"]["processed"],
            ) == (3, 1)
            assert (ended["total"]["counts"]["processed"], ended["total"]["counts"]["skipped"]) == (
                0,
                1,
            )
            for name, held in before.items():
                assert graph.entries(lake, name) == held
            files = [one for one in graph.entries(lake, "slowly") if one.rows]
            assert len({one.key for one in files}) == len(files)
            assert [row[0] for row in sorted(tables.rows("slowly@main", "id"))] == list(range(24))
            assert sum(one.rows or 0 for one in files) == 24
            assert_no_orphans(lake)
            assert len(tables.rows("slowly@main")) == 24
