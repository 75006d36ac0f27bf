"""How streams and ingests look as text."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from trunkline.cli.output import Column, Style
from trunkline.cli.text import count, duration, fields, human_size, local_time, printable
from trunkline.cli.views import first_line, short

if TYPE_CHECKING:
    from trunkline.lake.rewinds import RewindPlan
    from trunkline.lake.streams import Steered
    from trunkline.model.flowstatus import FlowStatus, IngestStatus, StreamStatus
    from trunkline.model.streams import Batch

MICROS = 1_000_000
STYLES = {"running": "on", "idle": "+", "paused": "~", "failed": "bad"}


def state_style(status: FlowStatus) -> str:
    return STYLES.get(str(status.state), "")


def rate(rows_per_second: float) -> str:
    """`1,204 rows/s`; a decimal where there are few."""
    number = f"{rows_per_second:,.0f}" if rows_per_second >= 10 else f"{rows_per_second:.1f}"
    return f"{number} rows/s"


def some_time(seconds: float) -> str:
    """`12ms`, `0.40s`, `12.3s`, `4m05s`, `2h03m`, `3d04h`."""
    if seconds < 0.1:
        return f"{seconds * 1000:.0f}ms"
    if seconds < 59.95:
        return f"{seconds:.2f}s" if seconds < 10 else f"{seconds:.1f}s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes}m{rest:02}s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes:02}m" if hours < 48 else f"{hours // 24}d{hours % 24:02}h"


def lag(status: StreamStatus) -> str:
    if not status.lag_commits:
        return "none"
    return f"{count(status.lag_commits, 'commit')}, {some_time(status.lag_seconds)}"


def ago(seconds: float | None) -> str:
    return "-" if seconds is None else f"{some_time(seconds)} ago"


def why(status: FlowStatus) -> str:
    return first_line(status.reason)


STREAMS = (
    Column("NAME", lambda s: str(s.name)),
    Column("STATE", lambda s: str(s.state), style=state_style),
    Column("TRIGGER", lambda s: s.trigger),
    Column("BATCH", lambda s: f"{s.batch:,}", right=True),
    Column("RATE", lambda s: rate(s.speed.rows_per_second), right=True),
    Column("LAG", lag, style=lambda s: "~" if s.lag_commits else "dim"),
    Column("LATE", lambda s: f"{s.late:,}", right=True, style=lambda s: "" if s.late else "dim"),
    Column("LAST BATCH", lambda s: ago(s.age)),
    Column("WHY", why),
)

INGESTS = (
    Column("NAME", lambda s: str(s.name)),
    Column("STATE", lambda s: str(s.state), style=state_style),
    Column("SOURCE", lambda s: s.source),
    Column("BATCH", lambda s: f"{s.batch:,}", right=True),
    Column("ROWS", lambda s: f"{s.rows:,}", right=True),
    Column("RATE", lambda s: rate(s.speed.rows_per_second), right=True),
    Column(
        "MALFORMED",
        lambda s: f"{s.malformed:,}",
        right=True,
        style=lambda s: "~" if s.malformed else "dim",
    ),
    Column("LAST BATCH", lambda s: ago(s.age)),
    Column("WHY", why),
)

BATCHES = (
    Column("BATCH", lambda b: numbers(b), right=True),
    Column("EPOCH", lambda b: str(b.epoch), right=True, style=lambda b: "dim"),
    Column("COMMIT", lambda b: short(b.commit)),
    Column("AT", lambda b: local_time(b.at) if b.at is not None else "-"),
    Column("ROWS IN", lambda b: f"{b.rows_in:,}", right=True),
    Column("OUT", lambda b: f"{b.rows_out:,}", right=True),
    Column("LATE", lambda b: f"{b.late:,}", right=True, style=lambda b: "~" if b.late else "dim"),
    Column(
        "MALFORMED",
        lambda b: f"{b.malformed:,}",
        right=True,
        style=lambda b: "~" if b.malformed else "dim",
    ),
    Column("WATERMARK", lambda b: local_time(b.watermark) if b.watermark is not None else "-"),
    Column(
        "STATE", lambda b: f"{b.state_rows:,}" if b.state_rows or b.state_bytes else "-", right=True
    ),
    Column("TOOK", lambda b: some_time(b.seconds), right=True),
)

SAVEPOINTS = (
    Column("ID", lambda s: short(s.id)),
    Column("OF", lambda s: short(s.commit)),
    Column("BATCH", lambda s: f"{s.batch:,}", right=True),
    Column("EPOCH", lambda s: str(s.epoch), right=True),
    Column("SIZE", lambda s: human_size(s.bytes), right=True),
    Column("MADE", lambda s: local_time(s.made)),
)


def numbers(batch: Batch) -> str:
    """`42`; of several that were squashed `40-42`."""
    return f"{batch.number}" if batch.count == 1 else f"{batch.first}-{batch.number}"


def batch_words(batch: Batch) -> str:
    """`1,204 rows in, 88 out, 2 late, watermark 12:00:10, 0.40s`: a batch in one line."""
    parts = [f"{count(batch.rows_in, 'row')} in", f"{batch.rows_out:,} out"]
    if batch.late:
        parts.append(f"{batch.late:,} late")
    if batch.malformed:
        parts.append(f"{batch.malformed:,} malformed")
    if batch.watermark is not None:
        parts.append(f"watermark {clock(batch.watermark)}")
    return ", ".join([*parts, some_time(batch.seconds)])


def numbered_words(batch: Batch) -> str:
    """`batch 42: 1,204 rows in, …`."""
    return f"batch {numbers(batch)}: {batch_words(batch)}"


def clock(micros: int) -> str:
    """The time of day; with the day if it is not today's."""
    then = time.localtime(micros / MICROS)
    today = time.strftime("%Y-%m-%d") == time.strftime("%Y-%m-%d", then)
    return time.strftime("%H:%M:%S" if today else "%Y-%m-%d %H:%M:%S", then)


