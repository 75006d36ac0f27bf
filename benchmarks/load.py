"""Many clients at once on kept connections: how many answers a second, and how late the latest.

A process of its own, so that it takes no time from the server's. It reads no more of an answer
than it must: the status and the length.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

Request = tuple[str, str, str]
"""Method, path, body."""


@dataclass(frozen=True, slots=True)
class Load:
    """What came of it. Latencies in seconds; `failed` are answers of 400 and above."""

    seconds: float
    answers: int
    failed: int
    p50: float
    p99: float

    @property
    def rate(self) -> float:
        return self.answers / self.seconds


def load(
    url: str, requests: Sequence[Request], *, clients: int, seconds: float, token: str = ""
) -> Load:
    """Let so many clients ask in turns for so long, in another process."""
    task = {
        "url": url,
        "requests": requests,
        "clients": clients,
        "seconds": seconds,
        "token": token,
    }
    command = [sys.executable, "-m", "benchmarks.load"]
    done = subprocess.run(
        command, input=json.dumps(task), text=True, capture_output=True, check=True
    )
    return Load(**json.loads(done.stdout))


class _Client(asyncio.Protocol):
    """One connection with one request on its way."""

    def __init__(self, requests: list[bytes], until: float, number: int) -> None:
        self._requests = requests
        self._until = until
        self._next = number
        self._buffer = b""
        self._sent = 0.0
        self.latencies: list[float] = []
        self.failed = 0
        self.over = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._send()

    def _send(self) -> None:
        self._sent = time.perf_counter()
        if self._sent >= self._until:
            self._transport.close()
            return
        self._transport.write(self._requests[self._next % len(self._requests)])
        self._next += 1

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, found, body = self._buffer.partition(b"\r\n\r\n")
        if not found:
            return
        place = head.lower().find(b"content-length:")
        length = int(head[place + 15 : head.find(b"\r", place) if b"\r" in head[place:] else None])
        if len(body) < length:
            return
        self.latencies.append(time.perf_counter() - self._sent)
        if head[9:12] >= b"400":
            self.failed += 1
        self._buffer = b""
        self._send()

    def connection_lost(self, error: Exception | None) -> None:
        self.over.set_result(None)


def _bytes(request: Request, host: str, token: str) -> bytes:
    method, path, body = request
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", f"Content-Length: {len(body.encode())}"]
    if body:
        lines.append("Content-Type: application/json")
    if token:
        lines.append(f"Authorization: Bearer {token}")
    return ("\r\n".join(lines) + "\r\n\r\n" + body).encode()


async def _run(task: dict[str, object]) -> Load:
    address = urlsplit(str(task["url"]))
    requests = [
        _bytes(tuple(one), address.netloc, str(task["token"]))  # type: ignore[arg-type]
        for one in task["requests"]  # type: ignore[attr-defined]
    ]
    loop = asyncio.get_running_loop()
    began = time.perf_counter()
    until = began + float(str(task["seconds"]))
    clients = []
    for number in range(int(str(task["clients"]))):
        start = number * len(requests) // int(str(task["clients"]))
        _, client = await loop.create_connection(
            lambda start=start: _Client(requests, until, start), address.hostname, address.port
        )
        clients.append(client)
    await asyncio.gather(*(client.over for client in clients))
    seconds = time.perf_counter() - began
    latencies = sorted(one for client in clients for one in client.latencies)
    return Load(
        seconds,
        len(latencies),
        sum(client.failed for client in clients),
        latencies[len(latencies) // 2],
        latencies[len(latencies) * 99 // 100],
    )


if __name__ == "__main__":
    import uvloop

    result = uvloop.run(_run(json.load(sys.stdin)))
    print(json.dumps({name: getattr(result, name) for name in Load.__slots__}))
