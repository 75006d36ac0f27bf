"""`trunkline secret`: what pipelines may know and nobody may read."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from trunkline.cli import session
from trunkline.cli.arguments import App
from trunkline.cli.output import Column

app = App(name="secret", help="Secrets: what pipelines may know and nobody may read.")

SecretName = Annotated[
    str, typer.Argument(metavar="NAME", help="As in a spec's secrets.", show_default=False)
]


@app.command("list")
def list_(ctx: typer.Context) -> None:
    """List the names of the secrets that are set."""
    run = session.of(ctx)
    with run.open() as lake:
        names = lake.secrets()
    run.output.table(names, (Column("NAME", str),), empty="No secrets.")


@app.command("set")
def set_(ctx: typer.Context, name: SecretName) -> None:
    """Set a secret to what stdin says, or to what is typed unseen."""
    run = session.of(ctx)
    with run.open() as lake:
        lake.set_secret(name, _value(name))
    run.output.done({"set": name}, f"Set the secret {name}.")


def _value(name: str) -> str:
    if sys.stdin.isatty():
        import getpass

        return getpass.getpass(f"{name}: ")
    return sys.stdin.read().removesuffix("\n")


@app.command()
def delete(ctx: typer.Context, name: SecretName) -> None:
    """Delete a secret."""
    run = session.of(ctx)
    with run.open() as lake:
        lake.delete_secret(name)
    run.output.done({"deleted": name}, f"Deleted the secret {name}.")
