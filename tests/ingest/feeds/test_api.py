"""HTTP APIs, on a real server that hands out pages in each way and misbehaves on demand."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.ingest.feeds.lakes import Ingests
from tests.waiting import until
from trunkline.model.backoff import Backoff
from trunkline.model.streams import FlowState

Asked = dict[str, Any]
Reply = tuple[int, Any, dict[str, str]]


class Api:
    """A server whose answers are made by a function of the request."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.answer: Callable[[Asked], Any] = lambda asked: []
        api = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                api._serve(self)

            do_POST = do_GET

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1/things"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def _serve(self, handler: BaseHTTPRequestHandler) -> None:
        parts = urlsplit(handler.path)
        body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        asked: Asked = {
            "path": parts.path,
            "method": handler.command,
            "headers": dict(handler.headers),
            "body": json.loads(body) if body else None,
            **{name: values[0] for name, values in parse_qs(parts.query).items()},
        }
        self.asked.append(asked)
        found = self.answer(asked)
        status, body, headers = found if isinstance(found, tuple) else (200, found, {})
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        handler.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(data))}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(data)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def api() -> Iterator[Api]:
    made = Api()
    yield made
    made.close()


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trunkline.connect.web.BACKOFF", Backoff(0.01, 30.0))


def things(first: int, last: int) -> list[dict[str, Any]]:
    return [{"id": n, "v": f"v{n}"} for n in range(first, last + 1)]


def ids(lake: Ingests) -> list[int]:
    return sorted(row["id"] for row in lake.rows("things"))


def by_page(asked: Asked) -> Any:
    first = (int(asked["page"]) - 1) * 3
    return {"data": {"items": things(1, 7)[first : first + 3]}}


def by_offset(asked: Asked) -> Any:
    first = int(asked["skip"])
    return {"data": {"items": things(1, 7)[first : first + int(asked["take"])]}}


def by_cursor(asked: Asked) -> Any:
    first = int(asked.get("after", "0"))
    following = str(first + 3) if first + 3 < 7 else None
    return {"data": {"items": things(1, 7)[first : first + 3]}, "meta": {"next": following}}


def by_link(asked: Asked) -> Reply:
    first = int(asked.get("from", "0"))
    told = f'</v1/things?from=0&x=1,2>; rel="first", </v1/things?from={first + 3}>; rel="next last"'
    headers = {"Link": told} if first + 3 < 7 else {}
    return 200, {"data": {"items": things(1, 7)[first : first + 3]}}, headers


def by_next(asked: Asked) -> Any:
    first = int(asked.get("from", "0"))
    following = f"?from={first + 3}" if first + 3 < 7 else ""
    return {"data": {"items": things(1, 7)[first : first + 3]}, "links": {"next": following}}


PAGINGS: dict[str, tuple[Callable[[Asked], Any], dict[str, Any]]] = {
    "page": (by_page, {"page": {"param": "page"}}),
    "offset": (by_offset, {"offset": {"param": "skip", "limit_param": "take", "limit": 3}}),
    "cursor": (by_cursor, {"cursor": {"param": "after", "from": "meta.next"}}),
    "link": (by_link, {"link": True}),
    "next": (by_next, {"next": "links.next"}),
}


@pytest.mark.parametrize("kind", PAGINGS)
def test_every_kind_of_paging(lake: Ingests, api: Api, kind: str) -> None:
    api.answer, paging = PAGINGS[kind]
    options = {"url": api.url, "records": "data.items", "paging": paging}
    lake.declare("things", "api", options)
    (done,) = lake.drain()
    assert (done.rows, done.commits, done.error) == (7, 1, "")
    assert ids(lake) == [1, 2, 3, 4, 5, 6, 7]
    assert lake.drain()[0].commits == 0  # the same once more


