"""Streams and ingests while they run, event by event; and how their figures read."""

import time
from dataclasses import replace

import pytest

from tests.cli.test_live import JOB, NOW, PLAIN, event, picture, seen
from trunkline.cli import live, streamviews
from trunkline.model.commits import RepoName
from trunkline.model.jobs import JobState, RunEvent
from trunkline.model.streams import Batch
from trunkline.model.told import Kind, Told, said

STREAM = replace(
    JOB, pipeline=RepoName("default", "sessions"), told_cause=Told(Kind.INTERVAL), is_stream=True
)
DONE = replace(STREAM, state=JobState.SUCCESS, finished=NOW)
FAILED = replace(STREAM, state=JobState.FAILURE, told_reason=said("no such column"), finished=NOW)
MARK = int(time.mktime((2026, 1, 2, 3, 4, 5, 0, 0, -1))) * 1_000_000
BATCH = Batch(
    STREAM.id, 1, 7, 7, {}, {"clicks": "01" * 16},
    rows_in=1204, rows_out=88, late=2, watermark=MARK, seconds=0.4,
)  # fmt: skip
WORDS = "batch 7: 1,204 rows in, 88 out, 2 late, watermark 2026-01-02 03:04:05, 0.40s"
STORY = [
    event(STREAM),
    event(DONE, batch=BATCH),
    event(STREAM),
    RunEvent("empty", "", STREAM),
    event(STREAM),
    event(FAILED),
    RunEvent("ingest", "feed: 12 rows from 3 files"),
]


def test_a_line_for_each_batch():
    lines: list[str] = []
    view = live.Lines(lines.append, PLAIN)
    for one in STORY:
        view(one)
    assert lines == [
        f"✓ sessions@{STREAM.short_id}  {WORDS}",
        f"✗ sessions@{STREAM.short_id}  failure: no such column (2.1s)",
        "feed: 12 rows from 3 files",
    ]
    assert view.running == {}


def test_programs_hear_of_all():
    items: list[dict] = []
    view = live.Events(items.append)
    for one in STORY:
        view(one)
    assert [item["event"] for item in items] == [
        "started", "ended", "started", "empty", "started", "ended", "ingest",
    ]  # fmt: skip
    assert items[1]["batch"] is BATCH
    assert items[-1]["text"] == "feed: 12 rows from 3 files"


def test_on_a_terminal_each_has_one_line_that_stays():
    view, console, written = picture()
    view(STORY[0])
    assert seen(view, console, written) == ["▸ sessions"]
    view(STORY[1])
    assert seen(view, console, written) == [f"≈ sessions  {WORDS}"]
    view(STORY[2])
    assert seen(view, console, written) == [f"▸ sessions  {WORDS}"]
    view(STORY[3])
    view(STORY[6])
    view(event(JOB))
    first, feed, sessions = seen(view, console, written)
    assert first.startswith("▸ edges@")
    assert feed == "≈ feed      12 rows from 3 files"
    assert sessions == f"≈ sessions  {WORDS}"


def test_a_failed_batch_goes_up_like_any_job():
    view, console, written = picture()
    view(STORY[4])
    view(STORY[5])
    assert "failure: no such column" in written.getvalue()
    assert seen(view, console, written) == ["≈ sessions"]


@pytest.mark.parametrize(
    "seconds, text",
    [
        (0.012, "12ms"), (0.4, "0.40s"), (12.34, "12.3s"), (59.96, "1m00s"), (245, "4m05s"),
        (7380, "2h03m"), (273_600, "3d04h"),
    ],
)  # fmt: skip
def test_times(seconds, text):
    assert streamviews.some_time(seconds) == text


@pytest.mark.parametrize(
    "position, text",
    [
        ({}, ""),
        ({"b": "01" * 16, "a": "02" * 16}, "a@020202020202, b@010101010101"),
        ({"a": f"{'01' * 16}+3~{'02' * 16}"}, "a@010101010101 and 3 files of it"),
        ({"value": 7}, "value@7"),
        ({"x": "y" * 99}, f"x@{'y' * 59}…"),
        ({"x": "a\x1bb"}, "x@a\\x1bb"),
    ],
)
def test_positions(position, text):
    assert streamviews.positions(position) == text


def test_state_is_told_also_where_only_its_size_is_known():
    """Where it is does not leave the server."""
    batch = replace(BATCH, state_rows=3, state_bytes=2048)
    assert dict(streamviews.batch_fields(batch))["State"] == "3 rows, 2.0 KiB"
    (cell,) = (column.text(batch) for column in streamviews.BATCHES if column.title == "STATE")
    assert cell == "3"
    assert "State" not in dict(streamviews.batch_fields(BATCH))


def test_squashed_batches_say_so():
    assert streamviews.numbers(replace(BATCH, first=3)) == "3-7"
