"""`trunkline backfill`: jobs for the commits of the past."""

from __future__ import annotations

from typing import Annotated

import typer

from trunkline.cli import jobviews, session
from trunkline.cli.arguments import App
from trunkline.cli.views import short
from trunkline.errors import NotFound

app = App(name="backfill", help="Backfills: jobs for the commits of the past.")

BackfillId = Annotated[
    str, typer.Argument(metavar="ID", help="Its id, or how it begins.", show_default=False)
]


@app.command("list")
def list_(ctx: typer.Context) -> None:
    """List backfills with how far they are, newest first."""
    run = session.of(ctx)
    with run.open() as lake:
        found = lake.backfills()
    empty = "No backfills: trunkline pipeline backfill NAME makes one."
    run.output.table(found, jobviews.BACKFILLS, empty=empty)


@app.command()
def inspect(ctx: typer.Context, backfill: BackfillId) -> None:
    """Show one backfill."""
    run = session.of(ctx)
    with run.open() as lake:
        found = [one for one in lake.backfills() if one.id.startswith(backfill)]
    if not found:
        raise NotFound(
            f'There is no backfill "{backfill}".', hint="trunkline backfill list shows them."
        )
    run.output.item(found[0], jobviews.backfill_page)


@app.command()
def pause(ctx: typer.Context, backfill: BackfillId) -> None:
    """Start no more of its jobs; those that run go on to their end."""
    _steer(ctx, backfill, "pause")


@app.command()
def resume(ctx: typer.Context, backfill: BackfillId) -> None:
    """Go on with a paused backfill."""
    _steer(ctx, backfill, "resume")


@app.command()
def cancel(ctx: typer.Context, backfill: BackfillId) -> None:
    """Stop its jobs, for good. What is done stays."""
    _steer(ctx, backfill, "cancel")


def _steer(ctx: typer.Context, backfill: str, action: str) -> None:
    run = session.of(ctx)
    with run.open() as lake:
        done = lake.steer_backfill(backfill, action)
    sentence = f"Backfill {short(done.id)} is {done.state}: {done.done:,} of {done.total:,} done."
    run.output.done(done, sentence)
