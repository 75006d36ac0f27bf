"""`trunkline export`: a version to a folder, a bucket, a database or a web server, now."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from trunkline.cli import session
from trunkline.cli.arguments import (
    PAIR,
    App,
    KeyColumns,
    Ref,
    SecretSettings,
    listed,
    pairs,
)
from trunkline.cli.session import Session
from trunkline.sdk.egress import Progress

app = App()


@app.command()
def export(
    ctx: typer.Context,
    ref: Ref,
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET",
            help="A folder, s3://bucket/dir, postgresql://host/db#table, delta:DIR, "
            "iceberg:NAMESPACE.TABLE, kafka://host:9092/topic or https://host/path.",
            show_default=False,
        ),
    ],
    mode: Annotated[
        str | None,
        typer.Option("--mode", metavar="MODE", help="mirror or versions; replace, append, merge."),
    ] = None,
    format_: Annotated[
        str | None,
        typer.Option("--format", metavar="FORMAT", help="keep, parquet, csv or json."),
    ] = None,
    table: Annotated[
        str | None, typer.Option("--table", metavar="NAME", help="The table of a database.")
    ] = None,
    key: KeyColumns = None,
    keep: Annotated[
        int | None, typer.Option("--keep", metavar="N", help="So many versions stay.")
    ] = None,
    body: Annotated[
        str | None, typer.Option("--body", metavar="WHAT", help="To a web server: event or rows.")
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option("--option", metavar=PAIR, help="A setting of the target."),
    ] = None,
    secret: SecretSettings = None,
) -> None:
    """Send a version to a folder, a bucket, a database or a web server, now."""
    run = session.of(ctx)
    options: dict[str, Any] = {
        "mode": mode,
        "format": format_,
        "table": table,
        "key": listed(key),
        "keep": keep,
        "body": body,
        "options": pairs("--option", option),
        **_secrets(pairs("--secret", secret)),
    }
    with run.open() as lake, _counting(run) as progress:
        done = lake.export(ref, target, progress=progress, **options)
    run.output.done(done, f"Exported {ref}: {done.note}.")


def _secrets(given: dict[str, str]) -> dict[str, Any]:
    """Those that have fields of their own, and the others as the map that they are."""
    own = ("token", "sign", "password")
    found: dict[str, Any] = {name: given.pop(name) for name in own if name in given}
    return {**found, "secrets": given}


@contextmanager
def _counting(run: Session) -> Iterator[Progress | None]:
    """How much has gone out, on a terminal."""
    if not run.shows_progress:
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status("Exporting …") as status:
        yield lambda count: status.update(f"Exporting … {count:,}")
