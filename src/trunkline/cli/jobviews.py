"""How pipelines, jobs and datums look as text."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from trunkline.cli import egressviews, streamviews
from trunkline.cli.checkviews import job_lines
from trunkline.cli.output import Column, Style
from trunkline.cli.text import aligned, count, fields, human_size, local_time, printable
from trunkline.cli.views import first_line, short
from trunkline.model import yamltext
from trunkline.model.words import job_words

if TYPE_CHECKING:
    from trunkline.lake.pipelines import Applied
    from trunkline.model.egress import Delivery
    from trunkline.model.expectations import CheckResult
    from trunkline.model.flowstatus import IngestStatus, StreamStatus
    from trunkline.model.jobs import Backfill, DatumInfo, DatumInput, Job, LogLine
    from trunkline.model.pipelines import PipelineInfo
    from trunkline.model.streams import Batch
    from trunkline.schedule.outlook import NextTick

MICROS = 1_000_000

# A style and a sign for each state of a pipeline, job or datum.
STATES = {
    "success": ("+", "✓"),
    "failure": ("bad", "✗"),
    "failed": ("bad", "✗"),
    "unrunnable": ("bad", "⊘"),
    "killed": ("~", "■"),
    "recovered": ("~", "↺"),
    "paused": ("~", "‖"),
    "running": ("on", "▸"),
    "finishing": ("on", "▸"),
    "idle": ("dim", "≈"),
    "waiting": ("dim", "·"),
    "created": ("dim", "·"),
    "skipped": ("dim", "="),
}


def state_style(state: object) -> str:
    return STATES.get(str(state), ("", ""))[0]


def state_sign(state: object) -> str:
    return STATES.get(str(state), ("", ""))[1]


def job_name(job: Job) -> str:
    """What names one job: a set's jobs share their id."""
    return f"{job.pipeline}@{job.short_id}"


def took(seconds: float) -> str:
    """`0.4s`, `12.3s`, `4m05s`, `2h03m`."""
    if seconds < 59.95:
        return f"{seconds:.1f}s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes}m{rest:02}s"
    return f"{minutes // 60}h{minutes % 60:02}m"


def run_seconds(job: Job) -> float | None:
    """How long a job ran, or has run until now; None if it does not run."""
    end = job.finished
    if end is None and str(job.state) in ("running", "finishing"):
        end = time.time_ns() // 1000
    if job.started is None or end is None:
        return None
    return max(end - job.started, 0) / MICROS


def job_took(job: Job) -> str:
    seconds = run_seconds(job)
    return "-" if seconds is None else took(seconds)


def why(job: Job) -> str:
    """Why it ended as it did; else why it is there."""
    return first_line(job.reason) or job.cause


PIPELINES = (
    Column("NAME", lambda p: str(p.name)),
    Column("VERSION", lambda p: str(p.version), right=True),
    Column("STATE", lambda p: p.state, style=lambda p: state_style(p.state if p.paused else "")),
    Column("LAST JOB", lambda p: p.last_state or "-", style=lambda p: state_style(p.last_state)),
    Column("KIND", lambda p: p.kind),
    Column("READS", lambda p: ", ".join(map(str, p.inputs)) or "-"),
    Column("SCHEDULE", lambda p: p.schedule or "-"),
    Column("DESCRIPTION", lambda p: first_line(p.description)),
)

VERSIONS = (
    Column("VERSION", lambda p: str(p.version), right=True),
    Column("CREATED", lambda p: local_time(p.updated)),
    Column("KIND", lambda p: p.kind),
    Column("READS", lambda p: ", ".join(map(str, p.inputs)) or "-"),
    Column("DESCRIPTION", lambda p: first_line(p.description)),
)

JOBS = (
    Column("JOB", job_name),
    Column("STATE", lambda j: str(j.state), style=lambda j: state_style(j.state)),
    Column("RAN", lambda j: f"{j.counts.processed:,}", right=True),
    Column("SKIPPED", lambda j: f"{j.counts.skipped:,}", right=True, style=lambda j: "dim"),
    Column(
        "FAILED",
        lambda j: f"{j.counts.failed:,}",
        right=True,
        style=lambda j: "bad" if j.counts.failed else "dim",
    ),
    Column("TOOK", job_took, right=True),
    Column("CREATED", lambda j: local_time(j.created)),
    Column("WHY", why),
)

BRANCH = Column("BRANCH", lambda j: j.branch)
RECOVERED = Column("RECOVERED", lambda j: f"{j.counts.recovered:,}", right=True)


def job_columns(found: Sequence[Job]) -> tuple[Column, ...]:
    """The columns of these jobs: with their branch if one is in an environment, and with what
    err_cmd saved if it saved any."""
    name, *rest = JOBS
    if any(job.counts.recovered for job in found):
        at = next(i for i, column in enumerate(rest) if column.title == "TOOK")
        rest.insert(at, RECOVERED)
    return (name, BRANCH, *rest) if any(job.environment for job in found) else (name, *rest)


