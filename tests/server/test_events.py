"""Events: told as they happen, resumed without loss or repeat, for those who may see them."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import httpx2
import pytest
import uvicorn

import trunkline as tl
from tests.jobs.graphs import Graph
from tests.served import served
from trunkline.engine.session import Session
from trunkline.jobs import worker
from trunkline.model.commits import RepoName
from trunkline.model.events import PROGRESS, Event
from trunkline.sdk.lake import Lake
from trunkline.sdk.remote.lake import connect
from trunkline.sdk.wire.values import decode
from trunkline.server import hub as hubs
from trunkline.server.app import create_app
from trunkline.server.hub import Hub
from trunkline.server.routes import events as routes
from trunkline.server.service import Service
from trunkline.storage.catalog import events

ORDERS = RepoName("default", "orders")


def emit(lake: Lake, kind: str, n: int = 0, repo: RepoName = ORDERS) -> int:
    """From elsewhere: no bell is rung."""
    with lake._core.database.write() as session:
        return events.emit(session, kind, repo, {"n": n})


@contextmanager
def listening(
    http: httpx2.Client, last: int | None = None, **params: str | int
) -> Iterator[Iterator[tuple[str, Event]]]:
    """The events of a connection that is known to listen, each with its id."""
    headers = {"Last-Event-ID": str(last)} if last is not None else {}
    with http.stream("GET", "/api/v1/events", params=params, headers=headers) as answer:
        assert answer.status_code == 200
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        assert "ETag" not in answer.headers
        lines = answer.iter_lines()
        assert next(lines).startswith(": listening after ")
        yield _parsed(lines)


def _parsed(lines: Iterator[str]) -> Iterator[tuple[str, Event]]:
    at = ""
    for line in lines:
        if line.startswith("id: "):
            at = line[4:]
        elif line.startswith("data: "):
            yield at, decode(Event, line[6:].encode())
            at = ""


def test_what_happens_is_told(tmp_path: Path) -> None:
    with tl.init(tmp_path) as lake, served(lake) as url, httpx2.Client(base_url=url) as http:
        with listening(http) as told:
            lake.create_repo("orders")
            with lake.commit("orders@main") as commit:
                commit.put("/a", b"1")
            found = [event for _, event in islice(told, 2)]
        assert [(one.kind, one.repo) for one in found] == [("repo", ORDERS), ("commit", ORDERS)]
        assert found[1].facts["branch"] == "main"
        assert found == list(lake.events())


def test_resuming_neither_loses_nor_repeats(tmp_path: Path) -> None:
    with tl.init(tmp_path) as lake, served(lake) as url, httpx2.Client(base_url=url) as http:
        start = emit(lake, "commit")
        stop = threading.Event()
        made: list[int] = []

        def write() -> None:
            while not stop.is_set() and len(made) < 2000:
                made.append(emit(lake, "commit", len(made)))

        writer = threading.Thread(target=write)
        writer.start()
        seen: list[int] = []
        last = start
        while len(seen) < 300:
            # Each connection takes some and breaks.
            with listening(http, last) as told:
                for at, event in islice(told, 37):
                    seen.append(event.position)
                    last = int(at)
        stop.set()
        writer.join()
        assert seen == made[: len(seen)]


def test_since_and_the_filters(tmp_path: Path) -> None:
    other = RepoName("shop", "orders")
    with tl.init(tmp_path) as lake, served(lake) as url, httpx2.Client(base_url=url) as http:
        first = emit(lake, "commit", 1)
        emit(lake, "job", 2)
        emit(lake, "commit", 3, other)
        emit(lake, "branch", 4, RepoName("shop", "x"))

        def heard(n: int, **params: str | int) -> list[int]:
            with listening(http, None, **params) as told:
                return [event.facts["n"] for _, event in islice(told, n)]

        assert heard(4, since=0) == [1, 2, 3, 4]
        assert heard(3, since=first) == [2, 3, 4]
        assert heard(2, since=0, kinds="job,branch") == [2, 4]
        assert heard(2, since=0, project="shop") == [3, 4]
        assert heard(2, since=0, repo="orders", kinds="commit") == [1, 3]
        assert http.get("/api/v1/events", headers={"Last-Event-ID": "x"}).status_code == 400


def test_a_position_that_is_none_yet_begins_with_what_is_new(tmp_path: Path) -> None:
    with tl.init(tmp_path) as lake, served(lake) as url, httpx2.Client(base_url=url) as http:
        emit(lake, "commit", 1)
        with listening(http, 10_000) as told:
            emit(lake, "commit", 2)
            assert next(told)[1].facts == {"n": 2}


def test_progress_has_no_place_to_resume_from(tmp_path: Path) -> None:
    with tl.init(tmp_path) as lake, served(lake) as url, httpx2.Client(base_url=url) as http:
        with listening(http) as told:
            emit(lake, PROGRESS)
            emit(lake, "commit")
            assert [at != "" for at, _ in islice(told, 2)] == [False, True]


def test_history_comes_in_pages(tmp_path: Path) -> None:
    with tl.init(tmp_path) as lake, served(lake) as url:
        positions = [emit(lake, "commit" if n % 2 else "job", n) for n in range(25)]
        with httpx2.Client(base_url=url) as http:
            page = http.get("/api/v1/events/history", params={"limit": 10}).json()
            assert [one["position"] for one in page["items"]] == positions[:10]
            rest = {"limit": 100, "cursor": page["next"]}
            page = http.get("/api/v1/events/history", params=rest).json()
            assert [one["position"] for one in page["items"]] == positions[10:]
            assert page["next"] is None
        with connect(url, "", lake._settings) as remote:
            assert list(remote.events()) == list(lake.events())
            some = list(remote.events(positions[3], kinds=["job"]))
            assert some == list(lake.events(positions[3], ["job"]))
            assert some[0].position == positions[4]


def test_both_lakes_follow(tmp_path: Path) -> None:
    with tl.init(tmp_path) as lake, served(lake) as url:
        first = emit(lake, "commit", 1)
        with connect(url, "", lake._settings) as remote:
            for one in (lake, remote):
                told = one.events(first - 1, follow=True)
                assert next(told).position == first
                new = emit(lake, "job", 2)
                assert next(told).position == new
                first = emit(lake, "commit", 1)


@contextmanager
def served_at(lake: Lake, port: int) -> Iterator[None]:
    """As `served`, on a given port; open connections are dropped at its end."""
    service = Service(lake, lake._settings)
    config = uvicorn.Config(create_app(service), port=port, log_level="warning", lifespan="on")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        threading.Event().wait(0.005)
    try:
        yield
    finally:
        service.stop()
        server.should_exit = True
        thread.join()


def test_a_remote_follower_outlives_its_server(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with tl.init(tmp_path) as lake:
        with connect(f"http://127.0.0.1:{port}", "", lake._settings) as remote:
            told = remote.events(0, follow=True)
            with served_at(lake, port):
                emit(lake, "commit", 1)
                assert next(told).facts == {"n": 1}
            emit(lake, "commit", 2)
            with served_at(lake, port):
                assert next(told).facts == {"n": 2}
                emit(lake, "commit", 3)
                assert next(told).facts == {"n": 3}
                told.close()  # type: ignore[attr-defined]


def test_a_listener_sees_what_it_may(tmp_path: Path) -> None:
    gone, mine = RepoName("shop", "gone"), RepoName("shop", "orders")
    with tl.init(tmp_path) as lake:
        lake.create_project("shop")
        lake.create_user("ann", roles={"shop": "reader"})
        token = lake.create_token(owner="ann").token
        start = lake._newest_event()
        with served(lake, authenticated=True) as url:
            keys = {"Authorization": f"Bearer {token}"}
            assert httpx2.get(f"{url}/api/v1/events").status_code == 401
            with httpx2.Client(base_url=url, headers=keys) as http:
                for n, repo in enumerate((ORDERS, gone, ORDERS, mine)):
                    emit(lake, "commit", n, repo)
                page = http.get("/api/v1/events/history", params={"since": start}).json()
                assert [one["facts"]["n"] for one in page["items"]] == [1, 3]
                with listening(http, start) as told:
                    assert [one.facts["n"] for _, one in islice(told, 2)] == [1, 3]
                    emit(lake, "commit", 4)
                    emit(lake, "commit", 5, mine)
                    assert next(told)[1].facts["n"] == 5


def test_who_may_no_longer_listen_is_let_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routes, "KNOWN_SECONDS", 0.05)
    with tl.init(tmp_path) as lake:
        lake.create_user("ann", roles={"lake": "reader"})
        token = lake.create_token(owner="ann")
        with served(lake, authenticated=True) as url:
            keys = {"Authorization": f"Bearer {token.token}"}
            with httpx2.Client(base_url=url, headers=keys) as http, listening(http) as told:
                emit(lake, "commit", 1)
                assert next(told)[1].facts["n"] == 1
                lake.disable_user("ann")
                assert list(told) == []


@pytest.mark.parametrize("act", ["token", "user", "role", "delete"])
def test_what_is_revoked_hears_nothing_more(tmp_path: Path, act: str) -> None:
    """At once: nothing that happens after it is told, though the listener may idle for long."""
    with tl.init(tmp_path) as lake:
        lake.create_repo("orders")
        lake.create_user("ann", roles={"lake": "reader"})
        token = lake.create_token(owner="ann")
        with served(lake, authenticated=True) as url:
            keys = {"Authorization": f"Bearer {token.token}"}
            with httpx2.Client(base_url=url, headers=keys) as http, listening(http) as told:
                emit(lake, "commit", 1)
                assert next(told)[1].facts["n"] == 1
                if act == "token":
                    lake.revoke_token(token.info.id)
                elif act == "user":
                    lake.disable_user("ann")
                elif act == "role":
                    lake.revoke_grant("ann", "lake")
                else:
                    lake.delete_user("ann")
                emit(lake, "commit", 2)
                assert list(told) == []


def test_a_download_ends_when_its_reader_may_no_longer_read(tmp_path: Path) -> None:
    with tl.init(tmp_path) as lake:
        lake.create_repo("orders")
        large = tmp_path / "large"
        with large.open("wb") as file:
            file.truncate(96 << 20)
        lake.put("orders@main:/large", large)
        lake.create_user("ann", roles={"default/orders": "writer"})
        token = lake.create_token(owner="ann").token
        with served(lake, authenticated=True) as url:
            place = f"{url}/api/v1/repos/default/orders/content?at=main&path=/large"
            keys = {"Authorization": f"Bearer {token}"}
            with httpx2.stream("GET", place, headers=keys, timeout=60) as answer:
                pieces = answer.iter_raw()
                next(pieces)
                lake.grant("ann", "maintainer", "default/orders")  # more is no reason
                next(pieces)
                lake.revoke_grant("ann", "default/orders")
                with pytest.raises(httpx2.RemoteProtocolError):
                    for _ in pieces:
                        pass


def test_a_client_that_takes_nothing_is_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routes, "SEND_SECONDS", 0.2)
    with tl.init(tmp_path) as lake, served(lake) as url:
        host, port = url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as slow:
            slow.sendall(f"GET /api/v1/events HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
            assert b"200 OK" in slow.recv(1000)
            for _ in range(20):
                with lake._core.database.write(durable=False) as session:
                    for _ in range(100):
                        events.emit(session, "commit", ORDERS, {"text": "x" * 10_000})
            with httpx2.Client(base_url=url) as http:
                while "trunkline_event_listeners 0.0" not in http.get("/metrics").text:
                    threading.Event().wait(0.02)


def test_two_hundred_listeners_are_one_reader(tmp_path: Path) -> None:
    async def listen(lake: Lake, hub: Hub) -> None:
        all_of_them = [hub.listen() for _ in range(200)]
        reads = hub.reads
        position = await asyncio.to_thread(emit, lake, "commit")
        for one in all_of_them:
            while not (new := await one.next(10)):
                assert new is not None
            assert [told.event.position for told in new] == [position]
        assert hub.reads - reads < 10
        for one in all_of_them:
            hub.leave(one)

    with tl.init(tmp_path) as lake:
        hub = Hub(lake._core, 3600)
        hub.start()
        asyncio.run(listen(lake, hub))
        assert hub.listeners == 0
        hub.stop()


def test_who_is_too_slow_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hubs, "MOST_WAITING", 5)

    async def listen(lake: Lake, hub: Hub) -> None:
        slow, quick = hub.listen(), hub.listen()
        for n in range(6):
            await asyncio.to_thread(emit, lake, "commit", n)
            while not await quick.next(10):
                pass
        while not slow._over:
            await asyncio.sleep(0.01)
        assert await slow.next(10) is None

    with tl.init(tmp_path) as lake:
        hub = Hub(lake._core, 3600)
        hub.start()
        asyncio.run(listen(lake, hub))
        hub.stop()


def test_a_stopping_server_lets_listeners_go(tmp_path: Path) -> None:
    async def listen(hub: Hub) -> None:
        one = hub.listen()
        await asyncio.to_thread(hub.stop)
        assert await one.next(10) is None
        assert await hub.listen().next(10) is None

    with tl.init(tmp_path) as lake:
        hub = Hub(lake._core, 3600)
        hub.start()
        asyncio.run(listen(hub))


def test_old_events_go_but_never_the_newest(tmp_path: Path) -> None:
    with tl.init(tmp_path) as lake:
        for n in range(3):
            emit(lake, "commit", n)
        hour = 3600 * 1_000_000
        progress = emit(lake, PROGRESS)
        with lake._core.database.write() as session:
            session.execute("UPDATE events SET at = at - :hour", {"hour": 2 * hour})
            assert events.prune(session, 24 * hour) == 0
        last = emit(lake, "commit", 9)
        with lake._core.database.write() as session:
            assert events.prune(session, 24 * hour) == 1
            events.remove(session, last)
            assert events.prune(session, 0) == 3
            assert events.last(session) == last
        assert progress < last < emit(lake, "commit")


@pytest.mark.slow
def test_a_running_job_tells_how_far_it_is(
    spark: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "PROGRESS_SECONDS", 0.0)
    with tl.init(tmp_path / "lake") as lake:
        lake.create_repo("orders")
        graph = Graph(lake, tmp_path / "code")
        graph.apply("slow", "orders", ["sh", "-c", "sleep 1; cp pfs/orders/* pfs/out/"])
        graph.put("orders", a="1", b="2", c="3")
        told = lake.events(follow=True)
        start = threading.Thread(target=graph.run)
        start.start()
        seen = []
        for event in told:
            if event.repo.repo == "slow":
                seen.append(event)
            if event.facts.get("state") == "success":
                break
        start.join()
        progress = [one.facts for one in seen if one.kind == PROGRESS]
        assert progress
        assert progress[-1]["total"] == 3
        assert "running" in [one.facts.get("state") for one in seen]
        # When it is over, nobody needs to know how it went on.
        assert not [one for one in lake.events() if one.kind == PROGRESS]
