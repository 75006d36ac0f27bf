"""What is due is committed: when, how often, and what follows from it."""

from __future__ import annotations

import logging
import threading
from dataclasses import asdict

import pytest

from tests.schedule.declared import (
    apply,
    apply_cron,
    cron,
    cron_row,
    cross,
    files,
    jobs,
    micros,
    pfs,
    put,
    repo,
    ticks,
)
from trunkline.errors import Precondition
from trunkline.lake import control
from trunkline.model.commits import Origin
from trunkline.model.pipelines import Schedule
from trunkline.pipelines import cron as crons
from trunkline.schedule import ticker as ticking
from trunkline.schedule.ticker import Ticker
from trunkline.schedule.ticks import draft_tick
from trunkline.storage.catalog import events, timing


@pytest.fixture
def ticker(lake, clock) -> Ticker:
    return Ticker(lake._core)


def test_a_slot_is_one_commit_of_an_empty_file(lake, clock, ticker):
    apply_cron(lake, "p", "0 6 * * *")
    assert ticker.fire_due() == micros("2026-01-11T06:00:00Z")
    assert ticks(lake, "p_tick") == []

    clock.set("2026-01-11T06:00:00Z")
    assert ticker.fire_due() == micros("2026-01-12T06:00:00Z")
    assert ticker.fire_due() == micros("2026-01-12T06:00:00Z")

    (commit,) = lake.commits("p_tick@main")
    assert commit.message == "Tick 2026-01-11T06:00:00Z"
    assert (commit.author, commit.origin) == ("schedule", Origin.SCHEDULE)
    assert files(lake, "p_tick@main") == ["/2026-01-11T06:00:00Z"]
    assert lake.read("p_tick@main:/2026-01-11T06:00:00Z") == b""
    assert ticker.fired == 1


def test_a_tick_starts_the_pipeline_in_its_own_set(lake, clock, ticker):
    apply_cron(lake, "p", "@hourly")
    assert jobs(lake, "p") == []
    clock.set("2026-01-10T13:00:01Z")
    ticker.fire_due()
    (job,) = jobs(lake, "p")
    (tick,) = lake.commits("p_tick@main")
    assert job.id == tick.id
    assert job.cause == "schedule 2026-01-10T13:00:00Z"
    assert [(one.name, one.commit) for one in job.inputs] == [("tick", tick.id)]


@pytest.mark.parametrize(
    "catch_up, expected",
    [
        ("none", []),
        ("latest", ["16:00"]),
        ("all", ["13:00", "14:00", "15:00", "16:00"]),
        ("all(2)", ["15:00", "16:00"]),
        ("all(9)", ["13:00", "14:00", "15:00", "16:00"]),
    ],
)
def test_what_was_missed_is_caught_up_with_by_policy(lake, clock, ticker, catch_up, expected):
    apply_cron(lake, "p", "@hourly", catch_up=catch_up)
    clock.set("2026-01-10T16:30:00Z")
    assert ticker.fire_due() == micros("2026-01-10T17:00:00Z")
    assert ticks(lake, "p_tick") == [f"2026-01-10T{at}:00Z" for at in expected]

    clock.set("2026-01-10T17:00:30Z")
    assert ticker.fire_due() == micros("2026-01-10T18:00:00Z")
    assert ticks(lake, "p_tick")[len(expected) :] == ["2026-01-10T17:00:00Z"]


@pytest.mark.parametrize("catch_up", ["none", "latest", "all(1)"])
def test_what_a_policy_dropped_does_not_come_back_with_another(lake, clock, ticker, catch_up):
    apply_cron(lake, "p", "@hourly", catch_up=catch_up)
    clock.set("2026-01-10T16:30:00Z")
    ticker.fire_due()
    before = ticks(lake, "p_tick")
    assert cron_row(lake, "p_tick").slot == micros("2026-01-10T16:00:00Z")
    apply_cron(lake, "p", "@hourly", catch_up="all")
    assert Ticker(lake._core).fire_due() == micros("2026-01-10T17:00:00Z")
    assert ticks(lake, "p_tick") == before


