"""Long histories: squashed, compacted and without old state, and still the same stream."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

import trunkline as tl
from tests.flows import batches
from tests.jobs.streaming.lakes import TOTALS, WINDOWS, Streams, marked
from trunkline.errors import Precondition
from trunkline.lake import checkpoints
from trunkline.model.streams import FlowState
from trunkline.tables import upkeep

PLAIN = "SELECT user, v FROM clicks"


def feed(streams: Streams, count: int) -> None:
    for number in range(count):
        streams.put((number, f"u{number % 3}", 1))
        streams.drain_well()


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looked after at every second batch, and without grace."""
    monkeypatch.setattr(upkeep, "EVERY", 2)
    monkeypatch.setattr(checkpoints, "GRACE", 0.0)


def test_old_commits_are_squashed_and_add_up(streams: Streams) -> None:
    streams.stream("plain", PLAIN, interval="1s", history={"keep": 3, "every": "1d", "compact": 0})
    feed(streams, 9)
    kept = streams.commits("plain")
    assert 4 <= len(kept) <= 6, kept
    spans = list(batches(streams.lake, "plain"))
    assert spans[0][0] == 1 and spans[-1][1] == 9
    assert all(one[1] + 1 == two[0] for one, two in pairwise(spans))
    assert sum(one.rows_in for one in streams.batches("plain")) == 9
    assert len(streams.rows("plain")) == 9
    assert streams.lake.fsck().ok
    streams.lake.rewind_stream("plain", kept[0])
    streams.drain_well()
    assert len(streams.rows("plain")) == 9
    assert streams.lake.fsck().ok


@pytest.mark.slow
def test_small_files_are_compacted_and_nobody_is_told(streams: Streams) -> None:
    streams.stream("plain", PLAIN, interval="1s", history={"compact": 4})
    streams.stream("next", "SELECT user FROM plain", tl.pfs("plain"))
    streams.batch("below", "SELECT count(*) AS n FROM plain", tl.pfs("plain"))
    feed(streams, 7)
    files = [one.path for one in streams.lake.ls("plain", recursive=True)]
    assert len([one for one in files if one.endswith(".parquet")]) < 7
    compacted = [one for one in streams.lake.log("plain") if one.author == "upkeep"]
    assert compacted
    sets = {one.id for one in compacted}
    for name in ("next", "below"):
        jobs = streams.lake.jobs(name)
        assert len(jobs) == 7 and not sets & {job.id for job in jobs}
    assert len(streams.rows("plain")) == 7
    assert len(streams.rows("next")) == 7
    assert streams.rows("below") == [(7,)]
    assert streams.lake.fsck().ok
    # Back to a commit that only compacts is back to the batch before it.
    last = streams.flow("plain").number
    streams.lake.rewind_stream("plain", compacted[-1].id)
    assert streams.flow("plain").number < last
    # Who has read the rows that are gone stops, and goes on when they are there again.
    first, *_ = [job for job in streams.drain() if str(job.pipeline) == "next"]
    assert "has read its rows before" in first.reason
    assert streams.flow("next").state is not FlowState.FAILED
    assert len(streams.rows("plain")) == len(streams.rows("next")) == 7


@pytest.mark.slow
def test_state_is_kept_for_as_many_batches_as_asked(streams: Streams) -> None:
    streams.stream("totals", TOTALS, upsert=["user"], retain=3, history={"compact": 0})
    feed(streams, 8)
    streams.forget_queries()
    made = streams.batches("totals")
    with pytest.raises(Precondition, match="no longer there"):
        streams.lake.rewind_stream("totals", made[0].commit)
    streams.lake.rewind_stream("totals", made[-3].commit)
    assert sum(n for (n,) in streams.rows("totals", "n")) == 6
    streams.put((9, "u0", 1))
    streams.drain_well()
    assert streams.rows("totals", "user", "n") == [("u0", 4), ("u1", 3), ("u2", 2)]
    assert streams.lake.fsck().ok


@pytest.mark.slow
def test_state_is_kept_by_commits_not_by_batches_of_spark(streams: Streams) -> None:
    """A commit of a window has at least two of those: one with rows, one for the watermark."""
    streams.stream("windows", WINDOWS, marked(), retain=3, history={"compact": 0})
    for number in range(6):
        streams.put((number * 10 + 1, "a", 1))
        streams.drain_well()
    made = streams.batches("windows")
    assert made[-1].state["batch"] >= 2 * len(made) - 2
    streams.forget_queries()
    streams.lake.rewind_stream("windows", made[-3].commit)
    streams.put((100, "a", 1))
    streams.drain_well()
    assert streams.rows("windows", "start", "n") == [
        (start, 1) for start in (0, 10, 20, 30, 40, 50)
    ]
    with pytest.raises(Precondition, match="no longer there"):
        streams.lake.rewind_stream("windows", made[0].commit)


@pytest.mark.slow
def test_batches_that_make_no_commit_leave_no_state_behind(streams: Streams) -> None:
    streams.stream("windows", WINDOWS, marked(), retain=2, interval="1s")
    for number in range(6):
        streams.put((number, "a", 1))
        streams.drain_well()
    flow = streams.flow("windows")
    assert flow.number == 0 and flow.facts["state"]["batch"] >= 5
    folder = streams.lake._core.objects.uri(f"streams/{flow.repo}").removeprefix("file://")
    offsets = [one for one in Path(folder).rglob("offsets/*") if one.name.isdigit()]
    assert len(offsets) <= 3, offsets
    streams.put((20, "a", 1))
    streams.drain_well()
    assert streams.rows("windows", "start", "n") == [(0, 6)]
