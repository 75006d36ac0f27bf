"""Idempotency keys: a change that is sent twice happens once."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest
from anyio.to_thread import run_sync

import trunkline as tl
from tests.postgres import postgres
from tests.served import served
from trunkline.errors import Conflict, Unavailable
from trunkline.sdk.remote.lake import connect
from trunkline.sdk.wire.values import IDEMPOTENCY
from trunkline.server import hub, idempotency
from trunkline.server.idempotency import REPLAYED
from trunkline.server.service import Service
from trunkline.storage.catalog import requests

REPOS = "/api/v1/projects/default/repos"


def test_the_first_answer_is_given_again(tmp_path: Path) -> None:
    with tl.init(tmp_path) as lake, served(lake) as url, httpx2.Client(base_url=url) as http:
        key = {IDEMPOTENCY: "k1"}
        first = http.post(REPOS, json={"name": "orders"}, headers=key)
        assert first.status_code == 201
        again = http.post(REPOS, json={"name": "orders"}, headers=key)
        assert (again.status_code, again.json()) == (201, first.json())
        assert again.headers[REPLAYED] == "true"
        assert REPLAYED not in first.headers
        other = http.post(REPOS, json={"name": "orders"}, headers={IDEMPOTENCY: "k2"})
        assert other.status_code == 409
        # A refusal is an answer too.
        assert http.post(REPOS, json={"name": "orders"}, headers={IDEMPOTENCY: "k2"}).headers[
            REPLAYED
        ]


def test_a_deletion_without_body_is_answered_again(tmp_path: Path) -> None:
    with tl.init(tmp_path) as lake, served(lake) as url, httpx2.Client(base_url=url) as http:
        lake.create_repo("orders")
        for replayed in (None, "true"):
            gone = http.delete("/api/v1/repos/default/orders", headers={IDEMPOTENCY: "d"})
            assert (gone.status_code, gone.content) == (204, b"")
            assert gone.headers.get(REPLAYED) == replayed


def test_another_body_under_the_same_key_is_refused(tmp_path: Path) -> None:
    with tl.init(tmp_path) as lake, served(lake) as url, httpx2.Client(base_url=url) as http:
        key = {IDEMPOTENCY: "k1"}
        http.post(REPOS, json={"name": "orders"}, headers=key)
        other = http.post(REPOS, json={"name": "customers"}, headers=key)
        assert other.status_code == 422
        assert other.json()["error"]["code"] == "usage"
        assert [repo.name.repo for repo in lake.repos()] == ["orders"]
        bad = http.post(REPOS, json={"name": "x"}, headers={IDEMPOTENCY: "with space"})
        assert bad.status_code == 400


def test_a_key_in_flight_is_to_be_tried_again(tmp_path: Path) -> None:
    with tl.init(tmp_path) as lake, served(lake) as url, httpx2.Client(base_url=url) as http:
        key = {IDEMPOTENCY: "k1"}
        held, go = threading.Event(), threading.Event()

        def hold() -> None:
            # While another writes, the first request cannot end.
            with lake._core.database.write():
                held.set()
                go.wait(30)

        with ThreadPoolExecutor() as pool:
            holding = pool.submit(hold)
            held.wait(30)
            sent = [
                pool.submit(http.post, REPOS, json={"name": "orders"}, headers=key)
                for _ in range(2)
            ]
            while not any(one.done() for one in sent):
                threading.Event().wait(0.01)
            go.set()
            holding.result()
            answers = sorted((one.result() for one in sent), key=lambda one: one.status_code)
        assert [one.status_code for one in answers] == [201, 409]
        assert answers[1].headers["Retry-After"] == "1"


def test_remote_lakes_send_a_key_with_every_change(tmp_path: Path) -> None:
    with tl.init(tmp_path) as lake, served(lake) as url:
        with connect(url, "", lake._settings) as remote:
            remote.create_repo("orders")
            with pytest.raises(tl.TrunklineError):
                remote.create_repo("orders")
            remote.delete_repo("orders")
        with lake._core.database.read() as session:
            kept = session.all("SELECT status, key, digest, body FROM requests ORDER BY at")
        assert [row["status"] for row in kept] == [201, 409, 204]


def test_what_a_dead_server_began_is_done_again(tmp_path: Path) -> None:
    with tl.init(tmp_path) as lake, served(lake) as url, httpx2.Client(base_url=url) as http:
        first = http.post(REPOS, json={"name": "orders"}, headers={IDEMPOTENCY: "k1"})
        with lake._core.database.write() as session:
            session.execute("UPDATE requests SET status = NULL, body = NULL")
        again = http.post(REPOS, json={"name": "orders"}, headers={IDEMPOTENCY: "k1"})
        # It finds what the first one made.
        assert (first.status_code, again.status_code) == (201, 409)
        assert "Retry-After" not in again.headers


def test_keys_are_kept_for_a_day(tmp_path: Path) -> None:
    with tl.init(tmp_path) as lake:
        with lake._core.database.write() as session:
            assert requests.begin(session, "me", "old", "d") is None
            session.execute(
                "UPDATE requests SET at = at - :day", {"day": hub.KEEP_REQUESTS_MICROS + 1}
            )
            assert requests.begin(session, "me", "new", "d") is None
            assert requests.prune(session, hub.KEEP_REQUESTS_MICROS) == 1
            assert requests.begin(session, "me", "old", "d") is None


def test_a_body_that_is_no_json_passes_by(tmp_path: Path) -> None:
    with tl.init(tmp_path) as lake, served(lake) as url, httpx2.Client(base_url=url) as http:
        kind = {IDEMPOTENCY: "k", "Content-Type": "application/octet-stream"}
        http.post(REPOS, content=b"{}", headers=kind)
        with lake._core.database.read() as session:
            assert session.one("SELECT 1 AS x FROM requests") is None


def test_another_server_may_have_it_in_hand(tmp_path: Path) -> None:
    """On a shared catalog: for a minute and a half, then that server is taken for dead."""
    store = f"file://{tmp_path}/store"
    with tl.init(tmp_path, catalog=postgres().catalog(), store=store) as lake:
        with served(lake) as url, httpx2.Client(base_url=url) as http:
            key, body = {IDEMPOTENCY: "k1"}, {"name": "orders"}
            assert http.post(REPOS, json=body, headers=key).status_code == 201
            lake.delete_repo("orders")
            with lake._core.database.write() as session:
                session.execute("UPDATE requests SET status = NULL")
            held = http.post(REPOS, json=body, headers=key)
            assert (held.status_code, held.headers["Retry-After"]) == (409, "1")
            with lake._core.database.write() as session:
                session.execute("UPDATE requests SET at = at - 91000000")
            assert http.post(REPOS, json=body, headers=key).status_code == 201
            assert http.post(REPOS, json=body, headers=key).headers[REPLAYED] == "true"


def test_who_had_it_in_hand_goes_on_when_the_database_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database went when the request ended: that it did could not be written down."""
    store = f"file://{tmp_path}/store"
    finish = requests.finish
    gone = iter([True])

    def finish_later(*args: object) -> None:
        if next(gone, False):
            raise Unavailable("The database does not answer.")
        finish(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(requests, "finish", finish_later)
    with tl.init(tmp_path, catalog=postgres().catalog(), store=store) as lake:
        with served(lake) as url, httpx2.Client(base_url=url) as http:
            key, body = {IDEMPOTENCY: "k1"}, {"name": "orders"}
            assert http.post(REPOS, json=body, headers=key).status_code == 201
            again = http.post(REPOS, json=body, headers=key)
            assert again.json()["error"]["code"] == "already_exists"  # it is done, once more
            assert http.post(REPOS, json=body, headers=key).headers[REPLAYED] == "true"


def test_answers_with_tokens_are_not_kept(tmp_path: Path) -> None:
    with tl.init(tmp_path) as lake:
        lake.create_user("root", roles={"lake": "admin"})
        first = lake.create_token(owner="root").token
        keys = {"Authorization": f"Bearer {first}", IDEMPOTENCY: "k"}
        with served(lake, authenticated=True) as url, httpx2.Client(base_url=url) as http:
            made = [http.post("/api/v1/tokens", json={"note": "n"}, headers=keys) for _ in "ab"]
        assert [one.status_code for one in made] == [201, 201]
        assert made[0].json()["token"] != made[1].json()["token"]
        with lake._core.database.read() as session:
            assert session.one("SELECT 1 AS x FROM requests") is None


def test_a_request_that_takes_long_stays_in_hand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a shared catalog: however long it takes, no other server begins it too."""
    monkeypatch.setattr(idempotency, "BEAT_SECONDS", 0.01)
    store = f"file://{tmp_path}/store"
    with tl.init(tmp_path, catalog=postgres().catalog(), store=store) as lake:
        service = Service(lake, lake._settings)
        ours, others = (idempotency._Once(service, "ada", "k", "d") for _ in range(2))
        assert ours.begin() is None

        async def long() -> None:
            beating = asyncio.ensure_future(ours.beat())
            with lake._core.database.write() as session:
                session.execute("UPDATE requests SET at = 0")
            while not await run_sync(is_fresh):
                await asyncio.sleep(0.01)
            beating.cancel()

        def is_fresh() -> bool:
            with lake._core.database.read() as session:
                return session.one("SELECT 1 AS x FROM requests WHERE at > 0") is not None

        asyncio.run(asyncio.wait_for(long(), 30))
        with pytest.raises(Conflict):
            others.begin()


def test_rows_of_queries_are_not_kept(tmp_path: Path) -> None:
    with tl.init(tmp_path) as lake, served(lake) as url, httpx2.Client(base_url=url) as http:
        for _ in range(2):
            asked = {"text": "SELECT 'ERASEME' AS a"}
            found = http.post("/api/v1/sql/run", json=asked, headers={IDEMPOTENCY: "q"})
            assert found.json()["rows"] == [["ERASEME"]]
            assert REPLAYED not in found.headers


def test_what_was_answered_is_forgotten_when_something_is_erased(tmp_path: Path) -> None:
    with tl.init(tmp_path) as lake, served(lake) as url, httpx2.Client(base_url=url) as http:
        lake.create_repo("r")
        with lake.commit("r@main") as commit:
            commit.put("/p.csv", b"name\nERASEME\n")
        http.post(REPOS, json={"name": "ERASEME"}, headers={IDEMPOTENCY: "k"})
        lake.erase("r@main:/p.csv", "asked for")
        again = http.post(REPOS, json={"name": "ERASEME"}, headers={IDEMPOTENCY: "k"})
        assert REPLAYED not in again.headers