@pytest.mark.parametrize("kind", PAGINGS)
def test_a_crash_goes_on_behind_the_last_page_that_is_in(
    lake: Ingests, api: Api, kind: str
) -> None:
    """Pages are committed one by one; the server fails in the middle of the sweep."""
    good, paging = PAGINGS[kind]
    options = {"url": api.url, "records": "data.items", "paging": paging, "key": ["id"]}
    lake.declare("things", "api", options, rows=1)
    count = 0

    def broken(asked: Asked) -> Any:
        nonlocal count
        count += 1
        return good(asked) if count < 3 else (400, {"error": "not now"}, {})

    api.answer = broken
    (done,) = lake.drain()
    assert (done.rows, done.commits) == (6, 2)
    assert 'answered 400: {"error": "not now"}' in done.error
    api.answer = good
    api.asked.clear()
    lake.drain()
    assert ids(lake) == [1, 2, 3, 4, 5, 6, 7]
    pages = 2 if kind == "page" else 1  # who does not know the size asks until there is nothing
    assert len(api.asked) == pages


def test_a_sweep_replaces_the_table_when_something_changed(lake: Ingests, api: Api) -> None:
    api.answer = lambda asked: things(1, 3)
    lake.declare("things", "api", {"url": api.url})
    lake.drain()
    api.answer = lambda asked: things(2, 4)
    (done,) = lake.drain()
    assert (done.commits, ids(lake)) == (1, [2, 3, 4])
    api.answer = lambda asked: []
    lake.drain()
    assert ids(lake) == []


def test_a_sweep_that_breaks_off_replaces_nothing(lake: Ingests, api: Api) -> None:
    api.answer, paging = PAGINGS["cursor"]
    options = {"url": api.url, "records": "data.items", "paging": paging}
    lake.declare("things", "api", options)
    lake.drain()

    def broken(asked: Asked) -> Any:
        return (404, {}, {}) if asked.get("after") == "3" else by_cursor(asked)

    api.answer = broken
    (done,) = lake.drain()
    assert "answered 404" in done.error
    assert ids(lake) == [1, 2, 3, 4, 5, 6, 7]


class Changing:
    """Records with a time of their last change, asked for from a time on, that time included."""

    def __init__(self, *pairs: tuple[int, str]) -> None:
        self.pairs = list(pairs)

    def __call__(self, asked: Asked) -> Any:
        since = asked.get("since", "")
        return [{"id": one, "at": when} for one, when in self.pairs if when >= since]


SINCE = {"param": "since", "from": "at"}


def test_only_what_is_new_and_each_once(lake: Ingests, api: Api) -> None:
    api.answer = source = Changing((1, "2026-01-01"), (2, "2026-01-02"))
    lake.declare("things", "api", {"url": api.url, "since": SINCE})
    lake.drain()
    source.pairs += [(3, "2026-01-02"), (4, "2026-01-03")]
    lake.drain()
    source.pairs += [(5, "2026-01-03")]
    lake.drain()
    assert lake.drain()[0].commits == 0
    assert [asked.get("since") for asked in api.asked] == [
        None,
        "2026-01-02",
        "2026-01-03",
        "2026-01-03",
    ]
    assert ids(lake) == [1, 2, 3, 4, 5]


def test_since_with_a_key_and_a_start(lake: Ingests, api: Api) -> None:
    api.answer = source = Changing((1, "2025-01-01"), (2, "2026-01-02"))
    since = {**SINCE, "start": "2026-01-01"}
    lake.declare("things", "api", {"url": api.url, "since": since, "key": ["id"]})
    lake.drain()
    source.pairs += [(2, "2026-01-05"), (3, "2026-01-06")]
    lake.drain()
    found = {row["id"]: row["at"] for row in lake.rows("things")}
    assert found == {2: "2026-01-05", 3: "2026-01-06"}


def test_since_by_a_field_that_is_not_there(lake: Ingests, api: Api) -> None:
    api.answer = lambda asked: [{"id": 1, "updated_at": "x"}]
    since = {"param": "since", "from": "update_at"}
    lake.declare("things", "api", {"url": api.url, "since": since})
    (done,) = lake.drain()
    assert 'has no "update_at", which since goes by.' in done.error
    assert "It has: id, updated_at." in done.error


def test_a_list_that_only_grows(lake: Ingests, api: Api) -> None:
    api.answer = lambda asked: things(1, grown)[int(asked["offset"]) :][:3]
    options = {"url": api.url, "changes": "append", "paging": {"offset": {"limit": 3}}}
    lake.declare("things", "api", options)
    for grown in (4, 4, 5, 11):
        lake.drain()
        assert ids(lake) == list(range(1, grown + 1))


