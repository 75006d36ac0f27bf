"""`trunkline config`: settings, each with where it came from."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trunkline import settings
from trunkline.cli import session, views
from trunkline.cli.arguments import App
from trunkline.errors import NotFound, Usage

if TYPE_CHECKING:
    from trunkline.cli.session import Session

app = App(name="config", help="Settings: flag > environment > lake > user > default.")


SECRET = ("token",)
HIDDEN = "(hidden)"


def _names(incomplete: str) -> list[str]:
    return [name for name in settings.SETTINGS if name.startswith(incomplete)]


Name = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="As pack.limit.", autocompletion=_names, show_default=False
    ),
]
User = Annotated[
    bool, typer.Option("--user", help="In your own file, for every lake, not in this lake's.")
]


@app.command("list")
def list_(ctx: typer.Context) -> None:
    """List every setting with its value and origin."""
    run = session.of(ctx)
    run.output.table([_shown(run.settings[name]) for name in run.settings], views.SETTINGS)


@app.command()
def get(ctx: typer.Context, name: Name) -> None:
    """Show one setting."""
    run = session.of(ctx)
    run.output.item(_shown(run.settings[name]), lambda value: [views.setting_text(value)])


@app.command("set")
def set_(
    ctx: typer.Context,
    name: Name,
    value: Annotated[str, typer.Argument(metavar="VALUE", show_default=False)],
    user: User = False,
) -> None:
    """Set a value in the lake's file, or in your own."""
    run = session.of(ctx)
    if name == "lake" and not user:
        raise Usage("A lake cannot say which lake to use.", hint="Add --user.")
    path = _file(run, user)
    settings.write_config(path, name, value)
    shown = HIDDEN if name in SECRET else value
    run.output.done(
        {"name": name, "value": shown, "where": str(path)}, f"Set {name} = {shown} in {path}."
    )


@app.command()
def unset(ctx: typer.Context, name: Name, user: User = False) -> None:
    """Take a value out of the lake's file, or out of your own."""
    run = session.of(ctx)
    path = _file(run, user)
    settings.write_config(path, name, None)
    run.output.done({"name": name, "where": str(path)}, f"{name} is no longer set in {path}.")


def _shown(value: settings.Value) -> settings.Value:
    return replace(value, value=HIDDEN) if value.name in SECRET and value.value else value


def _file(run: Session, user: bool) -> Path:
    if user:
        return settings.user_file()
    try:
        return run.lake_folder() / settings.CONFIG_FILE
    except NotFound as error:
        raise NotFound(error.message, hint="--user sets it for every lake.") from None
