"""What is in CSV files: delimiter, header and types, found by looking at every row."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from trunkline.errors import Precondition
from trunkline.lake.core import Core
from trunkline.model.entries import Entry
from trunkline.model.tables import Column, Schema
from trunkline.tables.discovery.facts import Fact, Shape
from trunkline.tables.discovery.textclasses import LINES, WORD, class_sql, is_word, type_of
from trunkline.tables.layout import extension_of
from trunkline.tables.reading.opening import beginning, local_files, unreadable
from trunkline.tables.unite import refuse_twins

if TYPE_CHECKING:
    import duckdb

_BEGINNING = 64 << 10
_LONGEST_LINE = 32 << 20


@dataclass(frozen=True, slots=True)
class Dialect:
    """How the rows of a file are written. Fields are named as Spark's options."""

    sep: str = ","
    quote: str = '"'
    escape: str = '"'


@dataclass(frozen=True, slots=True)
class Head:
    """A file's dialect and its columns' names, which may not be in it."""

    dialect: Dialect
    names: tuple[str, ...]
    has_header: bool
    blanks: bool = False


def examine(
    core: Core, entries: Sequence[Entry], options: Mapping[str, str], where: str
) -> list[Fact]:
    """A fact for each file, in order."""
    import duckdb

    found: dict[int, Fact] = {}
    with local_files(core, entries) as paths, duckdb.connect(":memory:") as connection:
        groups: dict[Head, list[int]] = {}
        dialects: dict[str, Dialect] = {}
        for index, entry in enumerate(entries):
            head = _head(core, entry, paths[index], options, where, connection, dialects)
            groups.setdefault(head, []).append(index)
        for head, members in groups.items():
            try:
                seen = _classes(connection, head, [paths[index] for index in members], options)
            except duckdb.Error:
                seen = {}
                for index in members:
                    try:
                        seen |= _classes(connection, head, [paths[index]], options)
                    except duckdb.Error as error:
                        raise _explained(core, entries[index], where, error) from None
            shapes: dict[tuple[int, ...], Shape] = {}
            for index in members:
                rows, classes = seen.get(paths[index], (0, (0,) * len(head.names)))
                if classes not in shapes:
                    shapes[classes] = _shape(head, classes, options)
                # A blank line is a row of one null to some, and nothing to others.
                found[index] = Fact(shapes[classes], rows if len(head.names) > 1 else None)
    return [found[index] for index in range(len(entries))]


def written_as(core: Core, entry: Entry, options: Mapping[str, str], where: str) -> Shape:
    """How a file is written, by its first rows alone; every column is text."""
    import duckdb

    with local_files(core, [entry]) as (path,), duckdb.connect(":memory:") as connection:
        head = _head(core, entry, path, options, where, connection, {})
    return _shape(head, (WORD,) * len(head.names), options)


def aligned(facts: Sequence[Fact | None]) -> list[Fact | None]:
    """Files without a header get the names of the one header that others have: a cut-up file."""
    shapes = {id(fact.shape): fact.shape for fact in facts if fact is not None}
    headed = {one.schema.names for one in shapes.values() if ("header", "true") in one.options}
    renamed: dict[int, Shape] = {}
    for key, shape in shapes.items():
        fitting = [names for names in headed if len(names) == len(shape.schema)]
        if ("header", "true") not in shape.options and len(fitting) == 1:
            pairs = zip(fitting[0], shape.schema, strict=True)
            columns = tuple(Column(name, column.type) for name, column in pairs)
            renamed[key] = Shape(Schema(columns), shape.options)
    if not renamed:
        return list(facts)
    return [
        Fact(renamed[id(fact.shape)], fact.rows) if fact and id(fact.shape) in renamed else fact
        for fact in facts
    ]


def _head(
    core: Core,
    entry: Entry,
    path: str,
    options: Mapping[str, str],
    where: str,
    connection: duckdb.DuckDBPyConnection,
    dialects: dict[str, Dialect],
) -> Head:
    encoding = options.get("encoding", "utf-8")
    try:
        start = beginning(core, entry, _BEGINNING)
        if b"\n" not in start and b"\r" not in start and len(start) == _BEGINNING:
            start = beginning(core, entry, _LONGEST_LINE)
        text = start.decode(encoding, errors="replace").removeprefix("\ufeff")
    except (OSError, LookupError) as error:
        raise unreadable(core, entry, where, "CSV", error) from None
    line = text[: text.find("\n")] if "\n" in text else text
    key = extension_of(entry.path) + line
    if key not in dialects:
        dialects[key] = _dialect(entry, path, options, connection)
    dialect = dialects[key]
    names = _first_row(text, dialect)
    told = options.get("header", "").lower()
    words = [name for name in names if name]
    has_header = bool(words) and all(map(is_word, words)) if not told else told == "true"
    if not has_header:
        return Head(dialect, tuple(f"_c{number}" for number in range(len(names))), False)
    blanks = len(words) < len(names)
    named = tuple(name or f"_c{number}" for number, name in enumerate(names))
    refuse_twins(named, entry.path)
    return Head(dialect, named, True, blanks)


