"""Tables of Iceberg as a target: read back by pyiceberg and by DuckDB."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.table import Table

from tests.egress.everytype import EVERY_TYPE
from tests.egress.senders import Dock
from tests.egress.worlds import DONE, World
from tests.s3 import ACCESS_KEY, REGION, SECRET_KEY, S3Server
from trunkline.egress.targets.rowsending import keyed_changes
from trunkline.errors import NotFound, Precondition

TABLE = "shop.out"


@pytest.fixture
def catalog(tmp_path: Path) -> dict[str, str]:
    return {
        "type": "sql",
        "uri": f"sqlite:///{tmp_path}/catalog.db",
        "warehouse": f"file://{tmp_path}/warehouse",
    }


@pytest.fixture
def dock(world: World, catalog: dict[str, str]) -> Dock:
    return Dock(world.lake, "iceberg", {"catalog": catalog, "table": TABLE})


def table(dock: Dock) -> Table:
    return load_catalog("default", **dock.options["catalog"]).load_table(TABLE)


def rows(dock: Dock) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = table(dock).scan().to_arrow().to_pylist()
    return sorted(found, key=lambda row: row["id"])


def things(*ids: int, v: str = "x") -> list[dict[str, Any]]:
    return [{"id": one, "v": v} for one in ids]


def test_replace_and_both_readers_see_the_same(dock: Dock) -> None:
    assert dock.deliver(things(1, 2)) == f"made {TABLE} with 2 rows"
    assert dock.deliver(things(2, 3, 4)) == f"replaced {TABLE} by 3 rows"
    assert rows(dock) == things(2, 3, 4)
    seen = duckdb.connect().from_arrow(table(dock).scan().to_arrow()).order("id").fetchall()
    assert seen == [(2, "x"), (3, "x"), (4, "x")]
    files = [task.file.file_path for task in table(dock).scan().plan_files()]
    assert duckdb.connect().execute("SELECT count(*) FROM read_parquet(?)", [files]).fetchone() == (
        3,
    )
    dock.deliver([{"id": 1, "more": 2.5}])
    assert rows(dock) == [{"id": 1, "v": None, "more": 2.5}]


def test_append_sends_only_what_is_new(dock: Dock) -> None:
    dock.options["mode"] = "append"
    dock.deliver(things(1, 2))
    assert dock.deliver(things(1, 2, 3)) == f"added 1 row to {TABLE}"
    old = [{**row, "more": None} for row in things(1, 2, 3)]
    dock.deliver([*old, {"id": 4, "v": "x", "more": 1}])
    assert rows(dock) == [*old, {"id": 4, "v": "x", "more": 1}]
    with pytest.raises(Precondition, match="4 rows changed or went since the version that"):
        dock.deliver([{**row, "more": 1} for row in things(1)])


@pytest.mark.parametrize("mode", ["replace", "append", "merge"])
def test_a_second_send_writes_nothing(dock: Dock, mode: str) -> None:
    """We die after the target's commit: our own record does not know of it."""
    dock.options |= {"mode": mode, "key": ["id"] if mode == "merge" else []}
    dock.deliver(things(1))
    known = dock.before
    second = dock.write(things(1, 2))
    dock.send(second)
    count = len(table(dock).snapshots())
    dock.before = known
    assert dock.send(second).note == f"{TABLE} had it already"
    assert len(table(dock).snapshots()) == count
    # The one after that is compared with what the target has, not with what we remember.
    dock.before = known
    dock.send(dock.write(things(1, 2, 3)))
    assert rows(dock) == things(1, 2, 3)


def test_merge_by_key(dock: Dock) -> None:
    dock.options |= {"mode": "merge", "key": ["id"]}
    dock.deliver(things(1, 2, 9, v="old"))
    assert dock.deliver([*things(1, v="new"), *things(3)]) == f"merged 2 rows into {TABLE}"
    found = {row["id"]: row["v"] for row in rows(dock)}
    assert found == {1: "new", 2: "old", 3: "x", 9: "old"}
    dock.options["delete"] = True
    told = dock.deliver([*things(1, v="new"), *things(4)])
    assert told == f"merged 1 row into {TABLE}, deleted 1 row"
    assert {row["id"] for row in rows(dock)} == {1, 2, 4, 9}


