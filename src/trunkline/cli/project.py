"""`trunkline project`: namespaces for repos."""

from __future__ import annotations

from typing import Annotated

import typer

from trunkline.cli import session, views
from trunkline.cli.arguments import App, Description, DryRun
from trunkline.cli.deleting import Yes, may_delete

app = App(name="project", help="Projects: namespaces for repos.")

Name = Annotated[str, typer.Argument(metavar="NAME", show_default=False)]


@app.command()
def create(ctx: typer.Context, name: Name, description: Description = "") -> None:
    """Make a project."""
    run = session.of(ctx)
    with run.open() as lake:
        made = lake.create_project(name, description)
    run.output.done(made, f"Created project {name}.")


@app.command("list")
def list_(ctx: typer.Context) -> None:
    """List projects."""
    run = session.of(ctx)
    with run.open() as lake:
        run.output.table(lake.projects(), views.PROJECTS)


@app.command()
def delete(ctx: typer.Context, name: Name, dry_run: DryRun = False, yes: Yes = False) -> None:
    """Delete an empty project."""
    run = session.of(ctx)
    with run.open() as lake:
        if not may_delete(run, lake, "project", name, yes=yes, dry_run=dry_run):
            return
        lake.delete_project(name)
    run.output.done({"deleted": name}, f"Deleted project {name}.")
