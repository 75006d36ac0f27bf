"""What a client does with its connection: half a body, no body, a body that nobody asked for."""

from __future__ import annotations

import os
import socket
import threading
from http.client import HTTPConnection
from typing import Any

import pytest

from tests.server.s3.doors import OpenDoor
from trunkline.storage.catalog import access


def connected(door: OpenDoor) -> socket.socket:
    host, _, port = door.url.removeprefix("http://").partition(":")
    return socket.create_connection((host, int(port)))


def head(door: OpenDoor, method: str, path: str, *lines: str) -> bytes:
    host = door.url.removeprefix("http://")
    return "\r\n".join((f"{method} {path} HTTP/1.1", f"Host: {host}", *lines, "", "")).encode()


def wait_for_failure(door: OpenDoor, target: str) -> str:
    """What became of a request whose sender is gone."""
    pause = threading.Event()
    for _ in range(2000):
        door.service.journal.flush()
        with door.lake._core.database.read() as session:
            for one in access.audit(session, limit=20):
                if one.target == target:
                    return one.outcome
        pause.wait(0.01)
    raise AssertionError("the request never ended")


@pytest.mark.parametrize("part", ["", "?uploadId={}&partNumber=1"])
def test_half_a_body_leaves_nothing(door: OpenDoor, s3: Any, part: str):
    name = f"main/half-{len(part)}"
    if part:
        upload = s3.create_multipart_upload(Bucket="orders", Key=name)
        part = part.format(upload["UploadId"])
    before = set(door.lake._core.objects.list())
    with connected(door) as client:
        client.sendall(head(door, "PUT", f"/orders/{name}{part}", "Content-Length: 9000000"))
        client.sendall(os.urandom(3_000_000))
    if not part:
        assert wait_for_failure(door, f"/orders/{name}") == "failed"
        assert set(door.lake._core.objects.list()) == before
        assert list(door.lake._core.objects.abandoned()) == []
    else:
        folder = door.lake._folder / "s3uploads" / upload["UploadId"]
        assert wait_for_failure(door, f"/orders/{name}") in ("failed", "ok")
        assert not list(folder.glob("0*"))


def test_who_asks_before_they_send_is_refused_before_they_send(door: OpenDoor):
    for path, expected in (("/orders/v9/a", b"400"), ("/nothing/main/a", b"404")):
        with connected(door) as client:
            lines = ("Content-Length: 5000000", "Expect: 100-continue")
            client.sendall(head(door, "PUT", path, *lines))
            answer = b""
            # Whoever sends nothing reads the whole answer, and then the end of the connection.
            while got := client.recv(65536):
                answer += got
            assert answer.startswith(b"HTTP/1.1 " + expected)
            assert b"100 Continue" not in answer
            assert b"connection: close" in answer.lower()


def test_who_asks_before_they_send_is_told_to(door: OpenDoor):
    with connected(door) as client:
        lines = ("Content-Length: 4", "Expect: 100-continue", "Connection: close")
        client.sendall(head(door, "PUT", "/orders/main/a", *lines))
        assert client.recv(65536).startswith(b"HTTP/1.1 100")
        client.sendall(b"data")
        assert client.recv(65536).startswith(b"HTTP/1.1 200")
    assert door.lake.read("orders@main:/a") == b"data"


def test_a_connection_goes_on_after_an_error(door: OpenDoor):
    connection = HTTPConnection(door.url.removeprefix("http://"))
    for _ in range(3):
        connection.request("PUT", "/orders/v9/a", body=b"x" * 200_000)
        answer = connection.getresponse()
        assert (answer.status, b"InvalidRequest" in answer.read()) == (400, True)
    connection.request("PUT", "/orders/main/a", body=b"fine")
    assert connection.getresponse().status == 200
    connection.close()


def test_a_body_without_a_length_is_refused(door: OpenDoor):
    with connected(door) as client:
        lines = ("Transfer-Encoding: chunked", "Connection: close")
        client.sendall(head(door, "PUT", "/orders/main/a", *lines) + b"4\r\ndata\r\n0\r\n\r\n")
        answer = b""
        while got := client.recv(65536):
            answer += got
    assert answer.startswith(b"HTTP/1.1 411")
    assert b"<Code>MissingContentLength</Code>" in answer


def test_other_methods(door: OpenDoor):
    connection = HTTPConnection(door.url.removeprefix("http://"))
    for method, path, status in (
        ("OPTIONS", "/orders/main/a", 405),
        ("PATCH", "/orders/main/a", 405),
        ("POST", "/orders", 501),
        ("PUT", "/", 405),
        ("GET", "/orders/main/a", 404),
    ):
        connection.request(method, path)
        answer = connection.getresponse()
        assert (answer.status, answer.read()[:5]) == (status, b"<?xml")
    connection.close()
