"""`trunkline job`: a pipeline at work in one commit set."""

from __future__ import annotations

from typing import Annotated

import typer

from trunkline.cli import complete, jobviews, session
from trunkline.cli.arguments import App, JobName, Limit
from trunkline.cli.history import take
from trunkline.cli.text import printable
from trunkline.cli.views import short
from trunkline.errors import Usage
from trunkline.model.jobs import JobState
from trunkline.settings import parse_duration

app = App(name="job", help="Jobs: a pipeline at work in one commit set.")


@app.command("list")
def list_(
    ctx: typer.Context,
    pipeline: Annotated[
        str | None,
        typer.Option(
            "--pipeline",
            "-p",
            metavar="NAME",
            help="Only of this pipeline.",
            autocompletion=complete.pipelines,
        ),
    ] = None,
    state: Annotated[
        str | None,
        typer.Option("--state", metavar="STATE", help=f"Only {', '.join(JobState)}."),
    ] = None,
    limit: Limit = None,
    everywhere: Annotated[bool, typer.Option("--all", "-a", help="Of every project.")] = False,
) -> None:
    """List jobs, newest first."""
    run = session.of(ctx)
    with run.open() as lake:
        found = lake.jobs(pipeline, state, limit, everywhere)
    run.output.table(found, jobviews.job_columns(found), empty="No jobs.")


@app.command()
def inspect(ctx: typer.Context, job: JobName) -> None:
    """Show how a job went and why, what it read and how fast."""
    run = session.of(ctx)
    with run.open() as lake:
        found = lake.job(job)
        checks = [one.result for one in lake.checks(job=found.ref)]
        name = f"{found.info.pipeline.project}/{found.info.pipeline.repo}"
        sent = lake.deliveries(name, job=found.info.id)
    run.output.item(found.info, lambda j: jobviews.job_page(j, run.output.style, checks, sent))


@app.command()
def why(ctx: typer.Context, job: JobName) -> None:
    """Say why a job ran, what was new to it, and why it ended as it did."""
    run = session.of(ctx)
    with run.open() as lake:
        lines = lake.why(lake.job(job).ref)
    run.output.item({"lines": lines}, lambda _: map(printable, lines))


@app.command()
def wait(
    ctx: typer.Context,
    job: Annotated[
        str,
        typer.Argument(
            metavar="JOB",
            help="PIPELINE@ID, PIPELINE for its newest, or ID for all jobs of that set.",
            autocompletion=complete.jobs,
            show_default=False,
        ),
    ],
    timeout: Annotated[
        str | None, typer.Option("--timeout", metavar="DURATION", help="At most so long, as 10m.")
    ] = None,
) -> None:
    """Wait until jobs are over. Exit code 1 if one failed, 124 if it takes too long."""
    run = session.of(ctx)
    with run.open() as lake:
        done = lake.wait(job, timeout=_seconds(timeout))
    run.output.each(done, lambda j: [jobviews.ended(j, run.output.style)])
    if any(one.state != JobState.SUCCESS for one in done):
        raise typer.Exit(1)


def _seconds(text: str | None) -> float | None:
    try:
        return None if text is None else parse_duration(text)
    except ValueError as error:
        raise Usage(f"--timeout: {error}.") from None


@app.command()
def cancel(ctx: typer.Context, job: JobName) -> None:
    """Stop a job, and with it all that waits for it."""
    run = session.of(ctx)
    with run.open() as lake:
        done = lake.cancel_job(job)
    run.output.done(done, f"Cancelled {jobviews.job_name(done)}.")


@app.command()
def rerun(ctx: typer.Context, job: JobName) -> None:
    """Try again what failed or was stopped. Results that are there are kept."""
    run = session.of(ctx)
    with run.open() as lake:
        started = lake.rerun_job(job)
    run.output.done({"job": started}, f"Job {short(started)} is waiting. {run.who_runs}")


@app.command()
def logs(
    ctx: typer.Context,
    job: JobName,
    datum: Annotated[
        str | None, typer.Option("--datum", metavar="ID", help="Only of this datum.")
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on until the job is over.")
    ] = False,
) -> None:
    """Show what a job's datums printed. With --json, an object on each line."""
    run = session.of(ctx)
    with run.open() as lake:
        lines = take(lake.logs(job, datum=datum, follow=follow))
        run.output.follow(lines, jobviews.log_line(run.output.style, named=datum is None))
