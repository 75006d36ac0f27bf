"""The four modes: whatever happens to the input, the output is that of a run from scratch."""

from __future__ import annotations

import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import trunkline as tl
from tests.jobs.tables import BY_DAY, DAYS, Tables, csv
from trunkline.errors import InvalidSpec
from trunkline.model.jobs import JobState

Days = dict[str, list[tuple[int, float]]]


@pytest.fixture
def tables(spark, lake, tmp_path) -> Tables:
    return Tables(lake, tmp_path / "code")


def random_rows(chance: random.Random) -> list[tuple[int, float]]:
    return [(n, chance.randrange(100) / 4) for n in range(chance.randrange(1, 5))]


def change(chance: random.Random, days: Days, only_add: bool = False) -> dict[str, bytes | None]:
    """Add, change or remove the orders of one to three days."""
    files: dict[str, bytes | None] = {}
    for day in chance.sample(DAYS, chance.randrange(1, 4)):
        path = f"/day={day}/a.csv"
        if only_add:
            path = f"/day={day}/{chance.randrange(10**9)}.csv"
            rows = random_rows(chance)
            days.setdefault(day, []).extend(rows)
            files[path] = csv(*rows)
        elif day in days and chance.random() < 0.4 and len(days) > 1:
            del days[day]
            files[path] = None
        else:
            days[day] = random_rows(chance)
            files[path] = csv(*days[day])
    return files


def by_day(days: Days) -> list[tuple[Any, ...]]:
    found = [
        (day, float(sum(amount for _, amount in rows)), len(rows)) for day, rows in days.items()
    ]
    return sorted(found, key=repr)


def each_row(days: Days) -> list[tuple[Any, ...]]:
    return sorted(
        ((day, n, amount * 2) for day, rows in days.items() for n, amount in rows), key=repr
    )


DOUBLE = "SELECT id, amount * 2 AS amount, day FROM orders"
Expected = Callable[[Days], list[tuple[Any, ...]]]
MODES: dict[str, tuple[str, Expected, tuple[str, ...], Any, bool]] = {
    "whole": (BY_DAY, by_day, ("day", "revenue", "orders"), {"glob": "/"}, False),
    "together": (
        BY_DAY, by_day, ("day", "revenue", "orders"), {"partition_by": ["day"]}, False,
    ),
    "each": (BY_DAY, by_day, ("day", "revenue", "orders"), {}, False),
    "append": (DOUBLE, each_row, ("day", "id", "amount"), {"glob": "/"}, True),
}  # fmt: skip


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("mode", MODES)
def test_any_history_gives_what_a_run_from_scratch_gives(tables, mode, seed):
    sql, expected, columns, fields, only_add = MODES[mode]
    chance = random.Random(seed)
    days: Days = {}
    fields = dict(fields)
    input = tl.pfs("orders", fields.pop("glob", "/day=*/"))
    tables.put("orders", change(chance, days, only_add))
    tables.sql("out", sql, input, mode=mode, **fields)
    tables.run_well()
    for _ in range(4):
        files = change(chance, days, only_add)
        tables.put("orders", files)
        tables.run_well()
        found = [(str(row[0]), *row[1:]) for row in tables.rows("out@main", *columns)]
        assert sorted(found, key=repr) == expected(days)
    tables.sql("scratch", sql, input, mode=mode, **fields)
    tables.run_well()
    assert tables.rows("scratch@main", *columns) == tables.rows("out@main", *columns)
    assert tables.lake.read("scratch@main:/_table.json") == tables.lake.read(
        "out@main:/_table.json"
    )


def test_together_runs_only_the_days_that_changed_as_one_spark_job(tables):
    for day in DAYS:
        tables.day(day, (1, 2.0))
    tables.sql(
        "doubled", "SELECT *, amount * 2 AS twice FROM orders", mode="together",
        partition_by=["day"],
    )  # fmt: skip
    first = tables.run_one()
    assert (first.counts.processed, first.counts.rows_in, first.counts.rows_out) == (5, 5, 5)
    before = tables.files("doubled@main")
    tables.put("orders", {f"/day={day}/b.csv": csv((2, 3.0)) for day in DAYS[:2]})
    job = tables.run_one()
    assert (job.counts.processed, job.counts.skipped) == (2, 3)
    assert len(job.counts.spark_jobs) == 1
    assert (job.counts.rows_in, job.counts.rows_out) == (4, 4)
    after = tables.files("doubled@main")
    kept = {path for path in before if not path.startswith(tuple(f"/day={d}" for d in DAYS[:2]))}
    assert kept == {path for path in before if before[path] == after.get(path)}
    assert len(kept) == 3