def test_what_is_dropped_is_on_the_record(lake, clock, ticker):
    apply_cron(lake, "p", "@hourly", catch_up="none")
    clock.set("2026-01-10T16:30:00Z")
    ticker.fire_due()
    ticker.fire_due()
    with lake._core.database.read() as session:
        told = [row["payload"] for row in events.since(session, 0) if row["kind"] == "schedule"]
    assert told == ['{"missed_up_to": "2026-01-10T16:00:00Z"}']


def test_a_long_backlog_is_fired_whole_and_in_order(lake, clock, ticker, monkeypatch):
    monkeypatch.setattr(crons, "MOST_AT_ONCE", 2)
    apply_cron(lake, "p", "@hourly", catch_up="all")
    clock.set("2026-01-10T17:00:00Z")
    assert ticker.fire_due() == micros("2026-01-10T18:00:00Z")
    assert ticks(lake, "p_tick") == [f"2026-01-10T{hour}:00:00Z" for hour in range(13, 18)]


def test_schedules_that_were_missed_together_fire_in_order_of_time(lake, clock, ticker):
    apply_cron(lake, "p", "0 * * * *", catch_up="all")
    apply_cron(lake, "q", "30 * * * *", catch_up="all")
    clock.set("2026-01-10T14:30:00Z")
    assert ticker.fire_due() == micros("2026-01-10T15:00:00Z")
    made = sorted([*lake.commits("p_tick@main"), *lake.commits("q_tick@main")], key=lambda c: c.id)
    assert [c.message[-9:-4] for c in made] == ["12:30", "13:00", "13:30", "14:00", "14:30"]


@pytest.mark.parametrize(
    "catch_up, expected",
    [
        ("none", []),
        ("latest", ["2026-01-10"]),
        ("all", ["2026-01-07", "2026-01-08", "2026-01-09", "2026-01-10"]),
        ("all(2)", ["2026-01-09", "2026-01-10"]),
    ],
)
def test_a_start_in_the_past_obeys_the_policy(lake, clock, ticker, catch_up, expected):
    apply_cron(lake, "p", "0 6 * * *", start="2026-01-06T06:00:01Z", catch_up=catch_up)
    ticker.fire_due()
    assert ticks(lake, "p_tick") == [f"{day}T06:00:00Z" for day in expected]


def test_a_start_in_the_future_is_waited_for(lake, clock, ticker):
    apply_cron(lake, "p", "0 6 * * *", start="2026-02-01T06:00:00Z", catch_up="all")
    assert ticker.fire_due() == micros("2026-02-01T06:00:00Z")
    clock.set("2026-01-31T23:00:00Z")
    ticker.fire_due()
    assert ticks(lake, "p_tick") == []
    clock.set("2026-02-01T06:00:00Z")
    ticker.fire_due()
    assert ticks(lake, "p_tick") == ["2026-02-01T06:00:00Z"]


def test_an_interval_counts_from_its_start(lake, clock, ticker):
    apply_cron(lake, "p", "@every 90m", start="2026-01-10T12:10:00Z", catch_up="all")
    clock.set("2026-01-10T15:00:00Z")
    assert ticker.fire_due() == micros("2026-01-10T15:10:00Z")
    assert ticks(lake, "p_tick") == ["2026-01-10T12:10:00Z", "2026-01-10T13:40:00Z"]


@pytest.mark.parametrize(
    "overwrite, expected",
    [
        (False, ["/2026-01-10T13:00:00Z", "/2026-01-10T14:00:00Z"]),
        (True, ["/2026-01-10T14:00:00Z"]),
    ],
)
def test_overwrite_removes_earlier_ticks(lake, clock, ticker, overwrite, expected):
    apply_cron(lake, "p", "@hourly", overwrite=overwrite, catch_up="all")
    clock.set("2026-01-10T14:00:00Z")
    ticker.fire_due()
    assert files(lake, "p_tick@main") == expected
    assert files(lake, "p_tick@main~1") == ["/2026-01-10T13:00:00Z"]


def test_a_schedule_for_certain_hours_follows_the_wall(lake, clock, ticker):
    clock.set("2026-03-27T12:00:00Z")
    apply_cron(lake, "p", "30 2 * * *", timezone="Europe/Berlin", catch_up="all")
    clock.set("2026-03-31T12:00:00Z")
    ticker.fire_due()
    assert ticks(lake, "p_tick") == [
        "2026-03-28T01:30:00Z",
        "2026-03-29T01:00:00Z",  # 02:30 is jumped over: at the jump
        "2026-03-30T00:30:00Z",
        "2026-03-31T00:30:00Z",
    ]


