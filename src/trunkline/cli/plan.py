"""`trunkline plan`: what would happen, and why."""

from __future__ import annotations

from typing import Annotated

import typer

from trunkline.cli import planviews, session
from trunkline.cli.arguments import App, Arguments, Env, NoReprocess, Reprocess
from trunkline.cli.pipeline import arguments, tell_notes

app = App()


@app.command()
def plan(
    ctx: typer.Context,
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE",
            help="Specs to be applied; without any, what is due now.",
            show_default=False,
        ),
    ] = None,
    reprocess: Reprocess = False,
    no_reprocess: NoReprocess = False,
    args: Arguments = None,
    env: Env = None,
) -> None:
    """Show what would run, be reused, kept and dropped, and why. Nothing is done."""
    run = session.of(ctx)
    with run.open() as lake:
        found = lake.plan(
            *(files or ()),
            reprocess=reprocess,
            no_reprocess=no_reprocess,
            args=arguments(args),
            env=env,
        )
    tell_notes(run, found)
    run.output.item(found, lambda report: planviews.plan_lines(report, run.output.style))
