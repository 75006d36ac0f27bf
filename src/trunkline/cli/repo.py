"""`trunkline repo`: versioned trees of files."""

from __future__ import annotations

from typing import Annotated

import typer

from trunkline.cli import session, views
from trunkline.cli.arguments import App, Description, RepoName

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
    page = {**found.to_dict(), "heads": branches, "tags": tags}
    run.output.item(page, lambda _: views.repo_page(found, branches, tags))


@app.command()
def delete(
    ctx: typer.Context,
    repo: RepoName,
    force: Annotated[bool, typer.Option("--force", help="Even if others derive from it.")] = False,
) -> None:
    """Delete a repo and all of its commits."""
    run = session.of(ctx)
    with run.open() as lake:
        lake.delete_repo(repo, force=force)
    run.output.done({"deleted": repo}, f"Deleted repo {repo}.")
