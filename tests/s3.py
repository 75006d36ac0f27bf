"""A real S3 protocol server for tests, and a proxy in front of it that misbehaves on demand."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from typing import Any

REGION = "us-east-1"
ACCESS_KEY = "test-key"
SECRET_KEY = "test-secret-never-shown"


@dataclass
class S3Server:
    """A running server and the options with which `open_store` reaches it."""

    endpoint: str
    options: dict[str, str] = field(default_factory=dict)

    def create_bucket(self, name: str) -> str:
        self._request("PUT", f"/{name}")
        return f"s3://{name}"

    def unfinished_uploads(self, bucket: str) -> int:
        return self._request("GET", f"/{bucket}?uploads").count(b"<Upload>")

    def _request(self, method: str, path: str) -> bytes:
        host = self.endpoint.removeprefix("http://")
        connection = HTTPConnection(host, timeout=60)
        # moto reads the region from the scope of the signature and checks nothing else.
        scope = f"Credential={ACCESS_KEY}/20260101/{REGION}/s3/aws4_request"
        headers = {"Authorization": f"AWS4-HMAC-SHA256 {scope}"}
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        assert answer.status < 300, body
        return body


def options_for(endpoint: str, **more: str) -> dict[str, str]:
    return {
        "endpoint": endpoint,
        "region": REGION,
        "access_key_id": ACCESS_KEY,
        "secret_access_key": SECRET_KEY,
        **more,
    }


@contextmanager
def s3_server() -> Iterator[S3Server]:
    """moto, path style, on a port of its own at 127.0.0.1."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        _, port = server.get_host_and_port()
        endpoint = f"http://127.0.0.1:{port}"
        yield S3Server(endpoint, options_for(endpoint))
    finally:
        server.stop()


class FaultyProxy:
    """A TCP proxy that looks at each HTTP request and may answer, delay or cut it.

    `fail(n)` answers 503 to the next n requests, `cut(n)` closes their connections without an
    answer, `delay(seconds)` holds every request back. `requests` counts what arrived.
    """

    def __init__(self, target: str) -> None:
        host, _, port = target.removeprefix("http://").partition(":")
        self._target = (host, int(port))
        self._lock = threading.Lock()
        self._failing = self._cutting = 0
        self._delay = 0.0
        self.requests = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.endpoint = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def fail(self, count: int) -> None:
        with self._lock:
            self._failing = count

    def cut(self, count: int) -> None:
        with self._lock:
            self._cutting = count

    def delay(self, seconds: float) -> None:
        with self._lock:
            self._delay = seconds

    def close(self) -> None:
        self._listener.close()

    def __enter__(self) -> FaultyProxy:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, client.makefile("rb") as reader:
            try:
                while request := _read_message(reader):
                    if not self._answer(client, request):
                        return
            except OSError:
                return

    def _answer(self, client: socket.socket, request: bytes) -> bool:
        """Handle one request; False when the connection is to be closed."""
        with self._lock:
            self.requests += 1
            cut, self._cutting = self._cutting > 0, max(0, self._cutting - 1)
            fail = not cut and self._failing > 0
            self._failing -= fail
            delay = self._delay
        if cut:
            return False
        time.sleep(delay)
        if fail:
            client.sendall(b"HTTP/1.1 503 Slow Down\r\nContent-Length: 0\r\n\r\n")
            return True
        with socket.create_connection(self._target) as upstream:
            head, _, rest = request.partition(b"\r\n")
            upstream.sendall(head + b"\r\nConnection: close\r\n" + rest)
            while data := upstream.recv(1 << 16):
                client.sendall(data)
        return False


def _read_message(reader: Any) -> bytes:
    """One HTTP request with its body."""
    lines = []
    length = 0
    while line := reader.readline():
        lines.append(line)
        if line.lower().startswith(b"content-length:"):
            length = int(line.partition(b":")[2])
        if line == b"\r\n":
            break
    return b"".join(lines) + (reader.read(length) if length else b"")
