"""Rows of CSV and JSON files as Arrow batches, read as Spark reads them with the same options.

Arrow and DuckDB read what is written plainly, which `discovery` has found out. All else goes
through readers of our own, which are slower: `csvrows` and `jsonrows`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from trunkline.errors import Precondition
from trunkline.lake.core import Core
from trunkline.model.entries import Entry
from trunkline.model.suggest import shown
from trunkline.model.tables import DROP_MALFORMED, EXACT, NULL, QUOTED_NULLS, Schema
from trunkline.tables.discovery.jsonfacts import LARGEST_OBJECT, layout
from trunkline.tables.discovery.textclasses import accepted, class_sql
from trunkline.tables.reading import csvrows, jsonrows
from trunkline.tables.reading.csvrows import is_true
from trunkline.tables.reading.opening import local_files, text_stream
from trunkline.tables.types import to_arrow_type, to_duckdb_type

if TYPE_CHECKING:
    import pyarrow as pa

_BLOCK = 4 << 20
_BATCH_ROWS = 64 << 10
_EXACT_ROWS = 8 << 10

_SPARK_ONLY = {
    "lineSep": "",
    "nanValue": "NaN",
    "emptyValue": "",
    "positiveInf": "Inf",
    "negativeInf": "-Inf",
    "locale": "en-US",
    "charToEscapeQuoteEscaping": "",
    "unescapedQuoteHandling": "STOP_AT_DELIMITER",
}
_MODES = ("FAILFAST", "DROPMALFORMED")

# Letters of Java's patterns for dates that mean the same to everybody.
_PATTERNS = {
    "yyyy": "%Y",
    "MM": "%m",
    "M": "%m",
    "dd": "%d",
    "d": "%d",
    "HH": "%H",
    "H": "%H",
    "mm": "%M",
    "ss": "%S",
    "MMM": "%b",
}
_FORMATS = {
    "date": "dateFormat",
    "timestamp": "timestampFormat",
    "timestamp_ntz": "timestampNTZFormat",
}


def check_options(options: Mapping[str, str], where: str) -> None:
    """That all readers know what the options of a text table ask for."""
    for option, usual in _SPARK_ONLY.items():
        if options.get(option, usual).lower() != usual.lower():
            raise Precondition(
                f"The option {option} of {where} is understood by Spark only.",
                hint="All readers know sep, quote, escape, header, comment, nullValue, encoding, "
                "multiLine, dateFormat, timestampFormat, ignoreLeadingWhiteSpace, "
                "ignoreTrailingWhiteSpace and mode.",
            )
    if (mode := options.get("mode", "FAILFAST")).upper() not in _MODES:
        raise Precondition(
            f"The mode {mode} of {where} gives rows that hold only half of what was written.",
            hint="Use FAILFAST, which refuses malformed rows, or DROPMALFORMED.",
        )
    for option in _FORMATS.values():
        if option in options and mode.upper() == DROP_MALFORMED:
            raise Precondition(
                f"{where} has {option}, with which mode={mode} is not known.",
                hint="Read the column as text, and make days of it in a pipeline.",
            )
        if option in options:
            _strptime(options[option], option)


def check_json_options(options: Mapping[str, str], where: str) -> None:
    for option, value in options.items():
        usual = {"encoding": "utf-8", "mode": "FAILFAST"}.get(option, value)
        if option not in ("multiLine", "encoding", "mode") or value.lower() != usual.lower():
            raise Precondition(
                f"The option {option}={value} of {where} is understood by Spark only.",
                hint="Of JSON all readers know multiLine; the rest is found by itself.",
            )


def csv_batches(
    core: Core, entry: Entry, columns: Schema, wanted: Schema, options: Mapping[str, str]
) -> Iterator[pa.RecordBatch]:
    """The wanted columns of a CSV file; `columns` are all of them, in the order of the file."""
    import pyarrow as pa

    loose = _loose(wanted, options)
    if is_true(options, EXACT):
        batches = exact_batches(core, entry, columns, options)
    else:
        types = {
            one.name: pa.string() if one.name in loose else to_arrow_type(one.type)
            for one in wanted
        }
        batches = _arrow_batches(core, entry, columns, types, options)
    for batch in batches:
        if not wanted.names:
            yield pa.RecordBatch.from_struct_array(pa.array([{}] * batch.num_rows, pa.struct([])))
            continue
        arrays = [
            typed(batch.column(one.name), one.type, options)
            if is_true(options, EXACT) or one.name in loose
            else batch.column(one.name)
            for one in wanted
        ]
        yield pa.RecordBatch.from_arrays(arrays, names=list(wanted.names))


def _loose(wanted: Schema, options: Mapping[str, str]) -> set[str]:
    """The columns that are made from text by ourselves, not by Arrow's own reader."""
    told = set(json.loads(options.get(QUOTED_NULLS, "[]")))
    if options.get("nullValue", NULL) != NULL:
        told |= set(wanted.names)
    formats = [type_ for type_, option in _FORMATS.items() if option in options]
    return told | {one.name for one in wanted if one.type in ("timestamp", *formats)}


