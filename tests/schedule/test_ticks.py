"""Ticks by hand."""

from __future__ import annotations

import pytest

from tests.schedule.declared import (
    apply,
    apply_cron,
    cron,
    cron_row,
    cross,
    files,
    jobs,
    pfs,
    repo,
    ticks,
)
from trunkline.errors import NotFound, Precondition
from trunkline.model.pipelines import Schedule
from trunkline.schedule.ticker import Ticker
from trunkline.schedule.ticks import tick


def test_a_tick_is_named_by_now_and_starts_the_pipeline(lake, clock):
    apply_cron(lake, "p", "@never")
    clock.set("2026-01-10T12:34:56Z")
    (commit,) = tick(lake._core, repo("p"), None, "ada")
    assert files(lake, "p_tick@main") == ["/2026-01-10T12:34:56Z"]
    assert (commit.author, commit.message) == ("ada", "Tick by hand")
    (job,) = jobs(lake, "p")
    assert (job.id, job.cause) == (commit.id, "tick by hand")


def test_the_schedule_goes_on_as_if_nothing_had_happened(lake, clock):
    apply_cron(lake, "p", "@hourly")
    clock.set("2026-01-10T13:30:00Z")
    tick(lake._core, repo("p"), None, "ada")
    assert cron_row(lake, "p_tick").slot is None
    Ticker(lake._core).fire_due()
    assert ticks(lake, "p_tick") == ["by hand", "2026-01-10T13:00:00Z"]


@pytest.mark.parametrize("overwrite", [False, True])
def test_two_in_one_second_are_two_files(lake, clock, overwrite):
    apply_cron(lake, "p", "@never", overwrite=overwrite)
    for _ in range(2):
        tick(lake._core, repo("p"), None, "ada")
    assert files(lake, "p_tick@main")[-1] == "/2026-01-10T12:10:01Z"
    assert len(files(lake, "p_tick@main")) == (1 if overwrite else 2)


def test_a_schedule_can_be_ticked_too(lake, clock):
    lake.create_repo("orders")
    apply(lake, "p", pfs("orders"), Schedule("0 6 * * *"))
    (commit,) = tick(lake._core, repo("p"), "schedule", "ada")
    assert commit.repo == repo("p_schedule")
    assert [job.id for job in jobs(lake, "p")] == [commit.id]


def test_all_schedules_tick_as_one_set_or_the_one_that_is_named(lake, clock):
    both = cross(cron("p", "@never", "day"), cron("p", "@never", "week"))
    apply(lake, "p", both)
    made = tick(lake._core, repo("p"), None, "ada")
    assert [commit.repo.repo for commit in made] == ["p_day", "p_week"]
    assert len({commit.id for commit in made}) == 1
    assert len(jobs(lake, "p")) == 1
    (one,) = tick(lake._core, repo("p"), "week", "ada")
    assert one.repo == repo("p_week")


def test_what_cannot_be_ticked_says_so(lake, clock):
    lake.create_repo("orders")
    apply(lake, "p", pfs("orders"))
    apply_cron(lake, "q", "@never", name="daily")
    with pytest.raises(Precondition, match="p has no cron input and no schedule") as caught:
        tick(lake._core, repo("p"), None, "ada")
    assert caught.value.hint == "To run it now: trunkline pipeline run p"
    with pytest.raises(NotFound, match='q has no schedule "dayly".+daily'):
        tick(lake._core, repo("q"), "dayly", "ada")
    with pytest.raises(NotFound, match='no pipeline "orders"'):
        tick(lake._core, repo("orders"), None, "ada")
