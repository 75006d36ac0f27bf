"""A lake that an earlier Trunkline made: it opens, reads right, and computes nothing anew.

`older-lake.tar.gz` has tables whose partition columns are in files and folders, INT96 timestamps,
fingerprints and bounds as they were written before they had versions, and quarantined rows.
"""

from __future__ import annotations

import datetime as dt
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import trunkline as tl
from trunkline import Lake
from trunkline.model.jobs import JobState
from trunkline.model.told import Kind
from trunkline.model.verification import Verdict

ARCHIVE = Path(__file__).parent / "older-lake.tar.gz"
FOREVER = dt.datetime(9999, 12, 31, tzinfo=dt.UTC)
DAYS = [dt.date(2026, 1, day) for day in (1, 2, 3)]


@pytest.fixture
def older(spark: object, tmp_path: Path) -> Iterator[Lake]:
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    assert tl.migrate(tmp_path).from_format == 7
    with tl.open(tmp_path) as lake:
        yield lake


def test_every_reader_sees_what_was_written(older: Lake):
    periods = older.table("periods").arrow().to_pylist()
    assert [row["valid_to"] for row in periods] == [FOREVER] * 3
    assert [row["s"] for row in periods] == [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}, None]
    for engine in ("duckdb", "spark"):
        found = older.sql("SELECT id FROM facts WHERE p = 0.1", engine=engine).arrow()
        assert found.column("id").to_pylist() == [1], engine
        found = older.sql("SELECT day, revenue FROM daily ORDER BY day", engine=engine).arrow()
        assert found.column("day").to_pylist() == DAYS, engine
        assert found.column("revenue").to_pylist() == [20.1, 6.25, 0.3], engine
    assert older.table("facts").arrow(where=[("p", "=", 0.1)]).column("id").to_pylist() == [1]
    assert sorted(older.table("clean").arrow().column("id").to_pylist()) == [1, 2, 3, 5]


def test_what_was_told_of_its_jobs_is_told_still(older: Lake):
    jobs = older.jobs()
    assert {job.told_cause.kind for job in jobs} == {Kind.TEXT}
    assert {job.cause.partition(" ")[0] for job in jobs} >= {"applied", "orders@main"}


def test_nothing_is_computed_again_until_something_changes(older: Lake):
    assert [(one.run, one.drop) for one in older.plan().pipelines] == [(0, 0)] * 6
    assert older.run().jobs == ()
    with older.commit("orders@main") as commit:
        commit.put("/day=2026-01-02/a.csv", b"id,amount\n3,7.25\n4,1\n")
    jobs = {job.pipeline.repo: job for job in older.run().jobs}
    assert {job.state for job in jobs.values()} == {JobState.SUCCESS}
    assert jobs.keys() == {"daily", "clean", "twice", "total"}
    for name in ("daily", "clean", "twice"):
        assert (jobs[name].counts.processed, jobs[name].counts.skipped) == (1, 2), name
    # Days as they were written then and as they are now make one table.
    rows = older.table("daily").arrow().sort_by("day")
    assert rows.column("day").to_pylist() == DAYS
    assert rows.column("revenue").to_pylist() == [20.1, 8.25, 0.3]
    assert older.table("total").arrow().column("total").to_pylist() == [pytest.approx(28.65)]


@pytest.mark.slow
def test_its_results_are_those_of_a_run_from_scratch(older: Lake):
    found = {one.pipeline.repo: one for one in older.verify().results}
    assert {name: str(one.verdict) for name, one in found.items()} == dict.fromkeys(
        ("clean", "daily", "periods", "total", "twice", "upper"), str(Verdict.EQUAL)
    )


def test_its_tables_can_be_changed(older: Lake):
    assert older.delete_from("facts@main", "p = 0.1").deleted == 1
    older.compact("facts@main")
    left = older.table("facts").arrow()
    assert left.column("p").to_pylist() == [0.2, 0.3]
