"""`trunkline egress`: what pipelines deliver to the world outside."""

from __future__ import annotations

from typing import Annotated

import typer

from trunkline.cli import complete, egressviews, session
from trunkline.cli.arguments import App, Limit, PipelineName
from trunkline.errors import NotFound

app = App(name="egress", help="Egress: where the output of pipelines goes.")

Target = Annotated[
    str | None,
    typer.Argument(metavar="[TARGET]", help="Only this target.", show_default=False),
]
OfJob = Annotated[
    str | None,
    typer.Option("--job", metavar="ID", help="Only of this job.", show_default=False),
]


@app.command("list")
def list_(
    ctx: typer.Context,
    pipeline: Annotated[
        str | None,
        typer.Argument(
            metavar="[PIPELINE]",
            help="Only of this one.",
            autocompletion=complete.pipelines,
            show_default=False,
        ),
    ] = None,
    failed: Annotated[
        bool, typer.Option("--failed", help="Only those that a target still lacks.")
    ] = False,
    job: OfJob = None,
    limit: Limit = 50,
    everywhere: Annotated[bool, typer.Option("--all", "-a", help="Of every project.")] = False,
) -> None:
    """List deliveries, newest first. With --failed, exit code 1 if there are any."""
    run = session.of(ctx)
    with run.open() as lake:
        found = lake.deliveries(
            pipeline, job=job, failed=failed, limit=limit, all_projects=everywhere
        )
    empty = "Nothing failed to go out." if failed else "No deliveries yet."
    run.output.table(found, egressviews.DELIVERIES, empty=empty)
    if failed and found:
        raise typer.Exit(1)


@app.command()
def inspect(
    ctx: typer.Context, pipeline: PipelineName, target: Target = None, job: OfJob = None
) -> None:
    """Show the newest delivery in full: when, how often it was tried, and its receipt."""
    run = session.of(ctx)
    with run.open() as lake:
        found = lake.deliveries(pipeline, target=target, job=job, limit=1)
    if not found:
        what = f" to {target}" if target else ""
        raise NotFound(
            f"Nothing of {pipeline}{what} was delivered yet.",
            hint=f"trunkline egress run {pipeline} sends what there is.",
        )
    run.output.item(found[0], lambda one: egressviews.page(one, run.output.style))


@app.command("run")
def run_(ctx: typer.Context, pipeline: PipelineName, target: Target = None) -> None:
    """Send the newest output, without computing it again. A worker, or run, does it."""
    run = session.of(ctx)
    with run.open() as lake:
        found = lake.deliver(pipeline, target)
    run.output.done(found, f"{egressviews.sentence(found, 'To go out:')}\n{run.who_runs}")


@app.command()
def retry(
    ctx: typer.Context, pipeline: PipelineName, target: Target = None, job: OfJob = None
) -> None:
    """Try again what failed, and at once what waits for its next try."""
    run = session.of(ctx)
    with run.open() as lake:
        found = lake.retry_deliveries(pipeline, target, job=job)
    run.output.done(found, f"{egressviews.sentence(found, 'To go out again:')}\n{run.who_runs}")


@app.command()
def skip(
    ctx: typer.Context, pipeline: PipelineName, target: Target = None, job: OfJob = None
) -> None:
    """Leave out what failed or waits; what comes after it goes on."""
    run = session.of(ctx)
    with run.open() as lake:
        found = lake.skip_deliveries(pipeline, target, job=job)
    run.output.done(found, egressviews.sentence(found, "Left out:"))
