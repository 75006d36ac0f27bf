"""The object store goes away behind a server that runs: nothing is half visible; it goes on."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

import trunkline as tl
from tests.reliability.harness import assert_sound, state
from tests.s3 import ACCESS_KEY, REGION, SECRET_KEY, FaultyProxy, s3_server
from tests.served import served
from trunkline.sdk.wire.values import API

ALL = 1 << 30
PLACE = f"{API}/repos/default/r/content"


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyProxy]:
    with s3_server() as server, FaultyProxy(server.endpoint) as faulty:
        server.create_bucket("lake")
        monkeypatch.setenv("TRUNKLINE_S3_ENDPOINT", faulty.endpoint)
        monkeypatch.setenv("TRUNKLINE_S3_REGION", REGION)
        monkeypatch.setenv("TRUNKLINE_S3_RETRY_TIMEOUT", "0.5")
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
        yield faulty


@pytest.mark.slow
def test_a_store_that_does_not_answer(
    tmp_path: Path, proxy: FaultyProxy, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("trunkline.server.health.KNOWN_SECONDS", -1.0)
    data = os.urandom(1 << 20)
    prefix = uuid.uuid4().hex
    with tl.init(tmp_path / "lake", store=f"s3://lake/{prefix}") as lake:
        lake.create_repo("r")
        with (
            served(lake) as url,
            httpx2.Client(base_url=url, trust_env=False, timeout=120) as client,
        ):
            assert client.put(PLACE, params={"path": "/a"}, content=data).status_code == 201
            before = state(lake)
            for fault in (proxy.fail, proxy.cut):
                fault(ALL)
                for answer in (
                    client.put(PLACE, params={"path": "/b"}, content=data),
                    client.get(PLACE, params={"path": "/a"}),
                ):
                    assert answer.status_code == 503, answer.text
                    assert answer.headers["retry-after"]
                    assert SECRET_KEY not in answer.text
                assert client.get("/healthz").status_code == 200
                ready = client.get("/readyz")
                assert (ready.status_code, ready.json()["parts"]["store"]) == (503, "unavailable")
                assert client.get(f"{API}/repos/default/r/log").status_code == 200
                fault(0)
                assert state(lake) == before
            assert client.get("/readyz").status_code == 200
            assert client.get(PLACE, params={"path": "/a"}).content == data
            assert client.put(PLACE, params={"path": "/b"}, content=data).status_code == 201
        assert_sound(lake)
