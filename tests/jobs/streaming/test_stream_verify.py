"""Streams without state against one batch from scratch; of others, why they are not."""

from __future__ import annotations

import pytest

import trunkline as tl
from tests.jobs.streaming.lakes import TOTALS, WINDOWS, Streams, clicks, marked
from trunkline.model.verification import Verdict, Verification

ROWS = "SELECT user, v * 2 AS w FROM clicks WHERE v > 1"


def only(streams: Streams, target: str) -> Verification:
    (found,) = streams.lake.verify(target).results
    return found


@pytest.mark.slow
def test_a_stream_without_state_is_computed_as_one_batch(streams: Streams) -> None:
    streams.put((0, "a", 2), repo="rates")
    streams.stream("rows", ROWS, tl.pfs("clicks", limit={"commits": 1}))
    static = "SELECT c.user, c.v + r.v AS w FROM clicks c JOIN rates r ON c.user = r.user"
    inputs = tl.cross(tl.pfs("clicks"), tl.pfs("rates", static="pinned"))
    streams.stream("looked", static, inputs)
    for number in range(3):
        streams.put((number, "a", number), (number, "b", 5), repo="clicks")
        streams.drain_well()
    streams.put((9, "a", 7), repo="rates")
    streams.put((4, "a", 4))
    streams.drain_well()
    before = {info.key for info in streams.lake._core.objects.list("")}
    found = only(streams, "rows")
    assert (found.verdict, found.reason, found.rows) == (Verdict.EQUAL, "", 5)
    found = only(streams, "looked")
    assert (found.verdict, found.reason, found.rows) == (Verdict.EQUAL, "", 4)
    older = only(streams, "rows@main~1")
    assert (older.verdict, older.rows) == (Verdict.EQUAL, 4)
    assert {info.key for info in streams.lake._core.objects.list("")} == before


def test_rows_of_a_stream_that_differ_are_shown(streams: Streams) -> None:
    noisy = "SELECT user, unix_micros(current_timestamp()) AS at FROM clicks"
    streams.stream("noisy", noisy)
    streams.put((1, "a", 1))
    streams.drain_well()
    found = only(streams, "noisy")
    assert found.verdict is Verdict.DIFFERENT
    assert "it asks the clock" in found.reason
    assert len(found.differences) == 1


@pytest.mark.slow
def test_why_other_streams_are_not_verified_is_said(streams: Streams) -> None:
    streams.put((0, "a", 2), repo="rates")
    streams.stream("totals", TOTALS, upsert=["user"])
    streams.stream("windows", WINDOWS, marked())
    streams.stream("changed", ROWS, tl.pfs("clicks", changes="rows"))
    moving = "SELECT c.user, c.v + r.v AS w FROM clicks c JOIN rates r ON c.user = r.user"
    inputs = tl.cross(tl.pfs("clicks"), tl.pfs("rates", static=True))
    streams.stream("moving", moving, inputs)
    streams.stream("edited", ROWS)
    streams.put((1, "a", 1))
    streams.drain_well()
    streams.put((9, "a", 7), repo="rates")
    streams.stream("edited", ROWS.replace("2", "3"))
    streams.put((2, "a", 3))
    streams.drain_well()
    said = {}
    for name in ("totals", "windows", "changed", "moving", "edited"):
        found = only(streams, name)
        assert found.verdict is Verdict.SKIPPED, (name, found)
        said[name] = found.reason
    assert "the last one stays" in said["totals"]
    assert "it aggregates: a stream with state" in said["windows"]
    assert "changes of rows" in said["changed"]
    assert "rates changed on the way" in said["moving"]
    assert "its query changed on the way" in said["edited"]


def test_a_restart_that_kept_its_output_is_not_verified_and_a_fresh_one_is(
    streams: Streams,
) -> None:
    streams.stream("rows", ROWS)
    streams.put((1, "a", 2))
    streams.put((2, "b", 3))
    streams.drain_well()
    streams.lake.restart_stream("rows", "start")
    streams.drain_well()
    assert only(streams, "rows").verdict is Verdict.EQUAL
    streams.lake.restart_stream("rows", "now", keep_output=True)
    streams.write(clicks((3, "c", 4)))
    streams.drain_well()
    assert "kept its output" in only(streams, "rows").reason
