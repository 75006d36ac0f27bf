"""SQL through a server: the same answers as of the lake itself."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal

import httpx2
import pyarrow as pa
import pytest

import trunkline as tl
from tests.query.conftest import fill
from tests.served import served
from trunkline import Lake
from trunkline.errors import Failed, Usage
from trunkline.sdk.remote.lake import RemoteLake, connect
from trunkline.sdk.wire.arrow import read_stream
from trunkline.server.queries import keeper as keepers

KINDS = """
SELECT 12345678901234567890123456789.123456789::DECIMAL(38,9) AS exact,
  TIMESTAMPTZ '2026-01-01 12:00:00+02' AS moment, TIMESTAMP '2026-01-01 12:00:00.123456' AS local,
  DATE '2026-02-28' AS day, TIME '10:11:12' AS clock, '\\x00\\xFF'::BLOB AS raw,
  [1, NULL, 3] AS list, {'a': 1, 'b': [DATE '2026-01-01']} AS struct, MAP {'k': 1.5} AS map,
  9223372036854775807 AS big, 18446744073709551615::UBIGINT AS bigger,
  170141183460469231731687303715884105727::HUGEINT - 10::HUGEINT ** 38 * 1 AS huge,
  'NaN'::DOUBLE AS nan, 'inf'::DOUBLE AS inf, '-inf'::FLOAT AS below, NULL AS nothing, true AS yes,
  '6f2d0b1c-0000-4000-8000-000000000000'::UUID AS uuid, 'a'::ENUM('a', 'b') AS choice,
  INTERVAL 3 DAY AS span, '' AS empty, 'Zoë' AS text