BACKFILLS = (
    Column("ID", lambda b: short(b.id)),
    Column("PIPELINE", lambda b: str(b.pipeline)),
    Column("STATE", lambda b: b.state, style=lambda b: state_style(b.state)),
    Column("DONE", lambda b: f"{b.done:,}/{b.total:,}", right=True),
    Column("FAILED", lambda b: f"{b.failed:,}", right=True),
    Column("BRANCH", lambda b: b.branch),
    Column("OF", lambda b: b.span),
    Column("CREATED", lambda b: local_time(b.created)),
)

POOLS = (
    Column("NAME", lambda p: p["name"]),
    Column("SLOTS", lambda p: str(p["slots"]), right=True),
    Column("RUNNING", lambda p: str(p["running"]), right=True),
    Column("WAITING", lambda p: str(p["waiting"]), right=True),
)


def applied(one: Applied) -> str:
    """What an apply made of one pipeline."""
    if one.action == "unchanged":
        return f"{one.name} is unchanged (version {one.version})."
    verb = one.action.capitalize()
    text = f"{verb} {one.name}, version {one.version}"
    return f"{text}: job {one.name}@{short(one.job)} is waiting." if one.job else f"{text}."


def pipeline_page(
    pipeline: PipelineInfo,
    jobs: Sequence[Job],
    ticks: Sequence[NextTick],
    style: Style,
    flow: StreamStatus | IngestStatus | None = None,
) -> Iterator[str]:
    state = pipeline.state
    if pipeline.paused and pipeline.pending:
        state += "; something came meanwhile, and will make one job on resume"
    pairs = [
        ("Pipeline", str(pipeline.name)),
        ("Description", printable(pipeline.description) or "-"),
        ("Version", str(pipeline.version)),
        ("State", state),
        ("Kind", pipeline.kind),
        ("Reads", ", ".join(map(str, pipeline.inputs)) or "-"),
    ]
    if pipeline.schedule:
        pairs.append(("Schedule", printable(pipeline.schedule)))
    if ticks:
        pairs.append(("Next ticks", ", ".join(local_time(tick.at) for tick in ticks)))
    pairs.append(("Created", local_time(pipeline.created)))
    pairs.append(("Updated", local_time(pipeline.updated)))
    yield from fields(pairs)
    if flow is not None:
        yield from ("", "Flow:")
        yield from (f"  {line}" for line in streamviews.page(flow, style))
    if jobs:
        yield from ("", "Jobs:")
        rows = [[job_name(j), str(j.state), job_words(j), job_took(j)] for j in jobs]
        for line, job in zip(aligned(rows, [False, False, False, True]), jobs, strict=True):
            yield "  " + line.replace(str(job.state), style(state_style(job.state), job.state), 1)
    yield from ("", "Spec:")
    for line in yamltext.lines(pipeline.spec):
        yield f"  {line}"


def job_page(
    job: Job,
    style: Style,
    checks: Sequence[CheckResult] = (),
    sent: Sequence[Delivery] = (),
) -> Iterator[str]:
    yield style("head", f"job {job.pipeline}@{job.id}")
    yield from fields([(name, value) for name, value in _job_fields(job, style) if value])
    if checks:
        yield from ("", "Checks:", *job_lines(checks, style))
    if sent:
        yield from ("", "Deliveries:", *egressviews.job_lines(sent, style))
    if job.is_failure:
        yield ""
        yield f"What it printed:  trunkline job logs {job_name(job)}"
        if job.counts.failed:
            yield f"Which failed:     trunkline datum list {job_name(job)} --state failed"
        yield f"Try again:        trunkline job rerun {job_name(job)}"


def _job_fields(job: Job, style: Style) -> Iterator[tuple[str, str]]:
    state = style(state_style(job.state), str(job.state))
    reason = printable(" ".join(job.reason.split()))
    yield "State", f"{state}: {reason}" if reason else state
    yield "Cause", printable(job.cause)
    yield "Pipeline", f"{job.pipeline}, version {job.version}"
    for number, one in enumerate(job.inputs):
        named = "" if one.name == one.repo.repo else f" as {one.name}"
        at = f"{one.repo}@{short(one.commit)}" if one.commit else f"{one.repo}, without a commit"
        yield "Reads" if not number else "", f"{at} ({one.branch}){named}"
    if job.output_commit:
        yield "Writes", f"{job.pipeline}@{short(job.output_commit)} ({job.branch})"
    yield "Batches" if job.is_stream else "Datums", job_words(job)
    counts = job.counts
    if counts.bytes_in or counts.bytes_out:
        yield "Data", f"{human_size(counts.bytes_in)} in, {human_size(counts.bytes_out)} out"
    spent = counts.download + counts.process + counts.upload
    if spent:
        parts = zip(
            ("fetching", "working", "storing"),
            (counts.download, counts.process, counts.upload),
            strict=True,
        )
        yield "Time", ", ".join(f"{took(seconds)} {word}" for word, seconds in parts)
    if rate := _rate(job):
        yield "Rate", rate
    yield "Created", local_time(job.created)
    if job.started is not None:
        waited = max(job.started - job.created, 0) / MICROS
        yield "Started", f"{local_time(job.started)} (after {took(waited)})"
    if job.finished is not None:
        after = f" (after {job_took(job)})" if job.started is not None else ""
        yield "Finished", f"{local_time(job.finished)}{after}"
    if job.attempt > 1:
        yield "Attempt", str(job.attempt)
    if job.backfill:
        yield "Backfill", short(job.backfill)
    yield "Worker", printable(job.worker or "")
    yield "Spark", printable(job.spark_application or "")


