"""A machine of the cluster is lost in the middle of a batch: another has its state."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

import trunkline as tl
from tests.flows import flow_of
from tests.reliability.harness import (
    assert_no_orphans,
    finish,
    start_worker,
)
from tests.reliability.streams import assert_joined
from tests.reliability.test_cluster_jobs import on
from tests.spark import standalone_cluster
from tests.waiting import until

USERS = 20
_CODE = """
import os, time
from pyspark.sql import functions as F

@F.udf("long")
def slowly(v):
    with open({marks!r}, "a") as marks:
        marks.write("x")
    time.sleep(0.05)
    return v

def totals(clicks):
    rows = clicks.repartition(4).select("user", slowly("v").alias("v"))
    return rows.groupBy("user").agg(F.count("*").alias("n"), F.sum("v").alias("v"))
"""


def put(lake: tl.Lake, first: int, count: int) -> None:
    numbers = range(first, first + count)
    users = [f"u{n % USERS}" for n in numbers]
    lake.write_table("clicks@main", pa.table({"user": users, "v": list(numbers)}))


def expected(count: int) -> dict[str, tuple[int, int]]:
    found = {}
    for user in range(USERS):
        mine = range(user, count, USERS)
        found[f"u{user}"] = (len(mine), sum(mine))
    return found


def test_a_stream_goes_on_when_an_executor_is_lost_in_a_batch(tmp_path: Path):
    marks = tmp_path / "marks"
    (tmp_path / "work.py").write_text(_CODE.format(marks=str(marks)))
    with standalone_cluster(tmp_path) as cluster, tl.init(tmp_path / "lake") as lake:
        lake.create_repo("clicks")
        put(lake, 0, 100)
        lake.apply(
            {
                "pipeline": {"name": "totals"},
                "input": {"pfs": {"repo": "clicks", "glob": "/"}},
                "transform": {
                    "stream": "work.py:totals",
                    "code": str(tmp_path / "work.py"),
                    "output": {"upsert": ["user"]},
                },
            }
        )
        put(lake, 100, 300)
        running = start_worker("drain", tmp_path / "lake", **on(cluster))
        until(
            lambda: (
                flow_of(lake, "totals").number == 1
                and marks.stat().st_size > 120
                and cluster.executors(0)
                and cluster.executors(1)
            ),
            "the middle of the second batch",
        )
        assert flow_of(lake, "totals").number == 1
        assert cluster.kill_worker(0) == 1
        result = finish(running)
        assert result.code == 0, result.err
        assert [job["state"] for job in result.json] == ["success"] * 2
        rows = lake.table("totals").arrow().to_pylist()
        assert {row["user"]: (row["n"], row["v"]) for row in rows} == expected(400)
        assert len(rows) == USERS
        assert_joined(lake, "totals")
        assert_no_orphans(lake)
