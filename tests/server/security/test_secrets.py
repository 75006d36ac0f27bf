"""A real server that says all it can: no secret is in what it says or keeps."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.parse import quote

import httpx2
import pytest

import trunkline as tl
from tests.serving import serving

CANARY = "C4n4ry/s3cret+value=42"
PASSWORD = "P4ss/w0rd+c4n4ry=7"


def forms(secret: str) -> list[bytes]:
    raw = secret.encode()
    return [
        raw,
        quote(secret, safe="").encode(),
        raw.hex().encode(),
        base64.b64encode(raw).rstrip(b"="),
        base64.urlsafe_b64encode(raw).rstrip(b"="),
        json.dumps(secret).encode(),
    ]


@contextmanager
def a_webhook() -> Iterator[tuple[str, list[bytes]]]:
    """Somebody who is told of failures."""
    told: list[bytes] = []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            told.append(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Hook)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/hook", told
    finally:
        server.shutdown()
        thread.join()


@pytest.mark.slow
def test_no_secret_is_in_what_a_server_says_or_keeps(tmp_path: Path):
    lineage = tmp_path / "lineage.jsonl"
    spec = {
        "pipeline": {"name": "sizes"},
        "input": {"pfs": {"repo": "orders", "glob": "/*"}},
        "transform": {"cmd": ["true"], "secrets": [{"name": "warehouse", "env_var": "KEY"}]},
    }
    with tl.init(tmp_path / "lake") as lake:
        lake.create_repo("orders")
        lake.create_user("root", PASSWORD, roles={"lake": "admin"})
        token = lake.create_token(owner="root").token
    secret = token.split("_", 2)[2]
    with a_webhook() as (hook, told):
        environ = {
            "TRUNKLINE_LOG_LEVEL": "debug",
            "TRUNKLINE_DEBUG": "1",
            "TRUNKLINE_OPENLINEAGE_FILE": str(lineage),
            "TRUNKLINE_NOTIFY_WEBHOOK": hook,
        }
        with serving(tmp_path / "lake", "--auth", environ=environ) as server:
            shown = _everything(server.url, token, spec)
            local = json.loads((tmp_path / "lake" / ".trunkline" / "server.json").read_text())
            assert server.stop() == 0
            log = server.log.encode()
    assert log, "there is a log to search"
    kept = b"".join(
        one.read_bytes()
        for one in (tmp_path / "lake" / ".trunkline").rglob("*")
        if one.is_file()
        and "secrets" not in str(one.relative_to(tmp_path))
        and "key" not in one.name
    )
    places = {
        "log": log,
        "answers": shown,
        "lineage": lineage.read_bytes() if lineage.exists() else b"",
        "notices": b"".join(told),
        "kept": kept,
    }
    for where, text in places.items():
        for one in (CANARY, PASSWORD, secret, local["token"]):
            for form in forms(one):
                assert form not in text, (where, form)


def _everything(url: str, token: str, spec: dict[str, object]) -> bytes:
    """Secrets go in by every door; all that comes back."""
    headers = {"Authorization": f"Bearer {token}"}
    with (
        httpx2.Client(base_url=f"{url}/api/v1/", headers=headers, trust_env=False) as client,
        tl.open(url, token=token) as lake,
    ):
        answers = [
            client.put("secrets/warehouse", json={"value": CANARY}),
            client.put("secrets/warehouse", json={"value": CANARY, "more": CANARY}),
            client.put("secrets/warehouse", json={"valu": CANARY}),
            client.put("secrets/warehouse", content=CANARY.encode()),
            client.get("secrets"),
            client.post("login", json={"name": "root", "password": PASSWORD}),
            client.post("login", json={"name": PASSWORD, "password": "wrong"}),
            client.post("login", json={"name": "root", "password": [PASSWORD]}),
            client.post("users", json={"name": "ann", "password": CANARY}),
            client.put("users/ann/password", json={"password": CANARY, "current": PASSWORD}),
            client.post("setup", json={"token": CANARY, "name": "x", "password": PASSWORD}),
            client.get("whoami", headers={"Authorization": f"Bearer {CANARY}"}),
            client.get("whoami", headers={"Authorization": f"Basic {CANARY}"}),
            client.get("whoami", headers={"Cookie": f"trunkline={quote(CANARY)}"}),
            client.get("repos", params={"token": CANARY}),
            client.get("login/oidc/callback", params={"code": CANARY, "state": CANARY}),
        ]
        lake.apply(spec)
        with lake.commit("orders@main") as commit:
            commit.put("/a", b"a")
        for job in lake.jobs("sizes"):
            lake.cancel_job(f"sizes@{job.id}")
        answers += [
            client.get("jobs"),
            client.get("pipelines"),
            client.get("events/history"),
            client.get("audit"),
            client.get("status"),
            client.get(f"{url}/metrics"),
        ]
        assert all(one.status_code < 500 for one in answers)
        own = ("set-cookie",)
        return b"".join(
            one.content + str([(k, v) for k, v in one.headers.items() if k not in own]).encode()
            for one in answers
        )
