"""`trunkline tag`: names that never move."""

from __future__ import annotations

from typing import Annotated

import typer

from trunkline.cli import complete, session, views
from trunkline.cli.arguments import App, DryRun, Message, RepoName, TagRef
from trunkline.cli.deleting import Yes, may_delete

app = App(name="tag", help="Tags: names that never move.")

Target = Annotated[
    str,
    typer.Argument(
        metavar="REF", help="The commit.", autocompletion=complete.revisions, show_default=False
    ),
]


@app.command()
def create(ctx: typer.Context, tag: TagRef, target: Target, message: Message = "") -> None:
    """Give a commit a name for good."""
    run = session.of(ctx)
    with run.open() as lake:
        made = lake.create_tag(tag, target, message=message)
    run.output.done(made, f"Tagged {views.short(made.commit)} as {made.repo}@{made.name}.")


@app.command("list")
def list_(ctx: typer.Context, repo: RepoName) -> None:
    """List a repo's tags."""
    run = session.of(ctx)
    with run.open() as lake:
        run.output.table(lake.tags(repo), views.TAGS, empty="No tags.")


@app.command()
def delete(ctx: typer.Context, tag: TagRef, dry_run: DryRun = False, yes: Yes = False) -> None:
    """Delete a tag. The commit stays, and until gc the tag can be had back: undelete."""
    run = session.of(ctx)
    with run.open() as lake:
        if not may_delete(run, lake, "tag", tag, yes=yes, dry_run=dry_run):
            return
        lake.delete_tag(tag)
    run.output.done({"deleted": tag}, f"Deleted tag {tag}.")
