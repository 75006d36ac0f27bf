"""The thread that keeps the schedules."""

from __future__ import annotations

import threading
import time

import pytest

from tests.schedule.declared import apply_cron, micros, ticks
from tests.waiting import until
from trunkline.errors import Unavailable
from trunkline.model.backoff import Backoff
from trunkline.schedule import clock as clocks
from trunkline.schedule.clock import Scheduler


def counted(scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch, **failing: object) -> list[str]:
    """Its looks, by which thread. `fails` makes the first of them raise."""
    looks: list[str] = []
    errors = list(failing.get("fails", ()))  # type: ignore[call-overload]
    real = scheduler.ticker.fire_due

    def look(stop: threading.Event | None = None) -> int | None:
        looks.append(threading.current_thread().name)
        if errors:
            raise errors.pop(0)
        return real(stop)

    monkeypatch.setattr(scheduler.ticker, "fire_due", look)
    return looks


def assert_its_thread_is_gone() -> None:
    assert not any(thread.name == "trunkline-clock" for thread in threading.enumerate())


def test_it_fires_when_a_slot_is_due(lake):
    fired = threading.Event()
    apply_cron(lake, "p", "@every 1s")
    with Scheduler(lake._core, on_fired=fired.set):
        assert fired.wait(60)
    (commit, *_) = lake.commits("p_tick@main")[::-1]
    late = commit.finished - micros(commit.message.removeprefix("Tick "))
    assert late >= 0
    assert ticks(lake, "p_tick") == sorted(set(ticks(lake, "p_tick")))


def test_it_sleeps_when_nothing_is_due_and_ends_at_once(lake, monkeypatch):
    monkeypatch.setattr(clocks, "LOOK_SECONDS", 3600.0)
    apply_cron(lake, "p", "@yearly")
    scheduler = Scheduler(lake._core)
    looks = counted(scheduler, monkeypatch)
    scheduler.start()
    until(lambda: looks)
    time.sleep(0.3)
    assert len(looks) == 1
    scheduler.stop(120)
    assert_its_thread_is_gone()


def test_it_can_be_woken_for_what_was_scheduled_just_now(lake, monkeypatch):
    monkeypatch.setattr(clocks, "LOOK_SECONDS", 60.0)
    fired = threading.Event()
    with Scheduler(lake._core, on_fired=fired.set) as scheduler:
        time.sleep(0.1)
        apply_cron(lake, "p", "@every 10000d", start="2026-01-01T00:00:00Z")
        assert not fired.wait(0.1)
        scheduler.wake()
        assert fired.wait(60)


def test_what_others_schedule_is_seen_soon(lake, monkeypatch):
    monkeypatch.setattr(clocks, "LOOK_SECONDS", 0.1)
    fired = threading.Event()
    with Scheduler(lake._core, on_fired=fired.set):
        time.sleep(0.1)
        apply_cron(lake, "p", "@every 10000d", start="2026-01-01T00:00:00Z")
        assert fired.wait(60)


def test_a_clock_that_jumps_is_seen_soon(lake, clock, monkeypatch):
    monkeypatch.setattr(clocks, "LOOK_SECONDS", 0.1)
    fired = threading.Event()
    apply_cron(lake, "p", "@yearly")
    with Scheduler(lake._core, on_fired=fired.set):
        assert not fired.wait(0.2)
        clock.set("2027-01-01T00:00:00Z")
        assert fired.wait(60)
    assert ticks(lake, "p_tick") == ["2027-01-01T00:00:00Z"]


@pytest.mark.parametrize(
    "error, level", [(Unavailable("It is gone."), "WARNING"), (RuntimeError("a fault"), "ERROR")]
)
def test_it_survives_and_tells_what_goes_wrong(lake, monkeypatch, caplog, error, level):
    monkeypatch.setattr(clocks, "_BACKOFF", Backoff(0.05, 30.0))
    fired = threading.Event()
    apply_cron(lake, "p", "@every 10000d", start="2026-01-01T00:00:00Z")
    scheduler = Scheduler(lake._core, on_fired=fired.set)
    looks = counted(scheduler, monkeypatch, fails=[error] * 3)
    paused: list[float] = []
    wait = scheduler._stopping.wait

    def noted(pause: float) -> bool:
        paused.append(pause)
        return wait(pause)

    monkeypatch.setattr(scheduler._stopping, "wait", noted)
    with scheduler:
        assert fired.wait(60)
    assert len(looks) >= 4
    for pause, longest in zip(paused, (0.05, 0.1, 0.2), strict=True):
        assert longest / 2 <= pause <= longest
    told = [record for record in caplog.records if "The schedule waits" in record.getMessage()]
    assert [record.levelname for record in told] == [level] * 3
    assert [record.args[0] for record in told] == paused
    assert "The schedule goes on." in caplog.text


def test_it_stops_while_it_waits_for_a_database(lake, monkeypatch):
    monkeypatch.setattr(clocks, "_BACKOFF", Backoff(3600.0, 3600.0))
    scheduler = Scheduler(lake._core)
    looks = counted(scheduler, monkeypatch, fails=[Unavailable("It is gone.")])
    scheduler.start()
    while not looks:
        time.sleep(0.01)
    scheduler.wake()
    scheduler.stop(120)
    assert_its_thread_is_gone()
    assert len(looks) == 1
    scheduler.stop()
