"""A slot fires once, whoever dies, is paused or races for it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

import trunkline as tl
from tests.postgres import postgres
from tests.reliability.harness import assert_sound, expire_leases, finish, killed, start
from tests.schedule.declared import (
    apply_cron,
    head,
    jobs,
    put,
    repo,
    set_trigger,
    ticks,
    trigger_row,
)
from trunkline import Lake
from trunkline.model.inputs import Trigger
from trunkline.schedule.outlook import next_ticks
from trunkline.schedule.ticker import Ticker
from trunkline.schedule.ticks import tick

POINTS = [
    "schedule.slot_computed",
    "put.before_bytes",
    "commit.before_transaction",
    "schedule.slot_inserted",
    "propagate.in_transaction",
    "commit.in_transaction",
    "commit.after_transaction",
]
# One slot is due, and no other comes as long as anybody watches.
ONE_SLOT = "@every 10000d"
START = "2026-01-01T00:00:00Z"


def start_ticker(name: str, *args: object, **environ: str) -> subprocess.Popen[str]:
    stdin = subprocess.PIPE if name == "hammer" else None
    return start("-m", "tests.schedule.tickers", name, *args, environ=environ, stdin=stdin)


def seconds_ago(seconds: int) -> str:
    return (datetime.now(UTC) - timedelta(seconds=seconds)).isoformat()


def assert_each_once(lake: Lake, name: str, expected: int) -> None:
    """So many slots have a tick, a commit and a job each, in order."""
    fired = ticks(lake, f"{name}_tick")
    assert len(fired) == expected
    assert [slot for slot, count in Counter(fired).items() if count > 1] == []
    assert fired == sorted(fired)
    commits = {commit.id for commit in lake.commits(f"{name}_tick@main")}
    assert [job.id for job in jobs(lake, name)] == sorted(commits)
    assert_sound(lake)


@pytest.mark.parametrize("point", POINTS)
def test_killed_at_any_point_another_fires_the_slot_once(lake: Lake, point: str):
    apply_cron(lake, "p", ONE_SLOT, start=START)
    assert killed(finish(start_ticker("fire", lake.location, TRUNKLINE_CRASH_AT=point)))
    done = point == "commit.after_transaction"
    assert len(lake.commits("p_tick@main")) == done

    other = Ticker(lake._core)
    other.fire_due()
    other.fire_due()
    assert other.fired == 1 - done
    assert_each_once(lake, "p", 1)


@pytest.mark.parametrize("point", ["schedule.slot_computed:3", "commit.in_transaction:3"])
def test_killed_while_catching_up_another_goes_on_from_there(lake: Lake, point: str):
    apply_cron(lake, "p", "@every 60s", start=seconds_ago(290), catch_up="all")
    assert killed(finish(start_ticker("fire", lake.location, TRUNKLINE_CRASH_AT=point)))
    assert len(ticks(lake, "p_tick")) == 2
    Ticker(lake._core).fire_due()
    assert_each_once(lake, "p", 5)


@pytest.mark.parametrize("point", ["schedule.slot_computed", "schedule.slot_inserted"])
def test_killed_while_a_branch_moves_another_moves_it_once(lake: Lake, point: str):
    lake.create_repo("orders")
    newest = put(lake, "orders@main", "a")
    set_trigger(lake, "orders", "night", Trigger("main", cron="@every 1s"))
    with lake._core.database.write() as session:
        session.execute("UPDATE triggers SET created = created - 5000000")
    assert killed(finish(start_ticker("fire", lake.location, TRUNKLINE_CRASH_AT=point)))
    assert head(lake, "orders", "night") is None
    assert trigger_row(lake, "night").slot is None
    other = Ticker(lake._core)
    other.fire_due()
    other.fire_due()
    assert other.fired == 1
    assert head(lake, "orders", "night") == newest


def wait_until_stopped(process: subprocess.Popen[str]) -> None:
    os.waitid(os.P_PID, process.pid, os.WSTOPPED)


@pytest.mark.parametrize("expired", [False, True], ids=["for a while", "past its lease"])
@pytest.mark.parametrize("point", ["schedule.slot_computed", "commit.before_transaction"])
def test_paused_while_another_takes_over_it_fires_nothing(lake: Lake, point: str, expired: bool):
    apply_cron(lake, "p", ONE_SLOT, start=START)
    paused = start_ticker("stop_at", lake.location, point)
    wait_until_stopped(paused)
    other = Ticker(lake._core)
    other.fire_due()
    assert other.fired == 1
    if expired:
        expire_leases(lake)
    paused.send_signal(signal.SIGCONT)
    assert finish(paused).json == {"fired": 0}
    assert_each_once(lake, "p", 1)


def test_paused_past_its_lease_it_must_begin_again(lake: Lake):
    apply_cron(lake, "p", ONE_SLOT, start=START)
    paused = start_ticker("stop_at", lake.location, "commit.before_transaction")
    wait_until_stopped(paused)
    expire_leases(lake)
    paused.send_signal(signal.SIGCONT)
    assert finish(paused).json == {"fired": 0, "error": "lease_lost"}
    assert lake.commits("p_tick@main") == []
    Ticker(lake._core).fire_due()
    assert_each_once(lake, "p", 1)


@pytest.fixture(params=["sqlite", "postgres"])
def shared(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Lake]:
    """A lake on each kind of database."""
    if request.param == "sqlite":
        yield request.getfixturevalue("lake")
        return
    store = f"file://{tmp_path}/store"
    with tl.init(tmp_path / "server", catalog=postgres().catalog(), store=store) as lake:
        yield lake


@pytest.mark.slow
def test_two_tickers_at_the_same_slots_fire_each_once(shared: Lake):
    apply_cron(shared, "p", "@every 1s", start=seconds_ago(40), catch_up="all")
    apply_cron(shared, "q", "@every 1s", start=seconds_ago(10), catch_up="latest")
    racing = [start_ticker("hammer", shared.location, 1.2) for _ in range(2)]
    for process in racing:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in racing:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    results = [finish(process) for process in racing]
    assert [result.code for result in results] == [0, 0], results
    fired = sum(json.loads(result.out)["fired"] for result in results)

    found = ticks(shared, "p_tick")
    moments = [datetime.fromisoformat(slot) for slot in found]
    assert {later - sooner for sooner, later in pairwise(moments)} == {timedelta(seconds=1)}
    assert len(found) >= 41
    assert_each_once(shared, "p", len(found))
    assert_each_once(shared, "q", fired - len(found))


def test_ticks_and_moves_on_a_database_server(tmp_path: Path):
    store = f"file://{tmp_path}/store"
    with tl.init(tmp_path / "server", catalog=postgres().catalog(), store=store) as lake:
        apply_cron(lake, "p", ONE_SLOT, start=START)
        lake.create_repo("orders")
        newest = put(lake, "orders@main", "a")
        set_trigger(lake, "orders", "night", Trigger("main", cron="@every 1s"))
        with lake._core.database.write() as session:
            session.execute("UPDATE triggers SET created = created - 5000000")
        ticker = Ticker(lake._core)
        ticker.fire_due()
        assert ticker.fired == 2
        assert head(lake, "orders", "night") == newest
        assert_each_once(lake, "p", 1)
        assert len(tick(lake._core, repo("p"), None, "ada")) == 1
        assert len(next_ticks(lake._core)) == 5
