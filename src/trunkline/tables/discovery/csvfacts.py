"""What is in CSV files: delimiter, header and types, found by looking at every row."""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from trunkline.errors import Precondition
from trunkline.lake.core import Core
from trunkline.model.entries import Entry
from trunkline.model.suggest import shown
from trunkline.model.tables import DROP_MALFORMED, EXACT, NULL, Column, Schema
from trunkline.tables.discovery.facts import Fact, Shape
from trunkline.tables.discovery.textclasses import (
    LINES,
    WORD,
    accepted,
    class_sql,
    is_word,
    type_of,
)
from trunkline.tables.layout import extension_of
from trunkline.tables.reading import csvrows
from trunkline.tables.reading.opening import beginning, local_files, text_stream, unreadable
from trunkline.tables.reading.textread import check_options, exact_batches, exact_rows
from trunkline.tables.unite import refuse_twins

if TYPE_CHECKING:
    import duckdb

_BEGINNING = 64 << 10
_LONGEST_LINE = 32 << 20
_DROP = "trunkline table set {} --option mode=DROPMALFORMED"


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
    line: str = "\n"


def examine(
    core: Core, entries: Sequence[Entry], options: Mapping[str, str], where: str
) -> list[Fact]:
    """A fact for each file, in order."""
    import duckdb

    check_options(options, where)
    found: dict[int, Fact] = {}
    with local_files(core, entries) as paths, duckdb.connect(":memory:") as connection:
        groups: dict[Head, list[int]] = {}
        dialects: dict[str, Dialect] = {}
        for index, entry in enumerate(entries):
            head = _head(core, entry, paths[index], options, where, connection, dialects)
            groups.setdefault(head, []).append(index)
        for head, members in groups.items():
            plain = [index for index in members if _is_plain(core, entries[index], head, options)]
            try:
                seen = _classes(connection, head, [paths[index] for index in plain], options)
                exact = sorted(set(members) - set(plain))
            except duckdb.Error:
                seen, exact = {}, members
            multi = set()
            for index in exact:
                try:
                    rows, classes, over = _exactly(core, connection, entries[index], head, options)
                except (ValueError, OSError) as error:
                    raise _explained(core, entries[index], where, error) from None
                seen[paths[index]] = (rows, classes)
                multi |= {index} if over else set()
            shapes: dict[tuple[bool, bool, tuple[int, ...]], Shape] = {}
            for index in members:
                rows, classes = seen.get(paths[index], (0, (0,) * len(head.names)))
                spans = index in multi or any(one & LINES for one in classes)
                way = index in exact, spans, classes
                if way not in shapes:
                    shapes[way] = _shape(head, classes, options, exact=way[0], multi=spans)
                # A blank line is a row of one null to some, and nothing to others.
                told = len(head.names) > 1 and not _drops(options)
                found[index] = Fact(shapes[way], rows if told else None)
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
            renamed[key] = replace(shape, schema=Schema(columns))
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
    names, line = _first_row(text, dialect, options)
    told = options.get("header", "").lower()
    words = [name for name in names if name]
    has_header = bool(words) and all(map(is_word, words)) if not told else told == "true"
    if not has_header:
        unnamed = tuple(f"_c{number}" for number in range(len(names)))
        return Head(dialect, unnamed, False, line=line)
    blanks = len(words) < len(names)
    named = tuple(name or f"_c{number}" for number, name in enumerate(names))
    refuse_twins(named, entry.path)
    return Head(dialect, named, True, blanks, line)


def _first_row(text: str, dialect: Dialect, options: Mapping[str, str]) -> tuple[list[str], str]:
    """The cells of the first row, and how it ends."""
    told = {"sep": dialect.sep, "quote": dialect.quote, "escape": dialect.escape}
    whole = csvrows.Taker({**options, **told, "multiLine": "true"}, lines=csvrows.ANY_LINE)
    for row, *_ in whole.rows(text, 1, whole=True):
        end = re.search(r"\r?\n?\Z", row.text)
        return [cell or "" for cell in row.cells], (end[0] if end else "") or "\n"
    return [], "\n"


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
            rows = connection.execute(
                "select Delimiter, Quote, Escape from sniff_csv(?, strict_mode = false)", [path]
            ).fetchall()
        except duckdb.Error:
            rows = []
        for row in rows:
            # Where no quote was seen one may still come: the usual one is assumed.
            sniffed = [text if len(text) == 1 else "" for text in row]
            sep, quote, escape = sniffed[0], quote or sniffed[1], escape or sniffed[2]
    quote = quote or '"'
    return Dialect(sep or ",", quote, escape if escape in ("\\",) else quote)


def _is_plain(core: Core, entry: Entry, head: Head, options: Mapping[str, str]) -> bool:
    with text_stream(core, entry) as stream:
        return csvrows.is_plain(stream, _reading(head, options), len(head.names))


def _reading(head: Head, options: Mapping[str, str], *, multi: bool = True) -> dict[str, str]:
    """The options that read a file, as far as its beginning tells."""
    found = {
        "header": "true" if head.has_header else "false",
        "sep": head.dialect.sep,
        "quote": head.dialect.quote,
        "escape": head.dialect.escape,
    }
    if multi:
        found |= {"multiLine": "true", "lineSep": head.line}
    return found | dict(options)


