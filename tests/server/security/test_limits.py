"""Nobody takes more of the server than their share: bodies, heads, nesting, what unpacks."""

from __future__ import annotations

import io
import json
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Annotated, Any
from urllib.parse import urlsplit

import httpx2
import pyarrow as pa
import pytest
import uvicorn
from pyarrow import ipc
from pydantic import TypeAdapter

from tests.served import answering
from tests.server.security.world import World
from tests.waiting import until
from trunkline.errors import TooLarge, Usage
from trunkline.sdk.wire.arrow import checked_stream
from trunkline.sdk.wire.bundles import encode_header
from trunkline.sdk.wire.values import API, ARROW, BUNDLE
from trunkline.server import limits, protocol
from trunkline.server.app import create_app
from trunkline.server.calls import On, Route
from trunkline.server.limits import LARGEST_JSON, LARGEST_PUBLIC
from trunkline.server.service import Service
from trunkline.server.uploads.arrowsizes import MOST_ROWS, check_sizes

JSON = {"Content-Type": "application/json"}


def raw(url: str, head: str, *parts: bytes) -> bytes:
    """What a server answers to bytes that no client would send; b"" if it hangs up."""
    where = urlsplit(url)
    with socket.create_connection((where.hostname, where.port), timeout=30) as connection:
        connection.sendall(f"{head}\r\nHost: {where.netloc}\r\n".encode())
        try:
            for part in parts:
                connection.sendall(part)
        except (BrokenPipeError, ConnectionResetError):
            pass
        found = b""
        try:
            while more := connection.recv(1 << 16):
                found += more
        except ConnectionResetError:
            pass
        return found


