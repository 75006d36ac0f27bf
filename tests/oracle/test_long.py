"""Five thousand cases; a hundred thousand are `python -m tests.oracle --examples 100000`."""

from __future__ import annotations

import pytest

from tests.oracle.groups import GROUPS
from tests.oracle.running import run
from tests.oracle.worlds import World

pytestmark = pytest.mark.slow


@pytest.mark.timeout(1800)
def test_five_thousand_cases_are_as_the_model_says(world: World):
    report = run(world, GROUPS, 5_000, seed=2026)
    assert report.count >= 5_000
    assert not report.differences, "\n".join(map(str, report.differences))
