"""Tables through a server: the same as of the lake itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import count

import httpx2
import numpy
import pyarrow as pa
import pytest

import trunkline as tl
from tests.query.conftest import fill
from tests.served import served
from trunkline import Lake
from trunkline.errors import InvalidRef, NotFound, SchemaClash, Usage
from trunkline.model.shape import as_json
from trunkline.sdk.laketable import LakeTable
from trunkline.sdk.remote.lake import RemoteLake, connect
from trunkline.sdk.wire.arrow import read_stream, stream_bytes
from trunkline.sdk.wire.values import ARROW

EVERY_TYPE = pa.table(
    {
        "exact": pa.array(
            [Decimal("12345678901234567890123456789.123456789"), None], pa.decimal128(38, 9)
        ),
        "moment": pa.array([datetime(2026, 1, 1, 12, tzinfo=UTC), None], pa.timestamp("us", "UTC")),
        "local": pa.array([datetime(2026, 1, 1, 12, 0, 0, 123456), None], pa.timestamp("us")),
        "day": pa.array([date(2026, 2, 28), None]),
        "raw": pa.array([b"\0\xff", None]),
        "list": pa.array([[1, None], None], pa.list_(pa.int64())),
        "struct": pa.array([{"a": 1, "b": ["x"]}, None]),
        "map": pa.array([[("k", 1.5)], None], pa.map_(pa.string(), pa.float64())),
        "big": pa.array([2**63 - 1, -(2**63)]),
        "float": pa.array([float("nan"), float("-inf")]),
        "text": pa.array(["Zoë", ""]),
    }
)  # fmt: skip


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    with tl.init(tmp_path_factory.mktemp("lake")) as made:
        fill(made)
        made.create_repo("every")
        made.write_table("every", EVERY_TYPE)
        made.create_repo("keyed")
        made.write_table("keyed", [{"id": 1, "v": 1.0}, {"id": 2, "v": 2.0}])
        made.merge_table("keyed", [{"id": 2, "v": 2.5}, {"id": 3, "v": 3.0}], on="id")
        made.delete_from("keyed", "id = 1")
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


_numbers = count()


@pytest.fixture
def repo(lake: Lake) -> str:
    """A new repo for one test."""
    return lake.create_repo(f"new{next(_numbers)}").name.repo


def alike(left: pa.Table, right: pa.Table) -> bool:
    return left.schema == right.schema and repr(left.to_pylist()) == repr(right.to_pylist())


class TestReading:
    @pytest.mark.parametrize(
        "ref", ["orders", "orders@v1", "days", "shop:/items", "people", "empty", "every"]
    )
    def test_the_same_as_locally(self, lake, remote, ref):
        here, there = lake.table(ref), remote.table(ref)
        assert isinstance(there, LakeTable)
        assert there.info == here.info == remote.describe_table(ref)
        assert (repr(there), there._repr_html_()) == (repr(here), here._repr_html_())
        assert dir(there) == dir(here)
        assert alike(there.arrow(), here.arrow())
        assert alike(there.peek(1), here.peek(1))
        assert repr(there.duckdb().fetchall()) == repr(here.duckdb().fetchall())
        assert there.polars().equals(here.polars(), null_equal=True) or ref == "every"
        assert alike(pa.table(there), pa.table(here))

    def test_rows_that_are_left_out(self, lake, remote, http, repo):
        with lake.commit(repo) as commit:
            commit.put("/a.csv", b"id,v\n1,2\n3\nx,4\n5,6\n")
        lake.set_table(repo, schema="id int, v int", options={"mode": "DROPMALFORMED", "sep": ","})
        here = lake.table(repo).malformed()
        assert [row["line"] for row in here.to_pylist()] == [3, 4]
        assert alike(remote.table(repo).malformed(), here)
        assert alike(remote.table(repo).malformed(1), here[:1])
        answer = http.get(f"/repos/default/{repo}/table/rows", params={"malformed": "true"}).json()
        assert answer["columns"] == ["path", "line", "text", "reason"]
        assert [row[1] for row in answer["rows"]] == [3, 4]

    def test_columns_and_conditions(self, lake, remote):
        columns, where = ["id"], [("amount", ">", Decimal("2")), ("id", "in", [2, 4])]
        here = lake.table("orders").arrow(columns, where)
        assert remote.table("orders").arrow(columns, where).equals(here)
        assert here["id"].to_pylist() == [2, 4]

    def test_no_columns(self, lake, remote):
        found = remote.table("orders").arrow([])
        assert found.num_columns == 0
        assert found.num_rows == lake.table("orders").arrow([]).num_rows

    def test_it_stays_at_its_commit(self, remote, repo):
        remote.write_table(repo, [{"n": 1}])
        table = remote.table(repo)
        remote.write_table(repo, [{"n": 2}])
        assert table.arrow()["n"].to_pylist() == [1]
        assert sorted(remote.table(repo).arrow()["n"].to_pylist()) == [1, 2]

    def test_lists(self, lake, remote):
        assert remote.tables() == lake.tables()
        assert remote.tables("shop@main~1") == lake.tables("shop@main~1")
        assert [info.path for info in remote.tables("shop")] == ["/items", "/prices"]

    @pytest.mark.parametrize(
        "ref", ["nope", "orders@v9", "orders:/nope", "shop", "no/where", "a b"]
    )
    def test_errors(self, lake, remote, ref):
        with pytest.raises(tl.TrunklineError) as here:
            lake.table(ref)
        with pytest.raises(type(here.value)) as there:
            remote.table(ref)
        assert there.value.message == here.value.message

    def test_columns_that_are_not_there(self, lake, remote):
        for one in (lake, remote):
            with pytest.raises(NotFound, match='no column "nope"'):
                one.table("orders").arrow(["nope"])

    def test_pages_of_json(self, http):
        found = http.get("/repos/default/orders/table/rows", params={"limit": 3}).json()
        assert found["columns"] == ["id", "customer", "amount"]
        assert found["types"] == ["bigint", "bigint", "decimal(12,2)"]
        assert found["rows"] == [[1, 1, "1.25"], [2, 2, "2.50"], [3, None, "1.00"]]
        more = {"limit": 3, "cursor": found["next"], "columns": "id"}
        rest = http.get("/repos/default/orders/table/rows", params=more).json()
        assert (rest["rows"], rest["next"]) == ([[4]], None)


class TestSetting:
    def test_set_table(self, lake, remote, repo):
        with lake.commit(f"{repo}@main") as commit:
            commit.put("/a.csv", b"1;x\n2;y\n")
        given = {"sep": ";", "header": "false"}
        made = remote.set_table(repo, format="csv", options=given, schema="id bigint, name string")
        assert made == lake.sql(f"FROM {repo}").sources[0].commit
        assert remote.table(repo).arrow().to_pydict() == {"id": [1, 2], "name": ["x", "y"]}

    @pytest.mark.parametrize("schema", [{"id": "bigint"}, [{"name": "id", "type": "bigint"}]])
    def test_forms_of_a_schema(self, lake, remote, repo, schema):
        with lake.commit(f"{repo}@main") as commit:
            commit.put("/a.json", b'{"id": 1}\n')
        remote.set_table(repo, schema=schema, key=["id"])
        found = remote.describe_table(repo)
        assert (found.key, len(found.columns)) == (("id",), 1)


class TestWriting:
    def test_every_type(self, lake, remote, repo):
        commit = remote.write_table(repo, EVERY_TYPE, message="all")
        assert commit.message == "all"
        assert lake.describe_table(repo).columns == lake.describe_table("every").columns
        assert alike(lake.table(repo).arrow(), lake.table("every").arrow())

    def test_kinds_of_data(self, lake, remote, repo):
        import pandas as pd
        import polars as pl

        rows = [{"n": 1}]
        kinds = (rows, pa.table({"n": [1]}), pd.DataFrame(rows), pl.DataFrame(rows))
        for data in (*kinds, pl.LazyFrame(rows), remote.sql("SELECT 1::BIGINT AS n").arrow()):
            remote.write_table(repo, data)
        remote.write_table(repo, remote.table(repo))
        assert lake.table(repo).arrow()["n"].to_pylist() == [1] * 12

    def test_partitions_and_modes(self, lake, remote, repo):
        remote.write_table(repo, [{"d": "a", "n": 1}, {"d": "b", "n": 2}], partition_by="d")
        assert lake.describe_table(repo).partition_by == ("d",)
        remote.write_table(repo, [{"d": "b", "n": 3}], mode="overwrite_partitions")
        assert sorted(lake.sql(f"SELECT n FROM {repo}").rows()) == [(1,), (3,)]
        remote.write_table(repo, [{"d": "c", "n": 4}], mode="overwrite")
        assert lake.sql(f"SELECT n FROM {repo}").rows() == [(4,)]

    def test_a_key_writes_once(self, lake, remote, repo):
        first = remote.write_table(repo, [{"n": 1}], key="same")
        assert remote.write_table(repo, [{"n": 1}], key="same") == first
        assert lake.sql(f"SELECT count(*) FROM {repo}").rows() == [(1,)]

    def test_what_does_not_fit(self, lake, remote, repo):
        lake.write_table(repo, [{"n": 1}])
        with pytest.raises(SchemaClash) as here:
            lake.write_table(repo, [{"n": "x"}])
        with pytest.raises(SchemaClash) as there:
            remote.write_table(repo, [{"n": "x"}])
        assert there.value.to_dict() == here.value.to_dict()

    def test_mistakes(self, remote, repo):
        with pytest.raises(Usage, match="mode"):
            remote.write_table(repo, [{"n": 1}], mode="upsert")
        with pytest.raises(Usage, match="cannot be written"):
            remote.write_table(repo, 5)
        with pytest.raises(NotFound, match="nowhere"):
            remote.write_table("nowhere", [{"n": 1}])
        with pytest.raises(InvalidRef):
            remote.write_table("a@b@c", [{"n": 1}])

    def test_half_a_stream_writes_nothing(self, lake, http, repo):
        whole = b"".join(stream_bytes(pa.table({"n": [1]}).to_reader()))
        for body in (whole[:-8], whole[:-40], b"", b"rubbish" * 100):
            place = f"/repos/default/{repo}/table/rows"
            found = http.post(place, content=body, headers={"Content-Type": ARROW})
            assert found.status_code == 400, found.text
            assert "error" in found.json()
        assert list(lake.log(f"{repo}@main")) == []

    def test_rows_that_are_no_arrow(self, http, repo):
        found = http.post(f"/repos/default/{repo}/table/rows", json=[{"n": 1}])
        assert (found.status_code, found.json()["error"]["code"]) == (400, "usage")

    def test_changes(self, lake, remote, repo):
        remote.write_table(repo, [{"id": 1, "v": 1}, {"id": 2, "v": 2}])
        merged = remote.merge_table(repo, [{"id": 2, "v": 9}, {"id": 3, "v": 3}], on="id")
        assert (merged.inserted, merged.updated, merged.commit is not None) == (1, 1, True)
        updated = remote.update_table(repo, {"v": "v + 1"}, "id = 1", message="more")
        assert (updated.updated, updated.commit.message) == (1, "more")
        assert remote.delete_from(repo, "id = 3").deleted == 1
        assert remote.delete_from(repo, "id = 3").commit is None
        assert sorted(lake.sql(f"SELECT id, v FROM {repo}").rows()) == [(1, 2), (2, 9)]

    def test_compact(self, lake, remote, repo):
        for n in range(3):
            remote.write_table(repo, [{"n": n}])
        found = remote.compact(repo)
        assert (found.before, found.after, found.dropped) == (3, 1, "")
        assert found.commit == lake.sql(f"FROM {repo}").sources[0].commit

    def test_expressions_are_checked(self, lake, remote):
        for one in (lake, remote):
            with pytest.raises(Usage, match="nope"):
                one.delete_from("keyed", "nope = 1")


class TestComparing:
    @pytest.mark.parametrize(
        ("old", "new", "options"),
        [
            ("keyed@main~2", None, {"key": "id"}),
            ("keyed@main~1", "keyed@main", {"key": ()}),
            ("keyed@main", "keyed@main", {}),
            ("orders@v1", "orders@main", {"key": ["id"], "columns": ["amount"]}),
            ("keyed@main", "orders@main", {"key": "id", "one_sided": True}),
            ("every@main", "every@main", {}),
        ],
    )
    def test_diff(self, lake, remote, old, new, options):
        here = lake.table_diff(old, new, **options)
        there = remote.table_diff(old, new, **options)
        assert there.to_dict() == here.to_dict()
        assert there == here
        assert bool(there) == bool(here)
        assert there.samples() == here.samples()
        assert (repr(there), there._repr_html_()) == (repr(here), here._repr_html_())
        assert alike(there.arrow(), here.arrow())

    def test_diff_of_every_type(self, lake, remote, repo):
        lake.write_table(repo, EVERY_TYPE)
        lake.write_table(repo, EVERY_TYPE.slice(0, 1), mode="overwrite")
        here = lake.table_diff(f"{repo}@main~1")
        assert alike(remote.table_diff(f"{repo}@main~1").arrow(), here.arrow())

    @pytest.mark.parametrize("per_commit", [False, True])
    def test_changes(self, lake, remote, per_commit):
        here = lake.table_changes("keyed@main~2", key="id", per_commit=per_commit)
        there = remote.table_changes("keyed@main~2", key="id", per_commit=per_commit)
        assert there == here
        assert (repr(there), len(there)) == (repr(here), len(here))
        assert there._repr_html_() == here._repr_html_()
        assert alike(there.arrow(), here.arrow())

    @pytest.mark.parametrize("ref", ["orders", "every", "empty", "people"])
    def test_profile(self, lake, remote, ref):
        here, there = lake.profile(ref), remote.profile(ref)
        assert json.dumps(as_json(there)) == json.dumps(as_json(here))
        assert repr(there) == repr(here)
        assert there._repr_html_() == here._repr_html_()
        first = here.columns[0].name
        assert [one.name for one in remote.profile(ref, first).columns] == [first]

    def test_mistakes(self, lake, remote):
        for one in (lake, remote):
            with pytest.raises(Usage, match="nope"):
                one.table_diff("keyed@main~1", key="nope")
            with pytest.raises(NotFound):
                one.table_changes("keyed@main~9")
            with pytest.raises(Usage, match="nope"):
                one.profile("orders", "nope")

    def test_as_json(self, lake, http):
        asked = {"old": "default/keyed@main~2", "key": "id", "samples": 1}
        found = http.get("/tables/diff", params=asked).json()
        assert found == lake.table_diff("keyed@main~2", key="id").to_dict(1)
        found = http.get("/tables/changes", params={"old": "default/keyed@main~2"}).json()
        assert found["inserted"] == 2


def test_a_stream_of_arrow_is_read_as_it_comes():
    numbers = pa.array(numpy.random.default_rng(1).integers(0, 2**62, 1_000_000))
    pieces = stream_bytes(pa.table({"n": numbers}).to_reader())
    taken = []

    def counted():
        for piece in pieces:
            taken.append(len(piece))
            yield piece

    reader = read_stream(counted())
    first = reader.read_next_batch()
    assert first.num_rows < 100_000
    before = len(taken)
    assert reader.read_all().num_rows == 1_000_000 - first.num_rows
    assert len(taken) > before
