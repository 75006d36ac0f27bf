"""Reads while strangers try passwords: how much later the latest is than on a quiet server.

The strangers come from addresses of their own, so that no rule about failures holds them up: what
holds them is that checks of passwords have few places.
"""

from __future__ import annotations

import itertools
import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit

import trunkline as tl
from benchmarks.load import Request, load
from benchmarks.measure import Bench
from benchmarks.report import Result
from benchmarks.server_requests import API, _first_admin
from benchmarks.servers import serving

CLAIM = "server_logins"
CLIENTS, STRANGERS = 2, 24
MOST = 2.0


def run(bench: Bench) -> Iterator[Result]:
    seconds = bench.size(10, 4)
    with tl.init(bench.folder / "lake") as lake:
        lake.create_repo("orders")
        with lake.commit("orders@main") as commit:
            for file in range(10):
                commit.put(f"/{file}.csv", b"id,amount\n1,2\n")
    reads: list[Request] = [
        ("GET", f"{API}/tables", ""),
        ("GET", f"{API}/repos/default/orders/files?at=main&path=/", ""),
    ]
    with serving(bench.folder / "lake", "--auth", "--s3-port", "0") as facts:
        url = str(facts["url"])
        token = _first_admin(url, str(facts["setup_token"]))
        load(url, reads, clients=CLIENTS, seconds=1, token=token)
        quiet = load(url, reads, clients=CLIENTS, seconds=seconds, token=token)
        with _strangers(url) as answers:
            flooded = load(url, reads, clients=CLIENTS, seconds=seconds, token=token)
    assert not flooded.failed, f"{flooded.failed} reads failed"
    ratio = flooded.p99 / quiet.p99
    said = ", ".join(f"{count:,} x {status}" for status, count in sorted(answers.items()))
    yield Result(
        CLAIM,
        f"reads among {STRANGERS} who guess ({said})",
        f"p50 {flooded.p50 * 1000:.1f} ms, p99 {flooded.p99 * 1000:.1f} ms",
        "the same reads alone",
        f"p50 {quiet.p50 * 1000:.1f} ms, p99 {quiet.p99 * 1000:.1f} ms",
        ratio,
        budget=f"≤ {MOST:g}x",
        met=ratio <= MOST,
    )


@contextmanager
def _strangers(url: str) -> Iterator[Counter[int]]:
    """Logins without end, each from another address; what they are answered."""
    where, over, numbers = urlsplit(url), threading.Event(), itertools.count()
    answers: Counter[int] = Counter()

    def guess() -> None:
        connection = HTTPConnection(where.hostname or "", where.port, timeout=60)
        while not over.is_set():
            number = next(numbers)
            body = json.dumps({"name": f"user{number}", "password": "guessed it"})
            origin = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
            headers = {"Content-Type": "application/json", "X-Forwarded-For": origin}
            try:
                connection.request("POST", f"{API}/login", body, headers)
                answer = connection.getresponse()
                answer.read()
            except (OSError, HTTPException):
                connection.close()
                continue
            answers[answer.status] += 1
            if answer.status == 429:  # as it is told to, though sooner
                over.wait(0.2)
        connection.close()

    threads = [threading.Thread(target=guess, daemon=True) for _ in range(STRANGERS)]
    for one in threads:
        one.start()
    try:
        yield answers
    finally:
        over.set()
        for one in threads:
            one.join()
