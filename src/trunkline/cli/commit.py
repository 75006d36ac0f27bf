"""`trunkline commit`: gather several calls into one commit, and tidy up history."""

from __future__ import annotations

from typing import Annotated

import typer

from trunkline.cli import session, views
from trunkline.cli.arguments import App, BranchRef, CommitRef, Message

app = App(name="commit", help="Commits: immutable trees of files.")

Derived = Annotated[
    bool, typer.Option("--recursive", "-r", help="With the commits that derive from it.")
]


@app.command()
def start(ctx: typer.Context, branch: BranchRef, message: Message = "") -> None:
    """Open a commit on a branch: what is put there joins it until it is finished."""
    run = session.of(ctx)
    with run.open() as lake:
        opened = lake.start_commit(branch, message)
    run.output.item(opened, lambda commit: [commit.id])


@app.command()
def finish(
    ctx: typer.Context,
    branch: BranchRef,
    message: Annotated[
        str | None, typer.Option("--message", "-m", metavar="TEXT", help="Instead of the first.")
    ] = None,
) -> None:
    """Finish the open commit: from now on everyone sees it, and it never changes."""
    run = session.of(ctx)
    with run.open() as lake:
        done = lake.finish_commit(branch, message)
    run.output.done(done, views.committed(done))


@app.command("list")
def list_(
    ctx: typer.Context,
    branch: CommitRef,
    limit: Annotated[int | None, typer.Option("--limit", "-n", help="At most so many.")] = None,
) -> None:
    """List commits, newest first."""
    run = session.of(ctx)
    with run.open() as lake:
        run.output.table(lake.commits(branch, limit=limit), views.COMMITS, empty="No commits yet.")


@app.command()
def inspect(ctx: typer.Context, commit: CommitRef) -> None:
    """Show one commit."""
    run = session.of(ctx)
    with run.open() as lake:
        found = lake.commit_info(commit)
        batch = lake.commit_batch(found)
    style = run.output.style
    run.output.item(
        views.with_batch(found, batch), lambda _: views.commit_header(found, style, batch=batch)
    )


@app.command()
def squash(ctx: typer.Context, commit: CommitRef, recursive: Derived = False) -> None:
    """Remove a commit; its child keeps the data."""
    run = session.of(ctx)
    with run.open() as lake:
        lake.squash(commit, recursive=recursive)
    run.output.done({"squashed": commit}, f"Squashed {commit} into its child.")


@app.command()
def drop(ctx: typer.Context, commit: CommitRef, recursive: Derived = False) -> None:
    """Remove a branch's head with its data; the branch falls back to the parent."""
    run = session.of(ctx)
    with run.open() as lake:
        branches = lake.drop(commit, recursive=recursive)
    heads = ", ".join(
        f"{b.repo}@{b.name} is {f'at {views.short(b.head)}' if b.head else 'now empty'}"
        for b in branches
    )
    run.output.done(branches, f"Dropped {commit}; {heads or 'no branch was there'}.")