def _rate(job: Job) -> str:
    seconds = run_seconds(job)
    done = job.counts.processed + job.counts.failed + job.counts.recovered
    if not seconds or not done:
        return ""
    return f"{speed(done / seconds)}, {human_size(job.counts.bytes_in / seconds)}/s"


def speed(rate: float) -> str:
    return f"{rate:,.0f} datums/s" if rate >= 10 else f"{rate:.1f} datums/s"


def datum_inputs(datum: DatumInfo) -> str:
    return " + ".join(f"{one.name}:{one.path}" for one in datum.inputs)


def datum_line(style: Style) -> Callable[[DatumInfo], Iterator[str]]:
    """A function from a datum to its line; the first comes with titles."""
    said: list[bool] = []

    def lines(datum: DatumInfo) -> Iterator[str]:
        if not said:
            said.append(True)
            yield style("head", f"{'DATUM':<12}  {'STATE':<9}  {'REASON':<28}  INPUTS")
        state = style(state_style(datum.state), f"{datum.state:<9}")
        reason = printable((datum.error and first_line(datum.error)) or datum.reason)
        yield f"{datum.id[:12]}  {state}  {reason:<28}  {printable(datum_inputs(datum))}".rstrip()

    return lines


def datum_page(datum: DatumInfo, style: Style) -> Iterator[str]:
    yield style("head", f"datum {datum.id}")
    pairs = [("State", style(state_style(datum.state), str(datum.state)))]
    if datum.error:
        pairs.append(("Error", printable(first_line(datum.error))))
    if datum.reason:
        pairs.append(("Why", printable(datum.reason)))
    for number, one in enumerate(datum.inputs):
        pairs.append(("Reads" if not number else "", _datum_input(one)))
    if datum.job:
        pairs.append(("Computed", f"by job {short(datum.job)}"))
    if datum.tries:
        pairs.append(("Tries", str(datum.tries)))
        pairs.append(("Took", took(datum.seconds)))
        moved = f"{human_size(datum.bytes_in)} in, {human_size(datum.bytes_out)} out"
        pairs.append(("Data", f"{moved} in {count(datum.outputs, 'file')}"))
    width = max(len(name) for name, _ in pairs) + 1
    for name, value in pairs:
        yield f"{name + ':' if name else '':<{width}} {value}"


def _datum_input(one: DatumInput) -> str:
    named = "" if one.name == one.repo.repo else f" as {one.name}"
    keys = (("join_on", one.join_on), ("group_by", one.group_by))
    said = ", ".join(f"{key} {printable(value)}" for key, value in keys if value)
    return f"{one.repo}:{printable(one.path)}{named}" + (f" ({said})" if said else "")


def log_line(style: Style, named: bool) -> Callable[[LogLine], Iterator[str]]:
    """A function from a line of a log to text; `named` puts the datum before it."""

    def lines(line: LogLine) -> Iterator[str]:
        at = time.strftime("%H:%M:%S", time.localtime(line.at / MICROS))
        who = f" {line.datum[:12]:<12}" if named else ""
        head = style("dim", f"{at}{who}")
        text = printable(line.text)
        marked = {"err": style("~", text), "note": style("on", text)}.get(line.stream, text)
        yield f"{head}  {marked}"

    return lines


def backfill_page(backfill: Backfill) -> Iterator[str]:
    done = f"{backfill.done:,} of {count(backfill.total, 'job')} done"
    failed = f", {backfill.failed:,} failed" if backfill.failed else ""
    yield from fields([
        ("Backfill", backfill.id),
        ("Pipeline", str(backfill.pipeline)),
        ("State", f"{backfill.state}: {done}{failed}"),
        ("Of", printable(backfill.span)),
        ("Branch", f"{backfill.pipeline}@{backfill.branch}"),
        ("Created", f"{local_time(backfill.created)} by {printable(backfill.author)}"),
    ])  # fmt: skip


def ended(job: Job, style: Style) -> str:
    """One line on a job that is over, or was given back."""
    sign = style(state_style(job.state), f"{state_sign(job.state)} {job_name(job)}")
    outcome = printable(first_line(job.reason)) if job.reason else job_words(job)
    if str(job.state) != "success":
        outcome = f"{job.state}: {outcome}"
    if not job.state.is_over and job.attempt and job.reason:
        outcome += f"; try {job.attempt + 1} follows"
    seconds = run_seconds(job)
    return f"{sign}  {outcome}" + (f" ({took(seconds)})" if seconds is not None else "")


def ended_batch(job: Job, batch: Batch, style: Style) -> str:
    """One line on a job of a stream that made its commit."""
    sign = style(state_style(job.state), f"{state_sign(job.state)} {job_name(job)}")
    return f"{sign}  {streamviews.numbered_words(batch)}"