def test_an_hour_that_comes_twice_fires_once(lake, clock, ticker):
    clock.set("2026-10-24T12:00:00Z")
    apply_cron(lake, "p", "30 2 * * *", timezone="Europe/Berlin", catch_up="all")
    clock.set("2026-10-26T12:00:00Z")
    ticker.fire_due()
    assert ticks(lake, "p_tick") == ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]


@pytest.mark.parametrize("catch_up", ["none", "latest", "all"])
def test_a_clock_that_goes_back_fires_nothing_again(lake, clock, ticker, catch_up):
    apply_cron(lake, "p", "@hourly", catch_up=catch_up)
    clock.set("2026-01-10T14:00:05Z")
    ticker.fire_due()
    before = ticks(lake, "p_tick")
    clock.set("2026-01-10T12:59:59Z")
    for one in (ticker, Ticker(lake._core)):
        assert one.fire_due() == micros("2026-01-10T15:00:00Z")
    clock.set("2026-01-10T14:00:01Z")
    ticker.fire_due()
    assert ticks(lake, "p_tick") == before


def test_without_schedules_nothing_is_ever_due(lake, ticker):
    assert ticker.fire_due() is None
    apply_cron(lake, "p", "@never")
    assert ticker.fire_due() is None


def test_a_pipeline_with_a_schedule_runs_at_its_times_only(lake, clock, ticker):
    lake.create_repo("orders")
    apply(lake, "p", pfs("orders"), Schedule("0 6 * * *"))
    put(lake, "orders@main", "a")
    newest = put(lake, "orders@main", "b")
    assert jobs(lake, "p") == []
    clock.set("2026-01-11T06:00:00Z")
    ticker.fire_due()
    (job,) = jobs(lake, "p")
    assert job.id == lake.commits("p_schedule@main")[0].id
    assert [(one.name, one.commit) for one in job.inputs] == [("orders", newest)]
    clock.set("2026-01-12T06:00:00Z")
    ticker.fire_due()
    assert len(jobs(lake, "p")) == 2
    assert files(lake, "p_schedule@main") == ["/2026-01-12T06:00:00Z"]


def test_ticks_of_a_paused_pipeline_make_one_job_when_it_goes_on(lake, clock, ticker):
    apply_cron(lake, "p", "@hourly", catch_up="all")
    control.pause(lake._core, repo("p"))
    clock.set("2026-01-10T15:00:00Z")
    ticker.fire_due()
    assert len(ticks(lake, "p_tick")) == 3
    assert jobs(lake, "p") == []
    control.resume(lake._core, repo("p"), "ada")
    (job,) = jobs(lake, "p")
    assert job.inputs[0].commit == lake.commits("p_tick@main")[0].id


def test_a_schedule_that_came_back_repeats_no_tick(lake, clock, ticker):
    """Its repo was kept, and with it the ticks; its last slot was not."""
    lake.create_repo("orders")
    start = "2026-01-10T00:00:00Z"
    both = cross(pfs("orders"), cron("p", "@hourly", start=start, catch_up="all(2)"))
    apply(lake, "p", both)
    ticker.fire_due()
    before = ticks(lake, "p_tick")
    apply(lake, "p", pfs("orders"))
    apply(lake, "p", both)
    assert cron_row(lake, "p_tick").slot is None
    assert ticker.fire_due() == micros("2026-01-10T13:00:00Z")
    assert ticks(lake, "p_tick") == before
    assert cron_row(lake, "p_tick").slot == micros("2026-01-10T12:00:00Z")
    assert ticker.fired == 2


def _meanwhile(monkeypatch, act) -> None:
    """Have something happen once, between the moment a slot is computed and its transaction."""
    todo = [act]
    monkeypatch.setattr(ticking, "crashpoint", lambda _: todo and todo.pop()())


def test_a_slot_of_a_schedule_that_was_changed_meanwhile_is_not_fired(
    lake, clock, ticker, monkeypatch
):
    apply_cron(lake, "p", "@hourly")
    clock.set("2026-01-10T13:00:00Z")
    _meanwhile(monkeypatch, lambda: apply_cron(lake, "p", "30 20 * * *", start="2026-01-10T12:30Z"))
    assert ticker.fire_due() == micros("2026-01-10T20:30:00Z")
    assert ticks(lake, "p_tick") == []


