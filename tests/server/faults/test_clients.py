"""Clients that go away, that are slow, that send nothing: what they began leaves nothing behind."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest

import trunkline as tl
from tests.reliability.harness import assert_no_orphans, state
from tests.served import served
from tests.waiting import until
from trunkline.sdk.wire.bundles import encode_header
from trunkline.sdk.wire.values import API, ARROW, BUNDLE
from trunkline.server.uploads import bodies

PUT = f"PUT {API}/repos/default/r/content?path=/a"
ROWS = f"POST {API}/repos/default/r/table/rows?path=/t"
COMMITS = f"POST {API}/repos/default/r/commits"


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[tl.Lake]:
    with tl.init(tmp_path / "lake") as made:
        made.create_repo("r")
        yield made


def sent(
    url: str, way: str, body: bytes, length: int, kind: str = "application/octet-stream"
) -> socket.socket:
    """A connection on which so much of a request was sent."""
    where = urlsplit(url)
    connection = socket.create_connection((where.hostname, where.port), timeout=30)
    head = f"{way} HTTP/1.1\r\nHost: {where.netloc}\r\nContent-Type: {kind}\r\n"
    connection.sendall(f"{head}Content-Length: {length}\r\n\r\n".encode() + body)
    return connection


def reset(connection: socket.socket) -> None:
    """Hang up without a word."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


HALVES = [
    (PUT, bytes(3 << 20), "application/octet-stream"),
    (PUT, b"", "application/octet-stream"),
    (COMMITS, encode_header([["/a", 3 << 20]]) + bytes(2 << 20), BUNDLE),
    (COMMITS, b"\0\0", BUNDLE),
    (ROWS, b"\xff\xff\xff\xff\x10\0\0\0", ARROW),
    (f"POST {API}/projects", b'{"name"', "application/json"),
]


@pytest.mark.parametrize("politely", [True, False])
def test_a_client_that_goes_away(lake: tl.Lake, politely: bool):
    before = state(lake)
    with served(lake) as url, httpx2.Client(base_url=url, trust_env=False) as client:
        client.get("/healthz")
        for way, body, kind in HALVES:
            connection = sent(url, way, body, 5 << 20, kind)
            if politely:
                connection.shutdown(socket.SHUT_WR)
                connection.close()
            else:
                reset(connection)
        assert client.get(f"{API}/repos/default/r").status_code == 200
        folder = lake._folder

        def clean() -> bool:
            return not [one for one in folder.rglob("*.part") if one.is_file()]

        until(clean, "what was begun is gone")
    assert state(lake) == before
    assert_no_orphans(lake)


def test_a_client_that_is_slow(lake: tl.Lake, monkeypatch: pytest.MonkeyPatch):
    """It is waited for a while, and holds up nobody meanwhile."""
    monkeypatch.setattr(bodies, "IDLE_SECONDS", 0.5)
    with served(lake) as url, httpx2.Client(base_url=url, trust_env=False) as client:
        slow = [sent(url, PUT, b"x", 100) for _ in range(60)]
        for number in range(5):
            path = {"path": f"/{number}"}
            answer = client.put(f"{API}/repos/default/r/content", params=path, content=b"1")
            assert answer.status_code == 201
        for one in slow:
            assert one.recv(1 << 16).startswith(b"HTTP/1.1 504"), "it is told that it was too slow"
            one.close()
    assert len(list(lake.ls("r@main"))) == 5
    assert_no_orphans(lake)


def test_bodies_of_nothing(lake: tl.Lake):
    with served(lake) as url, httpx2.Client(base_url=url, trust_env=False) as client:
        empty = client.put(f"{API}/repos/default/r/content", params={"path": "/empty"}, content=b"")
        assert empty.status_code == 201
        assert (
            client.get(f"{API}/repos/default/r/content", params={"path": "/empty"}).content == b""
        )
        before = state(lake)
        for way, kind in ((COMMITS, BUNDLE), (COMMITS, "application/x-tar"), (ROWS, ARROW)):
            method, place = way.split(" ")
            answer = client.request(method, place, content=b"", headers={"Content-Type": kind})
            assert answer.status_code in (400, 412), (way, kind, answer.text)
        assert client.post(f"{API}/projects", content=b"").status_code == 422
    assert state(lake) == before
    assert_no_orphans(lake)
