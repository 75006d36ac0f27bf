"""A lake with a repo of clicks, and a worker that keeps its queries."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.jobs.streaming.lakes import Streams
from trunkline import Lake


@pytest.fixture
def streams(spark: object, lake: Lake, tmp_path: Path) -> Iterator[Streams]:
    lake.create_repo("clicks")
    found = Streams(lake, tmp_path / "code")
    yield found
    found.close()
