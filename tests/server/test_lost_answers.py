"""What a client makes of answers that do not come, or say that nobody knows."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pyarrow as pa
import pytest

import trunkline as tl
from trunkline.errors import CommitUnknown, Precondition
from trunkline.sdk.remote.client import TRIES, Client
from trunkline.sdk.remote.lake import connect
from trunkline.sdk.wire.running import API_HEADER, API_VERSION


class Answers(BaseHTTPRequestHandler):
    """Answers each POST with the next of a list; hangs up where that is none."""

    told: list[tuple[int, dict[str, object]] | None]
    asked: int

    def do_GET(self) -> None:
        self._answer(200, {})

    def do_POST(self) -> None:
        type(self).asked += 1
        if self.headers["Transfer-Encoding"] == "chunked":
            while self.rfile.readline().strip() != b"0":
                continue
        answer = self.told.pop(0)
        if answer is not None:
            self._answer(*answer)

    def _answer(self, status: int, told: dict[str, object]) -> None:
        body = json.dumps(told).encode()
        self.send_response(status)
        self.send_header("Retry-After", "0.01")
        self.send_header(API_HEADER, str(API_VERSION))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        return


@contextmanager
def answering(*told: tuple[int, dict[str, object]] | None) -> Iterator[tuple[str, type[Answers]]]:
    made = type("Some", (Answers,), {"told": list(told), "asked": 0})
    server = HTTPServer(("127.0.0.1", 0), made)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", made
    finally:
        server.shutdown()
        server.server_close()


def error(code: str) -> dict[str, object]:
    return {"error": {"code": code, "message": "m", "hint": "h"}}


def test_what_may_have_happened_is_not_asked_for_again():
    with answering((503, error("commit_unknown"))) as (url, answers):
        client = Client(url)
        with pytest.raises(CommitUnknown):
            client.send("POST", "/repos/default/orders/table/update", {})
        assert answers.asked == 1
        client.close()


def test_what_is_in_hand_is_waited_for():
    """The first answer was lost: to give up while it is worked on would be not to know."""
    in_hand = [(409, error("conflict"))] * (TRIES * 2)
    with answering(None, *in_hand, (200, {"a": 1})) as (url, answers):
        client = Client(url)
        assert client.send("POST", "/merge", {}, kind=dict[str, int]) == {"a": 1}
        assert answers.asked == TRIES * 2 + 2
        client.close()


def test_rows_whose_answer_was_lost_may_be_written(tmp_path: Path):
    with answering(None) as (url, answers), tl.init(tmp_path) as lake:
        with connect(url, "", lake._settings) as remote:
            with pytest.raises(CommitUnknown) as told:
                remote.write_table("orders", pa.table({"a": [1]}), key="k1")
    assert "key='k1'" in told.value.hint
    assert answers.asked == 1


def test_a_client_that_was_closed_says_so() -> None:
    with answering() as (url, _):
        client = Client(url)
        assert client.get(dict, "/") == {}
        client.close()
        for ask in (lambda: client.get(dict, "/"), lambda: client.upload("PUT", "/", b"x")):
            with pytest.raises(Precondition, match="was closed") as caught:
                ask()
            assert "open the lake again" in caught.value.hint
