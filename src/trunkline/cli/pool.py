"""`trunkline pool`: how many jobs may run at once."""

from __future__ import annotations

from typing import Annotated

import typer

from trunkline.cli import jobviews, session
from trunkline.cli.arguments import App
from trunkline.cli.text import count

app = App(name="pool", help="Pools: how many jobs of some pipelines may run at once.")

PoolName = Annotated[
    str, typer.Argument(metavar="POOL", help="As in a spec's pool.", show_default=False)
]


@app.command("list")
def list_(ctx: typer.Context) -> None:
    """List pools with what runs and waits in them."""
    run = session.of(ctx)
    with run.open() as lake:
        found = lake.pools()
    run.output.table(found, jobviews.POOLS, empty="No pools: trunkline pool set NAME SLOTS.")


@app.command("set")
def set_(
    ctx: typer.Context,
    pool: PoolName,
    slots: Annotated[
        int, typer.Argument(metavar="SLOTS", help="How many at once.", show_default=False)
    ],
) -> None:
    """Make a pool, or change how many jobs run in it at once."""
    run = session.of(ctx)
    with run.open() as lake:
        lake.set_pool(pool, slots)
    run.output.done(
        {"name": pool, "slots": slots}, f"At most {count(slots, 'job')} at once in the pool {pool}."
    )


@app.command()
def delete(ctx: typer.Context, pool: PoolName) -> None:
    """Delete a pool; its pipelines are no longer limited."""
    run = session.of(ctx)
    with run.open() as lake:
        lake.delete_pool(pool)
    run.output.done({"deleted": pool}, f"Deleted the pool {pool}.")