def test_what_passes_is_asked_again(lake: Ingests, api: Api) -> None:
    replies: list[Any] = [(429, b"", {"Retry-After": "0"}), (500, b"", {}), (503, b"", {})]
    api.answer = lambda asked: replies.pop(0) if replies else things(1, 2)
    lake.declare("things", "api", {"url": api.url})
    (done,) = lake.drain()
    assert (done.rows, done.error) == (2, "")
    assert len(api.asked) == 4


def test_what_does_not_pass_is_said_and_tried_later(lake: Ingests, api: Api) -> None:
    api.answer = lambda asked: (503, b"", {})
    lake.declare("things", "api", {"url": api.url, "every": 0.1})
    lake.start()
    flow = until(lambda: (one := lake.flow("things")).state is FlowState.FAILED and one)
    assert flow.reason == f"{api.url}: it answered 503. It is tried again."
    api.answer = lambda asked: things(1, 1)
    until(lambda: ids(lake) == [1])


def test_a_server_that_asks_for_a_long_pause(lake: Ingests, api: Api) -> None:
    api.answer = lambda asked: (429, b"", {"Retry-After": "3600"})
    lake.declare("things", "api", {"url": api.url})
    (done,) = lake.drain()
    assert "It asks to wait 3600 seconds." in done.error
    assert len(api.asked) == 1


def test_a_server_that_is_not_there(lake: Ingests, api: Api) -> None:
    api.close()
    lake.declare("things", "api", {"url": api.url})
    (done,) = lake.drain()
    assert done.error.startswith(f"{api.url}: ")
    assert "tried again" in done.error


def test_answers_that_cannot_be_read(lake: Ingests, api: Api) -> None:
    lake.declare("things", "api", {"url": api.url, "records": "data.itmes", "most": 5_000})
    api.answer = lambda asked: (200, b"<html>sorry</html>", {})
    assert "did not answer with JSON, but with '<html>sorry" in lake.drain()[0].error
    api.answer = lambda asked: {"data": {"items": things(1, 2)}, "tags": [1]}
    error = lake.drain()[0].error
    assert 'there is no list at "data.itmes".' in error
    assert "Set records: data.items has 2; tags has 1." in error
    api.answer = lambda asked: {"message": "hello"}
    assert "The answer has: message." in lake.drain()[0].error
    api.answer = lambda asked: things(1, 1_000)
    assert "answers with more than 5,000 bytes." in lake.drain()[0].error
    assert lake.rows("things") == []


def test_pages_that_go_round_in_a_circle(lake: Ingests, api: Api) -> None:
    api.answer = lambda asked: {"items": things(1, 1), "next": "abc"}
    paging = {"cursor": {"param": "after", "from": "next"}}
    lake.declare("things", "api", {"url": api.url, "records": "items", "paging": paging})
    error = lake.drain()[0].error
    assert "goes round in a circle: cursor abc comes a second time. Look at paging." in error
    assert len(api.asked) == 2
    api.answer = lambda asked: things(1, 3)
    lake.declare("things", "api", {"url": api.url, "paging": {"page": {"param": "pg"}}})
    error = lake.drain()[0].error
    assert "page 2 is the same as the page before it." in error


def test_a_token_is_told_to_nobody(lake: Ingests, api: Api) -> None:
    other = Api()
    other.answer = lambda asked: (401, f"bad {asked['headers']}".encode(), {})
    lake.secrets = {"t": "very-secret", "k": "other-secret"}
    secrets = (("token", "t"), ("X-Api-Key", "k"))
    api.answer = lambda asked: (302, b"", {"Location": other.url})
    lake.declare("things", "api", {"url": api.url}, secrets=secrets)
    first = lake.drain()[0].error
    api.answer = lambda asked: (401, f"bad {asked['headers']}".encode(), {})
    second = lake.drain()[0].error
    other.close()
    sent = api.asked[0]["headers"]
    assert (sent["Authorization"], sent["X-Api-Key"]) == ("Bearer very-secret", "other-secret")
    assert not {"Authorization", "X-Api-Key"} & set(other.asked[0]["headers"])
    for error in (first, second):
        assert "answered 401" in error
        assert "secret that token names" in error
        assert "very-secret" not in error
        assert "other-secret" not in error