@pytest.mark.slow
def test_a_file_that_changes_the_types_of_others_computes_those_anew(tables):
    """One n/a in a later day made text of all numbers, but for the days that were computed."""
    text = """SELECT day, try_cast(max(amount) AS double) AS most, count(DISTINCT amount) AS kinds,
              any_value(typeof(amount)) AS type FROM orders GROUP BY day"""
    tables.day(DAYS[0], (1, 9), (2, 10), (3, "1.0"), (4, 1))
    tables.day(DAYS[1], (1, 7), (2, 7.5))
    tables.sql("kinds", text, mode="together", partition_by=["day"])
    tables.sql("each", text, mode="each")
    row_by_row = "SELECT id, CAST(amount AS string) AS a FROM orders"
    tables.sql("log", row_by_row, tl.pfs("orders"), mode="append")
    tables.sql("fresh", row_by_row, tl.pfs("orders"), mode="append", on_change="refresh")
    tables.run_well()
    first = {(7.5, 2, "double"), (10.0, 3, "double")}
    assert set(tables.rows("kinds@main", "most", "kinds", "type")) == first
    tables.put("orders", {f"/day={DAYS[2]}/a.csv": csv((5, 3.5), header="id,amount")})
    found = {str(job.pipeline): job for job in tables.run_well()}
    assert found["kinds"].counts.skipped == 2, "a new day of the same types"
    tables.put("orders", {f"/day={DAYS[3]}/a.csv": csv((6, "n/a"), (7, 3), header="id,amount")})
    found = {str(job.pipeline): job for job in tables.run()}
    assert "with other types now" in (found["log"].reason or "")
    assert found["kinds"].state is found["fresh"].state is JobState.SUCCESS
    tables.sql("scratch", text, mode="together", partition_by=["day"])
    tables.run()
    assert (9.0, 4, "string") in tables.rows("kinds@main", "most", "kinds", "type")
    for name in ("kinds", "each"):
        assert tables.rows(f"{name}@main") == tables.rows("scratch@main")
    assert {"9", "1.0"} <= {a for (a,) in tables.rows("fresh@main", "a")}
    tables.put("orders", {f"/day={DAYS[3]}/a.csv": None})
    tables.run()
    last = set(tables.rows("kinds@main", "most", "kinds", "type"))
    assert last == {*first, (3.5, 1, "double")}, "and back again"


AS_READ = """SELECT day, typeof(n) AS n, CAST(f AS string) AS f, CAST(d / 3 AS string) AS d
FROM orders"""


def widths(day: str, n: pa.DataType, f: pa.DataType, d: pa.DataType) -> pa.Table:
    number = pa.array([Decimal("1.25")], d)
    return pa.table({"day": [day], "n": pa.array([1], n), "f": pa.array([0.1], f), "d": number})


