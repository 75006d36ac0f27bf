"""`trunkline abuse`: hard work on a lake that is made for it, and what was lost by it."""

from __future__ import annotations

import random
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trunkline.cli import session
from trunkline.cli.arguments import App
from trunkline.cli.text import count, printable
from trunkline.errors import Precondition, Usage

if TYPE_CHECKING:
    from trunkline.abuse.run import Report

app = App()


@app.command()
def abuse(
    ctx: typer.Context,
    lake: Annotated[
        str, typer.Argument(metavar="LAKE", help="Folder to create.", show_default=False)
    ],
    minutes: Annotated[
        float | None, typer.Option("--minutes", metavar="N", help="For how long; else 1.")
    ] = None,
    seconds: Annotated[
        float | None, typer.Option("--seconds", metavar="N", help="The same, in seconds.")
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", metavar="N", help="Repeat the random choices of an earlier run."),
    ] = None,
    clients: Annotated[
        int, typer.Option("--clients", metavar="N", help="Number of concurrent clients.")
    ] = 8,
    servers: Annotated[int, typer.Option("--servers", metavar="N", help="API servers.")] = 1,
    workers: Annotated[int, typer.Option("--workers", metavar="N", help="Workers.")] = 1,
    catalog: Annotated[
        str | None,
        typer.Option("--catalog", metavar="URL", help="postgresql://…; else SQLite in the folder."),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option("--store", metavar="URL", help="s3://bucket/prefix; else the folder."),
    ] = None,
    kill: Annotated[
        bool, typer.Option("--kill", help="Kill and pause servers, workers and Spark at random.")
    ] = False,
    disk: Annotated[
        bool, typer.Option("--disk", help="A small disk for the lake, full now and then.")
    ] = False,
    restart: Annotated[
        str,
        typer.Option(
            "--restart", metavar="COMMAND", help="Run now and then: it restarts the database."
        ),
    ] = "",
    clock: Annotated[
        bool,
        typer.Option("--clock", help="Clocks of servers and workers jump by an hour or a day."),
    ] = False,
) -> None:
    """Be hard on a lake that is made for it, and compare what is there with what was promised.

    Exit code 1 if anything was lost or is wrong; else 6 if a fault could not be made.
    """
    from trunkline.abuse.run import Plan
    from trunkline.abuse.run import abuse as run_abuse

    run = session.of(ctx)
    if minutes is not None and seconds is not None:
        raise Usage("--minutes and --seconds: one of them is enough.")
    plan = Plan(
        Path(lake).expanduser().absolute(),
        seconds if seconds is not None else 60 * (1.0 if minutes is None else minutes),
        random.randrange(1_000_000) if seed is None else seed,
        clients,
        servers,
        workers,
        catalog,
        store,
        kill,
        disk,
        restart,
        clock,
    )
    # Told to end, it ends what it has started first.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    report = run_abuse(plan, _say if run.shows_progress else lambda line: None)
    run.output.item(report, _lines)
    if not report.good:
        raise typer.Exit(1)
    if report.not_made:
        raise typer.Exit(Precondition.exit_code)


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def _lines(report: Report) -> Iterator[str]:
    for kind in ("lost", "wrong", "not_made"):
        for one in getattr(report, kind):
            yield f"{kind.replace('_', ' ')}: {printable(one)}"
    acts, kills, faults = (sum(one.values()) for one in (report.acts, report.kills, report.faults))
    yield (
        f"{count(acts, 'act')} ({report.cut_off:,} cut off), {count(kills, 'kill')}, "
        f"{count(faults, 'fault')}, {len(report.lost):,} lost, {len(report.wrong):,} wrong; "
        f"longest wait {report.longest_wait:.1f} s ({report.waited_for}), seed {report.seed}."
    )
