"""Back to a commit, or anew: output, offsets and state go together."""

from __future__ import annotations

from pathlib import Path

import pytest

import trunkline as tl
from tests.jobs.streaming.lakes import TOTALS, WINDOWS, Streams, marked
from trunkline.errors import Precondition, TrunklineError
from trunkline.lake import checkpoints

PLAIN = "SELECT user, v FROM clicks"
INPUT = [
    [(1, "a", 1), (5, "b", 2)],
    [(12, "a", 4), (3, "a", 8)],
    [(27, "c", 16), (2, "late", 32)],
    [(41, "b", 64)],
]
Output = tuple[list[tuple[object, ...]], ...]


def output(streams: Streams) -> Output:
    late = "windows@main:/_late/clicks"
    has_late = any(one.path.startswith("/_late") for one in streams.lake.ls("windows", hidden=True))
    return (
        streams.rows("windows", "start", "n", "v"),
        streams.rows(late, "ts", "user") if has_late else [],
        streams.rows("totals", "user", "n", "v"),
        streams.rows("below", "v"),
    )


@pytest.fixture
def run(streams: Streams) -> tuple[Streams, list[Output]]:
    """Four commits through streams with state, and what there was after each."""
    # A batch for each commit, also when several are read again: what is late depends on it.
    streams.stream("windows", WINDOWS, marked(limit={"commits": 1}))
    streams.stream("totals", TOTALS, upsert=["user"])
    streams.batch("below", "SELECT sum(v) AS v FROM totals", tl.pfs("totals"))
    seen = []
    for rows in INPUT:
        streams.put(*rows)
        streams.drain_well()
        seen.append(output(streams))
    return streams, seen


@pytest.mark.slow
def test_a_rewound_stream_does_the_same_again(run: tuple[Streams, list[Output]]) -> None:
    """To each of its commits: all is as it was then, and comes to the same as without."""
    streams, seen = run
    names = ("windows", "totals")
    commits = {name: streams.commits(name) for name in names}
    was = {name: streams.batches(name) for name in names}
    for number in (2, 0, 1):
        for name in names:
            done = streams.lake.rewind_stream(name, commits[name][number])
            flow, batch = streams.flow(name), was[name][number]
            assert (flow.position, flow.number) == (batch.end, batch.number)
            assert flow.epoch == done.epoch
            assert flow.facts["watermark"] == batch.watermark
        streams.work()
        assert output(streams) == seen[number], "what is below has been told"
        streams.put(*[(50 + number, "more", 1)])
        streams.drain_well()
        for name in names:
            assert streams.flow(name).epoch == done.epoch
        rows = [row for some in INPUT for row in some]
        totals = {row[0]: row[1:] for row in streams.rows("totals", "user", "n", "v")}
        assert totals["b"] == (2, 66) and totals["a"] == (3, 13)
        assert sum(v for _, v in totals.values()) == sum(row[2] for row in rows) + totals["more"][1]
        assert output(streams)[0][:4] == [(0, 3, 11), (10, 1, 4), (20, 1, 16), (40, 1, 64)][:4]
        assert output(streams)[1] == [(2, "late")]
    assert streams.lake.fsck().ok


def test_a_query_without_state_can_go_back_to_any_commit(streams: Streams) -> None:
    streams.stream("plain", PLAIN, interval="1s")
    for number in range(3):
        streams.put((number, f"u{number}", number))
        streams.drain_well()
    first = streams.commits("plain")[0]
    streams.lake.rewind_stream("plain", first)
    assert streams.rows("plain", "user") == [("u0",)]
    streams.drain_well()
    assert streams.rows("plain", "user") == [("u0",), ("u1",), ("u2",)]
    assert streams.lake.fsck().ok


@pytest.mark.slow
def test_restart_from_the_start_a_ref_and_now(streams: Streams) -> None:
    streams.stream("totals", TOTALS, upsert=["user"])
    commits = [streams.put((number, "a", 1 << number)) for number in range(3)]
    streams.drain_well()
    assert streams.rows("totals", "user", "n", "v") == [("a", 3, 7)]
    streams.lake.restart_stream("totals")
    assert streams.rows("totals", "user", "n", "v") == [("a", 3, 7)], "readable until then"
    streams.drain_well()
    assert streams.rows("totals", "user", "n", "v") == [("a", 3, 7)]
    streams.lake.restart_stream("totals", commits[0])
    streams.drain_well()
    assert streams.rows("totals", "user", "n", "v") == [("a", 2, 6)]
    streams.lake.restart_stream("totals", "now")
    streams.drain_well()
    assert streams.rows("totals", "user", "n", "v") == [("a", 2, 6)], "nothing has come yet"
    streams.put((9, "b", 1))
    streams.drain_well()
    assert streams.rows("totals", "user", "n", "v") == [("b", 1, 1)]
    streams.lake.restart_stream("totals", commits[1], keep_output=True)
    streams.drain_well()
    rows = [("a", 1, 4), ("b", 1, 1)]
    assert streams.rows("totals", "user", "n", "v") == rows
    assert streams.flow("totals").epoch == 5
    assert streams.lake.fsck().ok


def states(streams: Streams, name: str) -> None:
    """Forget all state but the newest."""
    flow = streams.flow(name)
    state = flow.facts["state"]
    prefix = f"streams/{flow.repo}/"
    streams.close()
    checkpoints.prune(
        streams.lake._core.objects, prefix, [(state["checkpoint"], state["batch"])], grace=0
    )


