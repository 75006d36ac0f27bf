"""Rows by POST, over real sockets: answered when durable, once for each key."""

from __future__ import annotations

import gzip
import http.client
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pyarrow as pa
import pytest

from tests.ingest.feeds.lakes import Ingests
from tests.waiting import until
from trunkline.ingests.keeper import Keeper
from trunkline.model.streams import FlowState

NDJSON = "application/x-ndjson"
ARROW = "application/vnd.apache.arrow.stream"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


class Sender:
    """One ingest that listens, and those who write to it."""

    def __init__(self, lake: Ingests, **options: Any) -> None:
        self.lake, self.port = lake, free_port()
        self.options = {"port": self.port, **options}

    def declare(self, name: str = "clicks", **fields: Any) -> None:
        self.lake.declare(name, "http", self.options, **fields)

    def start(self) -> Keeper:
        keeper = self.lake.start()
        until(self.is_open)
        return keeper

    def is_open(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
            return True
        except OSError:
            return False

    def post(
        self,
        body: bytes,
        kind: str = NDJSON,
        path: str = "/v1/ingest/clicks",
        headers: Mapping[str, str] | None = None,
        method: str = "POST",
    ) -> tuple[int, dict[str, Any], Mapping[str, str]]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            given = {"Content-Type": kind, **(headers or {})}
            connection.request(method, path, body, given)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read()), dict(answer.getheaders())
        finally:
            connection.close()


@pytest.fixture
def sender(lake: Ingests) -> Sender:
    made = Sender(lake)
    made.declare()
    made.start()
    return made


def rows(*numbers: int) -> bytes:
    return "".join(json.dumps({"n": n}) + "\n" for n in numbers).encode()


def numbers(lake: Ingests, name: str = "clicks") -> list[int]:
    return sorted(row["n"] for row in lake.rows(name))


def test_an_answer_means_that_it_is_durable(lake: Ingests, sender: Sender) -> None:
    status, told, _ = sender.post(rows(1, 2))
    assert status == 200
    assert told == {"commit": lake.commits("clicks")[0].id, "rows": 2, "malformed": 0}
    assert numbers(lake) == [1, 2]
    status, told, _ = sender.post(b'[{"n": 3}, {"n": "x"}]', "application/json")
    assert (status, told["rows"], told["malformed"]) == (200, 1, 1)
    sink = pa.BufferOutputStream()
    table = pa.table({"n": [4, 5]})
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    status, told, _ = sender.post(sink.getvalue().to_pybytes(), ARROW, "/ingest/clicks")
    assert (status, told["rows"]) == (200, 2)
    status, told, _ = sender.post(gzip.compress(rows(6)), headers={"Content-Encoding": "gzip"})
    assert (status, told["rows"]) == (200, 1)
    assert numbers(lake) == [1, 2, 3, 4, 5, 6]
    assert lake.flow("clicks").position == {"requests": 4}
    (bad,) = lake.malformed("clicks")
    assert bad["reason"] == 'n: "x" is no bigint' and bad["line"] == '{"n": "x"}'


def test_many_senders_share_commits_and_each_row_is_in_once(lake: Ingests, sender: Sender) -> None:
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda n: sender.post(rows(n, n + 1000)), range(100)))
    assert {status for status, _, _ in answers} == {200}
    assert numbers(lake) == sorted([*range(100), *range(1000, 1100)])
    ids = {commit.id for commit in lake.commits("clicks")}
    assert {told["commit"] for _, told, _ in answers} == ids and len(ids) < 100


def test_a_key_is_taken_in_once(lake: Ingests, sender: Sender) -> None:
    key = {"Idempotency-Key": "order 7"}
    first = sender.post(rows(1), headers=key)[:2]
    assert sender.post(rows(1), headers=key)[:2] == first
    lake.stop()
    sender.start()
    assert sender.post(rows(1), headers=key)[:2] == first
    assert numbers(lake) == [1]
    status, told, _ = sender.post(rows(2), headers=key)
    assert status == 409 and told["error"] == "This Idempotency-Key belongs to another body."


