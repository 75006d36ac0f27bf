"""Rows of CSV and JSON files as Arrow batches, read as the options say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from trunkline.errors import Precondition
from trunkline.lake.core import Core
from trunkline.model.entries import Entry
from trunkline.model.tables import Schema
from trunkline.tables.discovery.jsonfacts import LARGEST_OBJECT, layout
from trunkline.tables.reading.opening import local_files, text_stream
from trunkline.tables.types import to_arrow_type, to_duckdb_type

if TYPE_CHECKING:
    import pyarrow as pa

_BLOCK = 4 << 20
_BATCH_ROWS = 64 << 10

_SPARK_ONLY = {
    "comment": "",
    "mode": "FAILFAST",
    "lineSep": "",
    "ignoreLeadingWhiteSpace": "false",
    "ignoreTrailingWhiteSpace": "false",
    "nanValue": "NaN",
    "emptyValue": "",
}

# Letters of Java's patterns for dates that mean the same to everybody.
_PATTERNS = {
    "yyyy": "%Y",
    "yy": "%y",
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


def csv_batches(
    core: Core, entry: Entry, columns: Schema, wanted: Schema, options: Mapping[str, str]
) -> Iterator[pa.RecordBatch]:
    """The wanted columns of a CSV file; `columns` are all of them, in the order of the file."""
    import pyarrow as pa
    from pyarrow import csv

    for option, usual in _SPARK_ONLY.items():
        if options.get(option, usual).lower() != usual.lower():
            raise Precondition(
                f"The option {option} of {entry.path} is understood by Spark only.",
                hint="Read the table with .spark(), or sql --engine spark.",
            )
    types = {one.name: to_arrow_type(one.type) for one in wanted}
    formats = [
        _strptime(options[name], name)
        for name in ("dateFormat", "timestampFormat", "timestampNTZFormat")
        if name in options
    ]
    if "dateFormat" in options:  # formats are for times only; what is read is made a day later
        types = {name: pa.timestamp("s") if pa.types.is_date(t) else t for name, t in types.items()}
    has_header = options.get("header", "false").lower() == "true"
    escape = options.get("escape", "\\")
    quote = options.get("quote", '"')
    null = options.get("nullValue", "")
    with text_stream(core, entry) as stream:
        reader = csv.open_csv(
            stream,
            read_options=csv.ReadOptions(
                column_names=list(columns.names),
                skip_rows=1 if has_header and not _spans(options) else 0,
                skip_rows_after_names=1 if has_header and _spans(options) else 0,
                block_size=_BLOCK,
                encoding=options.get("encoding", "utf8"),
            ),
            parse_options=csv.ParseOptions(
                delimiter={"\\t": "\t"}.get(options.get("sep", ","), options.get("sep", ",")),
                quote_char=quote or False,
                double_quote=escape == quote,
                escape_char=False if escape == quote else escape,
                newlines_in_values=_spans(options),
            ),
            convert_options=csv.ConvertOptions(
                column_types=types,
                include_columns=list(wanted.names),
                null_values=[null],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                true_values=["true", "True", "TRUE"],
                false_values=["false", "False", "FALSE"],
                timestamp_parsers=[csv.ISO8601, *formats] if formats else None,
            ),
        )
        for batch in reader:
            if wanted.names:
                yield batch
            else:
                yield pa.RecordBatch.from_struct_array(
                    pa.array([{}] * batch.num_rows, pa.struct([]))
                )


def json_batches(
    core: Core, entry: Entry, wanted: Schema, options: Mapping[str, str]
) -> Iterator[pa.RecordBatch]:
    """The wanted fields of a JSON file. What is text in the table may be any JSON in the file."""
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


def _spans(options: Mapping[str, str]) -> bool:
    return options.get("multiLine", "false").lower() == "true"


def _strptime(pattern: str, option: str) -> str:
    """A pattern of Java's as one of C's; only the usual letters can be told."""
    found = re.sub(
        r"[A-Za-z]+|'([^']*)'",
        lambda part: part[1] if part[1] is not None else _PATTERNS.get(part[0], "\0"),
        pattern,
    )
    if "\0" in found:
        raise Precondition(
            f'The {option} "{pattern}" is understood by Spark only.', hint="Read it with .spark()."
        )
    return found