def _arrow_batches(
    core: Core,
    entry: Entry,
    columns: Schema,
    types: Mapping[str, pa.DataType],
    options: Mapping[str, str],
) -> Iterator[pa.RecordBatch]:
    from pyarrow import csv

    has_header = is_true(options, "header")
    multi = is_true(options, "multiLine")
    escape, quote = options.get("escape", "\\"), options.get("quote", '"')
    with text_stream(core, entry) as stream:
        yield from csv.open_csv(
            stream,
            read_options=csv.ReadOptions(
                column_names=list(columns.names),
                skip_rows=1 if has_header and not multi else 0,
                skip_rows_after_names=1 if has_header and multi else 0,
                block_size=_BLOCK,
                encoding=options.get("encoding", "utf8"),
            ),
            parse_options=csv.ParseOptions(
                delimiter={"\\t": "\t"}.get(options.get("sep", ","), options.get("sep", ",")),
                quote_char=quote or False,
                double_quote=escape == quote,
                escape_char=False if escape == quote else escape,
                newlines_in_values=multi,
            ),
            convert_options=csv.ConvertOptions(
                column_types=types,
                include_columns=list(types),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                true_values=["true", "True", "TRUE"],
                false_values=["false", "False", "FALSE"],
            ),
        )


def exact_batches(
    core: Core, entry: Entry, columns: Schema, options: Mapping[str, str]
) -> Iterator[pa.RecordBatch]:
    """All columns as text, as Spark takes rows apart; malformed ones are left out if told so."""
    import pyarrow as pa

    drops = options.get("mode", "").upper() == DROP_MALFORMED
    good = (row for row in exact_rows(core, entry, columns, options) if not row.flaw)
    while rows := [row.cells for row in islice(good, _EXACT_ROWS)]:
        arrays = [pa.array(cells, pa.string()) for cells in zip(*rows, strict=True)]
        batch = pa.RecordBatch.from_arrays(arrays, names=list(columns.names))
        yield batch.filter(_fitting(batch, columns, options)) if drops else batch


def exact_rows(
    core: Core, entry: Entry, columns: Schema, options: Mapping[str, str]
) -> Iterator[csvrows.Row]:
    """The rows below the header. One with a flaw is an error, unless such are to be left out."""
    drops = options.get("mode", "").upper() == DROP_MALFORMED
    skip = is_true(options, "header")
    with text_stream(core, entry) as stream:
        for row in csvrows.rows(stream, options):
            if skip:
                skip = False
                continue
            flaw = row.flaw
            if flaw:  # where a quote goes wrong, nobody knows where the next row begins
                raise csvrows.OpenQuote(f"line {row.line}: {flaw}")
            if len(row.cells) != len(columns):
                flaw = f"{len(row.cells)} cells where there are {len(columns)} columns"
                if not drops:
                    raise ValueError(f"line {row.line}: {flaw}")
            yield csvrows.Row(row.line, row.text, row.cells, flaw)


def malformed_rows(
    core: Core, entry: Entry, columns: Schema, options: Mapping[str, str]
) -> Iterator[tuple[int, str, str]]:
    """The rows that are left out as malformed: line, text and reason."""
    import pyarrow as pa

    rows = exact_rows(core, entry, columns, options)
    while some := list(islice(rows, _EXACT_ROWS)):
        reasons = {at: row.flaw for at, row in enumerate(some) if row.flaw}
        whole = [at for at in range(len(some)) if at not in reasons]
        for place, one in enumerate(columns):
            cells = [some[at].cells[place] for at in whole]
            batch = pa.RecordBatch.from_arrays([pa.array(cells, pa.string())], names=[one.name])
            fits = _fitting(batch, Schema((one,)), options).to_pylist()
            for at, cell, is_fit in zip(whole, cells, fits, strict=True):
                if not is_fit:
                    reasons.setdefault(at, f"{one.name} is not {one.type}: {shown(cell or '', 60)}")
        for at in sorted(reasons):
            yield some[at].line, some[at].text.rstrip("\r\n"), reasons[at]