@pytest.mark.slow
def test_types_that_are_widened_compute_what_was_read_with_narrow_ones(tables):
    """0.1 as a float is another double, and digits of a quotient come from its decimals."""
    first = widths(DAYS[0], pa.int32(), pa.float32(), pa.decimal128(6, 2))
    tables.lake.write_table("orders@main", first, partition_by=["day"])
    tables.sql("kinds", AS_READ, mode="together", partition_by=["day"])
    tables.sql("each", AS_READ, mode="each")
    tables.sql("log", AS_READ, tl.pfs("orders"), mode="append", on_change="refresh")
    tables.run_well()
    second = widths(DAYS[1], pa.int32(), pa.float32(), pa.decimal128(6, 2))
    more = second.append_column("more", pa.array([1]))
    tables.lake.write_table("orders@main", more, mode="append")
    found = {str(job.pipeline): job for job in tables.run_well()}
    assert found["kinds"].counts.skipped == 1, "another column widens none"
    for number, types in enumerate(
        [
            (pa.int64(), pa.float32(), pa.decimal128(6, 2)),
            (pa.int64(), pa.float64(), pa.decimal128(6, 2)),
            (pa.int64(), pa.float64(), pa.decimal128(12, 4)),
        ]
    ):
        tables.lake.write_table("orders@main", widths(DAYS[2 + number], *types), mode="append")
        tables.run_well()
        scratch = f"scratch{number}"
        tables.sql(scratch, AS_READ, mode="together", partition_by=["day"])
        tables.run_well()
        rows = tables.rows(f"{scratch}@main", "day", "n", "f", "d")
        for name in ("kinds", "each", "log"):
            assert tables.rows(f"{name}@main", "day", "n", "f", "d") == rows


def test_types_and_options_of_text_that_are_recorded_anew_compute_all(tables):
    """Also for a pipeline that reads one folder of the table as a whole."""
    text = "SELECT day, typeof(amount) AS type, CAST(amount AS string) AS amount FROM orders"
    tables.sql("first", text, tl.pfs("orders", f"/day={DAYS[0]}/"), mode="whole")
    tables.put("orders", {f"/day={DAYS[0]}/a.csv": b"id,amount\n1,1.50\n"})
    types = "day string, id int, amount"
    tables.lake.set_table("orders@main", schema=f"{types} double")
    tables.sql("read", text, mode="together", partition_by=["day"])
    tables.run_well()
    assert tables.rows("read@main", "type", "amount") == [("double", "1.5")]
    tables.lake.set_table("orders@main", schema=f"{types} decimal(9,3)")
    tables.run_well()
    for name in ("read", "first"):
        assert tables.rows(f"{name}@main", "type", "amount") == [("decimal(9,3)", "1.500")]
    tables.put("orders", {f"/day={DAYS[1]}/a.csv": b"id,amount\n1,2.50\n"})
    assert all(job.counts.skipped == 1 for job in tables.run_well())
    tables.lake.set_table("orders@main", options={"nullValue": "2.50"})
    tables.run_well()
    assert tables.rows("read@main", "amount") == [("1.500",), (None,)]
    tables.lake.set_table("orders@main", options={"nullValue": "1.50"})
    tables.run_well()
    assert tables.rows("read@main", "amount") == [("2.500",), (None,)]
    assert tables.rows("first@main", "amount") == [(None,)]


def test_what_brings_partitions_together_is_refused_when_it_is_applied(tables):
    """Days one after the other gave other rows than all at once."""
    by_day = {"mode": "together", "partition_by": ["day"]}
    text = """CREATE TEMP VIEW sums AS SELECT day, sum(amount) AS n FROM orders GROUP BY day;
SELECT day, n,
       n - lag(n) OVER (ORDER BY day) AS more
FROM sums"""
    with pytest.raises(InvalidSpec, match="A window brings rows of orders together") as refused:
        tables.sql("steps", text, **by_day)
    assert "transform.sql, line 3" in refused.value.message
    assert "3 |        n - lag(n) OVER (ORDER BY day) AS more" in refused.value.message
    assert "use mode: whole" in refused.value.hint
    with pytest.raises(InvalidSpec, match="An aggregate looks at several rows of orders"):
        tables.sql("total", "SELECT count(*) AS n FROM orders", tl.pfs("orders"), mode="append")
    with pytest.raises(InvalidSpec, match="its column day is not as it stands in the rows of"):
        tables.sql("moved", "SELECT id, date_add(day, 1) AS day FROM orders", **by_day)
    with pytest.raises(InvalidSpec, match="the column t has time"):
        tables.sql("timed", "SELECT CAST(day AS time) AS t FROM orders", mode="each")
    assert tables.lake.pipelines() == []