def _first_row(text: str, dialect: Dialect) -> list[str]:
    csv.field_size_limit(_LONGEST_LINE)
    doubled = dialect.escape == dialect.quote
    rows = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=dialect.sep,
        quotechar=dialect.quote,
        doublequote=doubled,
        escapechar=None if doubled else dialect.escape,
    )
    return next((row for row in rows if row), [])


def _dialect(
    entry: Entry, path: str, options: Mapping[str, str], connection: duckdb.DuckDBPyConnection
) -> Dialect:
    """What is told counts; the rest is found by DuckDB, which tries what is usual."""
    sep = options.get("sep", "\t" if extension_of(entry.path) == ".tsv" else "")
    sep = {"\\t": "\t"}.get(sep, sep)
    quote, escape = options.get("quote", ""), options.get("escape", "")
    if not sep:
        import duckdb

        try:
            row = connection.execute(
                "select Delimiter, Quote, Escape from sniff_csv(?, strict_mode = false)", [path]
            ).fetchone()
        except duckdb.Error:
            row = None
        if row is not None:
            # Where no quote was seen one may still come: the usual one is assumed.
            sniffed = [text if len(text) == 1 else "" for text in row]
            sep, quote, escape = sniffed[0], quote or sniffed[1], escape or sniffed[2]
    quote = quote or '"'
    return Dialect(sep or ",", quote, escape if escape in ("\\",) else quote)


def _classes(
    connection: duckdb.DuckDBPyConnection,
    head: Head,
    paths: Sequence[str],
    options: Mapping[str, str],
) -> dict[str, tuple[int, tuple[int, ...]]]:
    """For each path its rows, and for each column the classes of values in it."""
    columns = {f"c{number}": "VARCHAR" for number in range(len(head.names))}
    if not columns:
        return {}
    # Turned by a quarter, so that a table of 5,000 columns is no query of as many expressions.
    rows = connection.execute(
        f"""select filename, place, count(*), bit_or({class_sql("value")}) from (
            select filename, unnest([{", ".join(columns)}]) as value,
                unnest(range({len(columns)})) as place
            from read_csv($paths, columns = $columns,
                header = $header, delim = $sep, quote = $quote, escape = $escape,
                nullstr = $nulls, comment = $comment, encoding = $encoding,
                max_line_size = {_LONGEST_LINE}, auto_detect = false, filename = true,
                strict_mode = true))
        group by all order by filename, place""",
        {
            "paths": list(paths),
            "columns": columns,
            "header": head.has_header,
            "sep": head.dialect.sep,
            "quote": head.dialect.quote,
            "escape": head.dialect.escape,
            "nulls": options.get("nullValue", ""),
            "comment": options.get("comment", ""),
            "encoding": _duckdb_encoding(options.get("encoding", "utf-8")),
        },
    ).fetchall()
    return {
        path: (found[0][2], tuple(classes for *_, classes in found))
        for path, group in groupby(rows, key=itemgetter(0))
        if (found := list(group))
    }


def _duckdb_encoding(name: str) -> str:
    """DuckDB has another word for what all others call ISO-8859-1."""
    found = codecs.lookup(name).name
    return {"iso8859-1": "latin-1"}.get(found, found)


def _shape(head: Head, classes: tuple[int, ...], options: Mapping[str, str]) -> Shape:
    found = {
        "header": "true" if head.has_header else "false",
        "sep": head.dialect.sep,
        "quote": head.dialect.quote,
        "escape": head.dialect.escape,
    }
    if any(one & LINES for one in classes):
        found["multiLine"] = "true"
    if head.blanks:
        found["enforceSchema"] = "true"  # Spark cannot compare a name with nothing
    pairs = zip(head.names, classes, strict=True)
    columns = tuple(Column(name, type_of(seen)) for name, seen in pairs)
    return Shape(Schema(columns), tuple(sorted((found | dict(options)).items())))


def _explained(core: Core, entry: Entry, where: str, error: Exception) -> Exception:
    text = str(error)
    if "utf-8" in text.lower() or "unicode" in text.lower():
        return Precondition(
            f"{entry.path} of {where} is not UTF-8.",
            hint="Tell what it is: trunkline table set REF --option encoding=ISO-8859-1",
        )
    # The line that is wrong, and what is wrong with it: other lines are DuckDB's advice.
    told = [line.strip() for line in text.splitlines() if _telling(line.strip())]
    reason = ", ".join(told[:3]) or text.splitlines()[0]
    return unreadable(core, entry, where, "CSV", ValueError(reason))


_telling = re.compile(r"(.*CSV Error on Line|Original Line|Expected Number|.*[Qq]uote)").match
