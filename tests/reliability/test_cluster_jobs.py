"""The same graph elsewhere: on a standalone cluster, in a bucket, with a database server."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import trunkline as tl
from tests.reliability import graph
from tests.reliability.harness import (
    assert_no_orphans,
    drain,
    finish,
    start_worker,
)
from tests.s3 import ACCESS_KEY, REGION, SECRET_KEY, s3_server
from tests.spark import SHORT_LIVED_CONF, Cluster, standalone_cluster
from tests.waiting import until

SMALL_EXECUTORS = f"spark.executor.memory=512m;spark.executor.cores=1;{SHORT_LIVED_CONF}"


def on(cluster: Cluster) -> dict[str, str]:
    return {"TRUNKLINE_SPARK_MASTER": cluster.url, "TRUNKLINE_SPARK_CONF": SMALL_EXECUTORS}


def made(lake: tl.Lake) -> dict[str, object]:
    """Each output's files by what they hold and whose they are, and each job's datums."""
    found: dict[str, object] = {}
    for name in graph.PIPELINES:
        (job,) = lake.jobs(name)
        entries = graph.entries(lake, name)
        found[name] = (
            sorted((entry.path, entry.checksum, entry.owner) for entry in entries),
            sorted((one.id, one.state, one.reason) for one in lake.datums(f"{name}@{job.id}")),
            (job.counts.processed, job.counts.total, job.counts.bytes_in, job.counts.bytes_out),
        )
    return found


def test_a_cluster_makes_what_this_machine_makes_and_survives_the_loss_of_a_worker(
    tmp_path: Path,
):
    files = graph.words(30)
    folders = [tmp_path / "here", tmp_path / "there", tmp_path / "lost"]
    with standalone_cluster(tmp_path) as cluster:
        found = []
        for folder, where in zip(folders, ({}, on(cluster)), strict=False):
            folder.mkdir()
            with tl.init(folder) as lake:
                graph.make(lake, files, tmp_path / "marks")
                drain(folder, **where)
                graph.assert_right(lake, files)
                found.append(made(lake))
        assert found[0] == found[1]

        folder, marks = folders[2], tmp_path / "more-marks"
        folder.mkdir()
        with tl.init(folder) as lake:
            graph.make(lake, files, marks, pause=0.3)
            running = start_worker("drain", folder, **on(cluster))
            until(
                lambda: (
                    len(graph.runs(marks)) > 4 and cluster.executors(0) and cluster.executors(1)
                ),
                "some datums",
            )
            assert cluster.kill_worker(0) == 1
            result = finish(running)
            assert result.code == 0, result.err
            assert [job["state"] for job in result.json] == ["success"] * 3
            graph.assert_right(lake, files)
            assert max(graph.runs(marks).values()) <= 2
            assert_no_orphans(lake)
            graph.assert_right(lake, files)


def test_a_graph_in_a_bucket_with_a_database_server(
    tmp_path: Path, postgres_catalog: str, monkeypatch: pytest.MonkeyPatch
):
    files = graph.words(6)
    with s3_server() as server:
        there = {
            "TRUNKLINE_S3_ENDPOINT": server.endpoint,
            "TRUNKLINE_S3_REGION": REGION,
            "TRUNKLINE_S3_ALLOW_HTTP": "yes",
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
        }
        for name, value in there.items():
            monkeypatch.setenv(name, value)
        bucket = server.create_bucket(f"b{os.urandom(8).hex()}")
        folder, marks = tmp_path / "lake", tmp_path / "marks"
        with tl.init(folder, catalog=postgres_catalog, store=f"{bucket}/prefix") as lake:
            graph.make(lake, files, marks)
            both = [start_worker("drain", folder) for _ in range(2)]
            results = [finish(process) for process in both]
            assert [result.code for result in results] == [0, 0], results
            assert sum(len(result.json) for result in results) == 3
            graph.assert_right(lake, files)
            new = graph.words(1, first=6)
            graph.put(lake, new, remove=("/w000",))
            ended = drain(folder)
            files = {path: data for path, data in {**files, **new}.items() if path != "/w000"}
            graph.assert_right(lake, files, sets=2)
            (upper,) = [job for job in ended if job["pipeline"]["repo"] == "upper"]
            assert (upper["counts"]["processed"], upper["counts"]["skipped"]) == (1, 5)
            assert set(graph.runs(marks).values()) == {1}
            assert_no_orphans(lake)
            graph.assert_right(lake, files, sets=2)
