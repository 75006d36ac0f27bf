"""`trunkline audit`: what was done in a lake, and what was refused."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from trunkline.cli import session
from trunkline.cli.arguments import App, Limit
from trunkline.cli.output import Column
from trunkline.cli.text import local_time
from trunkline.errors import Usage

app = App()

NEWEST = 50


@app.command()
def audit(
    ctx: typer.Context,
    since: Annotated[
        str | None, typer.Option("--since", metavar="DURATION", help="Of the last 1h, 7d, …")
    ] = None,
    who: Annotated[
        str | None, typer.Option("--who", metavar="USER", help="Only what this user did.")
    ] = None,
    action: Annotated[
        str | None, typer.Option("--action", metavar="TEXT", help="As user.create, POST /login.")
    ] = None,
    refused: Annotated[bool, typer.Option("--refused", help="Only what was refused.")] = False,
    limit: Limit = None,
) -> None:
    """Show what was done and refused, the newest first."""
    from trunkline.settings import parse_duration

    run = session.of(ctx)
    try:
        seconds = parse_duration(since) if since is not None else None
    except ValueError as error:
        raise Usage(f"--since: {error}.") from None
    begin = None if seconds is None else int((time.time() - seconds) * 1_000_000)
    most = limit if limit is not None or since is not None else NEWEST
    with run.open() as lake:
        found = lake.audit(begin, most, who, action, "refused" if refused else None)
        run.output.table(found, ENTRIES, empty="Nothing.")


ENTRIES = (
    Column("AT", lambda one: local_time(one.at)),
    Column("WHO", lambda one: one.who or "-"),
    Column("ACTION", lambda one: one.action),
    Column("TARGET", lambda one: one.target),
    Column(
        "OUTCOME", lambda one: one.outcome, style=lambda one: "" if one.outcome == "ok" else "bad"
    ),
    Column("FROM", lambda one: one.address or "-"),
    Column("DETAIL", lambda one: one.detail),
)