def test_a_savepoint_outlives_its_state(streams: Streams) -> None:
    streams.stream("totals", TOTALS, upsert=["user"])
    streams.put((1, "a", 1))
    streams.drain_well()
    kept = streams.commits("totals")[0]
    streams.lake.take_savepoint("totals")
    for _ in range(3):
        streams.put((2, "a", 2))
        streams.drain_well()
    other = streams.commits("totals")[1]
    states(streams, "totals")
    with pytest.raises(Precondition, match="no longer there") as refused:
        streams.lake.rewind_stream("totals", other)
    assert kept[:12] in (refused.value.hint or "") and "restart" in (refused.value.hint or "")
    streams.lake.rewind_stream("totals", kept)
    assert streams.rows("totals", "user", "n", "v") == [("a", 1, 1)]
    streams.put((3, "b", 1))
    streams.drain_well()
    assert streams.rows("totals", "user", "n", "v") == [("a", 4, 7), ("b", 1, 1)]


def test_a_query_that_cannot_use_its_state_is_refused(streams: Streams) -> None:
    streams.stream("totals", TOTALS, upsert=["user"])
    streams.put((1, "a", 1))
    streams.drain_well()
    before = streams.flow("totals")
    by_both = TOTALS.replace('groupBy("user")', 'groupBy("user", "v")').replace(
        'F.sum("v").alias("v")', 'F.max("ts").alias("ts")'
    )
    streams.stream("totals", by_both, upsert=["user", "v"])
    streams.put((2, "a", 2))
    reasons = [job.reason for job in streams.drain() if str(job.pipeline) == "totals"]
    assert len(reasons) == 2 and all("cannot use its state" in one for one in reasons), reasons
    assert "pipeline restore totals" in reasons[0] and "stream restart totals" in reasons[0]
    assert streams.flow("totals").position == before.position
    streams.stream("totals", TOTALS, upsert=["user"])
    streams.drain_well()
    assert streams.rows("totals", "user", "n", "v") == [("a", 2, 3)]


@pytest.mark.parametrize("first", [TOTALS, PLAIN])
def test_state_is_neither_dropped_nor_begun_in_the_middle(streams: Streams, first: str) -> None:
    second = PLAIN if first == TOTALS else TOTALS
    streams.stream("totals", first, upsert=["user"])
    streams.put((1, "a", 1))
    streams.drain_well()
    streams.stream("totals", second, upsert=["user"])
    streams.put((2, "b", 2))
    reasons = {job.reason for job in streams.drain() if job.reason}
    (reason,) = reasons
    assert "state now" in reason and "pipeline restore totals" in reason
    streams.lake.restart_stream("totals", keep_output=True)
    streams.put((3, "c", 4))
    streams.drain_well()
    assert streams.rows("totals", "user", "v") == [("a", 1), ("b", 2), ("c", 4)]


def test_a_query_that_can_use_its_state_goes_on(streams: Streams) -> None:
    streams.stream("totals", TOTALS, upsert=["user"])
    streams.put((1, "a", 1), (1, "b", 2))
    streams.drain_well()
    filtered = TOTALS.replace("clicks.groupBy", 'clicks.where("v < 10").groupBy')
    filtered += '.withColumn("twice", F.col("v") * 2)\n'
    filtered = filtered.replace("\n.withColumn", ".withColumn")
    streams.stream("totals", filtered, upsert=["user"])
    streams.put((2, "a", 4), (2, "a", 100))
    streams.drain_well()
    assert streams.rows("totals", "user", "n", "v", "twice") == [("a", 2, 5, 10), ("b", 1, 2, None)]


@pytest.mark.slow
def test_a_damaged_checkpoint_is_said_and_an_older_one_works(streams: Streams) -> None:
    streams.stream("totals", TOTALS, upsert=["user"])
    for number in range(3):
        streams.put((number, "a", 1))
        streams.drain_well()
        streams.forget_queries()  # each batch has a folder of its own
    state = streams.flow("totals").facts["state"]
    folder = Path(streams.lake._core.objects.uri(state["checkpoint"]).removeprefix("file://"))
    offsets = folder / "offsets" / str(state["batch"])
    offsets.unlink()
    offsets.write_bytes(b"v1\n{")
    streams.put((9, "a", 1))
    reason = streams.fail("totals")
    assert "damaged" in reason and "stream rewind totals" in reason and "restart" in reason
    with pytest.raises(TrunklineError):
        streams.lake.rewind_stream("totals", streams.commits("totals")[-1])
    streams.lake.rewind_stream("totals", streams.commits("totals")[-2])
    streams.put((9, "b", 1))
    streams.drain_well()
    assert streams.rows("totals", "user", "n") == [("a", 4), ("b", 1)]


@pytest.mark.slow
def test_after_a_rewind_the_watermark_still_has_to_act(streams: Streams) -> None:
    """Nothing new comes, but what had come by then has moved it."""
    streams.stream("windows", WINDOWS, marked(), interval="1s")
    streams.put((1, "a", 1), (25, "a", 1))
    streams.drain_well()
    streams.put((2, "late", 1), (45, "a", 1))
    streams.drain_well()
    assert streams.rows("windows", "start", "n") == [(0, 1), (20, 1)]
    with_late = next(one for one in streams.batches("windows") if one.late)
    streams.lake.rewind_stream("windows", with_late.commit)
    assert streams.rows("windows", "start", "n") == [(0, 1)]
    streams.drain_well()
    assert streams.rows("windows", "start", "n") == [(0, 1), (20, 1)]
    assert streams.lake.fsck().ok
