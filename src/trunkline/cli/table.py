"""`trunkline table`: folders of files as rows and columns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trunkline.cli import complete, session, tablechanges, tablediff, views
from trunkline.cli.arguments import App, Message, listed
from trunkline.cli.output import Column
from trunkline.cli.text import aligned, count, human_size, local_time
from trunkline.errors import Usage

if TYPE_CHECKING:
    from trunkline.sdk.laketable import TableInfo

app = App(name="table", help="Tables: folders of files as rows and columns.")
app.add_typer(tablechanges.app)
app.add_typer(tablediff.app)

TableRef = Annotated[
    str,
    typer.Argument(
        metavar="REPO@REF[:/PATH]",
        help="The table's folder, or one file.",
        autocompletion=complete.refs,
        show_default=False,
    ),
]
NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")

TABLES = (
    Column("TABLE", lambda t: t.name),
    Column("FORMAT", lambda t: t.format or "-"),
    Column("COLUMNS", lambda t: f"{len(t.columns):,}", right=True),
    Column("ROWS", lambda t: "-" if t.rows is None else f"{t.rows:,}", right=True),
    Column("FILES", lambda t: f"{t.files:,}", right=True),
    Column("SIZE", lambda t: human_size(t.size), right=True),
    Column("", lambda t: t.error, style=lambda t: "bad"),
)

MALFORMED = (
    Column("PATH", lambda row: row["path"]),
    Column("LINE", lambda row: f"{row['line']:,}", right=True),
    Column("REASON", lambda row: row["reason"]),
    Column("TEXT", lambda row: row["text"]),
)

VERSIONS = (
    Column("COMMIT", lambda v: views.short(v.commit)),
    Column("CREATED", lambda v: local_time(v.at)),
    Column("ROWS", lambda v: "-" if v.rows is None else f"{v.rows:,}", right=True),
    Column("FILES", lambda v: f"{v.files:,}", right=True),
    Column("SIZE", lambda v: human_size(v.size), right=True),
    Column("COLUMNS", lambda v: ", ".join(v.changes)),
    Column("MESSAGE", lambda v: views.first_line(v.message)),
    Column("", lambda v: v.error, style=lambda v: "bad"),
)


@app.command("list")
def list_(
    ctx: typer.Context,
    ref: Annotated[
        str | None,
        typer.Argument(
            metavar="REPO@REF",
            help="A commit; without one, all repos at main.",
            autocompletion=complete.revisions,
            show_default=False,
        ),
    ] = None,
) -> None:
    """List tables with their size."""
    run = session.of(ctx)
    with run.open() as lake:
        found = lake.tables(ref)
    columns = TABLES if any(one.error for one in found) else TABLES[:-1]
    run.output.table(found, columns, empty="No tables: put Parquet, CSV, JSON or ORC files.")


@app.command()
def schema(ctx: typer.Context, ref: TableRef) -> None:
    """Show the columns of a table, and how it is read."""
    run = session.of(ctx)
    with run.open() as lake:
        found = lake.describe_table(ref)
    run.output.item(found, _page)


@app.command()
def history(
    ctx: typer.Context,
    ref: TableRef,
    limit: Annotated[int, typer.Option("--limit", "-n", help="At most so many.")] = 20,
) -> None:
    """List the commits that changed a table, newest first."""
    run = session.of(ctx)
    with run.open() as lake:
        found = list(lake.table_history(ref, limit=limit))
    columns = VERSIONS if any(one.error for one in found) else VERSIONS[:-1]
    run.output.table(found, columns, empty="No commit has changed it.")


@app.command()
def head(
    ctx: typer.Context,
    ref: TableRef,
    rows: Annotated[int, typer.Option("--rows", "-n", help="How many.")] = 10,
    columns: Annotated[
        list[str] | None,
        typer.Option("--columns", "-c", metavar="NAMES", help="Only these: a,b."),
    ] = None,
    malformed: Annotated[
        bool, typer.Option("--malformed", help="Those that mode=DROPMALFORMED leaves out, and why.")
    ] = False,
) -> None:
    """Show the first rows of a table."""
    from trunkline.tables.reading.cells import plain, shown

    if rows < 0:
        raise Usage("There are no fewer rows than none.", hint="Use -n with 0 or more.")
    run = session.of(ctx)
    names = listed(columns)
    with run.open() as lake:
        table = lake.table(ref)
        if malformed:
            left = table.malformed(rows).to_pylist()
            run.output.table(left, MALFORMED, empty="No rows are left out.")
            return
        found = table.peek(rows, names)
        wanted = [table.info.columns.find(name) for name in found.column_names]
    items = [{name: plain(value) for name, value in row.items()} for row in found.to_pylist()]
    titles = [
        Column(one.name, _cell(one.name, shown), one.type.partition("(")[0] in NUMBERS)
        for one in wanted
        if one is not None
    ]
    run.output.table(items, titles, empty="No rows.")


@app.command("set")
def set_(
    ctx: typer.Context,
    ref: TableRef,
    format_: Annotated[
        str | None,
        typer.Option("--format", metavar="FORMAT", help="parquet, csv, json or orc."),
    ] = None,
    options: Annotated[
        list[str] | None,
        typer.Option("--option", metavar="NAME=VALUE", help="Of Spark's reader, as in sep=';'."),
    ] = None,
    schema: Annotated[
        str | None,
        typer.Option("--schema", metavar="COLUMNS", help='As in "id bigint, day date".'),
    ] = None,
    key: Annotated[
        list[str] | None,
        typer.Option("--key", metavar="NAMES", help="Columns that tell rows apart: a,b."),
    ] = None,
    message: Message = "",
) -> None:
    """Record how a folder is read, if its files can be read that way."""
    run = session.of(ctx)
    told = dict(map(_pair, options)) if options is not None else None
    with run.open() as lake:
        commit = lake.set_table(
            ref, format=format_, options=told, schema=schema, key=listed(key), message=message
        )
    run.output.done(commit, views.committed(commit))


def _page(found: TableInfo) -> Iterable[str]:
    columns = [[one.name, one.type, "" if one.nullable else "not null"] for one in found.columns]
    if columns:
        yield from aligned(columns, [False, False, False])
        yield ""
    parts = [found.format, count(found.files, "file"), human_size(found.size)]
    if found.rows is not None:
        parts.insert(1, count(found.rows, "row"))
    yield ", ".join(parts)
    for title, names in (("Folders", found.partition_by), ("Key", found.key)):
        if names:
            yield f"{title}: {', '.join(names)}"
    if found.options:
        yield "Options: " + ", ".join(f"{name}={value}" for name, value in found.options.items())


def _cell(name: str, shown: Any) -> Any:
    return lambda row: shown(row[name])


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise Usage(f'The option "{text}" has no value.', hint="Write --option sep=';'.")
    return name, value
