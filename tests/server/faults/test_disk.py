"""A disk that is full while files are sent: it is told, nothing is half there, and it goes on."""

from __future__ import annotations

import os
from pathlib import Path

import httpx2
import pytest

import trunkline as tl
from tests.reliability.harness import assert_no_orphans, assert_sound, state
from tests.reliability.test_disk_full import fill
from tests.served import served
from trunkline.sdk.remote.lake import connect
from trunkline.sdk.wire.bundles import encode_header
from trunkline.sdk.wire.values import API, BUNDLE

REPO = f"{API}/repos/default/r"


@pytest.mark.parametrize("part", ["everything", "the objects"])
def test_a_disk_that_is_full(tmpfs: Path, tmp_path: Path, part: str):
    where = tmpfs / "lake" if part == "everything" else tmp_path / "lake"
    store = {} if part == "everything" else {"store": f"file://{tmpfs}/objects"}
    big, some = os.urandom(3 << 20), os.urandom(200_000)
    with tl.init(where, **store) as lake, served(lake) as url:
        lake.create_repo("r")
        with lake.commit("r@main", "kept") as commit:
            commit.put("/kept", b"kept")
        before = state(lake)
        ballast = fill(tmpfs, 100 << 10)
        with httpx2.Client(base_url=url, trust_env=False, timeout=60) as client:
            bundle = encode_header([["/x", len(some)]]) + some
            answers = [
                client.put(f"{REPO}/content", params={"path": "/big"}, content=big),
                client.put(f"{REPO}/content", params={"path": "/some"}, content=some),
                client.put(
                    f"{REPO}/content",
                    params={"path": "/unsaid"},
                    content=iter([big[: 1 << 20], big[1 << 20 :]]),
                ),
                client.post(f"{REPO}/commits", content=bundle, headers={"Content-Type": BUNDLE}),
            ]
            for answer in answers:
                assert answer.status_code == 503, answer.text
                assert answer.json()["error"]["code"] == "disk_full"
            assert client.get(f"{REPO}/content", params={"path": "/kept"}).content == b"kept"
            assert client.get("/healthz").status_code == 200
            assert state(lake) == before
            ballast.unlink()
            with connect(url, "", lake._settings) as remote, remote.commit("r@main") as commit:
                commit.put("/some", some)
        assert lake.read("r@main:/some") == some
        assert_sound(lake)
        assert_no_orphans(lake)
