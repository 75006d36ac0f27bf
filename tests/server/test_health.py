"""Health: alive, ready, and which part is not."""

from pathlib import Path

import httpx2
import pytest

import trunkline as tl
from tests.served import served
from trunkline.server import health


def test_a_server_that_works_is_alive_and_ready(tmp_path: Path) -> None:
    with tl.init(tmp_path) as lake, served(lake) as url, httpx2.Client(base_url=url) as http:
        assert http.get("/healthz").json() == {"status": "ok"}
        ready = http.get("/readyz")
        assert ready.status_code == 200
        assert ready.json()["parts"] == {"catalog": "ok", "store": "ok", "server": "ok"}


def test_health_is_at_its_paths_exactly(tmp_path: Path) -> None:
    with tl.init(tmp_path) as lake, served(lake) as url, httpx2.Client(base_url=url) as http:
        for path in ("/healthz/", "/healthz/x", "/readyz/", "/api/v1/healthz", "/%2Fhealthz"):
            answer = http.get(path)
            assert answer.status_code == 404, path
            assert answer.json()["error"]["code"] == "not_found"


def test_what_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "KNOWN_SECONDS", 0.0)
    with tl.init(tmp_path) as lake, served(lake) as url, httpx2.Client(base_url=url) as http:
        with lake._core.database.write() as session:
            session.execute("ALTER TABLE meta RENAME TO gone")
        ready = http.get("/readyz")
        assert ready.status_code == 503
        assert ready.headers["Retry-After"] == "1"
        assert ready.json()["parts"]["catalog"] == "wrong_format"
        assert http.get("/healthz").status_code == 200
        with lake._core.database.write() as session:
            session.execute("ALTER TABLE gone RENAME TO meta")
        assert http.get("/readyz").status_code == 200