def test_a_key_that_races_itself(lake: Ingests, sender: Sender) -> None:
    def send(n: int) -> tuple[int, str]:
        status, told, _ = sender.post(rows(n % 5), headers={"Idempotency-Key": f"k{n % 5}"})
        return status, str(told)

    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(send, range(100)))
    assert {status for status, _ in answers} == {200}
    assert len({told for _, told in answers}) <= 5
    assert numbers(lake) == [0, 1, 2, 3, 4]


def test_what_is_refused_says_why_in_one_line(lake: Ingests, sender: Sender) -> None:
    cases = [
        (sender.post(b"x", "text/plain"), 415),
        (sender.post(b"[1", "application/json"), 400),
        (sender.post(b"no arrow", ARROW), 400),
        (sender.post(b"\n\n"), 400),
        (sender.post(rows(1), path="/v1/ingest/nobody"), 404),
        (sender.post(b"", method="GET"), 405),
        (sender.post(b"no gzip", headers={"Content-Encoding": "gzip"}), 400),
        (sender.post(gzip.compress(rows(1))[:-4], headers={"Content-Encoding": "gzip"}), 400),
        (sender.post(rows(1), headers={"Content-Encoding": "br"}), 415),
    ]
    for (status, told, _), wanted in cases:
        assert status == wanted, told
        assert set(told) == {"error", "hint"} and "\n" not in told["error"]
    assert lake.commits("clicks") == []


def test_large_bodies_are_refused_before_they_are_held(lake: Ingests) -> None:
    sender = Sender(lake, most=10_000)
    sender.declare()
    sender.start()
    assert sender.post(b"x" * 10_001)[0] == 413
    bomb = gzip.compress(b"0" * 50_000_000)
    assert len(bomb) < 60_000
    status, told, _ = sender.post(bomb[:9_000], headers={"Content-Encoding": "gzip"})
    assert status == 413 and told["error"] == "The body is larger than 10,000 bytes."


def test_who_comes_first_is_known(lake: Ingests, monkeypatch: pytest.MonkeyPatch) -> None:
    """As soon as somebody is answered, the ingest is there."""
    sender, answers = Sender(lake), []
    start = threading.Thread.start

    def and_ask(thread: threading.Thread) -> None:
        start(thread)
        if thread.name == f"ingest-port-{sender.port}":
            answers.append(sender.post(b"", method="GET")[0])

    monkeypatch.setattr(threading.Thread, "start", and_ask)
    sender.declare()
    sender.start()
    until(lambda: answers)
    assert answers == [405]


def test_a_token_is_asked_for(lake: Ingests) -> None:
    lake.secrets["door"] = "open sesame"
    sender = Sender(lake)
    sender.declare(secrets=(("token", "door"),))
    sender.start()
    assert sender.post(rows(1))[0] == 401
    assert sender.post(rows(1), headers={"Authorization": "Bearer wrong"})[0] == 401
    assert sender.post(rows(1), headers={"Authorization": "Bearer open sesame"})[0] == 200
    assert numbers(lake) == [1]


def test_without_a_token_nobody_else_may_reach_it(lake: Ingests) -> None:
    sender = Sender(lake, host="0.0.0.0")
    sender.declare()
    lake.start()
    until(lambda: lake.flow("clicks").state is FlowState.FAILED)
    assert "without a token" in lake.flow("clicks").reason
    assert not sender.is_open()


def test_several_ingests_share_a_port(lake: Ingests, sender: Sender) -> None:
    sender.declare("views")
    until(lambda: sender.post(rows(9), path="/v1/ingest/views")[0] == 200)
    assert sender.post(rows(1))[0] == 200
    assert numbers(lake) == [1] and numbers(lake, "views") == [9]