def test_a_slot_of_a_schedule_that_was_removed_meanwhile_is_not_fired(
    lake, clock, ticker, monkeypatch
):
    lake.create_repo("orders")
    apply_cron(lake, "p", "@hourly")
    clock.set("2026-01-10T13:00:00Z")
    _meanwhile(monkeypatch, lambda: apply(lake, "p", pfs("orders")))
    assert ticker.fire_due() is None
    assert lake.commits("p_tick@main") == []


def test_another_ticker_that_was_faster_is_no_error(lake, clock, ticker, monkeypatch):
    apply_cron(lake, "p", "@hourly", catch_up="all")
    clock.set("2026-01-10T15:00:00Z")
    other = Ticker(lake._core)
    _meanwhile(monkeypatch, other.fire_due)
    assert ticker.fire_due() == micros("2026-01-10T16:00:00Z")
    assert ticks(lake, "p_tick") == [f"2026-01-10T{hour}:00:00Z" for hour in (13, 14, 15)]
    assert (other.fired, ticker.fired) == (3, 0)


def test_a_later_slot_fired_by_another_ends_the_earlier_ones(lake, clock, ticker, monkeypatch):
    apply_cron(lake, "p", "@hourly", catch_up="all")
    clock.set("2026-01-10T15:00:00Z")

    def take() -> None:
        with lake._core.database.write() as session:
            row = timing.crons(session)[0]
            assert timing.claim_slot(session, row.repo, micros("2026-01-10T14:00:00Z"))

    _meanwhile(monkeypatch, take)
    ticker.fire_due()
    assert ticks(lake, "p_tick") == ["2026-01-10T15:00:00Z"]


@pytest.mark.parametrize("flaw", [{"timezone": "Mars/Olympus"}, {"start": "soon"}])
def test_a_schedule_that_cannot_be_read_is_told_once_and_holds_up_no_other(
    lake, clock, ticker, caplog, flaw
):
    apply_cron(lake, "p", "@hourly")
    apply_cron(lake, "q", "@hourly")
    with lake._core.database.write() as session:
        row = timing.crons(session)[0]
        spec = {**asdict(row.ticks), **flaw}
        timing.set_cron(session, row.repo, row.pipeline, spec)
    clock.set("2026-01-10T13:00:00Z")
    with caplog.at_level(logging.ERROR):
        for _ in range(3):
            assert ticker.fire_due() == micros("2026-01-10T14:00:00Z")
    assert len(caplog.records) == 1
    assert "The schedule of p_tick cannot be read" in caplog.text
    assert ticks(lake, "q_tick") == ["2026-01-10T13:00:00Z"]


def test_a_tick_that_fails_is_told_and_tried_again(lake, clock, ticker, caplog, monkeypatch):
    apply_cron(lake, "p", "@hourly", catch_up="all")
    apply_cron(lake, "q", "@hourly", catch_up="all")
    clock.set("2026-01-10T14:00:00Z")

    def failing(transaction, row, name, request=None):
        if row.name == repo("p_tick"):
            raise Precondition("It is not the time.")
        return draft_tick(transaction, row, name, request)

    with monkeypatch.context() as patched:
        patched.setattr(ticking, "draft_tick", failing)
        ticker.fire_due()
        ticker.fire_due()
    assert caplog.text.count("p_tick could not tick for 2026-01-10T13:00:00Z") == 1
    assert ticks(lake, "p_tick") == []
    assert len(ticks(lake, "q_tick")) == 2
    ticker.fire_due()
    assert ticks(lake, "p_tick") == ["2026-01-10T13:00:00Z", "2026-01-10T14:00:00Z"]


def test_it_can_be_stopped_between_two_slots(lake, clock, monkeypatch):
    apply_cron(lake, "p", "@hourly", catch_up="all")
    clock.set("2026-01-10T18:00:00Z")
    stop = threading.Event()
    _meanwhile(monkeypatch, stop.set)
    assert Ticker(lake._core).fire_due(stop) == micros("2026-01-10T14:00:00Z")
    assert ticks(lake, "p_tick") == ["2026-01-10T13:00:00Z"]
