"""Three pipelines on tables, for tests that are hard on them, and what they come to.

orders -> daily (together, a partition for each day) -> total (whole)
orders -> clean (whole, with rows in quarantine)
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import trunkline as tl
from tests.jobs.tables import Tables, csv
from tests.reliability.graph import entries
from tests.reliability.harness import assert_no_orphans, assert_sound
from trunkline.model.jobs import JobState
from trunkline.model.tables import QUARANTINE, TABLE_FILE
from trunkline.tables.writing.fingerprint import Total
from trunkline.tables.writing.fingerprint import total as total_of

PIPELINES = ("daily", "clean", "total")
DAYS = tuple(f"2026-01-{n:02}" for n in range(1, 4))
DAILY = "SELECT day, id, amount, amount * 2 AS twice FROM orders"
TOTAL = "SELECT day, sum(twice) AS twice, count(*) AS orders FROM daily GROUP BY day"
RULES = [
    {"name": "positive", "expr": "amount > 0", "action": "quarantine"},
    {"name": "large", "expr": "amount < 20", "action": "warn"},
    {"name": "some", "row_count": {"min": 1}},
]


def orders(day: int, count: int = 8) -> list[tuple[int, float]]:
    return [(100 * day + n, (day * 7 + n * 3) % 25 - 2.5) for n in range(count)]


def make(lake: tl.Lake, code: Path) -> Tables:
    """The repo and the pipelines, whose jobs wait to be run."""
    tables = Tables(lake, code)
    lake.create_repo("orders")
    tables.put(
        "orders", {f"/day={day}/a.csv": csv(*orders(n)) for n, day in enumerate(DAYS, start=1)}
    )
    declare(tables)
    return tables


def declare(tables: Tables, **how: Any) -> None:
    days, whole = tl.pfs("orders", "/day=*/"), tl.pfs("orders", "/")
    tables.sql(
        "daily", DAILY, days, mode="together", partition_by=["day"], expectations=RULES[1:], how=how
    )
    tables.sql("clean", DAILY, whole, mode="whole", expectations=RULES, how=how)
    if not how:
        tables.sql("total", TOTAL, tl.pfs("daily", "/"), mode="whole")


def made(lake: tl.Lake) -> dict[str, Any]:
    """What each pipeline holds: rows, also those set aside, what describes them, and checks."""
    tables = Tables(lake, Path())
    found: dict[str, Any] = {}
    for name in PIPELINES:
        (job, *_) = lake.jobs(name)
        set_aside = [one for one in entries(lake, name) if QUARANTINE in one.path]
        found[name] = {
            "rows": tables.rows(f"{name}@main"),
            "quarantine": tables.rows(f"{name}@main:/{QUARANTINE}/positive") if set_aside else [],
            "table": lake.read(f"{name}@main:/{TABLE_FILE}"),
            "fingerprints": fingerprints(lake, name),
            "stats": sorted(one.stats for one in entries(lake, name) if one.stats),
            "checks": sorted(
                (r.name, r.state, r.rows, r.broken, r.said, sorted(r.samples))
                for r in (one.result for one in lake.checks(name))
            ),
            "counts": (job.counts.processed, job.counts.total),
            "moved": (job.counts.rows_in, job.counts.rows_out),
        }
    return found


def fingerprints(lake: tl.Lake, name: str) -> dict[str, dict[str, Total] | None]:
    """By folder, what the rows of all its files add up to."""
    folders: dict[str, list[Any]] = {}
    for one in entries(lake, name):
        if not one.path.endswith(TABLE_FILE):
            folders.setdefault(one.path.rpartition("/")[0], []).append(one)
    return {folder: total_of(held) for folder, held in folders.items()}


def assert_right(lake: tl.Lake, wanted: dict[str, Any]) -> None:
    """As in a lake where nothing went wrong, with one commit and one record of each check."""
    for _ in range(2):
        found = made(lake)
        for name, held in wanted.items():
            assert found[name] == held, name
            (job,) = lake.jobs(name)
            assert job.state is JobState.SUCCESS
            assert [commit.id for commit in lake.commits(f"{name}@main")] == [job.id]
            rules = [one.result.name for one in lake.checks(name, limit=100)]
            assert len(rules) == len(set(rules)) == len(held["checks"])
        assert_sound(lake)
        assert_no_orphans(lake)