def test_slow_senders_hold_up_nobody(lake: Ingests, sender: Sender) -> None:
    slow = []
    for _ in range(20):
        one = socket.create_connection(("127.0.0.1", sender.port))
        one.sendall(
            b"POST /v1/ingest/clicks HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-ndjson\r\n"
            b'Content-Length: 100\r\n\r\n{"n": '
        )
        slow.append(one)
    assert sender.post(rows(1))[0] == 200
    for one in slow:
        one.close()
    assert sender.post(rows(2))[0] == 200
    assert numbers(lake) == [1, 2]


def test_more_than_can_be_held_is_sent_away(lake: Ingests) -> None:
    sender = Sender(lake, most=1 << 20)
    sender.declare()
    sender.start()
    half = []
    for _ in range(20):
        one = socket.create_connection(("127.0.0.1", sender.port))
        size = 1 << 20
        one.sendall(
            b"POST /v1/ingest/clicks HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-ndjson\r\n"
            + f"Content-Length: {size}\r\n\r\n".encode()
            + b" " * (size - 1)
        )
        half.append(one)
    answered = until(lambda: select.select(half, [], [], 0)[0])
    answer = http.client.HTTPResponse(answered[0])
    answer.begin()
    assert answer.status == 503 and answer.getheader("retry-after") == "1"
    assert json.loads(answer.read())["error"] == "Too much is waiting to be committed."
    for one in half:
        one.close()
    until(lambda: sender.post(rows(2))[0] == 200)


def test_who_cannot_be_committed_is_told_to_come_back(lake: Ingests, sender: Sender) -> None:
    assert sender.post(rows(0))[0] == 200
    data = lake.folder / ".trunkline/objects"
    data.rename(lake.folder / "away")
    data.write_text("a file where the folder should be")
    status, told, headers = sender.post(rows(1), headers={"Idempotency-Key": "k"})
    data.unlink()
    (lake.folder / "away").rename(data)
    assert status == 503 and told["error"].startswith("It ")
    assert {name.lower() for name in headers} >= {"retry-after"}
    until(lambda: sender.post(rows(1), headers={"Idempotency-Key": "k"})[0] == 200)
    assert numbers(lake) == [0, 1]


def test_a_clean_stop_answers_those_who_wait(lake: Ingests, sender: Sender) -> None:
    answers: list[int] = []

    def send(n: int) -> None:
        try:
            answers.append(sender.post(rows(n))[0])
        except OSError:
            answers.append(0)

    senders = [threading.Thread(target=send, args=(n,)) for n in range(30)]
    for one in senders:
        one.start()
    until(lambda: answers)
    lake.stop()
    for one in senders:
        one.join()
    assert len(numbers(lake)) == answers.count(200)


SERVE = """
import sys, threading, trunkline as tl
from trunkline.ingests.keeper import Keeper
with tl.open(sys.argv[1], author='x') as lake:
    Keeper(lake._core, lease_seconds=1.0).start()
    threading.Event().wait()
"""


@pytest.mark.slow
@pytest.mark.parametrize("point", ["ingest.written", "ingest.committed", "ingest.source_told"])
def test_a_key_is_taken_in_once_also_after_kill(lake: Ingests, point: str) -> None:
    sender = Sender(lake)
    sender.declare()
    environment = {**os.environ, "TRUNKLINE_CRASH_AT": f"{point}:2"}
    server = subprocess.Popen([sys.executable, "-c", SERVE, str(lake.folder)], env=environment)
    try:
        until(sender.is_open)
        assert sender.post(rows(1), headers={"Idempotency-Key": "a"})[0] == 200
        with suppress(OSError, http.client.HTTPException):
            # Killed before or after it answers.
            sender.post(rows(2), headers={"Idempotency-Key": "b"})
        assert server.wait(30) == -signal.SIGKILL
    finally:
        server.kill()
        server.wait()
    sender.start()
    for key, n in (("a", 1), ("b", 2), ("b", 2)):
        assert sender.post(rows(n), headers={"Idempotency-Key": key})[0] == 200
    assert numbers(lake) == [1, 2]
