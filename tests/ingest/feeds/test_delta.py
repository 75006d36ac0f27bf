"""Tables of Delta, written by deltalake itself."""

from __future__ import annotations

import datetime
import shutil
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from tests.ingest.feeds.lakes import Ingests
from tests.s3 import ACCESS_KEY, REGION, SECRET_KEY
from tests.s3process import s3_process
from tests.waiting import until
from trunkline.model.streams import FlowState

Rows = list[dict[str, Any]]


@pytest.fixture
def source(tmp_path: Path) -> str:
    return str(tmp_path / "events")


def write(url: str, rows: Rows, **more: Any) -> None:
    write_deltalake(url, pa.Table.from_pylist(rows), **{"mode": "append", **more})


def numbers(lake: Ingests, name: str = "events") -> list[int]:
    return sorted(row["n"] for row in lake.rows(name))


def files(lake: Ingests) -> set[str]:
    return {one.path for one in lake.files("events") if one.path.endswith(".parquet")}


def test_first_all_then_only_files_that_were_added(lake: Ingests, source: str) -> None:
    write(source, [{"n": 1}, {"n": 2}])
    write(source, [{"n": 3}])
    lake.declare("events", "delta", {"url": source})
    (done,) = lake.drain()
    assert (done.rows, done.error) == (3, "")
    first = files(lake)
    write(source, [{"n": 4}])
    write(source, [{"n": 5, "more": "x"}], schema_mode="merge")
    (done,) = lake.drain()
    assert (done.rows, done.commits) == (2, 1)
    assert numbers(lake) == [1, 2, 3, 4, 5]
    assert first < files(lake)
    assert lake.commits("events")[0].message == "ingest: 2 rows from events, version 3"
    assert lake.flow("events").position["version"] == 3
    assert lake.drain()[0].commits == 0


def test_rows_that_were_changed_replace_the_table_in_one_commit(lake: Ingests, source: str) -> None:
    write(source, [{"n": n} for n in range(5)])
    lake.declare("events", "delta", {"url": source})
    lake.drain()
    write(source, [{"n": 9}])
    DeltaTable(source).delete("n < 2")
    (done,) = lake.drain()
    assert (done.rows, done.commits) == (4, 1)
    assert numbers(lake) == [2, 3, 4, 9]
    message = lake.commits("events")[0].message
    assert message.endswith("version 2: all rows replaced, as version 2 changed or removed some")
    write(source, [{"n": "now text"}], mode="overwrite", schema_mode="overwrite")
    lake.drain()
    assert lake.rows("events") == [{"n": "now text"}]
    DeltaTable(source).delete()
    assert lake.drain()[0].error == ""
    assert lake.rows("events") == []


def test_compaction_brings_nothing_and_what_came_before_it_is_not_lost(
    lake: Ingests, source: str
) -> None:
    write(source, [{"n": 1}])
    lake.declare("events", "delta", {"url": source})
    lake.drain()
    for n in (2, 3):
        write(source, [{"n": n}])
    DeltaTable(source).optimize.compact()
    (done,) = lake.drain()
    assert (done.rows, done.commits) == (2, 1)
    write(source, [{"n": 4}])
    lake.drain()
    DeltaTable(source).optimize.compact()
    assert lake.drain()[0].commits == 0
    assert numbers(lake) == [1, 2, 3, 4]
    assert lake.flow("events").position["version"] == DeltaTable(source).version()


def test_partitions_with_odd_names_and_all_types(lake: Ingests, source: str) -> None:
    row = {
        "d": Decimal("12.50"),
        "t": datetime.datetime(2026, 1, 2, 3, 4, 5, 6, datetime.UTC),
        "wall": datetime.datetime(2026, 1, 2, 3, 4, 5, 6),
        "day": datetime.date(2026, 1, 2),
        "b": b"\x00\xff",
        "s": {"a": 1, "l": ["x", None]},
        "p": "a b/c=%é",
        "nothing": None,
    }
    schema = pa.schema(
        [
            ("d", pa.decimal128(10, 2)),
            ("t", pa.timestamp("us", "UTC")),
            ("wall", pa.timestamp("us")),
            ("day", pa.date32()),
            ("b", pa.binary()),
            ("s", pa.struct([("a", pa.int32()), ("l", pa.list_(pa.string()))])),
            ("p", pa.string()),
            ("nothing", pa.string()),
        ]
    )
    table = pa.Table.from_pylist([row], schema=schema)
    write_deltalake(source, table, partition_by=["p"])
    lake.declare("events", "delta", {"url": source})
    lake.drain()
    write_deltalake(source, table, mode="append")
    assert lake.drain()[0].rows == 1
    assert lake.rows("events") == [row, row]


def test_only_what_comes_from_now_on(lake: Ingests, source: str) -> None:
    write(source, [{"n": 1}])
    lake.declare("events", "delta", {"url": source, "start": "latest"})
    assert lake.drain()[0].commits == 0
    write(source, [{"n": 2}])
    lake.drain()
    assert numbers(lake) == [2]


def test_one_version_alone(lake: Ingests, source: str) -> None:
    for n in range(3):
        write(source, [{"n": n}])
    lake.declare("events", "delta", {"url": source, "at": 1})
    lake.drain()
    assert numbers(lake) == [0, 1]
    assert lake.drain()[0].commits == 0
    lake.declare("events", "delta", {"url": source, "at": 0})
    lake.drain()
    assert numbers(lake) == [0]


