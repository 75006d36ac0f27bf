"""`trunkline branch`: names that move along as commits are made."""

from __future__ import annotations

from typing import Annotated

import typer

from trunkline.cli import complete, session, views
from trunkline.cli.arguments import App, BranchRef, IfHead, RepoName

app = App(name="branch", help="Branches: names that point at a commit.")

Target = Annotated[
    str,
    typer.Argument(
        metavar="REF", help="Where to.", autocompletion=complete.revisions, show_default=False
    ),
]


@app.command()
def create(
    ctx: typer.Context,
    branch: BranchRef,
    from_: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="REF", help="Where it starts.", autocompletion=complete.revisions
        ),
    ] = None,
) -> None:
    """Make a branch where main is, or at a commit. No data is copied."""
    run = session.of(ctx)
    with run.open() as lake:
        made = lake.create_branch(branch, from_)
    at = f" at {views.short(made.head)}" if made.head else ""
    run.output.done(made, f"Created branch {made.repo}@{made.name}{at}.")


@app.command("list")
def list_(ctx: typer.Context, repo: RepoName) -> None:
    """List a repo's branches with their heads."""
    run = session.of(ctx)
    with run.open() as lake:
        run.output.table(lake.branches(repo), views.BRANCHES, empty="No branches.")


@app.command()
def move(ctx: typer.Context, branch: BranchRef, to: Target, if_head: IfHead = None) -> None:
    """Point a branch at another commit."""
    run = session.of(ctx)
    with run.open() as lake:
        moved = lake.move_branch(branch, to, if_head=if_head)
    run.output.done(moved, f"{moved.repo}@{moved.name} now points at {views.short(moved.head)}.")


@app.command()
def delete(
    ctx: typer.Context,
    branch: BranchRef,
    force: Annotated[bool, typer.Option("--force", help="Even with an open commit.")] = False,
) -> None:
    """Delete a branch. Its commits stay until gc."""
    run = session.of(ctx)
    with run.open() as lake:
        lake.delete_branch(branch, force=force)
    run.output.done({"deleted": branch}, f"Deleted branch {branch}.")
