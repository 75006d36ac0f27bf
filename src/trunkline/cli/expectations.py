"""`trunkline checks`: what is expected of tables, and how they were."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from trunkline.cli import checkviews, complete, session
from trunkline.cli.arguments import App, PipelineName
from trunkline.cli.command import Group
from trunkline.cli.views import short

TREND = 10


class ListsByDefault(Group):
    """`checks …` is `checks list …` unless the first word is another command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not {*self.commands, "--help"} & {*args}:
            args = ["list", *args]
        return super().parse_args(ctx, args)


app = App(
    name="checks",
    help="Expectations: what must hold of tables, and whether it did.",
    cls=ListsByDefault,
    no_args_is_help=False,
)


@app.command("list")
def list_(
    ctx: typer.Context,
    pipeline: Annotated[
        str | None,
        typer.Argument(
            metavar="PIPELINE[@JOB]",
            help="Of this pipeline, or of one of its jobs.",
            autocompletion=complete.pipelines,
            show_default=False,
        ),
    ] = None,
    failed: Annotated[bool, typer.Option("--failed", help="Only those that failed.")] = False,
    samples: Annotated[
        bool, typer.Option("--samples", "-s", help="With some of the rows that broke them.")
    ] = False,
    everywhere: Annotated[bool, typer.Option("--all", "-a", help="Of every project.")] = False,
) -> None:
    """Show what became of each rule in the last job. `trunkline checks` does the same."""
    run = session.of(ctx)
    with run.open() as lake:
        if pipeline is not None and "@" in pipeline:
            found = lake.checks(job=pipeline, failed=failed)
            past = {checkviews.key(one): [one] for one in found}
        else:
            past = checkviews.trends(lake.checks(pipeline, limit=TREND, all_projects=everywhere))
            found = [seen[0] for seen in past.values()]
            found = [one for one in found if not failed or str(one.result.state) == "failed"]
    run.output.table(found, checkviews.columns(past), empty="No checks.")
    if samples and not run.settings.flag("json"):
        run.output.each(found, lambda one: checkviews.sample_lines(one.result, run.output.style))


@app.command()
def replay(
    ctx: typer.Context,
    pipeline: PipelineName,
    rule: Annotated[
        str | None, typer.Option("--rule", metavar="NAME", help="Only what this rule set aside.")
    ] = None,
) -> None:
    """Compute again what has quarantined rows, and nothing else."""
    run = session.of(ctx)
    with run.open() as lake:
        started = lake.replay(pipeline, rule)
    run.output.done({"job": started}, f"Job {short(started)} is waiting. {run.who_runs}")
