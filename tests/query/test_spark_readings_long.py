"""As `test_spark_readings`, with so many texts that rare pairs of traps are among them."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.query.test_spark_readings import compared


@pytest.mark.parametrize("seed", range(2, 12))
def test_many_texts_are_read_in_one_way(tmp_path: Path, seed: int):
    assert compared(Random(seed), 20_000, tmp_path) > 0
