"""`trunkline env`: a project on branches of its own, to try changes on real data."""

from __future__ import annotations

from typing import Annotated

import typer

from trunkline.cli import complete, envviews, session
from trunkline.cli.arguments import App, DryRun
from trunkline.cli.deleting import Yes, may_delete
from trunkline.cli.text import count

app = App(name="env", help="Environments: a project on branches of its own.")

EnvironmentName = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="An environment of the project.",
        autocompletion=complete.environments,
        show_default=False,
    ),
]


@app.command()
def create(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What to call it.")],
    from_: Annotated[
        str, typer.Option("--from", metavar="BRANCH", help="Where its branches start.")
    ] = "main",
) -> None:
    """Branch every repo and pipeline of the project. No data is copied, nothing is computed."""
    run = session.of(ctx)
    with run.open() as lake:
        made = lake.create_environment(name, from_)
        found = lake.environment_status(name)
    repos, pipelines = len(found.branches), len(found.pipelines)
    run.output.done(
        made,
        f"Created environment {made.name} from {made.base}: {repos} branch{'es' * (repos != 1)}, "
        f"{count(pipelines, 'pipeline')}.",
    )


@app.command("list")
def list_(
    ctx: typer.Context,
    everywhere: Annotated[bool, typer.Option("--all", "-a", help="Of every project.")] = False,
) -> None:
    """List environments."""
    run = session.of(ctx)
    with run.open() as lake:
        found = lake.environments(all_projects=everywhere)
    empty = "No environments: trunkline env create NAME."
    run.output.table(found, envviews.columns(everywhere), empty=empty)


@app.command()
def status(ctx: typer.Context, name: EnvironmentName) -> None:
    """Show which pipelines and branches are not as in main."""
    run = session.of(ctx)
    with run.open() as lake:
        found = lake.environment_status(name)
    run.output.item(found, lambda one: envviews.status_lines(one, run.output.style))


@app.command()
def diff(
    ctx: typer.Context,
    name: EnvironmentName,
    rows: Annotated[
        int, typer.Option("--rows", metavar="N", min=0, help="Show so many rows of each table.")
    ] = 0,
) -> None:
    """Show what code, schemas and rows differ in from main, for whoever reviews it."""
    run = session.of(ctx)
    with run.open() as lake:
        found = lake.environment_diff(name, rows)
    run.output.item(found, lambda one: envviews.diff_lines(one, run.output.style))


@app.command()
def sync(
    ctx: typer.Context,
    name: EnvironmentName,
    strategy: Annotated[
        str | None,
        typer.Option(
            "--strategy",
            metavar="SIDE",
            help="Where both changed: ours (the environment's) or theirs.",
        ),
    ] = None,
    dry_run: DryRun = False,
) -> None:
    """Bring an environment what main got since. What it computed is not computed again."""
    run = session.of(ctx)
    with run.open() as lake:
        done = lake.sync_environment(name, strategy, dry_run)
    run.output.item(done, lambda one: envviews.report_lines(one, run.output.style, run.who_runs))


@app.command()
def merge(
    ctx: typer.Context,
    name: EnvironmentName,
    dry_run: DryRun = False,
    force: Annotated[bool, typer.Option("--force", help="Though jobs failed there.")] = False,
    delete: Annotated[
        bool, typer.Option("--delete", help="Also delete pipelines that were deleted there.")
    ] = False,
) -> None:
    """Publish code and data of an environment together. Nothing is computed twice."""
    run = session.of(ctx)
    with run.open() as lake:
        done = lake.merge_environment(name, dry_run=dry_run, force=force, delete=delete)
    run.output.item(done, lambda one: envviews.report_lines(one, run.output.style, run.who_runs))


@app.command("delete")
def delete_(
    ctx: typer.Context,
    name: EnvironmentName,
    force: Annotated[bool, typer.Option("--force", help="Though it was not merged.")] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Delete an environment with its branches. Its commits stay until gc."""
    run = session.of(ctx)
    with run.open() as lake:
        if not may_delete(run, lake, "env", name, yes=yes, dry_run=dry_run, force=force):
            return
        lake.delete_environment(name, force=force)
    run.output.done({"deleted": name}, f"Deleted environment {name}.")
