"""SQL of several people: each sees what they may read, and their own queries."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
import uvicorn
from fastapi import Request

import trunkline as tl
from tests.query.conftest import fill, parquet, put
from tests.spark import shared_session
from trunkline import Lake
from trunkline.errors import InvalidQuery, NotAllowed, NotFound, Unavailable
from trunkline.model.access import LAKE, Grant, Principal, Role
from trunkline.sdk.remote.lake import RemoteLake, connect
from trunkline.sdk.wire.values import adapter
from trunkline.server.app import create_app
from trunkline.server.queries.forwarding import PRINCIPAL
from trunkline.server.queries.keeper import keeper_of
from trunkline.server.service import Service

BOBS = (
    Grant("bob", "default/orders", Role.READER),
    Grant("bob", "default/bobs", Role.WRITER),
    Grant("bob", "default/people", Role.READER),
)
PEOPLE = {
    "ada": Principal("ada", "user", (Grant("ada", LAKE, Role.ADMIN),)),
    "bob": Principal("bob", "user", BOBS),
    "bobs-token": Principal("bob", "user", BOBS, BOBS[:1]),
    "cyd": Principal("cyd", "user", (Grant("cyd", "default", Role.READER),)),
    "dan": Principal("dan", "user", ()),
}
LONG = "SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE a.range * b.range % 7 = 3"


class Known(Service):
    """Believes everybody's name."""

    async def identify(self, request: Request) -> Principal | None:
        name = request.headers.get("authorization", "").removeprefix("Bearer ")
        return PEOPLE.get(name)


@contextmanager
def serving(service: Service, **options: object) -> Iterator[uvicorn.Server]:
    config = uvicorn.Config(create_app(service), log_level="warning", lifespan="on", **options)  # type: ignore[arg-type]
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the server did not start"
        time.sleep(0.005)
    try:
        yield server
    finally:
        server.should_exit = True
        thread.join()


def address(server: uvicorn.Server) -> str:
    return f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    with tl.init(tmp_path_factory.mktemp("lake")) as made:
        fill(made)
        for name in ("bobs", "secret"):
            made.create_repo(name)
        put(made, "secret@main", **{"a.parquet": parquet(code=["x"])})
        made.create_project("vault")
        made.create_repo("vault/gold")
        yield made


@pytest.fixture(scope="module")
def service(lake: Lake) -> Service:
    return Known(lake, lake._settings, authenticated=True)


@pytest.fixture(scope="module")
def url(service: Service) -> Iterator[str]:
    with serving(service, port=0) as server:
        yield address(server)


@pytest.fixture(scope="module")
def bob(lake: Lake, url: str) -> Iterator[RemoteLake]:
    with connect(url, "bob", lake._settings) as found:
        yield found


@pytest.fixture(scope="module")
def ada(lake: Lake, url: str) -> Iterator[RemoteLake]:
    with connect(url, "ada", lake._settings) as found:
        yield found


def http(url: str, name: str) -> httpx2.Client:
    headers = {"Authorization": f"Bearer {name}"}
    return httpx2.Client(base_url=url + "/api/v1", headers=headers, timeout=60, trust_env=False)


def failure(lake: RemoteLake, text: str, at: str | None = None) -> tuple[object, ...]:
    with pytest.raises(tl.TrunklineError) as caught:
        lake.sql(text, at=at)
    notes = [note.replace("secret", "sekret") for note in getattr(caught.value, "__notes__", ())]
    message = caught.value.message.replace("secret", "sekret")
    return type(caught.value), message, caught.value.hint, notes


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
@pytest.mark.parametrize("path", ["/sql", "/sql/run", "/sql/into"])
def test_who_has_no_role_asks_nothing(url: str, path: str, engine: str):
    with http(url, "dan") as client:
        asked = {"text": "SELECT 1", "engine": engine, "target": "bobs@main"}
        answer = client.post(path, json=asked)
        assert answer.status_code == 403
        assert answer.json()["error"]["message"] == "dan may not read anything here."
        assert client.get("/sql").json()["items"] == []


@pytest.mark.parametrize("text", ["SHOW TABLES", "FROM people", "FROM orders", "FROM nowhere"])
def test_a_limited_token_has_no_queries_of_its_owner(url: str, text: str):
    """What was asked without its limits may show what is beyond them; its own queries it has."""
    with http(url, "bob") as bob, http(url, "bobs-token") as token:
        asked = bob.post("/sql", json={"text": text}).json()["id"]
        assert token.get(f"/sql/{asked}").status_code == 404
        assert token.delete(f"/sql/{asked}").status_code == 404
        assert asked not in [one["id"] for one in token.get("/sql").json()["items"]]
        own = token.post("/sql", json={"text": "FROM orders"}).json()["id"]
        for one in (token, bob):
            assert one.get(f"/sql/{own}").status_code == 200
        assert bob.delete(f"/sql/{asked}").status_code == 204


