"""Moments before 1677 and after 2262: every reader and every change keeps them, also in INT96."""

import io
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.tables.reading import put
from trunkline.ingests.feeds.base import Columns
from trunkline.ingests.feeds.reading import pieces

EDGES = [
    datetime(9999, 12, 31, 23, 59, 59, 999999, UTC),
    datetime(1, 1, 1, tzinfo=UTC),
    datetime(1500, 2, 28, 12, 0, 0, 1, UTC),
    datetime(1582, 10, 10, tzinfo=UTC),
    datetime(2300, 1, 1, tzinfo=UTC),
    datetime(1969, 12, 31, 23, 59, 59, 999999, UTC),
]
NESTED = pa.struct([("at", pa.timestamp("us")), ("n", pa.int32())])
LISTED = pa.map_(pa.string(), pa.list_(pa.timestamp("us")))


def rows_of(values: list[datetime], first: int = 0) -> pa.Table:
    wall = [one.replace(tzinfo=None) for one in values]
    return pa.table(
        {
            "id": list(range(first, first + len(values))),
            "valid_to": pa.array(wall, pa.timestamp("us")),
            "s": pa.array([{"at": one, "n": 1} for one in wall], NESTED),
            "m": pa.array([[("k", [one, None])] for one in wall], LISTED),
        }
    )


def int96(table: pa.Table) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table, buffer, use_deprecated_int96_timestamps=True, store_schema=False)
    assert pq.ParquetFile(buffer).metadata.schema.column(1).physical_type == "INT96"
    return buffer.getvalue()


@pytest.fixture
def old(lake):
    """A table of INT96, as others write it."""
    put(lake, {"/a.parquet": int96(rows_of(EDGES[:3])), "/b.parquet": int96(rows_of(EDGES[3:], 3))})
    return lake


def held(lake, ref="orders") -> dict[int, tuple]:
    """By id, the moments of a row, however deep they are: through Arrow, after DuckDB said so."""
    found = {
        row["id"]: (row["valid_to"], row["s"]["at"], dict(row["m"])["k"][0])
        for row in lake.table(ref).arrow().to_pylist()
    }
    told = lake.sql(f"SELECT id, valid_to, s['at'], m['k'][1] FROM {ref}").arrow().to_pylist()
    assert {row[0]: tuple(row[1:]) for row in (list(one.values()) for one in told)} == found
    return found


def expected(*ids: int) -> dict[int, tuple]:
    return {n: (EDGES[n],) * 3 for n in ids}


def test_all_readers_have_them(old):
    assert held(old) == expected(*range(6))
    assert [c.type for c in old.describe_table("orders").columns][1:3] == [
        "timestamp",
        "struct<at:timestamp,n:int>",
    ]
    table = old.table("orders")
    pandas = table.pandas().set_index("id")["valid_to"]
    assert [pandas[n].to_pydatetime() for n in range(6)] == EDGES
    polars = dict(table.polars().select("id", "valid_to").rows())
    assert [polars[n] for n in range(6)] == EDGES
    for n, moment in enumerate(EDGES):
        assert table.arrow(where=[("valid_to", "=", moment)])["id"].to_pylist() == [n]
        later = table.arrow(where=[("valid_to", ">", moment)])["id"].to_pylist()
        assert sorted(later) == [k for k, one in enumerate(EDGES) if one > moment]
    (profile,) = (c for c in old.profile("orders").columns if c.name == "valid_to")
    assert str(profile.min)[:4] == "0001" and str(profile.max)[:4] == "9999"


@pytest.mark.parametrize("change", ["update", "delete", "merge", "compact", "overwrite"])
def test_what_rewrites_a_file_keeps_them(old, change):
    wanted = expected(*range(6))
    match change:
        case "update":
            old.update_table("orders", {"id": "id + 10"}, "id = 1")
            wanted[11] = wanted.pop(1)
        case "delete":
            assert old.delete_from("orders", "id = 2").deleted == 1
            wanted.pop(2)
        case "merge":
            fresh = old.table("orders").arrow(where=[("id", "=", 4)])
            old.merge_table("orders", fresh.set_column(0, "id", pa.array([5])), on="id")
            wanted[5] = wanted[4]
        case "compact":
            assert old.compact("orders").after == 1
            diff = old.table_diff("orders@main~1", "orders@main")
            assert (diff.added, diff.removed) == (0, 0)
        case "overwrite":
            old.write_table("orders", old.table("orders"), mode="overwrite")
    assert held(old) == wanted
    table, later = old.table("orders"), EDGES[4] - timedelta(microseconds=1)
    assert set(table.arrow(where=[("valid_to", ">", later)])["id"].to_pylist()) == {
        n for n, (moment, *_) in wanted.items() if moment > later
    }


def test_an_ingest_takes_them(tmp_path: Path):
    file = tmp_path / "a.parquet"
    file.write_bytes(int96(rows_of(EDGES)))
    with file.open("rb") as opened:
        taken = pieces(opened, "a", "parquet", 1 << 20)
        found = pa.concat_tables([one.table for one in taken if isinstance(one, Columns)])
    assert found["valid_to"].to_pylist() == EDGES
    assert [row["at"] for row in found["s"].to_pylist()] == EDGES
