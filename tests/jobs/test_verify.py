"""Results against a run from scratch: equal, or which rows differ and why."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import trunkline as tl
from tests.jobs.tables import BY_DAY, DAYS, Tables
from trunkline import Lake
from trunkline.errors import NotFound, Usage
from trunkline.model.verification import Verdict, Verification


@pytest.fixture
def tables(spark: object, lake: Lake, tmp_path: Path) -> Tables:
    found = Tables(lake, tmp_path / "code")
    for number, day in enumerate(DAYS):
        found.day(day, (1, number), (2, 10 * number))
    return found


def objects_of(lake: Lake) -> set[str]:
    return {info.key for info in lake._core.objects.list("")}


def only(lake: Lake, *targets: str, **options: object) -> Verification:
    (found,) = lake.verify(*targets, **options).results  # type: ignore[arg-type]
    return found


def test_what_was_computed_step_by_step_is_equal_and_nothing_is_left(tables: Tables):
    tables.sql("daily", BY_DAY, partition_by=["day"])
    tables.run_well()
    tables.day(DAYS[1], (7, 70))
    tables.put("orders", {f"/day={DAYS[2]}/a.csv": None})
    tables.run_well()
    before = objects_of(tables.lake)
    heard: list[Verification] = []
    report = tables.lake.verify(listener=heard.append)
    assert report.good
    (found,) = report.results
    assert (found.verdict, found.datums, found.rows) == (Verdict.EQUAL, 4, 4)
    assert heard == [found]
    assert report.versions.keys() == {"trunkline", "spark", "java", "python"}
    assert objects_of(tables.lake) == before
    assert len(tables.lake.jobs("daily")) == 3
    # An older commit is compared with what it was made from.
    assert only(tables.lake, "daily@main~2").datums == 5


@pytest.mark.slow
def test_rows_that_depend_on_history_are_shown(tables: Tables):
    tables.spark(
        "counted",
        "def f(orders, ctx):\n"
        "    old = ctx.previous()\n"
        "    return orders if old is None else orders.unionByName(old)\n",
        tl.pfs("orders", "/"),
        mode="whole",
    )
    tables.run_well()
    assert only(tables.lake, "counted").verdict is Verdict.EQUAL
    tables.day(DAYS[0], (5, 5))
    tables.run_well()
    found = only(tables.lake, "counted")
    assert found.verdict is Verdict.DIFFERENT
    (one,) = found.differences
    assert (one.where, one.published, one.scratch) == ("/", 10, 0)
    assert one.samples[0][0] == "-"
    assert "day=2026-01-01" in " ".join(row for _, row in one.samples)
    assert "ctx.previous()" in found.reason


@pytest.mark.slow
def test_doubles_that_differ_in_the_last_digits_are_told_from_others(tables: Tables):
    tables.spark(
        "noisy",
        "import os\n"
        "def f(orders, ctx):\n"
        "    noise = 1 + 1e-14 * os.path.exists(ctx.params['flag'])\n"
        "    v = f'(amount + 1) * CAST({noise!r} AS double) AS v'\n"
        "    return orders.selectExpr('day', 'id', v)\n",
        partition_by=["day"],
        params={"flag": str(tables.code / "flag")},
    )
    tables.run_well()
    assert only(tables.lake, "noisy").verdict is Verdict.EQUAL
    (tables.code / "flag").touch()
    found = only(tables.lake, "noisy")
    assert found.verdict is Verdict.DIFFERENT
    assert "only doubles differ" in found.reason
    assert only(tables.lake, "noisy", tolerance=1e-12).verdict is Verdict.EQUAL
    assert only(tables.lake, "noisy", tolerance=1e-15).verdict is Verdict.DIFFERENT


def test_a_sample_is_compared_with_what_its_datums_wrote(tables: Tables):
    tables.sql("daily", BY_DAY, partition_by=["day"])
    tables.run_well()
    found = only(tables.lake, "daily", sample=2)
    assert (found.verdict, found.datums, found.rows) == (Verdict.EQUAL, 2, 2)


def test_files_of_commands_are_compared_by_their_bytes(tables: Tables):
    flag = tables.code / "flag"
    tables.code.mkdir(exist_ok=True)
    script = (
        "wc -l < $orders > pfs/out/$(basename $(dirname $orders)); "
        f"test ! -e {flag} || date +%N >> pfs/out/x"
    )
    tables.lake.apply(
        {
            "pipeline": {"name": "sizes"},
            "input": tl.pfs("orders", "/*/*"),
            "transform": {"cmd": ["sh", "-c", script]},
            "merge": "concat",
        }
    )
    tables.run_well()
    found = only(tables.lake, "sizes")
    assert (found.verdict, found.files, found.rows) == (Verdict.EQUAL, 5, None)
    flag.touch()
    found = only(tables.lake, "sizes")
    assert found.verdict is Verdict.DIFFERENT
    assert [one.where for one in found.differences] == ["/x"]


def test_quarantined_rows_are_compared_and_rules_are_not_judged_again(tables: Tables):
    tables.sql(
        "good",
        "SELECT day, id, amount FROM orders",
        partition_by=["day"],
        expectations=[
            {"name": "small", "expr": "amount < 20", "action": "quarantine"},
            {"name": "some", "row_count": {"min": 1}, "action": "fail"},
        ],
    )
    tables.run_well()
    found = only(tables.lake, "good")
    assert (found.verdict, found.rows) == (Verdict.EQUAL, 10)


def test_a_failure_from_scratch_is_no_agreement(tables: Tables):
    tables.spark(
        "fragile",
        "import os\ndef f(orders, ctx):\n"
        "    if os.path.exists(ctx.params['flag']): raise ValueError('the vendor is away')\n"
        "    return orders\n",
        partition_by=["day"],
        params={"flag": str(tables.code / "flag")},
    )
    tables.run_well()
    (tables.code / "flag").touch()
    report = tables.lake.verify()
    assert not report.good
    assert report.results[0].verdict is Verdict.FAILED
    assert "the vendor is away" in report.results[0].reason


def test_what_cannot_be_verified_says_why(tables: Tables):
    tables.sql("daily", BY_DAY, partition_by=["day"])
    tables.run_well()
    tables.day(DAYS[0], (9, 9))
    tables.run_well()
    tables.lake.forget("orders@main~1")
    found = only(tables.lake, "daily@main~1")
    assert found.verdict is Verdict.SKIPPED
    assert "orders@" in found.reason
    with pytest.raises(Usage, match="no pipeline's"):
        tables.lake.verify("orders")
    with pytest.raises(NotFound):
        tables.lake.verify("nothing")
    with pytest.raises(Usage, match="sample"):
        tables.lake.verify("daily", sample=0)


def test_what_came_from_outside_is_nothing_to_verify(tables: Tables, tmp_path: Path):
    (tmp_path / "inbox").mkdir()
    (tmp_path / "inbox" / "a.csv").write_text("id,v\n1,2\n")
    source = {"folder": {"path": str(tmp_path / "inbox"), "settle": "0s"}}
    tables.lake.apply({"ingest": {"name": "came"}, "source": source, "schema": "id int, v int"})
    tables.run()
    assert tables.rows("came") == [(1, 2)]
    assert tables.lake.verify().results == ()


def test_each_verdict_is_an_event_with_the_versions(tables: Tables):
    tables.sql("daily", BY_DAY, partition_by=["day"])
    tables.run_well()
    tables.lake.verify("daily")
    with tables.lake._core.database.read() as session:
        rows = session.all("SELECT * FROM events WHERE kind = 'verify'", {})
        facts = [json.loads(row["payload"]) for row in rows]
    assert [one["verdict"] for one in facts] == ["equal"]
    assert facts[0]["versions"]["spark"].startswith("4.")