def test_params_have_a_bound_and_go_when_their_query_has_ended(url: str, service: Service):
    with http(url, "bob") as bob:
        many = bob.post("/sql", json={"text": "SELECT 1", "params": {"n": [[]] * 100_000}})
        assert many.status_code == 413 and "join it" in many.json()["error"]["hint"]
        asked = {"text": "SELECT $n AS n", "params": {"n": "x" * 200_000}}
        found = bob.post("/sql", json=asked).json()
        assert found["state"] == "done"
        (kept,) = (one for one in keeper_of(service).of(PEOPLE["bob"]) if one.id == found["id"])
        assert kept.asked.params is None


class TestHiddenTables:
    @pytest.mark.parametrize(
        "text",
        [
            "FROM {0}",
            'FROM "{0}@main"',
            'FROM "default/{0}@main"',
            "FROM {0} AT 'main'",
            "FROM default.{0}",
            "SELECT * FROM orders o JOIN {0} s ON s.code = o.id",
            "DESCRIBE {0}",
            "SELECT (SELECT count(*) FROM {0})",
            "WITH x AS (FROM {0}) FROM x",
            "SUMMARIZE {0}",
            "FROM {0}.items",
        ],
    )
    def test_as_if_they_were_not_there(self, bob, text):
        assert failure(bob, text.format("secret")) == failure(bob, text.format("sekret"))

    def test_one_that_may_be_read(self, bob, lake):
        text = "FROM orders ORDER BY id"
        assert bob.sql(text).rows() == lake.sql(text).rows()

    def test_no_suggestions(self, bob, ada):
        with pytest.raises(NotFound, match='"secret"'):
            ada.sql("FROM secre")
        with pytest.raises(NotFound) as caught:
            bob.sql("FROM secre")
        assert "secret" not in str(caught.value) + caught.value.hint
        with pytest.raises(NotFound) as caught:
            bob.sql('FROM "secre@main"')
        assert "secret" not in str(caught.value)

    def test_hidden_projects(self, bob):
        with pytest.raises(NotFound, match='no project "vault"'):
            bob.sql('FROM "vault/gold@main"')

    def test_show_tables(self, bob, ada):
        assert {name for name, _ in bob.sql("SHOW TABLES")} == {"orders", "people"}
        assert {"secret", "orders"} <= {name for name, _ in ada.sql("SHOW TABLES")}

    def test_a_moment_of_a_hidden_repo(self, bob, lake):
        hidden = lake.sql("FROM secret").sources[0].commit.id
        same = failure(bob, "FROM orders", at=hidden)
        assert same[:2] == (NotFound, f'No commit has the id "{hidden}".')
        assert failure(bob, "FROM orders", at="secret@main") == failure(
            bob, "FROM orders", at="sekret@main"
        )

    def test_what_another_asked_before(self, bob, ada):
        assert ada.sql("SELECT code FROM secret, orders LIMIT 1").rows() == [("x",)]
        for text in ("FROM information_schema.tables", "FROM pg_class", "FROM tl_0.secret"):
            with pytest.raises(NotFound):
                bob.sql(text)

    def test_plans_do_not_tell_where_files_are(self, bob, ada):
        assert ".parquet" not in bob.sql("EXPLAIN FROM orders").rows()[0][1]
        assert ".parquet" in ada.sql("EXPLAIN ANALYZE FROM orders").rows()[0][1]
        for text in ("EXPLAIN ANALYZE FROM orders", "EXPLAIN (ANALYZE) FROM orders"):
            with pytest.raises((NotAllowed, InvalidQuery)):
                bob.sql(text)

    def test_lists_of_tables(self, bob, ada):
        assert [info.name for info in bob.tables()] == ["orders@main", "people@main"]
        assert "secret@main" in [info.name for info in ada.tables()]

    def test_tables(self, bob):
        for read in (
            lambda: bob.table("secret"),
            lambda: bob.profile("secret"),
            lambda: bob.table_diff("orders", "secret"),
            lambda: bob.table_changes("secret"),
            lambda: bob.write_table("secret", [{"n": 1}]),
            lambda: bob.sql("FROM orders").into("secret"),
        ):
            with pytest.raises(NotFound, match='no repo "secret"'):
                read()

    def test_reading_is_not_writing(self, bob, lake):
        head = lake.sql("FROM orders").sources[0].commit
        for write in (
            lambda: bob.write_table("orders", [{"n": 1}]),
            lambda: bob.merge_table("orders", [{"id": 1}], on="id"),
            lambda: bob.delete_from("orders", "true"),
            lambda: bob.update_table("orders", {"id": "1"}),
            lambda: bob.compact("orders"),
            lambda: bob.set_table("orders", key=["id"]),
            lambda: bob.sql("FROM orders").into("orders"),
        ):
            with pytest.raises(NotAllowed, match="bob may not"):
                write()
        assert lake.sql("FROM orders").sources[0].commit == head

    def test_writing_in_ones_name(self, bob):
        assert bob.sql("FROM orders").into("bobs").author == "bob"
        assert bob.write_table("bobs", [{"n": 1}], mode="overwrite").author == "bob"


