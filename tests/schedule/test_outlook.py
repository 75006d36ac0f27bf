"""What a schedule will do, in words and times."""

from __future__ import annotations

import pytest

from tests.schedule.declared import apply, apply_cron, cron, cross, pfs, repo
from trunkline.errors import NotFound
from trunkline.model.pipelines import Schedule
from trunkline.schedule.outlook import next_ticks


def test_the_next_ticks_of_all_pipelines_come_in_order(lake, clock):
    apply_cron(lake, "p", "0 * * * *")
    apply_cron(lake, "q", "30 14 * * *", name="half")
    apply_cron(lake, "never", "@never")
    apply_cron(lake, "later", "@daily", start="2030-01-01T00:00:00Z")
    found = [tick.to_dict() for tick in next_ticks(lake._core, n=4)]
    assert [(tick["repo"], tick["at"]) for tick in found] == [
        ("p_tick", "2026-01-10T13:00:00Z"),
        ("p_tick", "2026-01-10T14:00:00Z"),
        ("q_half", "2026-01-10T14:30:00Z"),
        ("p_tick", "2026-01-10T15:00:00Z"),
    ]
    (only,) = next_ticks(lake._core, repo("later"), 1)
    assert only.to_dict() == {
        "pipeline": "later",
        "project": "default",
        "repo": "later_tick",
        "at": "2030-01-01T00:00:00Z",
    }
    assert next_ticks(lake._core, repo("never")) == []
    with pytest.raises(NotFound):
        next_ticks(lake._core, repo("no"))


def test_words(lake, clock):
    lake.create_repo("orders")
    apply(lake, "plain", pfs("orders"))
    apply(lake, "p", pfs("orders"), Schedule("0 6 * * *", "Europe/Berlin"))
    apply(lake, "q", cross(cron("q", "@every 10m", "often"), cron("q", "@never", "hand")))
    assert lake.pipeline("plain").schedule == ""
    assert lake.pipeline("p").schedule == "every day at 06:00 (Europe/Berlin)"
    assert lake.pipeline("q").schedule == "often: every 10 minutes; hand: only by hand"