def batch_fields(batch: Batch) -> Iterator[tuple[str, str]]:
    """What a commit of a stream or an ingest says of its batch."""
    yield "Batch", f"{numbers(batch)} (epoch {batch.epoch}): {batch_words(batch)}"
    if text := positions(batch.end):
        yield "Read to", text
    if batch.state_rows or batch.state_bytes:
        yield "State", f"{count(batch.state_rows, 'row')}, {human_size(batch.state_bytes)}"


def positions(position: Mapping[str, Any]) -> str:
    """`clicks@01a1dd29b6a6`; what is no commit, as it is."""
    return printable(", ".join(f"{name}@{_place(at)}" for name, at in sorted(position.items())))


def _place(at: object) -> str:
    text = str(at)
    commit, plus, rest = text.partition("+")
    if len(commit) == 32 and commit.isalnum():
        return commit[:12] + (f" and {rest.partition('~')[0]} files of it" if plus else "")
    return text if len(text) <= 60 else f"{text[:59]}…"


def page(status: StreamStatus | IngestStatus, style: Style) -> Iterator[str]:
    """A flow in full, whichever it is."""
    from trunkline.model.flowstatus import StreamStatus

    if isinstance(status, StreamStatus):
        return stream_page(status, style)
    return ingest_page(status, style)


def stream_page(status: StreamStatus, style: Style) -> Iterator[str]:
    yield from fields(list(_stream_fields(status, style)))