def chunks(size: int, piece: bytes = b" " * (1 << 16)) -> Iterator[bytes]:
    for _ in range(size // len(piece)):
        yield b"%x\r\n%s\r\n" % (len(piece), piece)


# -- bodies --------------------------------------------------------------------------------


def test_a_body_that_says_it_is_too_large_is_not_read(world: World):
    token = f"Authorization: Bearer {world.tokens['root']}\r\n"
    told = f"Content-Type: application/json\r\nContent-Length: {LARGEST_JSON + 1}\r\n\r\n"
    found = raw(world.url, "POST /api/v1/projects HTTP/1.1", (token + told).encode())
    assert found.startswith(b"HTTP/1.1 413"), found[:200]
    assert b'"code":"too_large"' in found


def test_a_body_without_a_length_is_read_no_further_than_the_limit(world: World):
    token = f"Authorization: Bearer {world.tokens['root']}\r\n"
    told = "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    sent = chunks(LARGEST_JSON + (1 << 20))
    found = raw(world.url, "POST /api/v1/projects HTTP/1.1", (token + told).encode(), *sent)
    assert b"413" in found[:20] or found == b""


def test_of_who_is_unknown_no_body_is_read(world: World):
    """The answer is there before any of the body is: nothing of it was waited for."""
    told = "Content-Type: application/json\r\nContent-Length: 1000000\r\nConnection: close\r\n\r\n"
    for way in ("POST /api/v1/projects", "PUT /api/v1/users/ada/password", "POST /api/v1/sql"):
        found = raw(world.url, f"{way} HTTP/1.1", told.encode())
        assert found.startswith(b"HTTP/1.1 401"), (way, found[:200])


def test_a_body_that_does_not_go_on_is_given_up(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(limits, "IDLE_SECONDS", 0.1)
    told = "Content-Type: application/json\r\nContent-Length: 100\r\nConnection: close\r\n\r\n{"
    found = raw(world.url, "POST /api/v1/login HTTP/1.1", told.encode())
    assert found.startswith(b"HTTP/1.1 504"), found[:200]
    assert b"timed_out" in found


@pytest.mark.slow
def test_a_body_that_trickles_is_given_up(world: World, monkeypatch: pytest.MonkeyPatch):
    """A byte now and then is no reason to go on waiting."""
    monkeypatch.setattr(limits, "IDLE_SECONDS", 0.5)

    def trickle() -> Iterator[bytes]:
        told = "Content-Type: application/json\r\nContent-Length: 10000\r\nConnection: close"
        yield f"{told}\r\n\r\n".encode()
        for _ in range(200):
            time.sleep(0.1)
            yield b" "

    found = raw(world.url, "POST /api/v1/login HTTP/1.1", *trickle())
    assert found[:12] in (b"HTTP/1.1 504", b""), found[:200]


def test_strangers_send_kilobytes(world: World):
    app = create_app(Service(world.lake, world.lake._settings, authenticated=True))
    for route in app.routes:
        if isinstance(route, Route) and route.needs.on is On.PUBLIC:
            assert route.largest <= LARGEST_PUBLIC, route.path
    long = json.dumps({"name": "ada", "password": "x" * LARGEST_PUBLIC})
    for path in ("/api/v1/login", "/api/v1/setup", "/iceberg/v1/oauth/tokens"):
        answer = httpx2.post(world.url + path, content=long, headers=JSON)
        assert answer.status_code == 413, (path, answer.text)


SMALL = {"POST /login", "POST /setup", "PUT /users/{name}/password", "POST /tokens"}
"""What is asked of nobody's rights before the body is read: looked at one by one."""


def test_who_may_send_much_is_asked_before_it_is_read(world: World):
    app = create_app(Service(world.lake, world.lake._settings, authenticated=True))
    small = set()
    for route in app.routes:
        assert isinstance(route, Route)
        method = next(iter(route.methods or ()))
        reads = route.dependant.request_param_name and method not in ("GET", "HEAD")
        if (route.body_field or reads) and not route.needs.is_asked_first:
            small.add(f"{method} {route.path.removeprefix(API)}")
            assert route.body_field and route.largest <= LARGEST_PUBLIC, route.path
    assert small == SMALL


def test_of_who_has_no_right_no_body_is_read(world: World):
    token = f"Authorization: Bearer {world.tokens['stranger']}\r\n"
    told = "Content-Type: application/json\r\nContent-Length: 1000000\r\nConnection: close\r\n\r\n"
    for path in ("pipelines", "pipelines/plan", "pipelines/datums", "merge", "export", "grants"):
        method = "PUT" if path == "grants" else "POST"
        for key in ("", "Idempotency-Key: k\r\n"):
            head = (key + token + told).encode()
            found = raw(world.url, f"{method} /api/v1/{path} HTTP/1.1", head)
            assert found.startswith(b"HTTP/1.1 403"), (path, key, found[:200])
    found = raw(world.url, "POST /api/v1/tokens HTTP/1.1", (token + told).encode())
    assert found.startswith(b"HTTP/1.1 413"), found[:200]


def _schemas(part: Any) -> Iterator[dict[str, Any]]:
    if isinstance(part, dict):
        yield part
    if isinstance(part, dict | list | tuple):
        for inside in part.values() if isinstance(part, dict) else part:
            yield from _schemas(inside)


def test_every_body_is_refused_at_its_first_flaw(world: World):
    """Errors of all flaws took a thousand times what the body has."""
    app = create_app(Service(world.lake, world.lake._settings, authenticated=True))
    looked = 0
    for route in app.routes:
        for field in route.dependant.body_params if isinstance(route, Route) else ():
            told = (field.field_info.annotation, *field.field_info.metadata)
            checked: TypeAdapter[Any] = TypeAdapter(Annotated.__class_getitem__(told))  # type: ignore[attr-defined]
            for schema in _schemas(checked.core_schema):
                if schema.get("type") in ("list", "dict", "tuple", "set", "frozenset"):
                    assert schema.get("fail_fast"), (route, schema)
                    looked += 1
    assert looked > 30


def test_a_flaw_is_told_in_one_short_line(world: World):
    with world.client("root") as client:
        answer = client.post("/api/v1/pipelines", json={"pipelines": [0] * 100_000})
        assert answer.status_code == 422
        assert answer.json()["error"]["message"].startswith("body.pipelines.0: ")
        long = client.post("/api/v1/users", json={"name": "a", "roles": {"x" * 100_000: 1}})
        assert long.status_code == 422 and len(long.content) < 2000, long.text[:200]


@pytest.mark.parametrize(
    "body",
    [
        '{"files": [' + ",".join(["[]"] * 1_001_000) + "]}",
        '{"at": "\\"[\\\\", "files": [' + ",".join(["0"] * 2_001_000) + "]}",
        "{" + ",".join(['"a":0'] * 2_001_000) + "}",
    ],
    ids=range(3),
)
def test_bodies_have_so_many_elements_at_most(world: World, body: str):
    with world.client("root") as client:
        for path in ("repos/shop/orders/known", "pipelines", "transactions/x/commit", "sql"):
            answer = client.post(f"/api/v1/{path}", content=body, headers=JSON)
            assert answer.status_code == 413, (path, answer.text)
            assert "2,000,000 elements" in answer.text


def test_commas_and_brackets_of_a_text_are_no_elements(world: World):
    text = ',[{\\"' * 300_000
    with world.client("root") as client:
        answer = client.post("/api/v1/pipelines", json={"pipelines": [], "ignored": [text]})
        assert answer.status_code == 200, answer.text


@pytest.mark.parametrize("text", ['"' + r"\"" * 500_000, '"' * 1_000_001, "," + " " * 1_000_000])
@pytest.mark.timeout(60)  # looking at each place more than once would take hours
def test_elements_are_counted_in_one_pass(text: str):
    assert limits._starts(text.encode()) <= 1


def test_what_elements_take_counts_as_held(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(limits, "HELD_AT_ONCE", 1 << 20)
    service = Service(world.lake, world.lake._settings, authenticated=True)
    token = {"Authorization": f"Bearer {world.tokens['root']}"}
    with answering(create_app(service), "off") as url:
        many = json.dumps({"pipelines": [0] * 20_000})
        answer = httpx2.post(f"{url}/api/v1/pipelines", content=many, headers=JSON | token)
        assert answer.status_code == 503, answer.text
        assert service.bodies.held == 0


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32-be"])
def test_json_is_utf8(world: World, encoding: str):
    """In another encoding elements could hide from who counts them."""
    with world.client("root") as client:
        body = json.dumps({"name": "other"}).encode(encoding)
        answer = client.post("/api/v1/projects", content=body, headers=JSON)
        assert answer.status_code == 400 and "UTF-8" in answer.text


def test_bodies_of_all_together_are_bounded(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(limits, "HELD_AT_ONCE", 1 << 20)
    service = Service(world.lake, world.lake._settings, authenticated=True)
    with answering(create_app(service), "off") as url, ExitStack() as held:
        where = urlsplit(url)
        head = (
            f"POST /api/v1/projects HTTP/1.1\r\nHost: {where.netloc}\r\n"
            f"Authorization: Bearer {world.tokens['root']}\r\n"
            "Content-Type: application/json\r\nContent-Length: 1000000\r\n\r\n"
        )
        for _ in range(5):
            address = (where.hostname, where.port)
            connection = held.enter_context(socket.create_connection(address, timeout=30))
            connection.sendall(head.encode() + b" " * 200_000)
        until(lambda: service.bodies.held == 1_000_000)
        token = {"Authorization": f"Bearer {world.tokens['root']}"}
        body = json.dumps({"name": "p", "description": "x" * 100_000})

        def sent() -> httpx2.Response:
            return httpx2.post(f"{url}/api/v1/projects", content=body, headers=JSON | token)

        answer = sent()
        assert answer.status_code == 503
        assert int(answer.headers["retry-after"]) >= 1
        assert answer.json()["error"]["hint"] == "Try again."
        # Others need no body, or a small one.
        assert httpx2.get(f"{url}/api/v1/repos", headers=token).status_code == 200
        held.close()
        until(lambda: service.bodies.held == 0)
        assert sent().status_code != 503
        assert service.bodies.held == 0


DEEP = 20_000


@pytest.mark.parametrize(
    "text",
    [
        "[" * DEEP + "]" * DEEP,
        "a: " + "[" * DEEP,
        "- " * DEEP,
        "pipeline: " + "{a: " * DEEP + "1" + "}" * DEEP,
        "&a [" * DEEP,
    ],
    ids=range(5),
)
def test_specs_may_not_be_deep(world: World, text: str):
    with world.client("root") as client:
        for path, body in {
            "pipelines/read": {"text": text},
            "pipelines/plan": {"text": text},
        }.items():
            answer = client.post(f"/api/v1/{path}", json=body)
            assert 400 <= answer.status_code < 500, (path, answer.text)


def test_globs_and_refs_may_not_be_deep(world: World):
    deep = ("/" + "{" * 4000, "/" + "(" * 4000, "/" + "{a," * 2000 + "}" * 2000, "/" + "[" * 4000)
    place = "/api/v1/repos/shop/orders"
    with world.client("root") as client:
        for text in (*deep, "/" + "!(" * 2000 + ")" * 2000, "/a" * 2000):
            for path, name in (("glob", "pattern"), ("files", "path"), ("archive", "path")):
                answer = client.get(f"{place}/{path}", params={"at": "main", name: text})
                assert answer.status_code < 500, (path, text[:20], answer.text)
        for ref in ("main" + "^" * 5000, "main" + ".1" * 3000, "main" + "~1" * 3000):
            answer = client.get(f"{place}/files", params={"at": ref, "path": "/"})
            assert answer.status_code < 500, (ref[:20], answer.text)


@pytest.mark.parametrize(
    "text", ["[" * 10_000 + "]" * 10_000, '{"a":' * 10_000 + "1" + "}" * 10_000]
)
def test_json_may_not_be_deep(world: World, text: str):
    deep = {
        "projects": '{"name": "p", "description": %s}',
        "pipelines/plan": '{"pipelines": [{"spec": {"input": %s}}]}',
        "sql": '{"text": "SELECT 1", "params": {"a": %s}}',
        "transactions": "%s",
        "repos/shop/orders/known": '{"files": %s}',
    }
    with world.client("root") as client:
        for path, body in deep.items():
            for content in (body % text, text):
                answer = client.post(f"/api/v1/{path}", content=content, headers=JSON)
                assert 400 <= answer.status_code < 500, (path, answer.text)
        where = f"/api/v1/repos/shop/orders/table/rows?path=/table&where={text[:9000]}"
        assert 400 <= client.get(where).status_code < 500
        rule = client.post(
            "/api/v1/repos/shop/orders/table/merge",
            params={"path": "/table", "rule": text[:9000]},
            content=b"",
            headers={"Content-Type": ARROW},
        )
        assert 400 <= rule.status_code < 500


def test_numbers_that_are_too_long(world: World):
    long = "9" * 5000
    with world.client("root") as client:
        for path, body in {"projects": '{"name": %s}', "gc": '{"grace": %s}'}.items():
            content = body % long
            answer = client.post(f"/api/v1/{path}", content=content, headers=JSON)
            assert 400 <= answer.status_code < 500, answer.text
        answer = client.get("/api/v1/repos", params={"limit": long})
        assert answer.status_code == 422
        pipeline = client.get("/api/v1/pipelines/shop/sizes", params={"version": "9" * 30})
        assert 400 <= pipeline.status_code < 500
        events = client.get("/api/v1/events/history", params={"since": "9" * 30})
        assert events.status_code < 500


def test_texts_that_are_none(world: World):
    """Half of a pair, and nothing at all: JSON can say them."""
    with world.client("root") as client:
        for number, text in enumerate((r"\ud800", r"a\u0000b", r"\udfff\ud800")):
            for path, body in {
                "projects": f'{{"name": "t{number}", "description": "{text}"}}',
                "projects/shop/repos": f'{{"name": "{text}"}}',
                "sql": f'{{"text": "SELECT 1", "at": "{text}"}}',
                "tokens": f'{{"note": "{text}"}}',
                "login": f'{{"name": "{text}", "password": "{text}"}}',
                "repos/shop/orders/known": f'{{"files": [["/{text}", 1]]}}',
                "merge": f'{{"source": "shop/orders@{text}", "target": "shop/orders@main"}}',
            }.items():
                answer = client.post(f"/api/v1/{path}", content=body, headers=JSON)
                assert answer.status_code < 500, (path, text, answer.text)


# -- what unpacks --------------------------------------------------------------------------


def stream(rows: int) -> bytes:
    table = pa.table({"text": pa.repeat("x" * 1000, rows)})
    sink = io.BytesIO()
    options = ipc.IpcWriteOptions(compression="zstd")
    with ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return sink.getvalue()


def test_rows_that_unpack_to_more_than_there_may_be(world: World):
    whole = stream(100)
    size = struct.pack("<q", 100_000)
    assert whole.count(size) == 1
    check_sizes(io.BytesIO(whole))
    with pytest.raises(TooLarge):
        check_sizes(io.BytesIO(whole), largest=100_000)
    before = world.state()
    with world.client("root") as client:
        for claim in (1 << 40, (1 << 63) - 1):
            bomb = whole.replace(size, struct.pack("<q", claim))
            answer = client.post(
                "/api/v1/repos/shop/orders/table/rows",
                params={"path": "/bomb"},
                content=bomb,
                headers={"Content-Type": ARROW},
            )
            assert answer.status_code == 413, answer.text
    assert world.state() == before


def _stream_of(values: pa.Array) -> bytes:
    batch, sink = pa.record_batch([values], ["a"]), io.BytesIO()
    with ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue()


def test_rows_that_take_no_bytes_are_counted(world: World):
    few, many = (_stream_of(pa.nulls(rows)) for rows in (MOST_ROWS, MOST_ROWS + 1))
    check_sizes(io.BytesIO(few))
    before = world.state()
    with world.client("root") as client:
        answer = client.post(
            "/api/v1/repos/shop/orders/table/rows",
            params={"path": "/nulls"},
            content=many,
            headers={"Content-Type": ARROW},
        )
        assert answer.status_code == 413 and "rows" in answer.text, answer.text
    assert world.state() == before


def test_rows_of_one_wide_value_come_in_pieces():
    wide = pa.array(["x" * 100_000])
    rows = pa.DictionaryArray.from_arrays(pa.array([0] * 4000, pa.int8()), wide)
    reader = checked_stream(iter([_stream_of(rows)]))
    sizes = [batch.num_rows for batch in reader]
    assert sum(sizes) == 4000
    assert max(sizes) * 100_000 <= 64 << 20


def test_damaged_metadata_is_an_error_of_the_sender():
    whole = stream(10)
    for at in range(0, len(whole), 3):
        for value in (0, 0x7F, 0xFF):
            hurt = bytearray(whole)
            hurt[at] = value
            for cut in (hurt, hurt[: at + 1]):
                with suppress(Usage, TooLarge):
                    check_sizes(io.BytesIO(bytes(cut)))


@pytest.mark.slow
def test_bundles_of_too_many_files(world: World):
    many = json.dumps({"files": [["/a", 0]] * 1_000_001}, separators=(",", ":")).encode()
    long = (1 << 40).to_bytes(8, "big")
    before = world.state()
    with world.client("root") as client:
        for body in (len(many).to_bytes(8, "big") + many, long, long + b"{}"):
            answer = client.post(
                "/api/v1/repos/shop/orders/commits", content=body, headers={"Content-Type": BUNDLE}
            )
            assert answer.status_code == 413, answer.text
        short = encode_header([["/a", 1 << 50]]) + b"abc"
        answer = client.post(
            "/api/v1/repos/shop/orders/commits", content=short, headers={"Content-Type": BUNDLE}
        )
        assert answer.status_code == 400
    assert world.state() == before


# -- heads ---------------------------------------------------------------------------------


@contextmanager
def listening(world: World) -> Iterator[str]:
    """A server that speaks as `trunkline serve` does."""
    app = create_app(Service(world.lake, world.lake._settings, authenticated=True))
    config = uvicorn.Config(app, port=0, http=protocol.Protocol, log_level="error", lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.005)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join()


def test_heads_end(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(protocol, "HEAD_SECONDS", 0.3)
    with listening(world) as url:
        with httpx2.Client(base_url=url, trust_env=False) as client:
            assert client.get("/healthz").status_code == 200
            assert client.get("/healthz", headers={"A": "b" * 60_000}).status_code == 200
            assert client.get("/healthz", headers={"A": "b" * 70_000}).status_code == 400
            assert raw(url, f"GET /healthz?a={'b' * 70_000} HTTP/1.1", b"\r\n").startswith(
                b"HTTP/1.1 400"
            )
            assert client.get("/healthz").status_code == 200
        line = b"A: " + b"b" * 1000 + b"\r\n"
        endless = raw(url, "GET /healthz HTTP/1.1", *[line] * 1000)
        assert endless[:12] in (b"HTTP/1.1 400", b"")
        # Neither says enough, and none is waited for.
        assert raw(url, "GET /healthz HTTP/1.1") == b""
        assert raw(url, "GET /healthz HTTP/1.1", b"A: ") == b""
        where = urlsplit(url)
        with socket.create_connection((where.hostname, where.port), timeout=30) as silent:
            assert silent.recv(1) == b""
        # A connection that has asked before has no more time for its next head.
        with socket.create_connection((where.hostname, where.port), timeout=30) as kept:
            kept.sendall(f"GET /healthz HTTP/1.1\r\nHost: {where.netloc}\r\n\r\n".encode())
            assert kept.recv(1 << 16).startswith(b"HTTP/1.1 200")
            kept.sendall(b"GET /healthz HT")
            assert kept.recv(1) == b""
