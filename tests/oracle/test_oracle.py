"""A small run of every group, for every day. The long one is test_long.py."""

from __future__ import annotations

import pytest

from tests.oracle.groups import GROUPS
from tests.oracle.running import Group, run
from tests.oracle.worlds import World


@pytest.mark.parametrize("group", GROUPS[2:3], ids=lambda group: group.name)
def test_every_door_gives_the_rows_of_the_model(world: World, group: Group):
    report = run(world, [group], round(20 / group.share), seed=16)
    assert not report.differences, "\n".join(map(str, report.differences))
