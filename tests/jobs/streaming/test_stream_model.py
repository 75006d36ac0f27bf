"""Any rows, in any order, cut and interrupted anywhere: each is counted, kept, or late."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import trunkline as tl
from tests.copies import copy_lake
from tests.jobs.streaming.lakes import TOTALS, WINDOWS, Streams, marked

WIDTH = 10
moments = st.integers(0, 60)
# Batches of rows, and what happens after each.
acts = st.sampled_from(["run", "run", "wait", "die"])
stories = st.lists(
    st.tuples(st.lists(st.tuples(moments, st.sampled_from("ab")), min_size=1, max_size=4), acts),
    min_size=2,
    max_size=5,
)
limits = st.sampled_from([None, {"commits": 1}, {"commits": 2}, {"files": 1}])


@pytest.mark.slow
@settings(max_examples=5, suppress_health_check=list(HealthCheck))
@given(story=stories, limit=limits, interval=st.booleans(), delay=st.sampled_from([0, 15]))
def test_every_row_is_counted_kept_or_late(
    spark: object,
    new_lake: Path,
    tmp_path: Path,
    story: Any,
    limit: Any,
    interval: bool,
    delay: int,
) -> None:
    folder = tmp_path / "lake"
    shutil.rmtree(folder, ignore_errors=True)
    copy_lake(new_lake, folder)
    how: dict[str, Any] = {"interval": "1s"} if interval else {}
    more: dict[str, Any] = {"limit": limit} if limit else {}
    with tl.open(folder, author="ada") as lake:
        lake.create_repo("clicks")
        streams = Streams(lake, tmp_path / "code")
        streams.stream("windows", WINDOWS, marked(f"{delay}s", **more), **how)
        streams.stream("totals", TOTALS, tl.pfs("clicks", **more), upsert=["user"], **how)
        for rows, act in story:
            streams.put(*[(moment, user, 1) for moment, user in rows])
            if act != "wait":
                streams.drain_well()
            if act == "die":
                streams.forget_queries()
        streams.drain_well()
        _check(streams, [row for rows, _ in story for row in rows], delay)
        streams.close()


def _check(streams: Streams, rows: list[tuple[int, str]], delay: int) -> None:
    users = Counter(user for _, user in rows)
    assert streams.rows("totals", "user", "n") == sorted(users.items())
    assert sum(one.rows_in for one in streams.batches("totals")) == len(rows)
    watermark = max(moment for moment, _ in rows) - delay
    late: Counter[int] = Counter()
    if any(one.path.startswith("/_late") for one in streams.lake.ls("windows", hidden=True)):
        found = streams.rows("windows@main:/_late/clicks", "ts")
        late.update(moment // WIDTH * WIDTH for (moment,) in found)
    for start in late:
        assert start + WIDTH <= watermark, "only rows of windows that are closed are late"
    assert streams.flow("windows").facts["late"] == late.total()
    whole = Counter(moment // WIDTH * WIDTH for moment, _ in rows)
    closed = {start: count for start, count in whole.items() if start + WIDTH <= watermark}
    got: dict[Any, Any] = dict(streams.rows("windows", "start", "n")) if closed or late else {}
    for start, count in closed.items():
        assert got.get(start, 0) + late[start] == count, (start, got, late)
    assert got.keys() <= closed.keys()
    # The rest is in state: a window each.
    assert streams.flow("windows").facts["state_rows"] == len(whole.keys() - closed.keys())
    assert streams.lake.fsck().ok
