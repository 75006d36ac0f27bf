"""Arguments and options that several commands take, described once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeVar

import typer

from trunkline.cli import complete
from trunkline.cli.command import Command, Group
from trunkline.errors import Usage

F = TypeVar("F", bound=Callable[..., Any])


class App(typer.Typer):
    """A Typer whose commands all have the shared options."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("cls", Group)
        options.setdefault("no_args_is_help", True)
        options.setdefault("add_completion", False)
        # Plain help reads the same on a terminal, in a pipe and in the docs made from it.
        super().__init__(rich_markup_mode=None, **options)

    def command(self, name: str | None = None, **options: Any) -> Callable[[F], F]:
        options.setdefault("cls", Command)
        return super().command(name, **options)


Ref = Annotated[
    str,
    typer.Argument(
        metavar="REF",
        help="repo@ref or repo@ref:/path.",
        autocompletion=complete.refs,
        show_default=False,
    ),
]
CommitRef = Annotated[
    str,
    typer.Argument(
        metavar="REPO@REF", help="A commit.", autocompletion=complete.revisions, show_default=False
    ),
]
BranchRef = Annotated[
    str,
    typer.Argument(
        metavar="REPO@BRANCH",
        help="A branch.",
        autocompletion=complete.revisions,
        show_default=False,
    ),
]
TagRef = Annotated[
    str,
    typer.Argument(
        metavar="REPO@TAG", help="A tag.", autocompletion=complete.revisions, show_default=False
    ),
]
RepoName = Annotated[
    str,
    typer.Argument(
        metavar="REPO", help="[project/]repo.", autocompletion=complete.repos, show_default=False
    ),
]
Message = Annotated[
    str, typer.Option("--message", "-m", metavar="TEXT", help="Why.", show_default=False)
]
Recursive = Annotated[bool, typer.Option("--recursive", "-r", help="Folders too.")]
IfHead = Annotated[
    str | None,
    typer.Option("--if-head", metavar="ID", help="Only if the branch still points there."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", "-n", help="Say what would happen.")]
Description = Annotated[str, typer.Option("--description", "-d", metavar="TEXT", help="What for.")]
PipelineName = Annotated[
    str,
    typer.Argument(
        metavar="PIPELINE",
        help="[project/]pipeline.",
        autocompletion=complete.pipelines,
        show_default=False,
    ),
]
JobName = Annotated[
    str,
    typer.Argument(
        metavar="JOB",
        help="ID, PIPELINE@ID where several share it, or PIPELINE for its newest.",
        autocompletion=complete.jobs,
        show_default=False,
    ),
]
Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE",
        help="YAML, JSON, jsonnet or Python; - is stdin.",
        show_default=False,
    ),
]
Reprocess = Annotated[
    bool, typer.Option("--reprocess", help="Run everything again, whatever was kept.")
]
NoReprocess = Annotated[
    bool, typer.Option("--no-reprocess", help="Keep old results though the code changed.")
]
Arguments = Annotated[
    list[str] | None,
    typer.Option("--arg", metavar="NAME=VALUE", help="For jsonnet, may be repeated."),
]
Env = Annotated[
    str | None,
    typer.Option(
        "--env",
        metavar="NAME",
        help="In this environment only.",
        autocompletion=complete.environments,
    ),
]
KeyColumns = Annotated[
    list[str] | None,
    typer.Option("--key", metavar="COLUMN", help="What tells rows apart; may be repeated."),
]
SecretSettings = Annotated[
    list[str] | None,
    typer.Option(
        "--secret", metavar="SETTING=NAME", help="A setting that is a secret of the lake."
    ),
]
Limit = Annotated[int | None, typer.Option("--limit", "-n", help="At most so many.")]


PAIR = "NAME=VALUE"


def pairs(name: str, given: Sequence[str] | None) -> dict[str, str]:
    """Settings as they are typed, one after the other."""
    found = {}
    for text in given or ():
        setting, equals, value = text.partition("=")
        if not equals or not setting:
            raise Usage(f"{name}: {text!r} is not {PAIR}.")
        found[setting] = value
    return found


def listed(given: list[str] | None) -> list[str] | None:
    """Names, one for each option or several between commas."""
    if given is None:
        return None
    return [name.strip() for text in given for name in text.split(",") if name.strip()]
