"""What a schedule will do, in words and times."""

from __future__ import annotations

import pytest

from tests.schedule.declared import apply, apply_cron, cron, cross, pfs, repo
from trunkline.errors import NotFound
from trunkline.model.pipelines import Schedule
from trunkline.model.shape import as_json
from trunkline.schedule.outlook import next_ticks


def test_the_next_ticks_of_all_pipelines_come_in_order(lake, clock):
    apply_cron(lake, "p", "0 * * * *")
    apply_cron(lake, "q", "30 14 * * *", name="half")
    apply_cron(lake, "never", "@never")
    apply_cron(lake, "later", "@daily", start="2030-01-01T00:00:00Z")
    found = as_json(next_ticks(lake._core, n=4))
    assert [(tick["repo"]["repo"], tick["at"]) for tick in found] == [
        ("p_tick", "2026-01-10T13:00:00.000000Z"),
        ("p_tick", "2026-01-10T14:00:00.000000Z"),
        ("q_half", "2026-01-10T14:30:00.000000Z"),
        ("p_tick", "2026-01-10T15:00:00.000000Z"),
    ]
    (only,) = next_ticks(lake._core, repo("later"), 1)
    assert as_json(only) == {
        "pipeline": {"project": "default", "repo": "later"},
        "repo": {"project": "default", "repo": "later_tick"},
        "at": "2030-01-01T00:00:00.000000Z",
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
