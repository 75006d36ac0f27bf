"""`trunkline table`, where versions are compared and columns looked at: diff, changes, profile."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trunkline.cli import complete, session
from trunkline.cli.arguments import App, listed
from trunkline.cli.output import Column
from trunkline.cli.tablediffviews import diff_lines, profile_lines
from trunkline.errors import Usage

if TYPE_CHECKING:
    from trunkline.tables.comparing.changes import Changes

app = App()

Old = Annotated[
    str,
    typer.Argument(
        metavar="OLD",
        help="A table: repo@ref[:/path].",
        autocompletion=complete.refs,
        show_default=False,
    ),
]
New = Annotated[
    str | None,
    typer.Argument(
        metavar="NEW",
        help="Another, or the same later; else the head of OLD's branch.",
        autocompletion=complete.refs,
        show_default=False,
    ),
]
Key = Annotated[
    list[str] | None,
    typer.Option("--key", metavar="NAMES", help="Columns that tell rows apart: a,b."),
]
NoKey = Annotated[
    bool, typer.Option("--no-key", help="Compare whole rows, though the table has a key.")
]
Columns = Annotated[
    list[str] | None, typer.Option("--columns", "-c", metavar="NAMES", help="Only these: a,b.")
]


@app.command()
def diff(
    ctx: typer.Context,
    old: Old,
    new: New = None,
    key: Key = None,
    no_key: NoKey = False,
    columns: Columns = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="Show so many rows.")] = 20,
    tolerance: Annotated[
        str | None,
        typer.Option("--tolerance", metavar="NUMBER", help="Floats this near are equal: 1e-9."),
    ] = None,
    one_sided: Annotated[
        bool, typer.Option("--one-sided", help="Compare columns too that one side lacks.")
    ] = False,
) -> None:
    """Show which rows differ between two versions of a table."""
    run = session.of(ctx)
    if limit < 0:
        raise Usage("There are no fewer rows than none.", hint="Use -n with 0 or more.")
    chosen = listed(columns)
    with run.open() as lake:
        found = lake.table_diff(
            old,
            new,
            key=_key(key, no_key),
            columns=chosen,
            tolerance=None if tolerance is None else _number(tolerance),
            one_sided=one_sided,
        )
        run.output.item(
            _Json(found, limit),
            lambda _: diff_lines(found, limit, run.output.style, every=bool(chosen)),
        )


@app.command()
def changes(
    ctx: typer.Context,
    old: Old,
    new: New = None,
    key: Key = None,
    no_key: NoKey = False,
    per_commit: Annotated[
        bool, typer.Option("--per-commit", help="Commit by commit, instead of all in one.")
    ] = False,
    form: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="table, csv or json.")
    ] = "table",
) -> None:
    """Show the change rows between two versions: insert, delete, update_before, update_after."""
    if form not in ("table", "csv", "json"):
        raise Usage(f'There is no format "{form}".', hint="There are: table, csv, json.")
    run = session.of(ctx)
    if form == "json":
        run.flags["json"] = True
    with run.open() as lake:
        found = lake.table_changes(old, new, key=_key(key, no_key), per_commit=per_commit)
        if form == "csv" and not run.settings.flag("json"):
            run.output.each(_csv_lines(found), lambda line: [line])
            return
        names = found.arrow().column_names
        run.output.table(
            _rows(found),
            [Column(name, _cell(name)) for name in names],
            empty="Nothing changed.",
        )


@app.command()
def profile(
    ctx: typer.Context,
    ref: Annotated[
        str,
        typer.Argument(
            metavar="REPO@REF[:/PATH]",
            help="A table.",
            autocompletion=complete.refs,
            show_default=False,
        ),
    ],
    columns: Columns = None,
) -> None:
    """Show what the columns of a table hold."""
    run = session.of(ctx)
    with run.open() as lake:
        found = lake.profile(ref, listed(columns))
    run.output.item(found, lambda p: profile_lines(p, run.output.style))


class _Json:
    """A diff as JSON, with as many rows as were asked for."""

    def __init__(self, found: Any, limit: int) -> None:
        self._found, self._limit = found, limit

    def __json__(self) -> dict[str, object]:
        shown: dict[str, object] = self._found.to_dict(self._limit)
        return shown


def _key(names: list[str] | None, none: bool) -> list[str] | None:
    if none and names:
        raise Usage("--key and --no-key exclude each other.", hint="Use one of them.")
    return [] if none else listed(names)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise Usage(f'"{text}" is not a number.', hint="Write it as 0.001 or 1e-9.") from None


def _rows(found: Changes) -> Iterator[dict[str, Any]]:
    from trunkline.tables.reading.cells import plain

    for batch in found.arrow().to_batches(10_000):
        for row in batch.to_pylist():
            yield {name: plain(value) for name, value in row.items()}


def _cell(name: str) -> Any:
    from trunkline.tables.reading.cells import shown

    return lambda row: (
        row[name][:12] if name.endswith("_commit") and row[name] else shown(row[name])
    )


def _csv_lines(found: Changes) -> Iterable[str]:
    """A header and the rows; null is an empty cell."""
    import json

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="")

    def line(cells: Iterable[Any]) -> str:
        text.seek(0)
        text.truncate()
        writer.writerow(
            json.dumps(one, ensure_ascii=False) if isinstance(one, list | dict | bool) else one
            for one in cells
        )
        return text.getvalue()

    yield line(found.arrow().column_names)
    for row in _rows(found):
        yield line(row.values())