def test_what_only_a_plan_shows_to_bring_partitions_together_is_refused_by_the_job(tables):
    tables.day(DAYS[0], (1, 2.0))
    text = """CREATE TEMP VIEW paid AS SELECT * FROM orders;
SELECT day, sum(amount) AS n
FROM paid GROUP BY ROLLUP(day)"""
    tables.sql("steps", text, mode="together", partition_by=["day"])
    source = """
def f(orders):
    mean = orders.groupBy("id").avg("amount").withColumnRenamed("avg(amount)", "mean")
    return orders.join(mean, "id")
"""
    tables.spark("means", source, mode="together", partition_by=["day"])
    said = {str(job.pipeline): job.reason or "" for job in tables.run()}
    assert "3 | FROM paid GROUP BY ROLLUP(day)" in said["steps"]
    assert "An aggregate brings rows of orders together whatever their day" in said["steps"]
    assert "An aggregate brings rows of orders together" in said["means"]
    assert all(list(tables.lake.ls(f"{name}@main")) == [] for name in said)


FETCHES = {
    "collect": "[row] = orders.agg({'amount': 'max'}).collect()",
    "count": "n = orders.count()",
    "first": "row = orders.orderBy('id').first()",
    "toPandas": "page = orders.toPandas()",
    "isEmpty": "orders.filter('id > 1').isEmpty()",
    "rdd": "orders.rdd.map(tuple).collect()",
    "localCheckpoint": "orders = orders.localCheckpoint()",
    "pivot": "orders.groupBy('day').pivot('id').count()",
    "table": "ctx.spark.table('orders').take(1)",
    "threads": "Pool().submit(orders.count).result()",
}


def test_what_a_function_fetches_from_partitions_is_refused_by_its_line(tables):
    """A number that was collected, in a column, passed every look at the plan."""
    tables.day(DAYS[0], (1, 2.0))
    for name, line in FETCHES.items():
        head = "from concurrent.futures import ThreadPoolExecutor as Pool\n\ndef f(orders, ctx):"
        source = f"{head}\n    {line}\n    return orders\n"
        tables.spark(name, source, mode="together", partition_by=["day"])
    source = "def f(orders):\n    return orders.limit(orders.count())\n"
    tables.spark("log", source, tl.pfs("orders"), mode="append")
    said = {str(job.pipeline): job.reason or "" for job in tables.run()}
    for name in FETCHES:
        method = {"table": "take", "threads": "count"}.get(name, name)
        line = "" if name == "threads" else "work.py:4: "
        assert said[name].startswith(f"{line}{method}"), said[name]
        assert "whatever their day" in said[name] and "mode: whole" in said[name]
    assert said["log"].startswith("work.py:2: count() fetches rows of orders, of which mode: app")


def test_a_function_may_fetch_what_every_run_sees_whole(tables):
    tables.day(DAYS[0], (1, 2.0))
    tables.put("rates", {"/a.csv": csv((1, 3), (2, 4), header="id,rate")})
    source = """
def f(orders, rates):
    orders.show()
    orders.foreach(print)
    most = rates.agg({"rate": "max"}).first()[0]
    kinds = [row.id for row in rates.rdd.collect()]
    return orders.where(orders.id.isin(kinds)).selectExpr("day", f"amount * {most} AS amount")
"""
    inputs = tl.cross(tl.pfs("orders", "/day=*/"), tl.pfs("rates"))
    tables.spark("scaled", source, inputs, mode="together", partition_by=["day"])
    tables.run_well()
    assert tables.rows("scaled@main", "amount") == [(8.0,)]


def test_a_row_outside_the_changed_partitions_fails_and_is_named(tables):
    tables.day(DAYS[0], (1, 2.0), (2, 3.0))
    tables.lake.create_repo("later")
    tables.put("later", {"/a.csv": csv((3, DAYS[1]), (4, DAYS[1]), header="id,day")})
    tables.sql(
        "moved",
        "SELECT id, day FROM orders UNION ALL SELECT id, day FROM later",
        tl.cross(tl.pfs("orders", "/day=*/"), tl.pfs("later")),
        mode="together",
        partition_by=["day"],
    )
    (job,) = tables.run()
    assert job.state is JobState.FAILURE
    assert job.reason == (
        "2 rows of the output have day=2026-01-02, which none of the datums that ran has. "
        "With mode: together each row belongs to one datum, told by partition_by. "
        "Use mode: whole if it does not."
    )
    assert list(tables.lake.ls("moved@main")) == []


