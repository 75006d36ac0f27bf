"""Many texts that two readers may read in two ways: none gets by what DuckDB itself reads."""

from __future__ import annotations

from random import Random

import pytest

from tests.query.test_judging import check, is_read
from tests.query.texts import Queries, names, texts
from trunkline.tables.reading import duck_tree

SEEDS = 20
COMPARED = 200_000
"""Texts that we and DuckDB have both read."""

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _without_suggestions(monkeypatch: pytest.MonkeyPatch) -> None:
    """They take longer than all else, and say nothing of how a text is read."""
    monkeypatch.setattr(duck_tree, "did_you_mean", lambda *_: "")


@pytest.mark.parametrize("seed", range(SEEDS))
def test_no_text_is_read_in_two_ways(seed: int):
    chance, count = Random(seed), 0
    while count < COMPARED // SEEDS:
        found = check(Queries(is_read).texts(chance, 5_000))
        assert found.bound > 250
        count += found.compared
    # These are read by few, and have what is in no list.
    assert check(texts(chance, 2_000)).bound > 3
    check(names(chance, 2_000))
