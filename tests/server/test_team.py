"""A team's lake: PostgreSQL and S3, two servers, and a worker on what might be another machine."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import trunkline as tl
from tests.postgres import postgres
from tests.s3 import ACCESS_KEY, REGION, SECRET_KEY, s3_server
from tests.serving import serving
from trunkline.model.jobs import JobState


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Path]]:
    """Three folders that only know where the catalog and the store are."""
    with s3_server() as store:
        store.create_bucket("team")
        monkeypatch.setenv("TRUNKLINE_S3_ENDPOINT", store.endpoint)
        monkeypatch.setenv("TRUNKLINE_S3_REGION", REGION)
        monkeypatch.setenv("TRUNKLINE_S3_ALLOW_HTTP", "yes")
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
        catalog = postgres().url(postgres().empty_database())
        found = [tmp_path / name for name in ("one", "two", "worker")]
        for folder in found:
            tl.init(folder, catalog=catalog, store=f"s3://team/{tmp_path.name}").close()
        yield found


@pytest.mark.slow
def test_two_servers_and_a_worker_are_one_lake(folders):
    command = [sys.executable, "-m", "trunkline", "worker", "--lake", str(folders[2])]
    worker = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ))
    try:
        with serving(folders[0]) as one, serving(folders[1]) as two:
            with tl.open(one.url) as ada, tl.open(two.url) as bob:
                ada.create_repo("orders")
                with ada.commit("orders@main") as commit:
                    commit.put("/a.csv", b"id,amount\n1,2\n")
                position = max(event.position for event in bob.events())
                ada.apply(
                    {
                        "pipeline": {"name": "copy"},
                        "input": {"pfs": {"repo": "orders", "glob": "/*"}},
                        "transform": {"cmd": ["sh", "-c", "cat pfs/orders/* > pfs/out/all"]},
                    }
                )
                (job,) = bob.jobs("copy")
                done = bob.wait(f"copy@{job.id}", timeout=240)
                assert [one.state for one in done] == [JobState.SUCCESS]
                assert bob.read("copy@main:/all") == b"id,amount\n1,2\n"
                # What the worker did, the other server tells.
                told = [event for event in bob.events(since=position) if event.kind == "job"]
                assert told[-1].facts["state"] == "success"
                assert [one.name for one in ada.workers()] == [one.name for one in bob.workers()]
                assert not ada.fsck(deep=True).problems
    finally:
        worker.terminate()
        assert worker.wait(60) == 0


@pytest.mark.slow
def test_queries_reach_the_store_that_the_servers_environment_names(folders):
    with serving(folders[0]) as server, tl.open(server.url) as lake:
        lake.create_repo("orders")
        with lake.commit("orders@main") as commit:
            commit.put("/a.csv", b"id,amount\n1,2\n")
        assert lake.sql("SELECT id, amount FROM orders").rows() == [(1, 2)]
