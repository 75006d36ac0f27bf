"""The command's tree, put together."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any

import typer

from trunkline import __version__
from trunkline.cli.arguments import App

# Which file has which commands. Only the one that is asked for is read: a quarter of the
# time to start goes into describing options.
MODULES = {
    "lake": ("init", "migrate", "adopt", "status", "gc", "fsck", "forget", "erase"),
    "files": ("put", "get", "cat", "ls", "glob", "rm", "cp"),
    "history": ("log", "show", "diff", "merge", "revert", "cherry-pick", "undelete"),
    "run": ("run", "worker", "tick"),
    "verify": ("verify",),
    "export": ("export",),
    "serve": ("serve",),
    "plan": ("plan",),
    "lineage": ("lineage",),
    "sql": ("sql",),
    "expectations": ("checks",),
    "draw": ("draw",),
    "login": ("login", "logout", "whoami"),
    "demo": ("demo",),
    "doctor": ("doctor",),
    "audit": ("audit",),
    "abuse": ("abuse",),
}
NOUNS = (
    "project",
    "repo",
    "branch",
    "env",
    "tag",
    "commit",
    "transaction",
    "table",
    "pipeline",
    "stream",
    "ingest",
    "egress",
    "job",
    "datum",
    "backfill",
    "backup",
    "pool",
    "spark",
    "secret",
    "user",
    "role",
    "token",
    "config",
    "context",
)


def build(arguments: Sequence[str] = ()) -> Any:
    """The command that `arguments` need: one file's, or everything when that is not clear."""
    modules = _modules(arguments[0] if arguments else "")
    app = App(
        help="A data lake you can branch, diff, merge and trust.",
        add_completion=len(modules) > 1,
    )
    app.callback()(_root)
    for name in modules:
        app.add_typer(import_module(f"trunkline.cli.{name}").app)
    return typer.main.get_command(app)


def _modules(word: str) -> list[str]:
    if word in NOUNS:
        return [word]
    for module, words in MODULES.items():
        if word in words:
            return [module]
    return [*MODULES, *NOUNS]


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"trunkline {__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """The root has no work of its own."""
