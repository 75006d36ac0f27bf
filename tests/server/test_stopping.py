"""A server that stops: nobody waits for ever, and nobody is told that nothing happened."""

import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest

import trunkline as tl
from tests.serving import serving


@pytest.mark.slow
def test_a_request_that_never_ends_does_not_hold_it_up(tmp_path: Path):
    with tl.init(tmp_path) as lake:
        lake.create_repo("orders")
        with lake.commit("orders@main") as commit:
            commit.put("/a", os.urandom(3_000_000))
    (stored,) = (one for one in (tmp_path / ".trunkline/objects/data").rglob("*") if one.is_file())
    # Whoever opens it to read waits until somebody writes to it.
    stored.unlink()
    os.mkfifo(stored)
    with serving(tmp_path) as server, ThreadPoolExecutor() as pool:
        place = f"{server.url}/api/v1/repos/default/orders"
        asked = pool.submit(httpx2.get, f"{place}/content", params={"path": "/a"}, timeout=60)
        while not httpx2.get(f"{server.url}/metrics").text.count("requests_in_flight 2.0"):
            assert not asked.done()
        assert server.stop() == 0
        told = asked.result()
        assert (told.status_code, told.json()["error"]["code"]) == (503, "unavailable")


@pytest.mark.slow
def test_a_catalog_that_others_hold_does_not_hold_it_up(tmp_path: Path):
    tl.init(tmp_path).close()
    with serving(tmp_path) as server, ThreadPoolExecutor() as pool:
        other = sqlite3.connect(tmp_path / ".trunkline/catalog.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        place = f"{server.url}/api/v1/projects"
        asked = pool.submit(httpx2.post, place, json={"name": "shop"}, timeout=60)
        while not httpx2.get(f"{server.url}/metrics").text.count("requests_in_flight 2.0"):
            assert not asked.done()
        assert server.stop() == 0
        told = asked.result()
        assert (told.status_code, told.json()["error"]["code"]) == (503, "commit_unknown")
        other.close()
