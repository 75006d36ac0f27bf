"""Tables of Iceberg, written by pyiceberg itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.table import Table

from tests.ingest.feeds.lakes import Ingests
from tests.waiting import until
from trunkline.model.streams import FlowState

SCHEMA = pa.schema([("n", pa.int64()), ("v", pa.string())])


@pytest.fixture
def properties(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "warehouse").mkdir()
    return {
        "name": "lakehouse",
        "type": "sql",
        "uri": f"sqlite:///{tmp_path}/catalog.db",
        "warehouse": f"file://{tmp_path}/warehouse",
    }


@pytest.fixture
def catalog(properties: dict[str, str]) -> Catalog:
    made = load_catalog(**properties)
    made.create_namespace("shop")
    return made


@pytest.fixture
def table(catalog: Catalog) -> Table:
    return catalog.create_table("shop.events", SCHEMA)


def rows(*numbers: int, v: str = "x") -> pa.Table:
    return pa.Table.from_pylist([{"n": n, "v": v} for n in numbers], schema=SCHEMA)


def numbers(lake: Ingests) -> list[int]:
    return sorted(row["n"] for row in lake.rows("events"))


def declare(lake: Ingests, properties: dict[str, str], **more: Any) -> None:
    lake.declare("events", "iceberg", {"catalog": properties, "table": "shop.events", **more})


def test_first_all_then_only_what_was_appended(
    lake: Ingests, table: Table, properties: dict[str, str]
) -> None:
    declare(lake, properties)
    assert lake.drain()[0].error == ""  # nothing was ever written
    table.append(rows(1, 2))
    assert lake.drain()[0].rows == 2
    table.append(rows(3))
    with table.update_schema() as update:
        update.union_by_name(pa.schema([*SCHEMA, ("more", pa.int32())]))
    table.append(pa.table({"n": [4], "v": ["y"], "more": pa.array([7], pa.int32())}))
    (done,) = lake.drain()
    assert (done.rows, done.commits, done.error) == (2, 1, "")
    assert numbers(lake) == [1, 2, 3, 4]
    snapshot = table.current_snapshot()
    assert snapshot is not None
    assert lake.flow("events").position["snapshot"] == str(snapshot.snapshot_id)
    assert lake.drain()[0].commits == 0


def test_rows_that_were_changed_replace_the_table_in_one_commit(
    lake: Ingests, table: Table, properties: dict[str, str]
) -> None:
    table.append(rows(1, 2, 3))
    declare(lake, properties)
    lake.drain()
    table.append(rows(4))
    table.delete("n < 3")
    (done,) = lake.drain()
    assert (done.rows, done.commits) == (2, 1)
    assert numbers(lake) == [3, 4]
    assert "all rows replaced, as snapshot" in lake.commits("events")[0].message
    table.overwrite(rows(9))
    lake.drain()
    assert numbers(lake) == [9]


def test_upsert_and_append(lake: Ingests, table: Table, properties: dict[str, str]) -> None:
    table.append(rows(1, 2))
    declare(lake, properties, changes="upsert", key=["n"])
    lake.drain()
    table.append(rows(2, 3, v="new"))
    lake.drain()
    table.delete("n = 1")
    table.append(rows(4))
    lake.drain()
    assert {row["n"]: row["v"] for row in lake.rows("events")} == {
        1: "x",
        2: "new",
        3: "new",
        4: "x",
    }
    assert numbers(lake) == [1, 2, 3, 4]


def test_a_tag_and_a_snapshot_stay_where_they_are(
    lake: Ingests, table: Table, properties: dict[str, str]
) -> None:
    table.append(rows(1))
    first = table.current_snapshot()
    assert first is not None
    table.manage_snapshots().create_tag(first.snapshot_id, "release").commit()
    table.append(rows(2))
    declare(lake, properties, ref="release")
    lake.drain()
    assert numbers(lake) == [1]
    assert lake.drain()[0].commits == 0
    declare(lake, properties)
    lake.drain()
    assert numbers(lake) == [1, 2]
    declare(lake, properties, at=first.snapshot_id)
    lake.drain()
    assert numbers(lake) == [1]


def test_only_what_comes_from_now_on(
    lake: Ingests, table: Table, properties: dict[str, str]
) -> None:
    table.append(rows(1))
    declare(lake, properties, start="latest", every=0.1)
    assert lake.drain()[0].commits == 0
    lake.start()
    table.append(rows(2))
    until(lambda: numbers(lake) == [2])


def test_a_table_that_was_made_anew(
    lake: Ingests, catalog: Catalog, table: Table, properties: dict[str, str]
) -> None:
    table.append(rows(1))
    declare(lake, properties)
    lake.drain()
    catalog.drop_table("shop.events")
    catalog.create_table("shop.events", SCHEMA).append(rows(5))
    lake.drain()
    assert numbers(lake) == [5]


def test_a_snapshot_that_expired(lake: Ingests, table: Table, properties: dict[str, str]) -> None:
    table.append(rows(1))
    declare(lake, properties)
    lake.drain()
    first = table.current_snapshot()
    assert first is not None
    table.append(rows(2))
    table.maintenance.expire_snapshots().by_id(first.snapshot_id).commit()
    lake.drain()
    assert numbers(lake) == [1, 2]
    assert "its history does not reach back" in lake.commits("events")[0].message


def test_what_is_not_there(lake: Ingests, table: Table, properties: dict[str, str]) -> None:
    lake.declare("nothing", "iceberg", {"catalog": properties, "table": "shop.other"})
    (done,) = lake.drain()
    assert done.error == "The Iceberg table shop.other is not there. Look at catalog and table."
    assert lake.flow("nothing").state is FlowState.FAILED
    table.append(rows(1))
    declare(lake, properties, ref="relase")
    found = {one.name.repo: one.error for one in lake.drain()}
    assert found["events"].startswith(
        'The Iceberg table shop.events has no branch or tag "relase".'
    )
    assert "It has: main." in found["events"]


def test_no_secret_of_a_catalog_is_told(lake: Ingests) -> None:
    lake.secrets = {"db": "postgresql+psycopg://lake:never-shown@127.0.0.1:1/x"}
    lake.declare(
        "events",
        "iceberg",
        {"catalog": {"type": "sql", "warehouse": "file:///tmp/none"}, "table": "a.b"},
        secrets=(("uri", "db"),),
    )
    (done,) = lake.drain()
    assert done.error
    assert "never-shown" not in done.error
