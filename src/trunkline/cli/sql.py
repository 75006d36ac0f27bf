"""SQL over the tables of the lake."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trunkline.cli import complete, session, views
from trunkline.cli.arguments import App
from trunkline.cli.command import Command
from trunkline.cli.interrupts import sure_to_end
from trunkline.errors import Failed, Usage

if TYPE_CHECKING:
    from trunkline.query.result import Result

app = App()
MOST_POINTS = 100_000
CHARTS = ("auto", "bar", "line", "scatter", "hist")


class PlotCommand(Command):
    """A command whose --plot needs no value."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        for index, word in enumerate(args):
            following = args[index + 1] if index + 1 < len(args) else ""
            if word == "--plot" and following not in CHARTS:
                args[index] = "--plot=auto"
        found: list[str] = super().parse_args(ctx, args)
        return found


@app.command(no_args_is_help=True, cls=PlotCommand)
def sql(
    ctx: typer.Context,
    text: Annotated[
        str | None,
        typer.Argument(metavar="SQL", help="The query; - is stdin.", show_default=False),
    ] = None,
    file: Annotated[
        str | None, typer.Option("--file", "-f", metavar="FILE", help="Read the query from it.")
    ] = None,
    engine: Annotated[
        str, typer.Option("--engine", metavar="duckdb|spark", help="Who runs it.")
    ] = "duckdb",
    at: Annotated[
        str | None,
        typer.Option(
            "--at",
            metavar="ID",
            help="Every table as of this commit set.",
            autocompletion=complete.revisions,
        ),
    ] = None,
    format_: Annotated[
        str | None,
        typer.Option(
            "--format", metavar="table|csv|json|parquet|markdown", help="How rows are written."
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="Where; its name tells the format."),
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", "-n", help="At most so many.")] = None,
    plot: Annotated[
        str | None,
        typer.Option(
            "--plot",
            metavar="bar|line|scatter|hist",
            help="Draw a chart; by itself one that suits.",
        ),
    ] = None,
    into: Annotated[
        str | None,
        typer.Option(
            "--into",
            metavar="REPO@BRANCH[:/PATH]",
            help="Write the rows as a table.",
            autocompletion=complete.revisions,
        ),
    ] = None,
) -> None:
    """Ask the lake: trunkline sql "FROM orders AT 'main~1'"."""
    from trunkline.cli import sqlviews

    run = session.of(ctx)
    if limit is not None and limit < 0:
        raise Usage("--limit is not a number of rows.")
    chosen = sqlviews.format_for(format_, output, run.settings.flag("json"))
    query = _query(text, file)
    # DuckDB misses an interrupt now and then.
    with run.open() as lake, sure_to_end():
        result = lake.sql(query, engine=engine, at=at)
        _tell_versions(result, quiet=run.settings.flag("quiet") or run.settings.flag("json"))
        if into is not None:
            commit = result.into(into)
            run.output.done(commit, views.committed(commit))
        elif plot is not None:
            _draw(result, plot, limit)
        elif output is not None and output != "-":
            sqlviews.write_file(result, output, chosen, limit)
            run.output.done({"file": output, "format": chosen}, f"Wrote {output}.")
        else:
            sqlviews.write_screen(result, chosen, limit, run.output.style)


def _query(text: str | None, file: str | None) -> str:
    if (text is None) == (file is None):
        raise Usage("Give the SQL, or -f and a file with it.", hint='trunkline sql "FROM orders"')
    if text is not None and text != "-":
        return text
    if file is None or file == "-":
        return sys.stdin.read()
    try:
        return Path(file).read_text(encoding="utf-8")
    except OSError as error:
        raise Failed(f"{file} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise Usage(f"{file} is not text in UTF-8.") from None


def _tell_versions(result: Result, quiet: bool) -> None:
    for source in {source.repo: source for source in result.sources}.values():
        if source.note and not quiet:
            sys.stderr.write(f"{source.view} is read at {source} ({source.note})\n")


def _draw(result: Result, kind: str, limit: int | None) -> None:
    import shutil

    from trunkline.cli import plot

    most = MOST_POINTS if limit is None else min(limit, MOST_POINTS)
    rows = result.rows(most)
    for line in plot.draw(kind, result.columns, rows, shutil.get_terminal_size().columns - 1):
        sys.stdout.write(line + "\n")
