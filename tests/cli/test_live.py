"""What is seen while jobs run, event by event."""

import io
import re
import time
from dataclasses import replace

import pytest
from rich.console import Console

from trunkline.cli import jobviews, live
from trunkline.cli.output import Style
from trunkline.model import words
from trunkline.model.commits import RepoName
from trunkline.model.jobs import Counts, Job, JobState, RunEvent
from trunkline.model.time import now_micros
from trunkline.model.told import NOTHING, Kind, Told, of_place, said

PLAIN = Style(on=False)
ID = "01a1dd29b6a67abc8def0123456789ab"
NOW = time.time_ns() // 1000
JOB = Job(
    ID, RepoName("default", "edges"), 1, "main", JobState.RUNNING, NOTHING,
    of_place(Kind.COMMIT, RepoName("default", "images"), "main", "01a1"), NOW,
    started=NOW - 2_100_000,
)  # fmt: skip
HALF = Counts(processed=500, failed=3, skipped=12, total=1000)
DONE = replace(
    JOB, state=JobState.SUCCESS, finished=NOW, counts=Counts(processed=988, skipped=12, total=1000)
)
FAILED = replace(
    JOB, state=JobState.FAILURE, told_reason=said("1 of 3 datums failed:\n images:/a"), finished=NOW
)
BACK = replace(JOB, state=JobState.WAITING, told_reason=Told(Kind.WORKER_STOPPED))


def event(job: Job, **more) -> RunEvent:
    return RunEvent("job", str(job.state), job, **more)


STORY = [
    RunEvent("spark", "Starting Spark"),
    RunEvent("spark", "Spark is ready (2.1 s)"),
    event(JOB),
    event(JOB, done=503, failed=3, skipped=12, total=1000, rate=85.4, left=6.2),
    event(DONE),
    event(JOB),
    event(FAILED),
    event(JOB),
    event(BACK),
    RunEvent("note", "bad\x1bnews"),
]


def test_lines_tell_starts_and_ends():
    lines: list[str] = []
    view = live.Lines(lines.append, PLAIN)
    for one in STORY:
        view(one)
    start = "▸ edges@01a1dd29b6a6  images@main got 01a1"
    assert lines == [
        "Starting Spark",
        "Spark is ready (2.1 s)",
        start,
        "✓ edges@01a1dd29b6a6  1,000 datums: 988 ran, 12 skipped (2.1s)",
        start,
        "✗ edges@01a1dd29b6a6  failure: 1 of 3 datums failed: (2.1s)",
        start,
        "· edges@01a1dd29b6a6  waiting: its worker stopped",
        "bad\\x1bnews",
    ]


def test_how_jobs_end_is_told_apart():
    failed = replace(BACK, attempt=1, told_reason=said("1 of 1 datums failed"))
    assert jobviews.ended(failed, PLAIN).endswith("waiting: 1 of 1 datums failed; try 2 follows")
    unrunnable = replace(FAILED, state=JobState.UNRUNNABLE)
    assert jobviews.ended(unrunnable, PLAIN)[0] != jobviews.ended(FAILED, PLAIN)[0]
    saved = replace(DONE, counts=Counts(processed=1, recovered=2, total=3))
    assert [one.title for one in jobviews.job_columns([DONE])] == [
        one.title for one in jobviews.JOBS
    ]
    (column,) = [one for one in jobviews.job_columns([DONE, saved]) if one.title == "RECOVERED"]
    assert [column.text(DONE), column.text(saved)] == ["0", "2"]


def test_a_log_has_the_moment_before_each_line():
    lines: list[str] = []
    live.Lines(lines.append, PLAIN, clock=True)(STORY[0])
    assert time.strptime(lines[0][:19], "%Y-%m-%d %H:%M:%S")
    assert lines[0][19:] == "  Starting Spark"


def test_events_for_programs():
    items: list[dict] = []
    view = live.Events(items.append)
    for one in STORY:
        view(one)
    assert [item["event"] for item in items] == [
        "spark", "spark", "started", "ended", "started", "ended", "started", "returned", "note",
    ]  # fmt: skip


def picture(width: int = 120) -> tuple[live.Picture, Console, io.StringIO]:
    written = io.StringIO()
    console = Console(file=written, width=width, force_terminal=True, color_system=None)
    return live.Picture(console, PLAIN, live.IDLE), console, written


def seen(view: live.Picture, console: Console, written: io.StringIO) -> list[str]:
    written.truncate(0)
    written.seek(0)
    console.print(view)
    return [line.rstrip() for line in written.getvalue().splitlines()]


def test_a_picture_has_a_row_for_each_running_job():
    view, console, written = picture()
    assert seen(view, console, written) == [f"  {live.IDLE}"]
    view(STORY[0])
    assert seen(view, console, written) == ["  Starting Spark … 0s"]
    view(STORY[1])
    view(STORY[3])
    view(event(replace(JOB, id="02" * 16, started=now_micros()), total=0))
    first, second = seen(view, console, written)
    assert first.startswith("▸ edges@01a1dd29b6a6  ━━━")
    assert first.endswith("515/1,000  3 failed  12 skipped  85 datums/s  6s left")
    assert second.startswith("▸ edges@020202020202  ━━━")
    assert re.search(r" [\d.]+s$", second)


def test_finished_jobs_go_up_and_away():
    view, console, written = picture()
    view(STORY[2])
    view(STORY[4])
    assert "✓ edges@01a1dd29b6a6  1,000 datums: 988 ran, 12 skipped (2.1s)" in written.getvalue()
    assert seen(view, console, written) == [f"  {live.IDLE}"]


def test_long_reasons_keep_to_their_line():
    view, _, written = picture(width=60)
    view(event(replace(FAILED, told_reason=said("x" * 200))))
    (line,) = written.getvalue().splitlines()
    assert len(line) <= 60


@pytest.mark.parametrize(
    "seconds, text",
    [(0.04, "0.0s"), (12.34, "12.3s"), (59.96, "1m00s"), (245, "4m05s"), (7380, "2h03m")],
)
def test_took(seconds, text):
    assert jobviews.took(seconds) == text


@pytest.mark.parametrize(
    "counts, text",
    [
        (Counts(), "no datums"),
        (Counts(total=3), "3 datums"),
        (Counts(processed=1, total=1), "1 datum: 1 ran"),
        (HALF, "1,000 datums: 500 ran, 12 skipped, 3 failed"),
    ],
)
def test_counts_in_words(counts, text):
    assert words.in_words(counts) == text


def test_a_job_page_leaves_out_what_is_not_known():
    waiting = replace(JOB, state=JobState.WAITING, started=None)
    names = [line.partition(":")[0] for line in jobviews.job_page(waiting, PLAIN)]
    assert names[1:] == ["State", "Cause", "Pipeline", "Datums", "Created"]
