"""`trunkline stream`: pipelines that go on from where they are, watched and steered."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trunkline.cli import complete, session, streamviews
from trunkline.cli.arguments import App
from trunkline.cli.confirm import must_confirm
from trunkline.cli.views import short

if TYPE_CHECKING:
    from trunkline.cli.session import Session

app = App(name="stream", help="Streams: pipelines that go on from where they are.")

WATCH_SECONDS = 1.0

StreamName = Annotated[
    str,
    typer.Argument(
        metavar="STREAM",
        help="[project/]stream.",
        autocompletion=complete.streams,
        show_default=False,
    ),
]
Everywhere = Annotated[bool, typer.Option("--all", "-a", help="Of every project.")]
Watch = Annotated[bool, typer.Option("--watch", "-w", help="Again every second, until Ctrl-C.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


@app.command("list")
def list_(ctx: typer.Context, everywhere: Everywhere = False) -> None:
    """List streams with their state, speed and lag."""
    run = session.of(ctx)
    with run.open() as lake:
        found = lake.streams(all_projects=everywhere)
    run.output.table(found, streamviews.STREAMS, empty="No streams yet.")


@app.command()
def status(
    ctx: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[STREAM]",
            help="Only this one, in full.",
            autocompletion=complete.streams,
            show_default=False,
        ),
    ] = None,
    watch: Watch = False,
) -> None:
    """Show how streams go: rows/s, lag, watermark, state and the last batch.

    Exit code 1 if one has failed.
    """
    run = session.of(ctx)
    with run.open() as lake:

        def look() -> list[Any]:
            return lake.streams() if name is None else [lake.stream(name)]

        found = look()
        if watch:
            _watched(run, look, name is not None)
            return
    if name is None:
        run.output.table(found, streamviews.STREAMS, empty="No streams yet.")
    else:
        run.output.item(found[0], lambda one: streamviews.stream_page(one, run.output.style))
    if any(str(one.state) == "failed" for one in found):
        raise typer.Exit(1)


def _watched(run: Session, look: Callable[[], list[Any]], in_full: bool) -> None:
    """Again and again: in place on a terminal, else one after the other."""
    style = run.output.style
    if run.settings.flag("json") or not _is_terminal():
        while True:
            run.output.follow(look(), lambda one: [*streamviews.stream_page(one, style), ""])
            time.sleep(WATCH_SECONDS)
    from rich.console import Console, Group
    from rich.live import Live
    from rich.text import Text

    def picture() -> Group:
        found = look()
        lines = list(streamviews.stream_page(found[0], style)) if in_full else _lines(found)
        return Group(*(Text.from_ansi(line) for line in lines))

    console = Console(file=sys.stdout, no_color=not style.on, highlight=False)
    with Live(picture(), console=console, auto_refresh=False) as live:
        while True:
            live.update(picture(), refresh=True)
            time.sleep(WATCH_SECONDS)


def _is_terminal() -> bool:
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def _lines(found: list[Any]) -> list[str]:
    from trunkline.cli.text import aligned, printable

    columns = streamviews.STREAMS
    rows = [[printable(column.text(one)) for column in columns] for one in found]
    titles = [column.title for column in columns]
    return aligned([titles, *rows], [column.right for column in columns])


@app.command()
def batches(
    ctx: typer.Context,
    name: StreamName,
    limit: Annotated[int, typer.Option("--limit", "-n", help="At most so many.", min=1)] = 20,
) -> None:
    """List the commits of a stream with what each read and wrote, newest first."""
    run = session.of(ctx)
    with run.open() as lake:
        found = lake.stream_batches(name, limit)
    run.output.table(found, streamviews.BATCHES, empty="No batches yet.")


@app.command()
def rewind(
    ctx: typer.Context,
    name: StreamName,
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="REF",
            help="One of its commits: an ID, main~3, a tag.",
            autocompletion=complete.revisions,
            show_default=False,
        ),
    ],
    yes: Yes = False,
) -> None:
    """Take a stream back to one of its commits: output, offsets and state.

    What reads its output is told, and runs again.
    """
    run = session.of(ctx)
    with run.open() as lake:
        plan = lake.plan_rewind(name, to)
        if not (run.settings.flag("json") or run.settings.flag("quiet")):
            sys.stderr.writelines(f"{line}\n" for line in streamviews.rewind_lines(plan))
        must_confirm(f"Rewind {plan.name} to {short(plan.commit)}?", yes)
        done = lake.rewind_stream(name, plan.commit)
    run.output.done(done, streamviews.steered(done, run.who_runs))


@app.command()
def restart(
    ctx: typer.Context,
    name: StreamName,
    from_: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="REF",
            help="Where in its inputs: start, now, or a ref of theirs.",
            autocompletion=complete.revisions,
            show_default=False,
        ),
    ],
    keep: Annotated[bool, typer.Option("--keep", help="Add to the output there is.")] = False,
    yes: Yes = False,
) -> None:
    """Begin a stream anew, without state, from another place of its inputs.

    Unless it is kept, the first batch takes the place of all output.
    """
    run = session.of(ctx)
    with run.open() as lake:
        found = lake.stream(name)
        fate = "is added to" if keep else "takes the place of"
        said = f"{found.name} loses its state; its next batch {fate} the output there is."
        if not (run.settings.flag("json") or run.settings.flag("quiet")):
            sys.stderr.write(f"{said}\n")
        must_confirm(f"Restart {found.name} from {from_}?", yes)
        done = lake.restart_stream(name, from_, keep_output=keep)
    run.output.done(done, streamviews.steered(done, run.who_runs))


@app.command()
def savepoint(ctx: typer.Context, name: StreamName) -> None:
    """Keep the state after the newest batch as a commit, to rewind to at any time."""
    run = session.of(ctx)
    with run.open() as lake:
        made = lake.take_savepoint(name)
    run.output.done(made, f"Kept the state of {name} as {made.repo}@{short(made.id)}.")


@app.command()
def savepoints(ctx: typer.Context, name: StreamName) -> None:
    """List the savepoints of a stream, newest first."""
    run = session.of(ctx)
    with run.open() as lake:
        found = lake.savepoints(name)
    run.output.table(found, streamviews.SAVEPOINTS, empty="No savepoints.")
