"""`trunkline context`: names for lakes, in folders and behind servers."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from trunkline.cli import session
from trunkline.cli.arguments import App
from trunkline.cli.output import Column
from trunkline.cli.text import fields
from trunkline.errors import Usage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trunkline.sdk.contexts import Context

app = App(name="context", help="Names for lakes, in folders and behind servers.")


def _names(incomplete: str) -> list[str]:
    from trunkline.sdk.contexts import Contexts

    return [one.name for one in Contexts().all() if one.name.startswith(incomplete)]


Name = Annotated[
    str, typer.Argument(metavar="NAME", help="The name.", autocompletion=_names, show_default=False)
]


@app.command()
def add(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name.", show_default=False)],
    lake: Annotated[
        str,
        typer.Argument(metavar="URL_OR_PATH", help="https://server, or a folder."),
    ],
    token_stdin: Annotated[
        bool, typer.Option("--token-stdin", help="Read the token from stdin.")
    ] = False,
    token_env: Annotated[
        str | None,
        typer.Option("--token-env", metavar="VARIABLE", help="Take it from the environment."),
    ] = None,
) -> None:
    """Give a lake a name; --project is the one to use there."""
    from trunkline.sdk.contexts import Context, Contexts

    run = session.of(ctx)
    project = str(run.flags.get("project") or "")
    made = Contexts().add(Context(name, lake, _token(token_stdin, token_env), project))
    said = f"Added {name}: {made.lake}. trunkline context use {name} makes it yours."
    run.output.done(made, said)


def _token(from_stdin: bool, variable: str | None) -> str:
    """Never from the command line, which everybody on the computer can read."""
    if from_stdin and variable:
        raise Usage("--token-stdin and --token-env: one of them is enough.")
    if variable:
        found = os.environ.get(variable, "").strip()
        if not found:
            raise Usage(f"--token-env: {variable} is not set.")
        return found
    if not from_stdin:
        return ""
    if sys.stdin.isatty():
        return str(typer.prompt("Token", hide_input=True, err=True)).strip()
    found = sys.stdin.readline().strip()
    if not found:
        raise Usage("--token-stdin: there is no token on stdin.")
    return found


@app.command()
def use(
    ctx: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="The name.", autocompletion=_names, show_default=False),
    ] = None,
    none: Annotated[bool, typer.Option("--none", help="Use none of them.")] = False,
) -> None:
    """Choose the lake for where no folder upwards has one."""
    from trunkline.sdk.contexts import Contexts

    if (name is None) is not none:
        raise Usage("Name a context, or say --none.")
    Contexts().use(name)
    said = "No context is in use." if name is None else f"{name} is used where no lake is nearer."
    session.of(ctx).output.done({"current": name}, said)


@app.command("list")
def list_(ctx: typer.Context) -> None:
    """List all contexts; the star marks the one in use."""
    from trunkline.sdk.contexts import Contexts

    run = session.of(ctx)
    run.output.table(Contexts().all(), COLUMNS, "There are no contexts.")


@app.command()
def show(
    ctx: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME", help="Else the one in use.", autocompletion=_names, show_default=False
        ),
    ] = None,
) -> None:
    """Show one context, without its token."""
    from trunkline.errors import NotFound
    from trunkline.sdk.contexts import Contexts

    contexts = Contexts()
    found = contexts.current() if name is None else contexts.get(name)
    if found is None:
        raise NotFound("No context is in use.", hint="trunkline context use NAME chooses one.")
    session.of(ctx).output.item(found, _lines)


@app.command()
def remove(ctx: typer.Context, name: Name) -> None:
    """Forget a context and its token. The lake stays as it is."""
    from trunkline.sdk.contexts import Contexts

    Contexts().remove(name)
    session.of(ctx).output.done({"removed": name}, f"Removed the context {name}.")


def _lines(one: Context) -> Iterator[str]:
    yield from fields(
        [
            ("Name", one.name),
            ("Lake", one.lake),
            ("Project", one.project or "-"),
            ("Token", "yes" if one.token else "no"),
            ("In use", "yes" if one.current else "no"),
        ]
    )


COLUMNS = (
    Column("", lambda one: "*" if one.current else ""),
    Column("NAME", lambda one: one.name),
    Column("LAKE", lambda one: one.lake),
    Column("PROJECT", lambda one: one.project),
    Column("TOKEN", lambda one: "yes" if one.token else ""),
)
