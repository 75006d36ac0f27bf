"""`trunkline serve`: the lake for others, and for the browser."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from trunkline.cli import session
from trunkline.cli.arguments import App
from trunkline.cli.text import count
from trunkline.errors import Usage

if TYPE_CHECKING:
    from trunkline.cli.session import Session
    from trunkline.server.serve import Ready

app = App()


@app.command()
def serve(
    ctx: typer.Context,
    host: Annotated[
        str | None, typer.Option("--host", metavar="ADDRESS", help="Where; else server.host.")
    ] = None,
    port: Annotated[
        int | None, typer.Option("--port", metavar="N", help="0 is a free one; else server.port.")
    ] = None,
    workers: Annotated[
        int, typer.Option("--workers", metavar="N", help="Processes that run jobs.")
    ] = 1,
    auth: Annotated[
        bool, typer.Option("--auth", help="Ask everybody who they are; else server.auth.")
    ] = False,
    s3_port: Annotated[
        int | None,
        typer.Option("--s3-port", metavar="N", help="0 closes the S3 door; else server.s3_port."),
    ] = None,
) -> None:
    """Serve the lake: API, console, schedules and workers, until stopped."""
    from trunkline.server.serve import Options
    from trunkline.server.serve import serve as serve_lake

    run = session.of(ctx)
    if workers < 0:
        raise Usage(f"--workers: {workers} are too few.")
    found = run.settings
    options = Options(
        host=host if host is not None else found.text("server.host"),
        port=port if port is not None else found.number("server.port"),
        s3_port=s3_port if s3_port is not None else found.number("server.s3_port"),
        workers=workers,
        authenticated=auth or found.flag("server.auth"),
        worker_options=_for_workers(run),
    )
    folder = run.lake_folder()

    def say(ready: Ready) -> None:
        run.output.follow([ready], _lines)

    serve_lake(folder, found, options, lambda: run.open(direct=True), say)


def _for_workers(run: Session) -> list[str]:
    return [f"--{name}" for name in ("json", "quiet") if run.settings.flag(name)]


def _lines(ready: Ready) -> Iterator[str]:
    by = f", {count(ready.workers, 'worker')}" if ready.workers else ", no worker"
    yield f"Serving {ready.lake} at {ready.url}{by}. Ctrl-C stops it."
    if ready.s3_url:
        yield f"S3 at {ready.s3_url}."
    if ready.setup_token:
        yield f"First set-up: trunkline login {ready.url}"
        yield f"One-time set-up token: {ready.setup_token}"
