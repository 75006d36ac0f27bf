"""Tables whose bytes are lost or damaged, and stores without room: nothing is published."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import trunkline as tl
from tests.jobs.tables import Tables
from tests.reliability.graph import entries
from tests.reliability.harness import assert_no_orphans, assert_sound
from tests.reliability.test_disk_full import fill
from trunkline.errors import TrunklineError
from trunkline.model.jobs import JobState

ROWS = 200_000


def flipped(path: Path) -> None:
    """One bit, in the middle of a page."""
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 4
    path.write_bytes(data)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "lost": Path.unlink,
    "cut": lambda path: os.truncate(path, path.stat().st_size // 2),
    "a bit flipped": flipped,
    "something else": lambda path: path.write_bytes(b"<html>no such page</html>" * 20_000),
}


@pytest.fixture
def tables(spark: object, tmp_path: Path) -> Iterator[Tables]:
    with tl.init(tmp_path / "lake") as lake:
        lake.create_repo("orders")
        yield Tables(lake, tmp_path / "code")


def objects(tables: Tables) -> Path:
    return Path(tables.lake.location) / ".trunkline" / "objects"


@pytest.mark.parametrize("writer", ["arrow", "spark"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_input_is_named_and_nothing_is_published(
    tables: Tables, spark, damage: str, writer: str
):
    lake = tables.lake
    frame = spark.spark.range(ROWS).selectExpr("id", "hash(id) AS noise", "rand(7) AS more")
    frame = frame.coalesce(1)
    lake.write_table("orders@main", frame if writer == "spark" else frame.toArrow())
    (entry,) = [one for one in entries(lake, "orders") if one.path.endswith(".parquet")]
    whole = objects(tables) / entry.key
    good = whole.read_bytes()
    DAMAGES[damage](whole)
    tables.sql("sums", "SELECT sum(noise) AS s, sum(more) AS m FROM orders", tl.pfs("orders", "/"),
               mode="whole")  # fmt: skip
    (job,) = tables.run()
    assert job.state is JobState.FAILURE
    assert f"orders@main:{entry.path}" in job.reason
    assert "\n" not in job.reason
    assert lake.commits("sums@main") == []
    with pytest.raises(TrunklineError) as caught:
        lake.table("orders@main").arrow()
    assert entry.path in str(caught.value)
    assert not lake.fsck(deep=True).ok

    whole.write_bytes(good)
    lake.rerun_job(f"sums@{job.id}")
    tables.run_well()
    assert_sound(lake)
    assert_no_orphans(lake)


def test_a_disk_that_fills_while_spark_writes(spark, tmpfs: Path, tmp_path: Path):
    with tl.init(tmp_path / "lake", store=f"file://{tmpfs}/objects") as lake:
        tables = Tables(lake, tmp_path / "code")
        lake.create_repo("orders")
        tables.day("2026-01-01", (1, 2.5))
        sql = "SELECT o.id, n.id AS n, uuid() AS noise FROM orders o, range(60000) n"
        tables.sql("noise", sql, tl.pfs("orders", "/"), mode="whole")
        ballast = fill(tmpfs, 512 << 10)
        (job,) = tables.run()
        assert job.state is JobState.FAILURE
        assert "There is no space left where Spark writes" in job.reason
        assert lake.commits("noise@main") == []
        assert_sound(lake)
        # What was half written is gone already: what fits goes on.
        assert len(list((tmpfs / "objects").rglob("*.parquet"))) == 0

        ballast.unlink()
        lake.rerun_job(f"noise@{job.id}")
        assert tables.run_one().counts.rows_out == 60000
        assert_no_orphans(lake)
