"""`trunkline branch`: names that move along as commits are made."""

from __future__ import annotations

from typing import Annotated

import typer

from trunkline.cli import complete, session, views
from trunkline.cli.arguments import App, BranchRef, DryRun, IfHead, RepoName
from trunkline.cli.deleting import Yes, may_delete
from trunkline.errors import Usage
from trunkline.model.inputs import Trigger
from trunkline.model.shape import as_json
from trunkline.settings import parse_size

app = App(name="branch", help="Branches: names that point at a commit.")

Target = Annotated[
    str,
    typer.Argument(
        metavar="REF", help="Where to.", autocompletion=complete.revisions, show_default=False
    ),
]

Size = Annotated[
    str | None, typer.Option("--size", metavar="SIZE", help="It has grown so much, as 1GB.")
]
Commits = Annotated[
    int | None, typer.Option("--commits", metavar="N", help="So many commits are new.")
]
RateLimit = Annotated[
    str | None,
    typer.Option("--rate-limit", metavar="CRON", help="A time has come since the last move."),
]
CronText = Annotated[
    str | None, typer.Option("--cron", metavar="CRON", help="At times, whatever came.")
]
Timezone = Annotated[str, typer.Option("--timezone", metavar="ZONE", help="Of these times.")]
AllOf = Annotated[bool, typer.Option("--all", help="All of the conditions, not any of them.")]


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
    trigger_on: Annotated[
        str | None,
        typer.Option("--trigger-on", metavar="BRANCH", help="Follow this branch, by conditions:"),
    ] = None,
    size: Size = None,
    commits: Commits = None,
    rate_limit: RateLimit = None,
    cron: CronText = None,
    timezone: Timezone = "UTC",
    every: AllOf = False,
) -> None:
    """Make a branch where main is, or at a commit. No data is copied."""
    run = session.of(ctx)
    trigger = None
    if trigger_on is not None:
        trigger = Trigger(trigger_on, _size(size), commits, rate_limit, cron, every, timezone)
    elif size or commits or rate_limit or cron or every:
        raise Usage(
            "These are conditions of a trigger, and there is none.",
            hint="Say which branch to follow: --trigger-on BRANCH.",
        )
    with run.open() as lake:
        made = lake.create_branch(branch, from_, trigger)
    at = f" at {views.short(made.head)}" if made.head else ""
    follows = f"; it follows {trigger_on}" if trigger_on else ""
    run.output.done(made, f"Created branch {made.repo}@{made.name}{at}{follows}.")


@app.command()
def trigger(
    ctx: typer.Context,
    branch: BranchRef,
    on: Annotated[
        str | None,
        typer.Option("--on", metavar="BRANCH", help="Follow this branch, by conditions:"),
    ] = None,
    size: Size = None,
    commits: Commits = None,
    rate_limit: RateLimit = None,
    cron: CronText = None,
    timezone: Timezone = "UTC",
    every: AllOf = False,
    none: Annotated[bool, typer.Option("--none", help="Follow nothing any more.")] = False,
) -> None:
    """Let a branch that is there follow another, from where it is; or no longer."""
    run = session.of(ctx)
    if (on is None) is not none:
        raise Usage("Say which branch to follow, or --none.", hint="--on BRANCH, with a condition.")
    follows = Trigger(on, _size(size), commits, rate_limit, cron, every, timezone) if on else None
    with run.open() as lake:
        found = lake.follow_branch(branch, follows)
    run.output.done(found, f"{found.repo}@{found.name} follows {on or 'nothing'}.")


def _size(text: str | None) -> int | None:
    try:
        return None if text is None else parse_size(text)
    except ValueError as error:
        raise Usage(f"--size: {error}.") from None


@app.command("list")
def list_(ctx: typer.Context, repo: RepoName) -> None:
    """List a repo's branches with their heads and triggers."""
    run = session.of(ctx)
    with run.open() as lake:
        branches = lake.branches(repo)
        triggers = {str(one["branch"]): one for one in lake.triggers(repo)}
    if run.settings.flag("json"):
        run.output.table(
            [{**as_json(one), "trigger": triggers.get(one.name)} for one in branches], ()
        )
        return
    columns = (*views.BRANCHES, *views.trigger_columns(triggers)) if triggers else views.BRANCHES
    run.output.table(branches, columns, empty="No branches.")


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
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Delete a branch. Its commits stay until gc, and until then it can be had back: undelete."""
    run = session.of(ctx)
    with run.open() as lake:
        if not may_delete(run, lake, "branch", branch, yes=yes, dry_run=dry_run, force=force):
            return
        lake.delete_branch(branch, force=force)
    run.output.done({"deleted": branch}, f"Deleted branch {branch}.")