def test_a_vanished_day_takes_its_rows_with_it(tables):
    for day in DAYS[:3]:
        tables.day(day, (1, 2.0))
    tables.sql("daily", BY_DAY, mode="together", partition_by=["day"])
    tables.run_well()
    tables.put("orders", {f"/day={DAYS[1]}/a.csv": None})
    job = tables.run_one()
    assert job.counts.processed == 0
    assert [str(row[0]) for row in tables.rows("daily@main", "day")] == [DAYS[0], DAYS[2]]


def test_equal_rows_stop_the_wave(tables):
    tables.day(DAYS[0], (1, 2.0), (2, 3.0))
    tables.day(DAYS[1], (1, 1.0))
    tables.sql("daily", BY_DAY, mode="together", partition_by=["day"])
    tables.sql("top", "SELECT max(revenue) AS most FROM daily", tl.pfs("daily"))
    tables.run_well()
    before = tables.files("daily@main")
    # The same orders in another order, in other files: other bytes, the same rows below.
    tables.put(
        "orders", {f"/day={DAYS[0]}/a.csv": csv((2, 3.0)), f"/day={DAYS[0]}/b.csv": csv((1, 2.0))}
    )
    jobs = {str(job.pipeline): job for job in tables.run_well()}
    assert jobs["daily"].counts.processed == 1
    assert tables.files("daily@main") == before
    assert (jobs["top"].counts.processed, jobs["top"].counts.skipped) == (0, 1)


def test_append_takes_only_what_is_added(tables):
    tables.day(DAYS[0], (1, 2.0))
    tables.sql("log", DOUBLE, tl.pfs("orders"), mode="append")
    tables.run_well()
    tables.day(DAYS[1], (2, 3.0))
    job = tables.run_one()
    assert job.counts.rows_in == 1
    assert tables.rows("log@main", "id", "amount") == [(1, 4.0), (2, 6.0)]
    # Equal rows again: as many as there are files of them.
    tables.put("orders", {f"/day={DAYS[1]}/again.csv": csv((2, 3.0))})
    tables.run_well()
    assert tables.rows("log@main", "id", "amount") == [(1, 4.0), (2, 6.0), (2, 6.0)]


@pytest.mark.parametrize(
    "files, what",
    [
        ({f"/day={DAYS[0]}/a.csv": csv((1, 9.0))}, "changed"),
        ({f"/day={DAYS[0]}/a.csv": None}, "removed"),
    ],
)
def test_append_refuses_what_is_not_added(tables, files, what):
    tables.day(DAYS[0], (1, 2.0))
    tables.day(DAYS[1], (2, 2.0))
    tables.sql("log", DOUBLE, tl.pfs("orders"), mode="append")
    tables.run_well()
    tables.put("orders", files)
    (job,) = tables.run()
    assert job.state is JobState.FAILURE
    assert job.reason == (
        f"/day={DAYS[0]}/a.csv of orders was {what}, and mode: append only takes what is added. "
        "Set on_change: refresh, or run it once with --reprocess."
    )
    assert len(tables.rows("log@main")) == 2


def test_append_can_refresh(tables):
    tables.day(DAYS[0], (1, 2.0))
    tables.sql("log", DOUBLE, tl.pfs("orders"), mode="append", on_change="refresh")
    tables.run_well()
    tables.day(DAYS[0], (1, 5.0))
    tables.run_well()
    assert tables.rows("log@main", "id", "amount") == [(1, 10.0)]


def test_each_calls_the_function_for_every_datum(tables):
    for day in DAYS[:3]:
        tables.day(day, (1, 2.0), (2, 3.0))
    source = """
from pyspark.sql import functions as F

def f(orders, ctx):
    assert orders.select("day").distinct().count() == 1
    return orders.groupBy("day").agg(F.sum("amount").alias("revenue"))
"""
    tables.spark("each", source, mode="each")
    job = tables.run_one()
    assert job.counts.processed == 3
    assert [row[0] for row in tables.rows("each@main", "revenue")] == [5.0, 5.0, 5.0]
