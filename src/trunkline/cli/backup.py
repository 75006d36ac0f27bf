"""`trunkline backup`: copies of a lake, and lakes made of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from trunkline.cli import session
from trunkline.cli.arguments import App
from trunkline.cli.output import Column
from trunkline.cli.text import count, human_size, printable
from trunkline.cli.views import short
from trunkline.model.time import to_rfc3339

if TYPE_CHECKING:
    from trunkline.lake.backups.restoring import RestorePlan

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


At = Annotated[
    str | None, typer.Option("--at", metavar="ID", help="Which backup; else the newest.")
]
Whose = Annotated[
    str | None,
    typer.Option("--lake", metavar="NAME", help="Of which lake, if there are several; or its id."),
]


@app.command("list")
def list_(ctx: typer.Context, place: Place) -> None:
    """List the backups in a place, newest first."""
    from trunkline.sdk import backups

    run = session.of(ctx)
    run.output.table(
        backups.backups(place),
        (
            Column("ID", lambda one: short(one.id)),
            Column("LAKE", lambda one: printable(one.name) or short(one.lake)),
            Column("TAKEN", lambda one: to_rfc3339(one.at)[:19] + "Z"),
            Column("OBJECTS", lambda one: f"{one.objects:,}", right=True),
            Column("SIZE", lambda one: human_size(one.bytes), right=True),
            Column("VERSION", lambda one: one.version),
        ),
        empty=f"No backups in {place}.",
    )


@app.command()
def verify(
    ctx: typer.Context,
    place: Place,
    at: At = None,
    lake: Whose = None,
    deep: Annotated[
        bool, typer.Option("--deep", help="Read every object and compare its hash.")
    ] = False,
) -> None:
    """Check that everything in a backup is there, with its size; --deep: with its hash."""
    from trunkline.sdk import backups

    run = session.of(ctx)
    report = backups.verify(place, at=at, lake=lake, deep=deep)
    backup = report.backup
    found = "all is well" if report.ok else count(len(report.problems), "problem")
    what = f"{count(backup.objects, 'object')} ({human_size(backup.bytes)})"
    said = f"{'Read' if deep else 'Checked'} {what} of backup {backup.id[:12]}: {found}."
    run.output.done(report, "\n".join([*map(printable, report.problems), said]))
    if not report.ok:
        raise typer.Exit(1)


@app.command()
def restore(
    ctx: typer.Context,
    place: Place,
    path: Annotated[str, typer.Argument(metavar="PATH", help="The folder of the lake.")] = ".",
    at: At = None,
    lake: Whose = None,
    catalog: Annotated[
        str | None,
        typer.Option("--catalog", metavar="URL", help="postgresql://…; else SQLite in the folder."),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option("--store", metavar="URL", help="s3://bucket/prefix; else the folder."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be written, and where.")
    ] = False,
) -> None:
    """Make a lake of a backup; on other stores too, so this is how a lake moves to a server."""
    from trunkline.sdk import backups

    run = session.of(ctx)
    if dry_run:
        plan = backups.plan_restore(place, path, at=at, lake=lake, catalog=catalog, store=store)
        run.output.done(plan, "\n".join(_planned(plan)))
        return
    where, chosen = backups.restore(place, path, at=at, lake=lake, catalog=catalog, store=store)
    said = f"Restored backup {chosen.id[:12]} of {to_rfc3339(chosen.at)[:19]}Z into {where}."
    said += "\nIts ingests, schedules, deliveries and notices wait until you say: trunkline adopt."
    said += "\nSecrets and settings (config.toml) are not in a backup: set them anew."
    run.output.done({"lake": where, "backup": chosen}, said)


def _planned(plan: RestorePlan) -> Iterator[str]:
    one = plan.backup
    whose = f" of {printable(one.name)}" if one.name else ""
    yield f"Would restore backup {one.id[:12]}{whose}, {to_rfc3339(one.at)[:19]}Z."
    there = f", {plan.there:,} of them there already" if plan.there else ""
    size = f"{count(one.objects, 'object')} ({human_size(one.bytes)})"
    yield f"Objects: {size} to {printable(plan.store)}{there}."
    yield f"Catalog: {printable(plan.catalog)}. Folder: {printable(plan.folder)}."
    yield "All are there with their sizes; their hashes are compared when they are written."
