"""`kill -9` at every point on the way of a batch: another worker makes it, once and well."""

from __future__ import annotations

from pathlib import Path

import pytest

import trunkline as tl
from tests.copies import copy_lake
from tests.reliability import streams
from tests.reliability.harness import (
    assert_no_orphans,
    assert_sound,
    expire_leases,
    killed,
    worker,
)
from tests.reliability.scenarios import STREAM_POINTS

FIRST, SECOND, EVERY = 1_000, 2_000, 3_000


@pytest.fixture(scope="module")
def ready(spark: object, fast_folder: Path) -> Path:
    """A lake whose streams have made one batch each, and wait to make the next two."""
    folder = fast_folder / "streams"
    with tl.init(folder) as lake:
        streams.make(lake, folder / "code")
        streams.put(lake, 0, FIRST)
        lake.run()
        assert len(lake.jobs()) == len(streams.STREAMS)
        streams.put(lake, FIRST, SECOND)
        streams.put(lake, SECOND, EVERY)
    return folder


@pytest.mark.parametrize("point", STREAM_POINTS)
def test_a_batch_whose_worker_died_counts_once(
    point: str, ready: Path, spark: object, tmp_path: Path
):
    copy_lake(ready, tmp_path, dirs_exist_ok=True)
    result = worker("drain", tmp_path, TRUNKLINE_CRASH_AT=point)
    assert killed(result), result
    with tl.open(tmp_path) as lake:
        assert_sound(lake)
        for name in streams.STREAMS:
            streams.assert_joined(lake, name)
        expire_leases(lake)
        left = [(job.pipeline, job.id) for job in lake.jobs() if not job.state.is_over]
        assert sorted((job.pipeline, job.id) for job in lake.run().jobs) == sorted(left)
        streams.assert_right(lake, EVERY)
        assert_no_orphans(lake)
        streams.assert_right(lake, EVERY)
