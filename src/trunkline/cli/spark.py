"""`trunkline spark`: the Spark that waits for the next command."""

from __future__ import annotations

import time

import typer

from trunkline.cli import session
from trunkline.cli.arguments import App
from trunkline.cli.output import Column
from trunkline.cli.text import count, duration, human_size
from trunkline.engine import warm

app = App(name="spark", help="The Spark that an earlier command left for the next one.")

_COLUMNS = (
    Column("PID", lambda spark: str(spark["pid"]), right=True),
    Column("CORES", lambda spark: str(spark["cores"]), right=True),
    Column("MEMORY", lambda spark: human_size(spark["memory"]), right=True),
    Column("COMMANDS", lambda spark: str(spark["commands"]), right=True),
    Column("IDLE", lambda spark: duration(spark["idle_seconds"]), right=True),
    Column("ENDS IN", lambda spark: duration(spark["ends_in_seconds"]), right=True),
    Column("LOG", lambda spark: spark["log"]),
)


@app.command("list")
def list_(ctx: typer.Context) -> None:
    """List the Sparks of yours that wait, and how long they will."""
    now = time.time()
    waiting = [
        {
            "pid": spark.pid,
            "cores": spark.cores,
            "memory": spark.memory,
            "commands": spark.commands,
            "idle_seconds": round(max(0.0, now - spark.idle_since), 1),
            "ends_in_seconds": round(max(0.0, spark.ends_at - now), 1),
            "log": spark.log,
        }
        for spark in warm.waiting()
    ]
    empty = "No Spark waits. The next command that needs one starts it, and leaves it."
    session.of(ctx).output.table(waiting, _COLUMNS, empty=empty)


@app.command()
def stop(ctx: typer.Context) -> None:
    """End every Spark of yours that waits. One at work is left alone."""
    stopped = warm.stop_all()
    session.of(ctx).output.done(
        {"stopped": stopped},
        f"Stopped {count(stopped, 'Spark')}." if stopped else "No Spark waits.",
    )