class TestOwnQueries:
    def test_others_do_not_see_them(self, url):
        with http(url, "bob") as bob, http(url, "cyd") as cyd, http(url, "ada") as ada:
            asked = bob.post("/sql", json={"text": "SELECT 'of bob'"}).json()
            place = f"/sql/{asked['id']}"
            for other in (cyd, ada):
                for path in (place, f"{place}/rows", f"{place}/arrow"):
                    assert other.get(path).status_code == 404
                assert other.delete(place).status_code == 404
                said = other.get(place).json()["error"]["message"]
                assert said == f'There is no query "{asked["id"]}".'
                assert asked["id"] not in other.get("/sql").text
            assert asked["id"] in bob.get("/sql").text
            assert bob.get(f"{place}/rows").json()["rows"] == [["of bob"]]

    def test_nobody(self, url):
        with http(url, "nobody") as found:
            assert found.post("/sql", json={"text": "SELECT 1"}).status_code == 401

    def test_one_does_not_block_others(self, url):
        with http(url, "bob") as bob, http(url, "cyd") as cyd:
            asked = [bob.post("/sql", json={"text": LONG, "wait": 0}).json() for _ in range(4)]
            try:
                found = cyd.post("/sql", json={"text": "SELECT 1", "wait": 25}).json()
                assert found["state"] == "done"
                states = [bob.get(f"/sql/{one['id']}").json()["state"] for one in asked]
                assert states.count("running") == 2
                assert states.count("queued") == 2
            finally:
                for one in reversed(asked):
                    bob.delete(f"/sql/{one['id']}")
            for one in asked:
                ended = bob.get(f"/sql/{one['id']}", params={"wait": 25}).json()
                assert ended["state"] == "cancelled"


class TestSpark:
    def test_here(self, lake):
        shared_session()
        service = Known(lake, lake._settings, authenticated=True)
        service.engine = "here"
        with serving(service, port=0) as server:
            with connect(address(server), "bob", lake._settings) as bob:
                _spark_is_the_same(lake, bob)

    def test_through_a_socket(self, lake, tmp_path):
        shared_session()
        worker = Service(lake, lake._settings, authenticated=True)
        worker.engine = "here"
        front = Known(lake, lake._settings, authenticated=True)
        front.engine = tmp_path / "w.sock"
        with serving(worker, uds=str(front.engine)), serving(front, port=0) as server:
            with connect(address(server), "bob", lake._settings) as bob:
                _spark_is_the_same(lake, bob)

    def test_only_the_socket_is_believed(self, lake):
        worker = Service(lake, lake._settings, authenticated=True)
        worker.engine = "here"
        told = json.dumps(adapter(Principal).dump_python(PEOPLE["ada"], mode="json"))
        with serving(worker, port=0) as server:
            place = address(server) + "/api/v1/sql"
            found = httpx2.get(place, headers={PRINCIPAL: told}, trust_env=False)
            assert found.status_code == 401

    def test_frames_of_a_remote_table(self, lake, ada):
        shared_session()
        frame = ada.table("orders").spark()
        assert frame.count() == 4
        assert ada.table("orders").where("id = 2").count() == 1
        lake.create_repo("frames")
        ada.write_table("frames", frame)
        assert lake.describe_table("frames").columns == lake.describe_table("orders").columns
        assert sorted(lake.table("frames").arrow()["id"].to_pylist()) == [1, 2, 3, 4]

    @pytest.mark.slow
    def test_a_worker_that_is_gone(self, lake, tmp_path):
        front = Known(lake, lake._settings, authenticated=True)
        front.engine = tmp_path / "none.sock"
        with serving(front, port=0) as server:
            with connect(address(server), "bob", lake._settings) as bob:
                with pytest.raises(Unavailable, match="worker that runs Spark"):
                    bob.sql("FROM orders", engine="spark")


def _spark_is_the_same(lake: Lake, bob: RemoteLake) -> None:
    text = "SELECT id, amount, map('a', id) AS m FROM orders ORDER BY id"
    here, there = lake.sql(text, engine="spark"), bob.sql(text, engine="spark")
    assert (there.columns, there.types, there.sources) == (here.columns, here.types, here.sources)
    assert there.rows() == here.rows()
    assert there.arrow().equals(here.arrow())
    assert failure_of(bob, "secret") == failure_of(bob, "sekret")


def failure_of(bob: RemoteLake, name: str) -> str:
    with pytest.raises(NotFound) as caught:
        bob.sql(f"FROM {name}", engine="spark")
    return caught.value.message.replace("secret", "sekret")


def test_folders_of_answers_go_with_the_server(lake):
    service = Known(lake, lake._settings, authenticated=True)
    with serving(service, port=0) as server, http(address(server), "ada") as ada:
        from trunkline.server.queries.keeper import keeper_of

        folder: Path = keeper_of(service)._folder
        asked = ada.post("/sql", json={"text": "SELECT 1"}).json()
        assert (folder / asked["id"]).exists()
    assert not folder.exists()
