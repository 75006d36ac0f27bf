"""Shapes that real data come in: through a pipeline, a change, and every reader."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import trunkline as tl
from tests.oracle.doors import READERS
from tests.oracle.tables import parquet
from tests.oracle.worlds import World

FOREVER = datetime(9999, 12, 31, tzinfo=UTC)
Rows = list[dict[str, Any]]


def pipeline(world: World, sql: str, repo: str, **transform: Any) -> str:
    """A pipeline over a repo; the ref of its table."""
    fields = {"sql": sql, **transform}
    glob = "/day=*/" if "partition_by" in transform else "/"
    spec = {"pipeline": {"name": f"{repo}out"}, "input": tl.pfs(repo, glob), "transform": fields}
    world.lake.apply(spec)
    assert world.run() == ""
    return f"{repo}out@main:/"


def put(world: World, repo: str, files: dict[str, bytes]) -> None:
    with world.lake.commit(f"{repo}@main") as commit:
        for path, data in files.items():
            commit.put(path, data)


def rows(table: pa.Table, by: str) -> Rows:
    found: Rows = table.to_pylist()
    return sorted(found, key=lambda row: repr(row[by]))


def agreed(world: World, ref: str, by: str) -> Rows:
    """The rows, the same through every reader."""
    found = {door: rows(read(world, ref), by) for door, read in READERS.items()}
    expected = found["arrow"]
    for door, given in found.items():
        names = list(expected[0])
        assert [[row[name] for name in names] for row in given] == [
            [row[name] for name in names] for row in expected
        ], door
    return expected


@pytest.fixture
def repo(world: World) -> str:
    return world.new_repo()


def test_slowly_changing_dimensions_end_in_9999(world: World, repo: str):
    """An open version ends on 9999-12-31; closing it rewrites that one, and no other."""
    made = pa.table(
        {
            "customer": pa.array([1, 1, 2, 3]),
            "valid_from": pa.array(
                [
                    datetime(1, 1, 1, tzinfo=UTC),
                    *[datetime(2026, n, 1, tzinfo=UTC) for n in (1, 2, 3)],
                ],
                pa.timestamp("us", "UTC"),
            ),
            "valid_to": pa.array(
                [datetime(2026, 1, 1, tzinfo=UTC), FOREVER, FOREVER, FOREVER],
                pa.timestamp("us", "UTC"),
            ),
            "since": pa.array([date(1, 1, 1), date(1582, 10, 15), date(9999, 12, 31), None]),
        }
    )
    put(world, repo, {"/a.parquet": parquet(made)})
    ref = pipeline(world, f"SELECT * FROM {repo}", repo)
    found = agreed(world, ref, "valid_from")
    assert sorted(row["valid_to"] for row in found) == [
        datetime(2026, 1, 1, tzinfo=UTC),
        *[FOREVER] * 3,
    ]
    is_open = (
        f"SELECT customer FROM \"{repo}out\" WHERE valid_to = TIMESTAMPTZ '9999-12-31 00:00:00+00'"
    )
    assert sorted(world.lake.sql(is_open).rows()) == [(1,), (2,), (3,)]
    copy = f"{world.new_repo()}@main"
    world.lake.write_table(copy, world.lake.table(ref).arrow())
    world.lake.update_table(
        copy, {"valid_to": "TIMESTAMPTZ '2026-06-01 00:00:00+00'"}, "customer = 2"
    )
    world.lake.write_table(copy, made.slice(0, 1))
    world.lake.compact(copy)
    ends = world.lake.table(copy).arrow(["customer", "valid_to"]).to_pylist()
    assert [row["valid_to"] for row in ends if row["customer"] == 2] == [
        datetime(2026, 6, 1, tzinfo=UTC)
    ]
    assert sum(row["valid_to"] == FOREVER for row in ends) == 2


def test_ids_as_doubles_are_told_apart(world: World, repo: str):
    """pandas makes doubles of ids where one is missing; a corrected one is published."""
    ids = [123456789012345.0, 9007199254740992.0, None, 0.1]

    def day(first: float) -> bytes:
        return parquet(
            pa.table({"id": pa.array([first, *ids[1:]], pa.float64()), "n": [1, 2, 3, 4]})
        )

    put(world, repo, {"/day=1/a.parquet": day(ids[0] or 0), "/day=2/a.parquet": day(5.0)})
    ref = pipeline(world, f"SELECT * FROM {repo}", repo, partition_by=["day"])
    put(world, repo, {"/day=1/a.parquet": day(123456789012346.0)})
    assert world.run() == ""
    found = agreed(world, ref, "n")
    assert {row["id"] for row in found if row["day"] == 1} == {123456789012346.0, *ids[1:]}
    where = [("id", "=", 123456789012346.0)]
    assert world.lake.table(ref).arrow(where=where).num_rows == 1
    assert world.lake.table(ref).arrow(where=[("id", "=", 0.1)]).num_rows == 2


def test_money_keeps_every_digit(world: World, repo: str):
    amounts = [
        Decimal("12345678901234567.89"),
        Decimal("0.01"),
        Decimal("-99999999999999999.99"),
        None,
    ]
    table = pa.table({"n": [1, 2, 3, 4], "amount": pa.array(amounts, pa.decimal128(19, 2))})
    put(world, repo, {"/a.parquet": parquet(table)})
    ref = pipeline(world, f"SELECT *, sum(amount) OVER () AS total FROM {repo}", repo, mode="whole")
    found = agreed(world, ref, "n")
    assert [row["amount"] for row in found] == amounts
    assert {row["total"] for row in found} == {Decimal("-87654321098765432.09")}
    where = [("amount", "=", "12345678901234567.89")]
    assert world.lake.table(ref).arrow(where=where).num_rows == 1


def test_nested_json_with_hyphens_and_capitals(world: World, repo: str):
    lines = (
        '{"n": 1, "user-id": {"First Name": "Ada", "2024": [1, null]}, "größe": 1.5}\n'
        '{"n": 2, "user-id": {"First Name": null, "2024": []}, "größe": null}\n'
        '{"n": 3, "user-id": null, "größe": 2}\n'
    )
    put(world, repo, {"/a.json": lines.encode()})
    sql = f"SELECT n, `user-id`, `user-id`.`First Name` AS `First Name`, `größe` FROM {repo}"
    ref = pipeline(world, sql, repo)
    found = agreed(world, ref, "n")
    assert [row["First Name"] for row in found] == ["Ada", None, None]
    assert [row["user-id"] for row in found] == [
        {"2024": [1, None], "First Name": "Ada"},
        {"2024": [], "First Name": None},
        None,
    ]
    assert [row["größe"] for row in found] == [1.5, None, 2.0]


def test_dirty_csv_is_read_alike(world: World, repo: str):
    """Quotes, newlines in cells, empty and quoted cells, no newline at the end, an empty file."""
    text = 'id,name,größe\r\n1,"a ""b"", c",1.5\r\n2,,\r\n3,"x\ny",-0.0\r\n4, z ,1e300'
    put(world, repo, {"/a.csv": text.encode(), "/b.csv": b"id,name,gr\xc3\xb6\xc3\x9fe\r\n"})
    ref = pipeline(world, f"SELECT * FROM {repo}", repo)
    found = agreed(world, ref, "id")
    assert [row["name"] for row in found] == ['a "b", c', None, "x\ny", " z "]
    assert [row["größe"] for row in found] == [1.5, None, -0.0, 1e300]
    for door in ("arrow", "duckdb", "spark"):
        assert rows(READERS[door](world, f"{repo}@main:/"), "id") == found, door


def test_empty_files_are_no_rows(world: World, repo: str):
    some = pa.table({"id": pa.array([1, 2], pa.int64()), "v": ["a", None]})
    files = {"/0.parquet": parquet(some.slice(0, 0)), "/1.parquet": parquet(some)}
    put(world, repo, files)
    ref = pipeline(world, f"SELECT * FROM {repo}", repo)
    assert agreed(world, ref, "id") == [{"id": 1, "v": "a"}, {"id": 2, "v": None}]
