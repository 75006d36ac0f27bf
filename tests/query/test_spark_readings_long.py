"""As `test_spark_readings`, with so many texts that rare pairs of traps are among them."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.query.test_spark_readings import compared, is_read
from tests.query.texts import Queries, names, texts
from trunkline.engine import statements

SEEDS = 20
COMPARED = 200_000
"""Texts that we and Spark have both read."""

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _without_suggestions(monkeypatch: pytest.MonkeyPatch) -> None:
    """They take longer than all else, and say nothing of how a text is read."""
    monkeypatch.setattr(statements, "did_you_mean", lambda *_: "")


@pytest.mark.parametrize("seed", range(2, 2 + SEEDS))
def test_many_texts_are_read_in_one_way(tmp_path: Path, seed: int):
    chance, count, hidden = Random(seed), 0, 0
    while count < COMPARED // SEEDS:
        found = compared(Queries(is_read).texts(chance, 5_000), tmp_path)
        assert found.agreed > 500
        count, hidden = count + found.compared, hidden + found.hidden
    # These are read by few, and have what is in no list.
    hidden += compared(texts(chance, 2_000), tmp_path).hidden
    compared(names(chance, 2_000), tmp_path)
    assert hidden > 0