def _stream_fields(status: StreamStatus, style: Style) -> Iterator[tuple[str, str]]:
    yield from _head("Stream", status, style)
    yield "Trigger", status.trigger
    yield "Kind", printable(status.kind) or "known after its next batch"
    yield from _progress(status)
    speed = status.speed
    if speed.p50 is not None and speed.p99 is not None:
        yield "Batches", f"p50 {some_time(speed.p50)}, p99 {some_time(speed.p99)}"
    for one in status.inputs:
        behind = f"{count(one.commits, 'commit')} behind"
        text = f"{behind}, the oldest {ago(one.seconds)}" if one.commits else "all read"
        at = f"{one.repo}@{short(one.read)}" if one.read else f"{one.repo}@{one.branch}"
        yield "Lag", f"{at}: {text}"
    if status.watermark is not None:
        passed = status.watermark_behind or 0.0
        behind = f"{some_time(passed)} behind now" if passed >= 0 else "ahead of now"
        yield "Watermark", f"{local_time(status.watermark)}, {behind}"
    if status.state_rows or status.state_bytes:
        yield "State kept", f"{count(status.state_rows, 'row')}, {human_size(status.state_bytes)}"
    yield "Late", f"{count(status.late, 'row')}{_see(status, '_late') if status.late else ''}"
    yield from _malformed(status)
    if status.skipped:
        yield "Skipped", f"{count(status.skipped, 'changed file')}"


def ingest_page(status: IngestStatus, style: Style) -> Iterator[str]:
    pairs = list(_head("Ingest", status, style))
    pairs.append(("Source", printable(status.source)))
    pairs.append(("Commits", f"every {duration(status.interval)}"))
    pairs += _progress(status)
    pairs.append(("Rows", f"{status.rows:,} in this epoch"))
    pairs += _malformed(status)
    if text := positions(status.position):
        pairs.append(("Read to", text))
    for name, value in sorted(status.facts.items()):
        pairs.append((name.replace("_", " ").capitalize(), printable(str(value))))
    if status.worker:
        pairs.append(("Worker", printable(status.worker)))
    yield from fields(pairs)


def _head(noun: str, status: FlowStatus, style: Style) -> Iterator[tuple[str, str]]:
    yield noun, str(status.name)
    state = style(state_style(status), str(status.state)) if state_style(status) else status.state
    reason = printable(" ".join(status.reason.split()))
    yield "State", f"{state}: {reason}" if reason else f"{state}"


def _progress(status: FlowStatus) -> Iterator[tuple[str, str]]:
    yield "Batch", f"{status.batch:,} (epoch {status.epoch})"
    if status.last is not None:
        yield "Last commit", f"{short(status.commit)}, {ago(status.age)}"
        yield "Last batch", batch_words(status.last)
    speed = status.speed
    if status.last is not None:
        lately, last = rate(speed.rows_per_second), rate(speed.last_rows_per_second)
        yield "Rate", f"{lately} lately, {last} in the last batch"


def _malformed(status: FlowStatus) -> Iterator[tuple[str, str]]:
    see = _see(status, "_malformed") if status.malformed else ""
    yield "Malformed", f"{count(status.malformed, 'row')}{see}"


def _see(status: FlowStatus, folder: str) -> str:
    return f", in {status.name}:/{folder}/"


def rewind_lines(plan: RewindPlan) -> Iterator[str]:
    """What a rewind will do, before it is done."""
    if plan.commits:
        late = f" ({plan.late:,} late)" if plan.late else ""
        undone = f"undoes {count(plan.commits, 'commit')} with {count(plan.rows, 'row')}{late}"
    else:
        undone = "undoes no commit"
    where = positions(plan.position)
    yield f"Rewinding {plan.name} to {short(plan.commit)} (batch {plan.batch}) {undone}."
    yield f"It reads on from {where}." if where else "It reads on from the beginning."
    if plan.readers:
        yield f"Told of it: {', '.join(map(str, plan.readers))}."


def steered(done: Steered, who_runs: str) -> str:
    """Where a stream goes on from."""
    where = positions(done.position) or "the beginning"
    text = f"{done.name} goes on after batch {done.batch} (epoch {done.epoch}), from {where}."
    if done.job:
        text += f"\nJob {short(done.job)} is waiting. {who_runs}"
    return text
