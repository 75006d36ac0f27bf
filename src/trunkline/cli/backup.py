"""`trunkline backup`: copies of a lake, and lakes made of them."""

from __future__ import annotations

from typing import Annotated

import typer

from trunkline.cli import session
from trunkline.cli.arguments import App
from trunkline.cli.output import Column
from trunkline.cli.text import count, human_size
from trunkline.cli.views import short
from trunkline.model.time import to_rfc3339

app = App(name="backup", help="Backups: copies of a lake, and lakes made of them.")

Place = Annotated[
    str,
    typer.Argument(metavar="PLACE", help="A folder, or s3://bucket/prefix.", show_default=False),
]


@app.command()
def create(ctx: typer.Context, place: Place) -> None:
    """Copy the lake to a folder or bucket, while others work. Only what is new is copied."""
    run = session.of(ctx)
    with run.open(direct=True) as lake:
        made = lake.backup(place)
    what = f"{count(made.objects, 'object')} ({human_size(made.bytes)})"
    left = f" {count(made.outside, 'object')} by reference stay where they are."
    said = f"Backed up as {made.id[:12]}: {what}, {made.copied:,} of them new."
    run.output.done(made, said + (left if made.outside else ""))


@app.command("list")
def list_(ctx: typer.Context, place: Place) -> None:
    """List the backups in a place, newest first."""
    from trunkline.sdk import backups

    run = session.of(ctx)
    run.output.table(
        backups.backups(place),
        (
            Column("ID", lambda one: short(one.id)),
            Column("TAKEN", lambda one: to_rfc3339(one.at)[:19] + "Z"),
            Column("OBJECTS", lambda one: f"{one.objects:,}", right=True),
            Column("SIZE", lambda one: human_size(one.bytes), right=True),
            Column("VERSION", lambda one: one.version),
        ),
        empty=f"No backups in {place}.",
    )


@app.command()
def restore(
    ctx: typer.Context,
    place: Place,
    path: Annotated[str, typer.Argument(metavar="PATH", help="The folder of the lake.")] = ".",
    at: Annotated[
        str | None, typer.Option("--at", metavar="ID", help="Which backup; else the newest.")
    ] = None,
    catalog: Annotated[
        str | None,
        typer.Option("--catalog", metavar="URL", help="postgresql://…; else SQLite in the folder."),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option("--store", metavar="URL", help="s3://bucket/prefix; else the folder."),
    ] = None,
) -> None:
    """Make a lake of a backup; on other stores too, so this is how a lake moves to a server."""
    from trunkline.sdk import backups

    run = session.of(ctx)
    where, chosen = backups.restore(place, path, at=at, catalog=catalog, store=store)
    said = f"Restored backup {chosen.id[:12]} of {to_rfc3339(chosen.at)[:19]}Z into {where}."
    said += "\nSecrets and settings (config.toml) are not in a backup: set them anew."
    run.output.done({"lake": where, "backup": chosen.to_dict()}, said)
