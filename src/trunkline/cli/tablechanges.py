"""`trunkline table`, where rows change: write, merge, delete, update, compact."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from trunkline.cli import complete, session
from trunkline.cli.arguments import App, Message
from trunkline.cli.text import count
from trunkline.errors import Usage

if TYPE_CHECKING:
    from trunkline.tables.changing.rewriting import RowChange

app = App()

TableRef = Annotated[
    str,
    typer.Argument(
        metavar="REPO@BRANCH[:/PATH]",
        help="The table's folder, by default the whole repo.",
        autocompletion=complete.refs,
        show_default=False,
    ),
]
Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE",
        help="Parquet, CSV, JSON or Arrow files, - for stdin.",
        show_default=False,
    ),
]
Where = Annotated[
    str | None, typer.Option("--where", metavar="SQL", help='Which rows, as in "n > 0".')
]


@app.command()
def write(
    ctx: typer.Context,
    ref: TableRef,
    files: Files,
    mode: Annotated[
        str,
        typer.Option("--mode", metavar="MODE", help="append, overwrite or overwrite_partitions."),
    ] = "append",
    partition_by: Annotated[
        list[str] | None,
        typer.Option("--partition-by", metavar="COLUMN", help="A folder for each value."),
    ] = None,
    fixed: Annotated[
        bool, typer.Option("--no-evolve", help="Refuse rows that would change the schema.")
    ] = False,
    message: Message = "",
    key: Annotated[
        str | None,
        typer.Option("--key", metavar="TEXT", help="A repeat with the same key changes nothing."),
    ] = None,
) -> None:
    """Write rows of files into a table, as Parquet, in one commit."""
    from trunkline.tables.writing.localfiles import rows_of_files

    run = session.of(ctx)
    with run.open() as lake, rows_of_files(files) as rows:
        commit = lake.write_table(
            ref,
            rows,
            mode=mode,
            partition_by=_listed(partition_by),
            message=message,
            key=key,
            evolve=not fixed,
        )
    run.output.done(commit, f"Wrote {ref} in {commit.short_id}.")


@app.command()
def merge(
    ctx: typer.Context,
    ref: TableRef,
    files: Files,
    on: Annotated[
        list[str], typer.Option("--on", metavar="COLUMN", help="The key.", show_default=False)
    ],
    delete_when: Annotated[
        str | None,
        typer.Option("--delete-when", metavar="SQL", help="Rows of the files that delete."),
    ] = None,
    update: Annotated[
        list[str] | None,
        typer.Option("--update", metavar="COLUMN", help="Change only these columns."),
    ] = None,
    no_insert: Annotated[
        bool, typer.Option("--no-insert", help="Leave out rows with a new key.")
    ] = False,
    message: Message = "",
) -> None:
    """Replace rows that have the same key as rows of the files, and add the others."""
    from trunkline.tables.writing.localfiles import rows_of_files

    run = session.of(ctx)
    with run.open() as lake, rows_of_files(files) as rows:
        done = lake.merge_table(
            ref,
            rows,
            on=_listed(on) or [],
            delete_when=delete_when,
            update=_listed(update),
            insert=not no_insert,
            message=message,
        )
    run.output.done(done, _sentence(done, ref))


@app.command()
def delete(ctx: typer.Context, ref: TableRef, where: Where = None, message: Message = "") -> None:
    """Delete the rows that meet a condition."""
    if where is None:
        raise Usage(
            "Which rows are to be deleted?", hint='Say --where "n > 0", or --where true for all.'
        )
    run = session.of(ctx)
    with run.open() as lake:
        done = lake.delete_from(ref, where, message=message)
    run.output.done(done, _sentence(done, ref))


@app.command()
def update(
    ctx: typer.Context,
    ref: TableRef,
    values: Annotated[
        list[str],
        typer.Option("--set", metavar="COLUMN=SQL", help="A new value.", show_default=False),
    ],
    where: Where = None,
    message: Message = "",
) -> None:
    """Give columns new values, in the rows that meet a condition or in all."""
    pairs = {}
    for text in values:
        column, equals, value = text.partition("=")
        if not equals or not column.strip() or not value.strip():
            raise Usage(f'"{text}" sets nothing.', hint="Write COLUMN=SQL, as in --set n=n+1.")
        pairs[column.strip()] = value.strip()
    run = session.of(ctx)
    with run.open() as lake:
        done = lake.update_table(ref, pairs, where, message=message)
    run.output.done(done, _sentence(done, ref))


@app.command()
def compact(
    ctx: typer.Context,
    ref: TableRef,
    target_size: Annotated[
        str, typer.Option("--target-size", metavar="SIZE", help="Of a file.")
    ] = "128MiB",
    partitions: Annotated[
        list[str] | None,
        typer.Option("--partition", metavar="FOLDER", help="Only this, as in day=2026-01-01."),
    ] = None,
    message: Message = "",
) -> None:
    """Join small files; the rows stay as they are."""
    from trunkline.settings import parse_size

    try:
        size = parse_size(target_size)
    except ValueError as error:
        raise Usage(f"--target-size: {error}.") from None
    run = session.of(ctx)
    with run.open() as lake:
        done = lake.compact(ref, target_size=size, partitions=partitions, message=message)
    if done.commit is not None:
        sentence = f"Made {count(done.after, 'file')} of {done.before:,} in {done.commit.short_id}."
    else:
        sentence = f"Dropped: {done.dropped}" if done.dropped else "Nothing to compact."
    run.output.done(done, sentence)


def _sentence(done: RowChange, ref: str) -> str:
    if done.commit is None:
        return f"Nothing changed in {ref}."
    words = [
        f"{number:,} {what}"
        for number, what in (
            (done.inserted, "inserted"),
            (done.updated, "updated"),
            (done.deleted, "deleted"),
        )
        if number
    ]
    return f"{', '.join(words)}: {count(done.files, 'file')} replaced in {done.commit.short_id}."


def _listed(given: list[str] | None) -> list[str] | None:
    """Columns, one for each option or several between commas."""
    if given is None:
        return None
    return [name.strip() for text in given for name in text.split(",") if name.strip()]
