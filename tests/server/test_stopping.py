"""A server that stops: nobody waits for ever, and nobody is told that nothing happened."""

import json
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import httpx2
import pytest

import trunkline as tl
from tests.serving import serving
from trunkline.errors import CommitUnknown
from trunkline.sdk.remote.client import Client
from trunkline.sdk.wire.running import API_HEADER, API_VERSION


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


class _Unknown(BaseHTTPRequestHandler):
    asked = 0

    def do_POST(self) -> None:
        type(self).asked += 1
        body = json.dumps({"error": {"code": "commit_unknown", "message": "m", "hint": "h"}})
        self.send_response(503)
        self.send_header("Retry-After", "0")
        self.send_header(API_HEADER, str(API_VERSION))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: object) -> None:
        return


def test_what_may_have_happened_is_not_asked_for_again():
    server = HTTPServer(("127.0.0.1", 0), _Unknown)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    client = Client(f"http://127.0.0.1:{server.server_port}")
    with pytest.raises(CommitUnknown):
        client.send("POST", "/repos/default/orders/table/update", {})
    assert _Unknown.asked == 1
    client.close()
    server.shutdown()
    server.server_close()
