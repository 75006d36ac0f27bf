"""A web server as a target: what is posted, how it is signed."""

import hashlib
import hmac
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pyarrow as pa

from tests.egress.worlds import DONE, FAILED, World
from tests.notices.receivers import Receiver


def test_an_event(world: World, receiver: Receiver):
    before = world.commit(a="1")
    world.send(before, {"webhook": f"{receiver.url}/hook?key=x"})
    receiver.next()
    commit = world.commit(b="22")
    done = world.send(commit, {"webhook": f"{receiver.url}/hook?key=x"})
    got = receiver.next()
    event = json.loads(got.body)
    assert event.pop("finished")
    assert event == {
        "event": "version",
        "project": "default",
        "pipeline": "report",
        "target": "webhook",
        "commit": commit,
        "before": before,
        "path": "/",
        "files": 2,
        "bytes": 3,
    }
    assert got.path == "/hook"
    assert got.headers["content-type"] == "application/json"
    assert got.headers["idempotency-key"].endswith(f"/report/webhook/{commit}")
    assert done.receipt["note"] == f"the event to {receiver.url}"


def test_rows_and_no_more_than_are_wanted(world: World, receiver: Receiver):
    rows = pa.table({"id": range(5), "name": list("abcde")})
    world.lake.write_table("report:/t", rows)
    commit = next(iter(world.lake.log("report"))).id
    target = {"webhook": {"url": receiver.url, "body": "rows", "most": 3}, "path": "/t"}
    done = world.send(commit, target)
    got = receiver.next()
    assert [json.loads(line) for line in got.body.splitlines()] == rows.to_pylist()[:3]
    assert got.headers["x-trunkline-truncated"] == "true"
    assert done.receipt["rows"] == 3
    world.send(commit, {"webhook": {"url": receiver.url, "body": "rows"}, "path": "/t"})
    got = receiver.next()
    assert len(got.body.splitlines()) == 5
    assert "x-trunkline-truncated" not in got.headers


def test_a_signature_that_the_receiver_can_check(world: World, receiver: Receiver):
    target = {"webhook": {"url": receiver.url, "sign": "hook", "token": "token"}}
    world.send(world.commit(a="1"), target, secrets={"hook": "k", "token": "t"})
    got = receiver.next()
    seconds, _, signature = got.headers["x-trunkline-signature"].partition(",")
    text = seconds.removeprefix("t=").encode() + b"." + got.body
    assert signature == "sha256=" + hmac.new(b"k", text, hashlib.sha256).hexdigest()
    assert got.headers["authorization"] == "Bearer t"


def test_an_address_that_is_a_secret(world: World, receiver: Receiver):
    target = {"webhook": {"secrets": {"url": "slack"}}}
    done = world.send(world.commit(a="1"), target, secrets={"slack": f"{receiver.url}/hush"})
    assert done.state is DONE
    assert receiver.next().path == "/hush"
    receiver.statuses = [404]
    done = world.send(world.commit(b="1"), target, secrets={"slack": f"{receiver.url}/hush"})
    assert done.state is FAILED
    assert "hush" not in done.reason


@contextmanager
def answering(status: int, headers: dict[str, str], body: bytes = b"") -> Iterator[str]:
    class Answer(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_redirect_is_not_followed(world: World, receiver: Receiver):
    with answering(302, {"Location": receiver.url}) as url:
        done = world.send(world.commit(a="1"), {"webhook": url})
    assert done.state is FAILED
    assert "leads elsewhere" in done.reason
    assert receiver.came.empty()


def test_it_waits_as_long_as_it_is_asked_to(world: World):
    world.commit(a="1")
    with answering(503, {"Retry-After": "0.25"}) as url:
        done = world.send(world.commit(b="1"), {"webhook": url, "tries": 2, "backoff": "1ms"})
    assert done.state is FAILED
    assert any("tried again in 0.25s" in text for text in world.told)


def test_what_the_server_says_is_told_without_secrets(world: World):
    with answering(422, {}, b"no such\nfield for hush-token") as url:
        done = world.send(
            world.commit(a="1"),
            {"webhook": {"url": url, "token": "t"}},
            secrets={"t": "hush-token"},
        )
    assert done.reason == f"{url} answered 422: no such field for ***"


def test_a_secret_at_the_end_of_what_is_told(world: World):
    with answering(422, {}, b"x" * 195 + b"hush-token and more") as url:
        done = world.send(
            world.commit(a="1"),
            {"webhook": {"url": url, "token": "t"}},
            secrets={"t": "hush-token"},
        )
    assert done.reason == f"{url} answered 422: {'x' * 195}*** a"
