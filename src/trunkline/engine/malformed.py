"""Text files with rows that do not parse: those that do as Parquet, and the others with a reason.

Spark's own parser judges, so a row is malformed here exactly if reading it would have failed.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING

from trunkline.engine import tables
from trunkline.engine.expectations import RowRules
from trunkline.engine.transform import TableResult
from trunkline.model.tables import FITTING, QUOTED_NULLS, Column, Format, Scan, Schema

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame

    from trunkline.engine.session import Session

LINE = f"{tables.RESERVED}line"
PATH = f"{tables.RESERVED}path"
_BAD = f"{tables.RESERVED}bad"
MALFORMED_SCHEMA = Schema(
    (Column("line", "string"), Column("reason", "string"), Column("path", "string"))
)
_MOST_COLUMNS = 100
"""Of wider tables the reason does not tell the column."""

_NOT_OF_LINES = ("header", "enforceSchema", "multiLine", "encoding", "mode", "nanoseconds")
"""Options that are about files, not about the text of a row."""


@dataclass(frozen=True, slots=True)
class Divided:
    """The rows that parse, as they were written, and the table of the others if there are any."""

    good: tables.WriteReport
    bad: TableResult | None


def divide(
    session: Session,
    scans: Sequence[Scan],
    schema: Schema,
    good_stem: str,
    bad_stem: str,
    torn: Sequence[tuple[str, str, str]] = (),
) -> Divided:
    """Write the rows of text files that parse; and if there are any, those that do not.

    `torn` are such that were found before: line, reason and path.
    """
    from pyspark.sql import functions as f

    began = time.perf_counter()
    lenient = [_lenient(scan) for scan in scans]
    frames = [tables.read(session, [scan], _with_line(schema)) for scan in lenient]
    whole = reduce(lambda one, two: one.unionAll(two), frames)
    # All columns are written, so all are parsed: which rows are bad must not depend on the query.
    rules = RowRules(
        names=("malformed",),
        columns=schema.names,
        bits=f.when(f.col(LINE).isNotNull(), f.lit(1)).otherwise(f.lit(0)).cast("bigint"),
        dropped=1,
    )
    good = tables.write(session, whole, stem=good_stem, rules=rules, samples=0)
    if not good.broken[0] and not torn:
        return Divided(good, None)
    kept = [frame.persist() for frame in frames]  # Spark gives the line only beside its columns
    try:
        bad = [_explained(frame, scan) for frame, scan in zip(kept, lenient, strict=True)]
        if torn:
            bad.append(session.spark.createDataFrame(list(torn), tables.ddl(MALFORMED_SCHEMA)))
        report = tables.write(
            session, reduce(lambda one, two: one.unionAll(two), bad), stem=bad_stem
        )
    finally:
        for frame in kept:
            frame.unpersist()
    return Divided(good, TableResult(MALFORMED_SCHEMA, report, seconds=time.perf_counter() - began))


def _lenient(scan: Scan) -> Scan:
    options = {**dict(scan.options), "mode": "PERMISSIVE", "columnNameOfCorruptRecord": LINE}
    if options.pop(QUOTED_NULLS, "") and len(scan.schema) == 1:
        options["nullValue"] = ""  # else such cells were left empty by whoever brought the files
    options.pop(FITTING, "")
    return replace(
        scan,
        schema=Schema((*scan.schema.columns, Column(LINE, "string"))),
        path_columns=Schema((*scan.path_columns.columns, Column(PATH, "string"))),
        files=tuple(replace(one, values=(*one.values, one.path)) for one in scan.files),
        options=tuple(sorted(options.items())),
    )


def _with_line(schema: Schema) -> Schema:
    return Schema((*schema.columns, Column(LINE, "string"), Column(PATH, "string")))


def _explained(frame: DataFrame, scan: Scan) -> DataFrame:
    """The lines that do not parse, with the reason."""
    from pyspark.sql import functions as f

    line = f.col(LINE)
    return frame.where(line.isNotNull()).select(
        f.regexp_replace(line, r"[\r\n]+$", "").alias("line"),
        _reason(scan, line).alias("reason"),
        f.col(PATH).alias("path"),
    )


def _reason(scan: Scan, line: SparkColumn) -> SparkColumn:
    """What the parser did not say: it is asked again, for one column at a time."""
    from pyspark.sql import functions as f

    columns = tuple(one for one in scan.schema if one.name != LINE)
    is_csv = scan.format is Format.CSV
    options = {name: value for name, value in scan.options if name not in _NOT_OF_LINES}
    options |= {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _BAD}

    def parsed(wanted: Sequence[Column]) -> SparkColumn:
        text = tables.ddl(Schema((*wanted, Column(_BAD, "string"))))
        return (f.from_csv if is_csv else f.from_json)(line, text, options)

    texts = [replace(one, type="string") for one in columns]
    as_text = parsed(texts)
    whole = f"not {len(columns)} fields" if is_csv else "not a JSON object"
    reasons = [f.when(as_text.isNull() | as_text[_BAD].isNotNull(), f.lit(whole))]
    for number, one in enumerate(columns[:_MOST_COLUMNS]):
        if one.type == "string":
            continue
        wanted = [*texts[:number], one, *texts[number + 1 :]] if is_csv else [one]
        value = as_text.getField(one.name)
        said = f.concat(
            f.lit(f"{one.name} is not {one.type}: "),
            f.substring(f.coalesce(value, f.lit("")), 1, 200),
        )
        reasons.append(f.when(parsed(wanted)[_BAD].isNotNull(), said))
    return f.coalesce(*reasons, f.lit("a value does not fit its column"))
