"""`trunkline repo`: versioned trees of files."""

from __future__ import annotations

from typing import Annotated

import typer

from trunkline.cli import session, views
from trunkline.cli.arguments import App, Description, DryRun, RepoName
from trunkline.cli.deleting import Yes, may_delete
from trunkline.model.shape import as_json

app = App(name="repo", help="Repos: versioned trees of files.")


@app.command()
def create(ctx: typer.Context, repo: RepoName, description: Description = "") -> None:
    """Make an empty repo."""
    run = session.of(ctx)
    with run.open() as lake:
        made = lake.create_repo(repo, description)
    run.output.done(made, f"Created repo {made.name}.")


@app.command("list")
def list_(
    ctx: typer.Context,
    everywhere: Annotated[bool, typer.Option("--all", "-a", help="Of every project.")] = False,
) -> None:
    """List repos with their size and branches."""
    run = session.of(ctx)
    with run.open() as lake:
        repos = lake.repos(all_projects=everywhere)
    run.output.table(repos, views.REPOS, empty="No repos yet: trunkline repo create NAME.")


@app.command()
def inspect(ctx: typer.Context, repo: RepoName) -> None:
    """Show one repo with its branches and tags."""
    run = session.of(ctx)
    with run.open() as lake:
        found = lake.repo(repo)
        branches, tags = lake.branches(repo), lake.tags(repo)
    page = {**as_json(found), "heads": branches, "tags": tags}
    run.output.item(page, lambda _: views.repo_page(found, branches, tags))


@app.command()
def delete(
    ctx: typer.Context,
    repo: RepoName,
    force: Annotated[bool, typer.Option("--force", help="Even if others derive from it.")] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Delete a repo and all of its commits. Until gc it can be had back: undelete."""
    run = session.of(ctx)
    with run.open() as lake:
        if not may_delete(run, lake, "repo", repo, yes=yes, dry_run=dry_run, force=force):
            return
        lake.delete_repo(repo, force=force)
    run.output.done({"deleted": repo}, f"Deleted repo {repo}.")