def _classes(
    connection: duckdb.DuckDBPyConnection,
    head: Head,
    paths: Sequence[str],
    options: Mapping[str, str],
) -> dict[str, tuple[int, tuple[int, ...]]]:
    """For each path its rows, and for each column the classes of values in it."""
    columns = {f"c{number}": "VARCHAR" for number in range(len(head.names))}
    if not columns or not paths:
        return {}
    # Turned by a quarter, so that a table of 5,000 columns is no query of as many expressions.
    rows = connection.execute(
        f"""select filename, place, count(*), bit_or({class_sql("value")}) from (
            select filename, unnest(range({len(columns)})) as place,
                nullif(unnest([{", ".join(columns)}]), $null) as value
            from read_csv($paths, columns = $columns,
                header = $header, delim = $sep, quote = $quote, escape = $escape,
                nullstr = '', allow_quoted_nulls = false, encoding = $encoding,
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
            "null": options.get("nullValue", NULL),
            "encoding": _duckdb_encoding(options.get("encoding", "utf-8")),
        },
    ).fetchall()
    return {
        path: (found[0][2], tuple(classes for *_, classes in found))
        for path, group in groupby(rows, key=itemgetter(0))
        if (found := list(group))
    }


def _exactly(
    core: Core,
    connection: duckdb.DuckDBPyConnection,
    entry: Entry,
    head: Head,
    options: Mapping[str, str],
) -> tuple[int, tuple[int, ...], bool]:
    """The same of one file that is taken apart as Spark does, and whether rows go over lines."""
    if options.get("multiLine"):
        multi = options["multiLine"].lower() == "true"
        return *_looked_through(core, connection, entry, head, options, multi), multi
    try:
        return *_looked_through(core, connection, entry, head, options, False), False
    except csvrows.OpenQuote:
        return *_looked_through(core, connection, entry, head, options, True), True


def _looked_through(
    core: Core,
    connection: duckdb.DuckDBPyConnection,
    entry: Entry,
    head: Head,
    options: Mapping[str, str],
    multi: bool,
) -> tuple[int, tuple[int, ...]]:
    import pyarrow as pa

    texts = Schema(tuple(Column(name, "string") for name in head.names))
    count, classes = 0, [0] * len(head.names)
    null = options.get("nullValue", NULL)
    for batch in exact_batches(core, entry, texts, _reading(head, options, multi=multi)):
        count += batch.num_rows
        for place, values in enumerate(batch.columns):
            connection.register("cells", pa.table({"value": values}))
            ((seen,),) = connection.execute(
                f"""select bit_or({class_sql("value")})
                from (select nullif(value, $null) as value from cells)""",
                {"null": null},
            ).fetchall()
            classes[place] |= seen or 0
    return count, tuple(classes)


def _drops(options: Mapping[str, str]) -> bool:
    return options.get("mode", "").upper() == DROP_MALFORMED


def _duckdb_encoding(name: str) -> str:
    """DuckDB has another word for what all others call ISO-8859-1."""
    found = codecs.lookup(name).name
    return {"iso8859-1": "latin-1"}.get(found, found)


def _shape(
    head: Head,
    classes: tuple[int, ...],
    options: Mapping[str, str],
    *,
    exact: bool = False,
    multi: bool = False,
) -> Shape:
    found = _reading(head, {}, multi=multi)
    if exact:
        found[EXACT] = "true"
    if head.blanks:
        found["enforceSchema"] = "true"  # Spark cannot compare a name with nothing
    pairs = zip(head.names, classes, strict=True)
    columns = tuple(Column(name, type_of(seen)) for name, seen in pairs)
    return Shape(Schema(columns), tuple(sorted((found | dict(options)).items())), classes)


def _explained(core: Core, entry: Entry, where: str, error: Exception) -> Exception:
    text = str(error)
    if " is not UTF-8" in text:
        return Precondition(
            f"{entry.path} of {where}: {text}.",
            hint="Tell what it is: trunkline table set REF --option encoding=ISO-8859-1",
        )
    if "line " in text and " cells where " in text:
        return Precondition(
            f"{entry.path} of {where} cannot be read as CSV: {text}.",
            hint=f"Mend the line, or leave such rows out: {_DROP.format(where)}",
        )
    return unreadable(core, entry, where, "CSV", error)


def check_values(
    core: Core, entry: Entry, shape: Shape, table: Schema, options: Mapping[str, str], where: str
) -> None:
    """That every value can be read as what the table's columns are, by all who read it."""
    if _drops(options):
        return
    formats = {_FORMATS[name] for name in _FORMATS if name in options}
    for place, (name, seen) in enumerate(zip(shape.schema.names, shape.classes, strict=True)):
        column = table.find(name)
        if column is None or column.type in formats or not seen & ~accepted(column.type):
            continue
        raise Precondition(
            f"{entry.path} of {where} cannot be read as CSV: "
            f"{_first_wrong(core, entry, shape, place, column)}.",
            hint=f"Mend it, choose another type, or leave such rows out: {_DROP.format(where)}",
        )


_FORMATS = {
    "dateFormat": "date",
    "timestampFormat": "timestamp",
    "timestampNTZFormat": "timestamp_ntz",
}


def _first_wrong(core: Core, entry: Entry, shape: Shape, place: int, column: Column) -> str:
    """The first value that is not of its column's type, and its line."""
    import duckdb

    options = dict(shape.options)
    null = options.get("nullValue", NULL)
    sql = f"select ({class_sql('$value')}) & {~accepted(column.type)}"
    with duckdb.connect(":memory:") as connection:
        for row in exact_rows(core, entry, shape.schema, options):
            cell = row.cells[place]
            if cell is None or cell == null:
                continue
            ((wrong,),) = connection.execute(sql, {"value": cell}).fetchall()
            if wrong:
                return f"line {row.line}: {column.name} is not {column.type}: {shown(cell, 60)}"
    return f"{column.name} is not {column.type}"