def test_append_leaves_out_what_is_written_anew(lake: Ingests, source: str) -> None:
    write(source, [{"n": 1}, {"n": 2}])
    lake.declare("events", "delta", {"url": source, "changes": "append"})
    lake.drain()
    DeltaTable(source).delete("n = 1")
    write(source, [{"n": 3}])
    lake.drain()
    assert numbers(lake) == [1, 2, 3]


def test_upsert_by_key(lake: Ingests, source: str) -> None:
    write(source, [{"n": 1, "v": "a"}, {"n": 2, "v": "b"}])
    lake.declare("events", "delta", {"url": source, "changes": "upsert", "key": ["n"]})
    lake.drain()
    DeltaTable(source).update(updates={"v": "'new'"}, predicate="n = 2")
    write(source, [{"n": 3, "v": "c"}])
    lake.drain()
    found = {row["n"]: row["v"] for row in lake.rows("events")}
    assert found == {1: "a", 2: "new", 3: "c"}


def test_deletion_vectors_are_seen(lake: Ingests, source: str) -> None:
    """deltalake reads them, and writes none: what it refuses to read by files is scanned."""
    write(source, [{"n": 1}, {"n": 2}])
    lake.declare("events", "delta", {"url": source})
    lake.drain()
    DeltaTable(source).alter.add_feature(
        _feature("DeletionVectors"), allow_protocol_versions_increase=True
    )
    write(source, [{"n": 3}])
    (done,) = lake.drain()
    assert done.error == ""
    assert numbers(lake) == [1, 2, 3]


def _feature(name: str) -> Any:
    from deltalake import TableFeatures

    return getattr(TableFeatures, name)


def test_a_table_that_was_made_anew_is_read_anew(lake: Ingests, source: str) -> None:
    for n in range(3):
        write(source, [{"n": n}])
    lake.declare("events", "delta", {"url": source})
    lake.drain()
    shutil.rmtree(source)
    write(source, [{"n": 7}])
    lake.drain()
    assert numbers(lake) == [7]


def test_a_log_that_was_cleaned_up(lake: Ingests, source: str) -> None:
    write(source, [{"n": 1}])
    lake.declare("events", "delta", {"url": source})
    lake.drain()
    write(source, [{"n": 2}])
    write(source, [{"n": 3}])
    DeltaTable(source).create_checkpoint()
    (Path(source) / "_delta_log" / f"{1:020}.json").unlink()
    lake.drain()
    assert numbers(lake) == [1, 2, 3]
    assert "its log does not reach back" in lake.commits("events")[0].message


def test_a_table_that_is_not_there(lake: Ingests, source: str) -> None:
    lake.declare("events", "delta", {"url": source})
    (done,) = lake.drain()
    assert done.error == f"The Delta table {source} is not there. Look at url and options."
    assert lake.flow("events").state is FlowState.FAILED
    write(source, [{"n": 1}])
    lake.drain()
    assert numbers(lake) == [1]


def test_it_goes_on_while_a_worker_runs(lake: Ingests, source: str) -> None:
    write(source, [{"n": 1}])
    lake.declare("events", "delta", {"url": source, "every": 0.1})
    lake.start()
    until(lambda: numbers(lake) == [1])
    write(source, [{"n": 2}])
    until(lambda: numbers(lake) == [1, 2])
    assert lake.flow("events").facts["version"] == 1


def test_from_a_bucket_with_secrets_by_name(lake: Ingests) -> None:
    with s3_process() as server:
        url = f"{server.create_bucket('delta')}/events"
        options = {"AWS_ENDPOINT_URL": server.endpoint, "AWS_REGION": REGION}
        hidden = {"AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY}
        everything = {**options, **hidden, "AWS_ALLOW_HTTP": "true"}
        write(url, [{"n": 1}], storage_options=everything)
        lake.secrets = {"key": ACCESS_KEY, "secret": SECRET_KEY}
        secrets = (("AWS_ACCESS_KEY_ID", "key"), ("AWS_SECRET_ACCESS_KEY", "secret"))
        lake.declare("events", "delta", {"url": url, "options": options}, secrets=secrets)
        lake.drain()
        write(url, [{"n": 2}], storage_options=everything)
        (done,) = lake.drain()
        assert (done.rows, done.error) == (1, "")
        assert numbers(lake) == [1, 2]
        lake.declare("gone", "delta", {"url": f"{url}/x", "options": options}, secrets=secrets)
        (_, gone) = lake.drain()
        assert "is not there" in gone.error
        assert SECRET_KEY not in gone.error


def test_files_that_were_vacuumed_before_they_were_read(lake: Ingests, source: str) -> None:
    write(source, [{"n": 1}])
    lake.declare("events", "delta", {"url": source, "every": 0.1})
    lake.drain()
    for n in (2, 3):
        write(source, [{"n": n}])
    DeltaTable(source).optimize.compact()
    DeltaTable(source).vacuum(0, dry_run=False, enforce_retention_duration=False)
    lake.start()
    until(lambda: numbers(lake) == [1, 2, 3])
    assert "as files of it are gone" in lake.commits("events")[0].message
