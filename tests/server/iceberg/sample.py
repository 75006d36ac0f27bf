"""A lake with a table of every kind that matters to the catalog."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq

from trunkline import Lake

EVERY_TYPE = pa.table(
    {
        "id": pa.array([1, 2], pa.int64()),
        "tiny": pa.array([-1, 1], pa.int8()),
        "flag": pa.array([True, None]),
        "exact": pa.array([Decimal("12345678901234567890.123"), None], pa.decimal128(38, 3)),
        "moment": pa.array([datetime(2026, 1, 1, 12, tzinfo=UTC), None], pa.timestamp("us", "UTC")),
        "local": pa.array([datetime(2026, 1, 1, 12, 0, 0, 123456), None], pa.timestamp("us")),
        "day": pa.array([date(2026, 2, 28), None]),
        "raw": pa.array([b"\0\xff", None]),
        "list": pa.array([[1, None], None], pa.list_(pa.int64())),
        "struct": pa.array([{"a": 1, "b": ["x"]}, None]),
        "map": pa.array([[("k", 1.5)], None], pa.map_(pa.string(), pa.float64())),
        "float": pa.array([1.5, float("-inf")]),
        "text": pa.array(["Zoë", ""]),
    }
)


@dataclass
class Sample:
    """What was committed, by the name of the step."""

    lake: Lake
    commits: dict[str, str] = field(default_factory=dict)


def parquet(**columns: object) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue()


def fill(lake: Lake) -> Sample:
    sample = Sample(lake)
    _orders(sample)
    _folders(sample)
    lake.create_project("shop", "What is sold")
    lake.create_repo("shop/items")
    lake.write_table("shop/items", [{"id": 7, "name": "bread"}])
    lake.create_repo("dropped")
    lake.write_table("dropped@main:/gone", [{"id": 1}])
    with lake.commit("dropped@main") as commit:
        commit.delete("/gone")
    return sample


def _orders(sample: Sample) -> None:
    lake, commits = sample.lake, sample.commits
    lake.create_repo("orders")
    first = pa.table({"id": pa.array([1, 2], pa.int32()), "name": ["a", "b"]})
    commits["first"] = lake.write_table("orders", first, message="Two orders").id
    lake.create_tag("orders@first-day", "main")
    second = pa.table({"id": pa.array([10, 2**40]), "name": ["x", "y"], "tip": [1.5, 2.5]})
    commits["second"] = lake.write_table("orders", second).id
    with lake.commit("orders@main", message="A note") as note:
        note.put("/notes/read.me", b"not of the table")
    lake.create_branch("orders@work", "main")
    commits["work"] = lake.write_table("orders@work", [{"id": 99, "name": "w"}]).id
    lake.delete_from("orders", "id = 2")
    commits["deleted"] = lake.commit_info("orders@main").id
    lake.merge_table("orders", [{"id": 1, "name": "A", "tip": 0.5}, {"id": 3}], on="id")
    commits["merged"] = lake.commit_info("orders@main").id


def _folders(sample: Sample) -> None:
    lake = sample.lake
    lake.create_repo("lake")
    lake.write_table("lake@main:/raw/every", EVERY_TYPE)
    lake.write_table("lake@main:/raw/empty", pa.table({"id": pa.array([], pa.int64())}))
    days = [{"id": n, "day": date(2026, 1, n % 3 + 1)} for n in range(9)]
    lake.write_table("lake@main:/days", days, partition_by="day")
    with lake.commit("lake@main", message="By hand") as commit:
        for day in (1, 2, 3):
            ids = pa.array([day * 10, day * 10 + 1])
            commit.put(f"/hive/day=2026-01-0{day}/part of #{day}?.parquet", parquet(id=ids))
        commit.put("/hive/day=__HIVE_DEFAULT_PARTITION__/a.parquet", parquet(id=pa.array([0])))
        for number in range(30):
            commit.put(f"/small/{number}.parquet", parquet(id=pa.array([number])))
        commit.put("/text/a.csv", b"id\n1\n")
    with lake.commit("lake@main", message="Recorded") as commit:
        extra = parquet(id=pa.array([1]), other=pa.array(["o"]))
        commit.put("/narrow/a.parquet", extra)
    lake.set_table("lake@main:/narrow", format="parquet", schema="id bigint")
    _others(sample)
    lake.set_table("lake@main:/planned", format="parquet", schema="id bigint, name string")


def _others(sample: Sample) -> None:
    """Types that other writers have, and types that were widened."""
    lake = sample.lake
    lake.create_repo("kinds")
    moment = datetime(2026, 1, 1, 12)
    with lake.commit("kinds@main") as commit:
        commit.put("/case/a.parquet", parquet(id=pa.array([1])))
        commit.put("/case/b.parquet", parquet(ID=pa.array([2])))
        commit.put("/unsigned/a.parquet", parquet(id=pa.array([2**31 + 5], pa.uint32())))
        commit.put("/nanos/a.parquet", parquet(id=pa.array([moment], pa.timestamp("ns"))))
        commit.put("/words/a.parquet", parquet(id=pa.array(["x", "y"]).dictionary_encode()))
    for digits, places, value in ((5, 2, "1.50"), (12, 2, "123456.25")):
        exact = pa.array([Decimal(value)], pa.decimal128(digits, places))
        lake.write_table("kinds@main:/exact", pa.table({"id": exact}))
    for kind in (pa.float32(), pa.float64()):
        lake.write_table("kinds@main:/floats", pa.table({"id": pa.array([0.5], kind)}))
