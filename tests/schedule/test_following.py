"""Branches that follow others by cron."""

from __future__ import annotations

import logging

import pytest

from tests.schedule.declared import (
    apply,
    cross,
    head,
    jobs,
    micros,
    pfs,
    put,
    set_trigger,
    trigger_row,
)
from trunkline.model.inputs import Trigger
from trunkline.schedule.ticker import Ticker

NIGHTLY = "0 0 * * *"


@pytest.fixture
def ticker(lake, clock) -> Ticker:
    lake.create_repo("orders")
    put(lake, "orders@main", "first")
    lake.create_branch("orders@staging")
    return Ticker(lake._core)


def test_a_branch_moves_on_time_whatever_was_committed(lake, clock, ticker):
    set_trigger(lake, "orders", "night", Trigger("staging", cron=NIGHTLY))
    put(lake, "orders@staging", "a")
    newest = put(lake, "orders@staging", "b")
    assert ticker.fire_due() == micros("2026-01-11T00:00:00Z")
    assert head(lake, "orders", "night") is None

    clock.set("2026-01-11T00:00:00Z")
    assert ticker.fire_due() == micros("2026-01-12T00:00:00Z")
    assert head(lake, "orders", "night") == newest
    assert trigger_row(lake, "night").verdict == "moved at 2026-01-11T00:00:00Z"
    assert ticker.fired == 1


def test_its_readers_run_once_as_one_set(lake, clock, ticker):
    for branch in ("a", "b"):
        set_trigger(lake, "orders", branch, Trigger("staging", cron=NIGHTLY))
        lake.create_branch(f"orders@{branch}")
    both = cross(pfs("orders", "a", branch="a"), pfs("orders", "b", branch="b"))
    apply(lake, "p", both)
    apply(lake, "q", pfs("p"))
    before = len(jobs(lake, "p"))
    newest = put(lake, "orders@staging", "x")
    assert len(jobs(lake, "p")) == before
    clock.set("2026-01-11T00:00:00Z")
    ticker.fire_due()
    found = jobs(lake, "p")
    assert len(found) == before + 1
    assert [one.commit for one in found[-1].inputs] == [newest, newest]
    assert found[-1].cause == "orders@a moved by its schedule 2026-01-11T00:00:00Z"
    assert jobs(lake, "q")[-1].id == found[-1].id


def test_of_several_missed_times_one_is_made_up_for(lake, clock, ticker):
    set_trigger(lake, "orders", "night", Trigger("staging", cron=NIGHTLY))
    clock.set("2026-01-20T09:00:00Z")
    assert ticker.fire_due() == micros("2026-01-21T00:00:00Z")
    assert trigger_row(lake, "night").slot == micros("2026-01-20T00:00:00Z")
    assert ticker.fired == 1


@pytest.mark.parametrize("followed", ["staging", "no-such"])
def test_with_nothing_new_nothing_moves_and_the_slot_is_over(lake, clock, ticker, followed):
    set_trigger(lake, "orders", "night", Trigger(followed, cron=NIGHTLY))
    clock.set("2026-01-11T00:00:00Z")
    ticker.fire_due()
    at = head(lake, "orders", "night")
    clock.set("2026-01-12T00:00:00Z")
    fired = ticker.fired
    assert ticker.fire_due() == micros("2026-01-13T00:00:00Z")
    assert head(lake, "orders", "night") == at
    assert ticker.fired == fired
    verdict = trigger_row(lake, "night").verdict
    assert verdict == f"nothing new on {followed} at 2026-01-12T00:00:00Z"


def test_a_chain_moves_in_one_go_each_link_by_its_own_condition(lake, clock, ticker):
    set_trigger(lake, "orders", "a", Trigger("b", cron=NIGHTLY))
    set_trigger(lake, "orders", "b", Trigger("staging", cron=NIGHTLY))
    set_trigger(lake, "orders", "c", Trigger("b", commits=2))
    set_trigger(lake, "orders", "d", Trigger("b", commits=100))
    newest = put(lake, "orders@staging", "x")
    clock.set("2026-01-11T00:00:00Z")
    ticker.fire_due()
    heads = {name: head(lake, "orders", name) for name in "abcd"}
    assert heads == {"a": newest, "b": newest, "c": newest, "d": None}


def test_the_time_zone_is_the_triggers_own(lake, clock, ticker):
    trigger = Trigger("staging", cron=NIGHTLY, timezone="Asia/Tokyo")
    set_trigger(lake, "orders", "night", trigger)
    assert ticker.fire_due() == micros("2026-01-10T15:00:00Z")


def test_a_trigger_that_cannot_be_read_holds_up_no_other(lake, clock, ticker, caplog):
    bad = Trigger("staging", cron=NIGHTLY, timezone="Mars/Olympus")
    set_trigger(lake, "orders", "bad", bad)
    set_trigger(lake, "orders", "night", Trigger("staging", cron=NIGHTLY))
    clock.set("2026-01-11T00:00:00Z")
    with caplog.at_level(logging.ERROR):
        assert ticker.fire_due() == micros("2026-01-12T00:00:00Z")
        ticker.fire_due()
    assert head(lake, "orders", "night") is not None
    assert caplog.text.count("The trigger of bad cannot be read") == 1


def test_a_loop_in_a_damaged_catalog_stops_nothing(lake, clock, ticker, caplog):
    set_trigger(lake, "orders", "a", Trigger("b", cron=NIGHTLY))
    set_trigger(lake, "orders", "b", Trigger("a", cron=NIGHTLY))
    clock.set("2026-01-11T00:00:00Z")
    assert ticker.fire_due() == micros("2026-01-12T00:00:00Z")
    assert "loop" in caplog.text
