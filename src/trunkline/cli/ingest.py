"""`trunkline ingest`: what brings data into the lake by itself."""

from __future__ import annotations

from typing import Annotated

import typer

from trunkline.cli import complete, session, streamviews
from trunkline.cli.arguments import App
from trunkline.cli.stream import Everywhere

app = App(name="ingest", help="Ingests: what brings data into the lake by itself.")

IngestName = Annotated[
    str,
    typer.Argument(
        metavar="INGEST",
        help="[project/]ingest.",
        autocompletion=complete.ingests,
        show_default=False,
    ),
]


@app.command("list")
def list_(ctx: typer.Context, everywhere: Everywhere = False) -> None:
    """List ingests with their source, state and speed."""
    run = session.of(ctx)
    with run.open() as lake:
        found = lake.ingests(all_projects=everywhere)
    run.output.table(found, streamviews.INGESTS, empty="No ingests yet.")


@app.command()
def status(
    ctx: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[INGEST]",
            help="Only this one, in full.",
            autocompletion=complete.ingests,
            show_default=False,
        ),
    ] = None,
) -> None:
    """Show how ingests go. Exit code 1 if one has failed."""
    run = session.of(ctx)
    with run.open() as lake:
        found = lake.ingests() if name is None else [lake.ingest(name)]
    if name is None:
        run.output.table(found, streamviews.INGESTS, empty="No ingests yet.")
    else:
        run.output.item(found[0], lambda one: streamviews.ingest_page(one, run.output.style))
    if any(str(one.state) == "failed" for one in found):
        raise typer.Exit(1)


@app.command()
def start(ctx: typer.Context, name: IngestName) -> None:
    """Let a paused ingest go on from where it stopped."""
    run = session.of(ctx)
    with run.open() as lake:
        found = lake.ingest(name)
        lake.resume_pipeline(name)
    said = f"Started {found.name}. A worker, or trunkline run, runs it."
    run.output.done({"started": name}, said)


@app.command()
def pause(ctx: typer.Context, name: IngestName) -> None:
    """Bring nothing in until it is started; where it has read to is kept."""
    run = session.of(ctx)
    with run.open() as lake:
        found = lake.ingest(name)
        lake.pause_pipeline(name)
    run.output.done({"paused": name}, f"Paused {found.name}.")
