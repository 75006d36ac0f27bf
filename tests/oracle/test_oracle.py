"""A small run of every group, for every day. The long one is test_long.py."""

from __future__ import annotations

import pytest

from tests.oracle.groups import GROUPS
from tests.oracle.running import Group, run
from tests.oracle.worlds import World

FEW = {"reads": 6, "filters": 80, "changes": 8, "published": 30, "cuts": 10, "quarantine": 10}


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.name)
def test_every_door_gives_the_rows_of_the_model(world: World, group: Group):
    few = FEW.get(group.name, 6)
    report = run(world, [group], round(few / group.share), seed=16)
    assert report.count == few
    assert not report.differences, "\n".join(map(str, report.differences))
