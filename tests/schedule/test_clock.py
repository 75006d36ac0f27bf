"""The thread that keeps the schedules."""

from __future__ import annotations

import threading
import time
from itertools import pairwise

import pytest

from tests.schedule.declared import apply_cron, micros, ticks
from trunkline.errors import Unavailable
from trunkline.schedule import clock as clocks
from trunkline.schedule.clock import Scheduler


def counted(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch, **failing: object
) -> list[float]:
    """When it looked. `fails` makes the first looks raise."""
    looks: list[float] = []
    errors = list(failing.get("fails", ()))  # type: ignore[call-overload]
    real = scheduler.ticker.fire_due

    def look(stop: threading.Event | None = None) -> int | None:
        looks.append(time.monotonic())
        if errors:
            raise errors.pop(0)
        return real(stop)

    monkeypatch.setattr(scheduler.ticker, "fire_due", look)
    return looks


def test_it_fires_when_a_slot_is_due(lake):
    fired = threading.Event()
    apply_cron(lake, "p", "@every 1s")
    with Scheduler(lake._core, on_fired=fired.set):
        assert fired.wait(5)
    (commit, *_) = lake.commits("p_tick@main")[::-1]
    late = commit.finished - micros(commit.message.removeprefix("Tick "))
    assert 0 <= late < 3_000_000
    assert ticks(lake, "p_tick") == sorted(set(ticks(lake, "p_tick")))


def test_it_sleeps_when_nothing_is_due_and_ends_at_once(lake, monkeypatch):
    monkeypatch.setattr(clocks, "LOOK_SECONDS", 60.0)
    apply_cron(lake, "p", "@yearly")
    scheduler = Scheduler(lake._core)
    looks = counted(scheduler, monkeypatch)
    scheduler.start()
    time.sleep(0.3)
    assert len(looks) == 1
    before = time.monotonic()
    scheduler.stop()
    assert time.monotonic() - before < 0.3
    assert not any(thread.name == "trunkline-clock" for thread in threading.enumerate())


def test_it_can_be_woken_for_what_was_scheduled_just_now(lake, monkeypatch):
    monkeypatch.setattr(clocks, "LOOK_SECONDS", 60.0)
    fired = threading.Event()
    with Scheduler(lake._core, on_fired=fired.set) as scheduler:
        time.sleep(0.1)
        apply_cron(lake, "p", "@every 10000d", start="2026-01-01T00:00:00Z")
        assert not fired.wait(0.1)
        scheduler.wake()
        assert fired.wait(5)


def test_what_others_schedule_is_seen_soon(lake, monkeypatch):
    monkeypatch.setattr(clocks, "LOOK_SECONDS", 0.1)
    fired = threading.Event()
    with Scheduler(lake._core, on_fired=fired.set):
        time.sleep(0.1)
        apply_cron(lake, "p", "@every 10000d", start="2026-01-01T00:00:00Z")
        assert fired.wait(5)


def test_a_clock_that_jumps_is_seen_soon(lake, clock, monkeypatch):
    monkeypatch.setattr(clocks, "LOOK_SECONDS", 0.1)
    fired = threading.Event()
    apply_cron(lake, "p", "@yearly")
    with Scheduler(lake._core, on_fired=fired.set):
        assert not fired.wait(0.2)
        clock.set("2027-01-01T00:00:00Z")
        assert fired.wait(5)
    assert ticks(lake, "p_tick") == ["2027-01-01T00:00:00Z"]


@pytest.mark.parametrize(
    "error, level", [(Unavailable("It is gone."), "WARNING"), (RuntimeError("a fault"), "ERROR")]
)
def test_it_survives_and_tells_what_goes_wrong(lake, monkeypatch, caplog, error, level):
    monkeypatch.setattr(clocks, "_FIRST_PAUSE", 0.05)
    fired = threading.Event()
    apply_cron(lake, "p", "@every 10000d", start="2026-01-01T00:00:00Z")
    scheduler = Scheduler(lake._core, on_fired=fired.set)
    looks = counted(scheduler, monkeypatch, fails=[error] * 3)
    with scheduler:
        assert fired.wait(5)
    pauses = [later - sooner for sooner, later in pairwise(looks)]
    assert pauses[0] >= 0.025
    assert pauses[1] >= 0.05
    assert pauses[2] >= 0.1
    told = [record for record in caplog.records if "The schedule waits" in record.message]
    assert [record.levelname for record in told] == [level] * 3
    assert "The schedule goes on." in caplog.text


def test_it_stops_while_it_waits_for_a_database(lake, monkeypatch):
    monkeypatch.setattr(clocks, "_FIRST_PAUSE", 60.0)
    scheduler = Scheduler(lake._core)
    looks = counted(scheduler, monkeypatch, fails=[Unavailable("It is gone.")])
    scheduler.start()
    while not looks:
        time.sleep(0.01)
    scheduler.wake()
    before = time.monotonic()
    scheduler.stop()
    assert time.monotonic() - before < 1
    assert len(looks) == 1
    scheduler.stop()