def test_merge_by_two_columns(dock: Dock) -> None:
    dock.options |= {"mode": "merge", "key": ["id", "v"], "delete": True}
    dock.deliver([{"id": 1, "v": "a", "n": 1}, {"id": 1, "v": "b", "n": 2}])
    dock.deliver([{"id": 1, "v": "a", "n": 5}, {"id": 2, "v": "b", "n": 2}])
    assert rows(dock) == [{"id": 1, "v": "a", "n": 5}, {"id": 2, "v": "b", "n": 2}]


def test_every_type_comes_back(dock: Dock) -> None:
    dock.deliver(EVERY_TYPE)
    found = table(dock).scan().to_arrow()
    assert found.to_pylist() == EVERY_TYPE.to_pylist()
    assert duckdb.connect().from_arrow(found).fetchall()[0][0] == EVERY_TYPE.column(0)[0].as_py()


def test_partitions(dock: Dock) -> None:
    dock.options["partition_by"] = ["v"]
    dock.deliver([*things(1), *things(2, v="a b")])
    dock.deliver([*things(1), *things(2, 3, v="a b")])
    assert [field.name for field in table(dock).spec().fields] == ["v"]
    assert [row["id"] for row in rows(dock)] == [1, 2, 3]


def test_somebody_else_writes_at_the_same_time(dock: Dock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their commit comes between our look and our own."""
    dock.options |= {"mode": "merge", "key": ["id"]}
    dock.deliver(things(1))
    usual, times = keyed_changes, 0

    def late(*given: Any) -> Any:
        nonlocal times
        times += 1
        if times == 1:
            table(dock).append(pa.Table.from_pylist(things(7)))
        return usual(*given)

    monkeypatch.setattr("trunkline.egress.targets.iceberg.keyed_changes", late)
    dock.deliver([*things(1, v="new"), *things(2)])
    assert rows(dock) == [*things(1, v="new"), *things(2), *things(7)]


def test_a_table_that_must_be_there(dock: Dock) -> None:
    dock.options["create"] = False
    with pytest.raises(NotFound, match="shop.out is not there"):
        dock.deliver(things(1))
    dock.options |= {"mode": "merge", "key": ["id"], "create": True}
    with pytest.raises(Precondition, match="has the key id = 1 more than once"):
        dock.deliver(things(1, 1))
    with pytest.raises(Exception, match=r"shop\.out|does not exist"):
        table(dock)


def test_through_the_frame_with_secrets_in_a_bucket(
    world: World, s3: S3Server, catalog: dict[str, str]
) -> None:
    bucket = s3.create_bucket("iceberg")
    catalog |= {"warehouse": f"{bucket}/w", "s3.endpoint": s3.endpoint, "s3.region": REGION}
    names = {"s3.access-key-id": "key", "s3.secret-access-key": "secret"}
    raw = {"iceberg": {"catalog": catalog, "table": TABLE, "secrets": names}}
    world.lake.write_table("report", pa.Table.from_pylist(things(1, 2)), mode="overwrite")
    commit = next(iter(world.lake.log("report"))).id
    done = world.send(commit, raw, secrets={"key": ACCESS_KEY, "secret": SECRET_KEY})
    assert (done.reason, done.state, done.receipt["rows"]) == ("", DONE, 2)
    hidden = {"s3.access-key-id": ACCESS_KEY, "s3.secret-access-key": SECRET_KEY}
    found = load_catalog("default", **catalog, **hidden).load_table(TABLE)
    assert found.scan().to_arrow().num_rows == 2
    assert SECRET_KEY not in str(found.properties)
