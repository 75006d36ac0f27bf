"""Tables of Delta as a target: read back by deltalake and by DuckDB."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from tests.egress.everytype import EVERY_TYPE
from tests.egress.senders import Dock
from tests.egress.worlds import DONE, FAILED, World
from tests.s3 import ACCESS_KEY, REGION, SECRET_KEY
from tests.s3process import s3_process
from trunkline.egress.targets.rowsending import keyed_changes
from trunkline.errors import Precondition, TrunklineError
from trunkline.model.shape import as_json


@pytest.fixture
def dock(world: World, tmp_path: Path) -> Dock:
    return Dock(world.lake, "delta", {"url": str(tmp_path / "out")})


def rows(dock: Dock) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = DeltaTable(dock.options["url"]).to_pyarrow_table().to_pylist()
    return sorted(found, key=lambda row: row["id"])


def by_duckdb(dock: Dock) -> list[Any]:
    files = DeltaTable(dock.options["url"]).file_uris()
    query = "SELECT id, v FROM read_parquet(?) ORDER BY id"
    return duckdb.connect().execute(query, [files]).fetchall()


def versions(dock: Dock) -> int:
    return DeltaTable(dock.options["url"]).version() + 1


def things(*ids: int, v: str = "x") -> list[dict[str, Any]]:
    return [{"id": one, "v": v} for one in ids]


def test_replace_and_both_readers_see_the_same(dock: Dock) -> None:
    assert dock.deliver(things(1, 2)) == "made out with 2 rows"
    assert dock.deliver(things(2, 3, 4)) == "replaced out by 3 rows"
    assert rows(dock) == things(2, 3, 4)
    assert by_duckdb(dock) == [(2, "x"), (3, "x"), (4, "x")]
    dock.deliver([{"id": 1, "other": 2.5}])
    assert rows(dock) == [{"id": 1, "other": 2.5}]


def test_append_sends_only_what_is_new(dock: Dock) -> None:
    dock.options["mode"] = "append"
    dock.deliver(things(1, 2))
    assert dock.deliver(things(1, 2, 3)) == "added 1 row to out"
    dock.deliver(
        [*({**row, "more": None} for row in things(1, 2, 3)), {"id": 4, "v": "x", "more": 1}]
    )
    assert [row["id"] for row in rows(dock)] == [1, 2, 3, 4]
    with pytest.raises(Precondition, match="4 rows changed or went since the version that out has"):
        dock.deliver([{**row, "more": 1} for row in things(1)])


@pytest.mark.parametrize("mode", ["replace", "append", "merge"])
def test_a_second_send_writes_nothing(dock: Dock, mode: str) -> None:
    """We die after the target's commit: our own record does not know of it."""
    dock.options |= {"mode": mode, "key": ["id"] if mode == "merge" else []}
    dock.deliver(things(1))
    known = dock.before
    second = dock.write(things(1, 2))
    dock.send(second)
    count = versions(dock)
    dock.before = known
    assert dock.send(second).note == "out had it already"
    assert versions(dock) == count
    # The one after that is compared with what the target has, not with what we remember.
    dock.before = known
    dock.send(dock.write(things(1, 2, 3)))
    assert rows(dock) == things(1, 2, 3)


def test_merge_by_key(dock: Dock) -> None:
    dock.options |= {"mode": "merge", "key": ["id"]}
    write_deltalake(dock.options["url"], pa.Table.from_pylist(things(1, 9, v="old")))
    assert dock.deliver(things(1, 2)) == "merged 2 rows into out"
    assert dock.deliver([*things(1, v="new"), *things(3)]) == "merged 2 rows into out"
    found = {row["id"]: row["v"] for row in rows(dock)}
    assert found == {1: "new", 2: "x", 3: "x", 9: "old"}
    dock.options["delete"] = True
    assert dock.deliver(things(1, v="new")) == "merged 0 rows into out, deleted 1 row"
    assert {row["id"] for row in rows(dock)} == {1, 2, 9}
    dock.deliver([{"id": 1, "v": "new", "added": True}])
    assert rows(dock)[0]["added"] is True


def test_keys_that_are_none(dock: Dock) -> None:
    dock.options |= {"mode": "merge", "key": ["id"]}
    with pytest.raises(Precondition, match="has the key id = 1 more than once"):
        dock.deliver(things(1, 1))
    with pytest.raises(Precondition, match="1 row of the output have no id"):
        dock.deliver([*things(1), {"id": None, "v": "x"}])
    dock.options["key"] = ["idd"]
    with pytest.raises(Precondition, match='no column "idd", which is its key. Did you mean'):
        dock.deliver(things(1))
    assert not Path(dock.options["url"]).exists()


def test_every_type_comes_back(dock: Dock) -> None:
    dock.deliver(EVERY_TYPE)
    found = DeltaTable(dock.options["url"]).to_pyarrow_table().select(EVERY_TYPE.column_names)
    assert found.to_pylist() == EVERY_TYPE.to_pylist()
    seen = duckdb.connect().from_arrow(DeltaTable(dock.options["url"]).to_pyarrow_dataset())
    assert seen.fetchall()[0][0] == EVERY_TYPE.column(0)[0].as_py()


def test_partitions(dock: Dock) -> None:
    dock.options["partition_by"] = ["v"]
    dock.deliver([*things(1), *things(2, v="a b")])
    dock.deliver([*things(1), *things(2, 3, v="a b")])
    table = DeltaTable(dock.options["url"])
    assert table.metadata().partition_columns == ["v"]
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
            DeltaTable(dock.options["url"]).delete("id = 1")
        return usual(*given)

    monkeypatch.setattr("trunkline.egress.targets.delta.keyed_changes", late)
    dock.deliver([*things(1, v="new"), *things(2)])
    assert rows(dock) == [*things(1, v="new"), *things(2)]
    assert times == 2


def test_through_the_frame_with_secrets_in_a_bucket(world: World) -> None:
    with s3_process() as server:
        url = f"{server.create_bucket('out')}/report"
        options = {"AWS_ENDPOINT_URL": server.endpoint, "AWS_REGION": REGION}
        names = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}
        raw = {"delta": {"url": url, "options": options, "secrets": names, "mode": "append"}}
        secrets = {"key": ACCESS_KEY, "secret": SECRET_KEY}
        for ids in ((1,), (1, 2)):
            world.lake.write_table("report", pa.Table.from_pylist(things(*ids)), mode="overwrite")
            commit = next(iter(world.lake.log("report"))).id
            done = world.send(commit, raw, secrets=secrets)
            assert (done.state, done.receipt["rows"]) == (DONE, 1)
        hidden = dict(zip(names, secrets.values(), strict=True))
        storage = {**options, **hidden, "AWS_ALLOW_HTTP": "true"}
        assert DeltaTable(url, storage_options=storage).to_pyarrow_table().num_rows == 2
    told = json.dumps(as_json(world.listed()))
    assert SECRET_KEY not in told


def test_what_cannot_be_delivered_is_said_without_a_trace(world: World, tmp_path: Path) -> None:
    world.lake.write_table("report", pa.table({"id": [1, 1]}))
    commit = next(iter(world.lake.log("report"))).id
    raw = {"delta": {"url": str(tmp_path / "out"), "mode": "merge", "key": ["id"]}}
    done = world.send(commit, raw)
    assert done.state is FAILED
    assert "has the key id = 1 more than once" in done.reason
    (tmp_path / "file").write_text("")
    with pytest.raises(TrunklineError):
        Dock(world.lake, "delta", {"url": str(tmp_path / "file")}).deliver(things(1))
