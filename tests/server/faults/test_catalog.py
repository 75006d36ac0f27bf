"""The catalog goes away behind a server that runs, and comes back."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import httpx2
import pytest

import trunkline as tl
from tests.postgres import postgres
from tests.reliability.harness import assert_sound
from tests.served import served
from trunkline.sdk.wire.values import API
from trunkline.storage.catalog import sqlite

PLACE = f"{API}/repos/default/r/content"


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is known of a store is asked anew each time."""
    monkeypatch.setattr("trunkline.server.health.KNOWN_SECONDS", -1.0)


def refused(answer: httpx2.Response) -> bool:
    assert answer.status_code == 503, answer.text
    assert answer.json()["error"]["code"] in ("unavailable", "commit_unknown")
    return int(answer.headers["retry-after"]) >= 1


@pytest.mark.parametrize("authenticated", [False, True])
def test_a_database_that_stops_and_comes_back(tmp_path: Path, unhurried: None, authenticated: bool):
    server = postgres()
    with tl.init(
        tmp_path / "lake", catalog=server.catalog(), store=f"file://{tmp_path}/objects"
    ) as lake:
        lake.create_repo("r")
        lake.create_user("ada", roles={"lake": "admin"})
        token = lake.create_token(owner="ada").token
        headers = {"Authorization": f"Bearer {token}"} if authenticated else {}
        with (
            served(lake, authenticated=authenticated) as url,
            httpx2.Client(base_url=url, headers=headers, trust_env=False, timeout=60) as client,
        ):
            put = client.put(PLACE, params={"path": "/a"}, content=b"a")
            assert put.status_code == 201, put.text
            assert client.get("/readyz").status_code == 200
            server.stop()
            try:
                for _ in range(2):
                    assert refused(client.get(PLACE, params={"path": "/a"}))
                    assert refused(client.put(PLACE, params={"path": "/b"}, content=b"b"))
                    assert refused(client.post(f"{API}/projects", json={"name": "p"}))
                    assert refused(client.get(f"{API}/repos"))
                    assert client.get("/healthz").status_code == 200
                    ready = client.get("/readyz")
                    assert ready.status_code == 503
                    assert ready.headers["retry-after"]
                    assert ready.json()["parts"]["catalog"] == "unavailable"
                keyed = {"Idempotency-Key": "k"}
                assert refused(client.post(f"{API}/projects", json={"name": "p"}, headers=keyed))
                assert client.get("/metrics").status_code in (200, 503)
            finally:
                server.start()
            assert client.get("/readyz").status_code == 200
            assert client.get(PLACE, params={"path": "/a"}).content == b"a"
            assert client.put(PLACE, params={"path": "/b"}, content=b"b").status_code == 201
            made = client.post(
                f"{API}/projects", json={"name": "p"}, headers={"Idempotency-Key": "k"}
            )
            assert made.status_code == 201, made.text
            assert len(client.get(f"{API}/repos/default/r/log").json()["items"]) == 2
        assert_sound(lake)


def test_texts_that_the_database_cannot_keep(tmp_path: Path):
    catalog, store = postgres().catalog(), f"file://{tmp_path}/objects"
    with tl.init(tmp_path / "lake", catalog=catalog, store=store) as lake, served(lake) as url:
        lake.create_repo("r")
        with httpx2.Client(base_url=url, trust_env=False, timeout=60) as client:
            for text in (r"a\u0000b", r"\ud800"):
                for path, body in {
                    "projects": f'{{"name": "p", "description": "{text}"}}',
                    "users": f'{{"name": "u", "email": "{text}"}}',
                    "tokens": f'{{"note": "{text}"}}',
                }.items():
                    answer = client.post(
                        f"{API}/{path}", content=body, headers={"Content-Type": "application/json"}
                    )
                    assert 400 <= answer.status_code < 500, (path, answer.text)
            put = client.put(PLACE, params={"path": "/a", "message": "a\0b"}, content=b"a")
            assert 400 <= put.status_code < 500, put.text
            number = client.get(f"{API}/events/history", params={"since": 1 << 70})
            assert number.status_code < 500
            assert client.get(f"{API}/repos/default/r").status_code == 200


def test_a_catalog_that_another_process_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Reads go on; a write waits, and if it waits too long it is told so; nothing is lost."""
    monkeypatch.setattr(sqlite, "BUSY_SECONDS", 0.5)
    with tl.init(tmp_path / "lake") as lake, served(lake) as url:
        lake.create_repo("r")
        with httpx2.Client(base_url=url, trust_env=False, timeout=60) as client:
            assert client.put(PLACE, params={"path": "/a"}, content=b"a").status_code == 201
            path = sqlite_file(lake)
            other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            other.execute("BEGIN IMMEDIATE")
            assert client.get(PLACE, params={"path": "/a"}).content == b"a"
            assert client.get(f"{API}/repos/default/r").status_code == 200
            answer = client.put(PLACE, params={"path": "/b"}, content=b"b")
            assert refused(answer) and "busy" in answer.text
            # One that is held for less long is only waited for.
            monkeypatch.setattr(sqlite, "BUSY_SECONDS", 30.0)
            threading.Timer(0.3, lambda: other.execute("ROLLBACK")).start()
            assert client.put(PLACE, params={"path": "/b"}, content=b"b").status_code == 201
            other.close()
        assert [one.path for one in lake.ls("r@main")] == ["/a", "/b"]
        assert_sound(lake)


def sqlite_file(lake: tl.Lake) -> str:
    return lake._core.database.url.removeprefix("sqlite:///")
