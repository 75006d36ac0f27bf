"""Many texts that two readers may read in two ways: none gets by what DuckDB itself reads."""

from __future__ import annotations

import pytest

from tests.query.test_judging import check


@pytest.mark.parametrize("seed", range(8))
def test_no_text_is_read_in_two_ways(seed: int):
    allowed, bound = check(25_000, seed)
    assert allowed > 100
    assert bound > 50