def _fitting(batch: pa.RecordBatch, columns: Schema, options: Mapping[str, str]) -> pa.Array:
    """Which rows have in every column what its type can be read from."""
    import duckdb
    import pyarrow as pa

    null = options.get("nullValue", NULL)
    tests = []
    for place, one in enumerate(columns):
        if accepted(one.type) >= 0:
            text = f"nullif(c{place}, $null)"
            room = f"try_cast({text} as {to_duckdb_type(one.type)}) is not null"
            tests.append(f"(({class_sql(text)}) & {~accepted(one.type)}) = 0")
            tests.append(f"(coalesce({text}, '') = '' or {room})")
    if not tests:
        return pa.array([True] * batch.num_rows)
    named = batch.rename_columns([f"c{place}" for place in range(len(columns))])
    with duckdb.connect(":memory:") as connection:
        connection.register("cells", pa.Table.from_batches([named]))
        asked = f"select {' and '.join(tests)} as fits from cells"
        found = connection.execute(asked, {"null": null}).fetchall()
    return pa.array([fits for (fits,) in found], pa.bool_())


def typed(values: pa.Array, type_: str, options: Mapping[str, str]) -> pa.Array:
    """Texts as values of a type; of another than text an empty one is null."""
    import pyarrow as pa
    from pyarrow import compute as pc

    null = options.get("nullValue", NULL)
    gone = pc.equal(values, null)
    wanted = to_arrow_type(type_)
    if not (pa.types.is_string(wanted) or pa.types.is_binary(wanted)):
        gone = pc.or_(gone, pc.equal(values, ""))
    values = pc.if_else(pc.fill_null(gone, False), pa.scalar(None, pa.string()), values)
    if (option := _FORMATS.get(type_, "")) in options:
        return _by_pattern(values, options[option], option).cast(wanted)
    if type_ == "timestamp":
        zoned = pc.fill_null(
            pc.match_substring_regex(values, r"(Z|:..[+-]..:..|\..*[+-]..:..)$"), False
        )
        nothing = pa.scalar(None, pa.string())
        moments = pc.if_else(zoned, values, nothing).cast(wanted)
        clocks = pc.if_else(zoned, nothing, values).cast(pa.timestamp("us"))
        return pc.coalesce(moments, clocks.cast(wanted))
    return values.cast(wanted)


def _by_pattern(values: pa.Array, pattern: str, option: str) -> pa.Array:
    """Only what is written just so counts: of 31 February C makes 3 March, and Java an error."""
    from pyarrow import compute as pc

    form = _strptime(pattern, option)
    found = pc.strptime(values, format=form, unit="s", error_is_null=True)
    given, back = values, pc.strftime(found, format=form)
    if re.search(r"(?<![dMH])[dMH](?![dMH])", re.sub("'[^']*'", "", pattern)):
        given, back = (pc.replace_substring_regex(one, r"\b0(\d)", r"\1") for one in (given, back))
    wrong = pc.filter(values, pc.fill_null(pc.invert(pc.equal(given, back)), True))
    wrong = pc.drop_null(wrong)
    if len(wrong):
        raise ValueError(f"{wrong[0].as_py()!r} is not {pattern}")
    return found


def json_batches(
    core: Core, entry: Entry, wanted: Schema, options: Mapping[str, str]
) -> Iterator[pa.RecordBatch]:
    """The wanted fields of a JSON file. What is text in the table may be any JSON in the file."""
    if is_true(options, EXACT):
        yield from jsonrows.batches(core, entry, wanted, options)
        return
    import duckdb

    names = [one.name for one in wanted] or ["__nothing"]
    columns = {one.name: to_duckdb_type(one.type) for one in wanted} or {names[0]: "VARCHAR"}
    with local_files(core, [entry]) as paths, duckdb.connect(":memory:") as connection:
        connection.execute("set timezone = 'UTC'")
        result: Any = connection.sql(
            f"""select * from read_json($path, format = $kind, columns = $columns,
                maximum_object_size = {LARGEST_OBJECT})""",
            params={"path": paths[0], "kind": layout(core, entry, options), "columns": columns},
        )
        for batch in result.to_arrow_reader(_BATCH_ROWS):
            yield batch.select([]) if not wanted.names else batch


def _strptime(pattern: str, option: str) -> str:
    """A pattern of Java's as one of C's; only the usual letters can be told."""
    found = re.sub(
        r"[A-Za-z]+|'([^']*)'",
        lambda part: part[1] if part[1] is not None else _PATTERNS.get(part[0], "\0"),
        pattern,
    )
    if "\0" in found:
        raise Precondition(
            f'The {option} "{pattern}" is understood by Spark only.',
            hint=f"All readers know: {', '.join(_PATTERNS)}.",
        )
    return found


def names_of(columns: Sequence[str]) -> str:
    return json.dumps(list(columns), ensure_ascii=False)