"""
LONG = "SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE a.range * b.range % 7 = 3"


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    with tl.init(tmp_path_factory.mktemp("lake")) as made:
        fill(made)
        yield made


@pytest.fixture(scope="module")
def url(lake: Lake) -> Iterator[str]:
    with served(lake) as found:
        yield found


@pytest.fixture(scope="module")
def remote(lake: Lake, url: str) -> Iterator[RemoteLake]:
    with connect(url, "", lake._settings) as found:
        yield found


@pytest.fixture(scope="module")
def http(url: str) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=url + "/api/v1", timeout=60, trust_env=False) as found:
        yield found


class TestResults:
    @pytest.mark.parametrize(
        "text",
        [
            "FROM orders ORDER BY id",
            "FROM orders AT 'v1' ORDER BY id",
            'SELECT id, name FROM "orders@v1" o JOIN customers c USING (id) ORDER BY 1',
            "FROM empty",
            "SELECT 1 AS n, 2 AS n",
            "SHOW TABLES",
            "DESCRIBE orders",
            "SELECT sum(id) AS total FROM orders",
            "EXPLAIN FROM orders",
            KINDS,
        ],
    )
    def test_the_same_as_locally(self, lake, remote, text):
        here, there = lake.sql(text), remote.sql(text)
        assert (there.columns, there.types) == (here.columns, here.types)
        assert there.sources == here.sources
        assert there.provenance == here.provenance
        assert repr(there.rows()) == repr(here.rows())
        assert repr(there) == repr(here)
        assert there._repr_html_() == here._repr_html_()
        assert repr(there.dicts()) == repr(here.dicts())
        assert there.arrow().schema == here.arrow().schema
        assert repr(there.arrow().to_pylist()) == repr(here.arrow().to_pylist())

    def test_frames(self, lake, remote):
        text = "SELECT id, amount FROM orders ORDER BY id"
        assert remote.sql(text).pandas().equals(lake.sql(text).pandas())
        assert remote.sql(text).polars().equals(lake.sql(text).polars())

    def test_parameters(self, remote):
        given = {"d": Decimal("1.25"), "n": 2**60, "f": float("inf"), "x": b"\0\xff", "s": None}
        found = remote.sql("SELECT $d, $n, $f, $x, $s", params=given)
        assert found.rows() == [(Decimal("1.25"), 2**60, float("inf"), b"\0\xff", None)]

    def test_at_a_commit_set(self, lake, remote):
        first = lake.sql("FROM orders AT 'v1'").sources[0].commit.id
        found = remote.sql("SELECT count(*) FROM orders", at=first)
        assert found.rows() == [(2,)] == lake.sql("SELECT count(*) FROM orders", at=first).rows()

    def test_many_rows_come_in_order(self, remote):
        found = remote.sql("SELECT range AS n FROM range(300000)")
        assert found.arrow()["n"].to_pylist() == list(range(300_000))
        assert [row for (row,) in found.take(3)] == [0, 1, 2]

    def test_read_again_after_it_was_forgotten(self, remote, http):
        found = remote.sql("FROM orders ORDER BY id")
        before = found.rows()
        assert http.delete(f"/sql/{found._answer._id}").status_code == 204
        assert found.rows() == before

    def test_into(self, lake, remote):
        lake.create_repo("written")
        commit = remote.sql("FROM orders AT 'v1'").into("written@main")
        assert commit == lake.sql("FROM written").sources[0].commit
        assert lake.sql("SELECT count(*) FROM written").rows() == [(2,)]
        assert commit.message == lake.sql("FROM orders AT 'v1'").provenance


class TestErrors:
    @pytest.mark.parametrize(
        "text",
        [
            "SELECT nope FROM orders",
            "SELEC 1",
            "FROM ordrs",
            'FROM "nope@main"',
            'FROM "no/such@main"',
            "FROM orders AT 'v9'",
            "COPY orders TO 'x'",
            "",
        ],
    )
    def test_the_same_as_locally(self, lake, remote, text):
        with pytest.raises(tl.TrunklineError) as here:
            lake.sql(text)
        with pytest.raises(type(here.value)) as there:
            remote.sql(text)
        assert there.value.to_dict() == here.value.to_dict()
        assert getattr(there.value, "__notes__", []) == getattr(here.value, "__notes__", [])

    def test_in_the_data(self, remote):
        found = remote.sql("SELECT name::INT AS n FROM customers")
        assert found.columns == ("n",)
        for read in (found.rows, found.arrow):
            with pytest.raises(Failed, match="Could not convert"):
                read()

    def test_after_some_rows(self, remote):
        late = "CASE WHEN i < 900000 THEN i ELSE error('boom') END"
        found = remote.sql(f"SELECT {late} AS n FROM range(1000000) t(i)")
        with pytest.raises(Failed, match="boom"):
            found.arrow()
        with pytest.raises(Failed, match="boom"):
            found.rows()

    def test_engine(self, remote):
        with pytest.raises(Usage, match="sqlite"):
            remote.sql("FROM orders", engine="sqlite")

    def test_spark_without_a_worker(self, remote):
        with pytest.raises(tl.TrunklineError, match="no worker"):
            remote.sql("FROM orders", engine="spark")


class TestHttp:
    def test_pages(self, http):
        asked = http.post("/sql", json={"text": "SELECT range AS n FROM range(250)"}).json()
        assert asked["state"] == "done"
        assert (asked["columns"], asked["types"], asked["rows"]) == (["n"], ["bigint"], 250)
        found, cursor = [], None
        while True:
            query = {"limit": 100} | ({"cursor": cursor} if cursor else {})
            page = http.get(f"/sql/{asked['id']}/rows", params=query).json()
            found += [row for (row,) in page["rows"]]
            cursor = page["next"]
            if cursor is None:
                break
        assert found == list(range(250))

    def test_cells(self, http):
        asked = http.post("/sql", json={"text": KINDS}).json()
        page = http.get(f"/sql/{asked['id']}/rows").json()
        row = dict(zip(page["columns"], page["rows"][0], strict=True))
        assert row["exact"] == "12345678901234567890123456789.123456789"
        assert row["big"] == "9223372036854775807"
        assert (row["nan"], row["inf"], row["below"]) == ("NaN", "Infinity", "-Infinity")
        assert (row["day"], row["raw"], row["nothing"]) == ("2026-02-28", "AP8=", None)
        assert row["struct"] == {"a": 1, "b": ["2026-01-01"]}
        assert row["map"] == [["k", "1.5"]]

    def test_run_as_csv(self, http):
        text = "SELECT id, amount, [id] AS l, id = 1 AS b FROM orders AT 'v1' ORDER BY id"
        found = http.post("/sql/run", json={"text": text}, headers={"Accept": "text/csv"})
        assert found.text == "id,amount,l,b\n1,1.25,[1],true\n2,2.50,[2],false\n"

    def test_run_as_json(self, http):
        found = http.post("/sql/run", json={"text": "SELECT 1 AS n UNION ALL SELECT 2"})
        assert found.json() == {"columns": ["n"], "types": ["int"], "rows": [[1], [2]]}

    def test_run_as_arrow(self, http):
        kind = {"Accept": "application/vnd.apache.arrow.stream"}
        found = http.post("/sql/run", json={"text": "SELECT 1::BIGINT AS n"}, headers=kind)
        assert read_stream(iter([found.content])).read_all() == pa.table({"n": [1]})

    def test_run_leaves_nothing(self, http):
        http.post("/sql/run", json={"text": "SELECT 'only here'"})
        assert "only here" not in http.get("/sql", params={"limit": 1000}).text

    def test_run_that_fails(self, http):
        found = http.post("/sql/run", json={"text": "SELECT nope"})
        assert (found.status_code, found.json()["error"]["code"]) == (400, "invalid_query")

    def test_into(self, lake, http):
        lake.create_repo("copied")
        body = {"text": "FROM orders", "target": "copied@main"}
        assert http.post("/sql/into", json=body).status_code == 201
        assert lake.sql("SELECT count(*) FROM copied").rows() == [(4,)]

    def test_wait_is_bounded(self, http):
        found = http.post("/sql", json={"text": "SELECT 1", "wait": 60})
        assert found.status_code == 400

    def test_a_cursor_of_others(self, http):
        asked = http.post("/sql", json={"text": "SELECT 1"}).json()
        found = http.get(f"/sql/{asked['id']}/rows", params={"cursor": "x"})
        assert found.status_code == 400


class TestCancel:
    def test_it_stops(self, http):
        asked = http.post("/sql", json={"text": LONG, "wait": 0.2}).json()
        assert asked["state"] in ("queued", "running")
        assert http.delete(f"/sql/{asked['id']}").status_code == 204
        ended = http.get(f"/sql/{asked['id']}", params={"wait": 25}).json()
        assert ended["state"] == "cancelled"
        assert not [one for one in threading.enumerate() if one.name == f"query-{asked['id']}"]

    def test_one_whose_rows_were_erased_meanwhile(self, lake, http):
        lake.create_repo("gone")
        with lake.commit("gone@main") as commit:
            commit.put("/a.csv", b"n\n1\n")
        asked = http.post("/sql", json={"text": LONG, "wait": 0.2}).json()
        lake.erase("gone@main:/a.csv", "asked for")
        assert http.get(f"/sql/{asked['id']}").status_code == 404
        assert http.delete(f"/sql/{asked['id']}").status_code == 204

    def test_one_that_waits(self, http):
        running = [http.post("/sql", json={"text": LONG, "wait": 0}).json() for _ in range(3)]
        assert [one["state"] for one in running][-1] == "queued"
        for one in reversed(running):
            http.delete(f"/sql/{one['id']}")
        ends = [http.get(f"/sql/{one['id']}", params={"wait": 25}).json() for one in running]
        assert {one["state"] for one in ends} == {"cancelled"}

    def test_the_one_who_asked_forgets_it(self, remote, http):
        found = remote.sql(LONG)
        query = found._answer._id
        del found
        ended = http.get(f"/sql/{query}", params={"wait": 25}).json()
        assert ended["state"] == "cancelled"

    def test_from_another_thread(self, remote):
        found = remote.sql(LONG)
        threading.Timer(0.1, found.cancel).start()
        with pytest.raises(Failed, match="cancelled"):
            found.rows()


@pytest.mark.parametrize("params", [{}, {"limit": 1}])
def test_a_server_that_answers_others_reads_the_catalog_elsewhere(http, params):
    asked = http.post("/sql", json={"text": "SELECT 1"}).json()
    known = [one._queries for one in keepers._keepers.values()]
    (query,) = (one[asked["id"]] for one in known if asked["id"] in one)
    loops = []

    def look() -> None:
        with suppress(RuntimeError):
            loops.append(asyncio.get_running_loop())

    query.check = look
    assert http.get(f"/sql/{asked['id']}/arrow", params=params).status_code == 200
    assert loops == []


def test_no_query(http):
    assert http.get("/sql/nope").json()["error"]["code"] == "not_found"
