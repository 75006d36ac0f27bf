"""How the rows of a query reach a person or a file."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import IO, TYPE_CHECKING

from trunkline.cli import sqltext
from trunkline.cli.text import aligned, count, printable
from trunkline.errors import Failed, Usage

if TYPE_CHECKING:
    from trunkline.cli.output import Style
    from trunkline.query.result import Result

FORMATS = ("table", "csv", "json", "parquet", "markdown")
ON_A_SCREEN = 100
COUNTED = 1_000_000
LEAST = 8
_MEASURED = 1000
_ENDINGS = {".csv": "csv", ".json": "json", ".parquet": "parquet", ".md": "markdown"}


def format_for(named: str | None, file: str | None, as_json: bool) -> str:
    """What was asked for, else what the file's name says, else a table."""
    if named is not None and named not in FORMATS:
        raise Usage(f'There is no format "{named}".', hint=f"Use {', '.join(FORMATS)}.")
    if as_json and named not in (None, "json"):
        raise Usage(f"--json and --format {named} do not go together.")
    if as_json:
        return "json"
    if file in (None, "-"):
        return named or "table"
    return named or _ENDINGS.get(os.path.splitext(str(file))[1].lower(), "csv")


def write_file(result: Result, path: str, format_: str, limit: int | None) -> None:
    """All of it or nothing: the file appears when it is complete."""
    temporary = f"{path}.{os.getpid()}.part"
    try:
        with open(temporary, "wb") as file:
            _write(result, file, format_, limit)
        os.replace(temporary, path)
    except OSError as error:
        raise Failed(f"{path} cannot be written: {error.strerror or error}.") from None
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)


def write_screen(result: Result, format_: str, limit: int | None, style: Style) -> None:
    """To standard output; a table on a terminal is cut to what fits."""
    stream = sys.stdout
    if format_ == "parquet":
        if stream.isatty():
            raise Usage("Parquet is not for a terminal.", hint="Name a file: -o rows.parquet.")
        stream.flush()
        _parquet(result, stream.buffer, limit)
    elif format_ != "table":
        for line in _lines(result, format_, limit):
            stream.write(line)
    elif stream.isatty():
        _screen(result, limit, style)
    else:
        for line in _table_lines(result, limit):
            stream.write(line + "\n")


def _write(result: Result, file: IO[bytes], format_: str, limit: int | None) -> None:
    if format_ == "parquet":
        _parquet(result, file, limit)
        return
    lines: Iterable[str] = (
        (line + "\n" for line in _table_lines(result, limit))
        if format_ == "table"
        else _lines(result, format_, limit)
    )
    for line in lines:
        file.write(line.encode())


def _lines(result: Result, format_: str, limit: int | None) -> Iterator[str]:
    from trunkline.query.result import unique

    rows = result.take(limit)
    # The first row now: errors come before output.
    rows = chain(list(islice(rows, 1)), rows)
    if format_ == "json":
        return sqltext.json_lines(unique(result.columns), rows)
    if format_ == "csv":
        return sqltext.csv_lines(result.columns, rows)
    right = [sqltext.is_number(one) for one in result.types]
    return sqltext.markdown_lines(result.columns, rows, right)


def _parquet(result: Result, file: IO[bytes], limit: int | None) -> None:
    import pyarrow.parquet as pq

    batches = result.batches()
    left = limit
    with pq.ParquetWriter(file, batches.schema) as writer:
        for batch in batches:
            part = batch if left is None else batch.slice(0, left)
            writer.write_batch(part)
            if left is not None:
                left -= part.num_rows
                if left <= 0:
                    break


def _cells(row: Iterable[object]) -> list[str]:
    return [sqltext.NULL if one is None else printable(sqltext.plain(one)) for one in row]


def _table_lines(result: Result, limit: int | None) -> Iterator[str]:
    """Aligned columns. Widths are those of the first rows, so that the rest need not be held."""
    right = [sqltext.is_number(one) for one in result.types]
    rows = result.take(limit)
    first = [_cells(row) for row in islice(rows, _MEASURED)]
    titles = [printable(name) for name in result.columns]
    yield from aligned([titles, *first], right)
    widths = [max(map(len, cells)) for cells in zip(titles, *first, strict=True)]
    for row in rows:
        yield "  ".join(
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(_cells(row), widths, right, strict=True)
        ).rstrip()


def _screen(result: Result, limit: int | None, style: Style) -> None:
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    rows = result.take(limit)
    shown = list(islice(rows, ON_A_SCREEN))
    more = sum(1 for _ in islice(rows, COUNTED))
    width = shutil.get_terminal_size().columns
    console = Console(file=sys.stdout, no_color=not style.on, width=width)
    cells = [_cells(row) for row in shown]
    titles = [printable(name) for name in result.columns]
    widths = _fitted([max(map(cell_len, one)) for one in zip(titles, *cells, strict=True)], width)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title, type_, wide in zip(titles, result.types, widths, strict=False):
        table.add_column(
            Text(title),
            justify="right" if sqltext.is_number(type_) else "left",
            no_wrap=True,
            overflow="ellipsis",
            width=wide,
        )
    for row, texts in zip(shown, cells, strict=True):
        pairs = zip(row, texts, widths, strict=False)
        table.add_row(*(Text(text, "dim" if one is None else "") for one, text, _ in pairs))
    console.print(table)
    if hidden := len(titles) - len(widths):
        sys.stdout.write(style("dim", f"… {count(hidden, 'more column')}") + "\n")
    if more:
        least = "more than " if more == COUNTED else ""
        sys.stdout.write(style("dim", f"… {least}{count(more, 'more row')}") + "\n")


def _fitted(widths: list[int], room: int) -> list[int]:
    """Widths that fit: the widest give way first, and then the last columns."""
    gap = 2
    while sum(widths) + gap * (len(widths) - 1) > room:
        widest = max(widths)
        if widest > LEAST:
            second = max((one for one in widths if one < widest), default=LEAST)
            over = sum(widths) + gap * (len(widths) - 1) - room
            lower = max(LEAST, second, widest - -(-over // widths.count(widest)))
            widths = [min(one, lower) if lower < widest else one for one in widths]
        elif len(widths) > 1:
            widths = widths[:-1]
        else:
            break
    return widths