def test_a_token_where_what_is_told_ends(lake: Ingests, api: Api) -> None:
    lake.secrets = {"t": "very-secret"}
    lake.declare("things", "api", {"url": api.url}, secrets=(("token", "t"),))
    for status, most in ((401, 200), (200, 60)):
        reply: Reply = (status, b"x" * (most - 4) + b"very-secret and so on", {})
        api.answer = lambda asked, reply=reply: reply  # type: ignore[misc]
        error = lake.drain()[0].error
        assert "xxxx… an" in error and "very" not in error


def test_pages_of_a_list_that_are_asked_for_again(lake: Ingests, api: Api) -> None:
    """By one that runs on: the last page is the first of the next sweep, and no circle."""
    grown = 4
    api.answer = lambda asked: things(1, grown)[int(asked["offset"]) :][:3]
    options = {"url": api.url, "changes": "append", "paging": {"offset": {"limit": 3}}}
    lake.declare("things", "api", {**options, "every": 0.05})
    lake.start()
    until(lambda: ids(lake) == [1, 2, 3, 4])
    asked = len(api.asked)
    until(lambda: len(api.asked) > asked + 2)
    assert lake.flow("things").reason == ""
    grown = 8
    until(lambda: ids(lake) == list(range(1, 9)))


def test_marks_of_the_newest_value_only(lake: Ingests, api: Api) -> None:
    api.answer = source = Changing(*((n, "2026-01-01") for n in range(5)))
    lake.declare("things", "api", {"url": api.url, "since": SINCE})
    lake.drain()
    assert len(lake.flow("things").position["seen"]) == 5
    for day in ("2026-01-02", "2026-01-03"):
        source.pairs += [(9, day)]
        lake.drain()
        assert len(lake.flow("things").position["seen"]) == 1


def test_gzip_post_headers_and_redirects(lake: Ingests, api: Api) -> None:
    def answer(asked: Asked) -> Any:
        if asked["path"] == "/v1/things":
            return 307, b"", {"Location": "/v2/things"}
        page = asked["body"]["page"]
        data = gzip.compress(json.dumps(things(page, page) if page < 3 else []).encode())
        return 200, data, {"Content-Encoding": "gzip"}

    api.answer = answer
    options = {
        "url": api.url,
        "method": "POST",
        "body": {"query": "all"},
        "headers": {"X-Version": "3"},
        "paging": {"page": {}},
    }
    lake.declare("things", "api", options)
    assert lake.drain()[0].rows == 2
    last = api.asked[-1]
    assert last["body"] == {"query": "all", "page": 3}
    assert last["headers"]["X-Version"] == "3"


def test_an_address_that_is_not_of_http_is_not_asked(lake: Ingests, api: Api) -> None:
    api.answer = lambda asked: {"items": things(1, 1), "next": "file:///etc/passwd"}
    options = {"url": api.url, "records": "items", "paging": {"next": "next"}}
    lake.declare("things", "api", options)
    assert "file:/etc/passwd is no address of HTTP." in lake.drain()[0].error


def test_not_more_often_than_it_may(lake: Ingests, api: Api) -> None:
    api.answer, paging = PAGINGS["cursor"]
    waits: list[float] = []
    options = {"url": api.url, "records": "data.items", "paging": paging, "rate": 50.0}
    lake.declare("things", "api", options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "trunkline.connect.web.Web._wait", lambda self, seconds: waits.append(seconds)
        )
        lake.drain()
    assert waits
    assert all(0 < wait <= 1 / 50 for wait in waits)


def test_records_that_are_no_objects_are_set_apart(lake: Ingests, api: Api) -> None:
    api.answer = lambda asked: [{"id": 1}, "what", {"id": 2}]
    lake.declare("things", "api", {"url": api.url})
    (done,) = lake.drain()
    assert (done.rows, done.malformed) == (2, 1)
