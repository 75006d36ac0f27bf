"""Tables on Spark: files of a manifest as a DataFrame, and a DataFrame into files.

Reading never asks a file system. Writing is one Spark job that puts each file where it stays,
and learns in the same pass what a commit wants to know: rows, fingerprint, least and greatest
values, and how many rows broke which rule.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from trunkline.engine import jar, texts
from trunkline.engine.buckets import check, reach, spark_uri
from trunkline.engine.byname import EPOCHS, Way, brought, counting
from trunkline.engine.expectations import NO_RULES, RowRules
from trunkline.engine.home import spark_home
from trunkline.engine.java import find_java
from trunkline.engine.sparktypes import columns_of, refuse_types
from trunkline.errors import Precondition
from trunkline.model.tables import Column, Format, Scan, ScanFile, Schema, Written
from trunkline.model.types import parse_type, quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from trunkline.engine.session import Session

RESERVED = "__tl_"
_BITS, _RULE = f"{RESERVED}bits", f"{RESERVED}rule"
SAMPLES = 5
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
_PACKAGE = "org.apache.spark.sql.execution.datasources"
_READERS = {
    Format.PARQUET: f"{_PACKAGE}.parquet.ParquetFileFormat",
    Format.CSV: f"{_PACKAGE}.csv.CSVFileFormat",
    Format.JSON: f"{_PACKAGE}.json.JsonFileFormat",
    Format.ORC: f"{_PACKAGE}.orc.OrcFileFormat",
}


@dataclass(frozen=True, slots=True)
class WriteReport:
    """What was written. `seen` counts all rows; `broken` and `samples` are by rule."""

    files: tuple[Written, ...]
    seen: int
    broken: tuple[int, ...] = ()
    samples: tuple[tuple[str, ...], ...] = ()

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files if not file.rule)


def read(
    session: Session, scans: Sequence[Scan], schema: Schema, spark: SparkSession | None = None
) -> DataFrame:
    """The rows of some scans of one table, in the table's columns."""
    spark = spark or session.spark
    frames = [_brought_to(schema, _scanned(session, spark, scan), scan) for scan in scans]
    if not frames:
        frames = [spark.createDataFrame([], ddl(schema))]
    whole = frames[0]
    for frame in frames[1:]:
        whole = whole.unionAll(frame)
    return whole


def _scanned(session: Session, spark: SparkSession, scan: Scan) -> DataFrame:
    return texts.made(_frame(session, spark, texts.raw(_counting(scan))), scan)


def _frame(session: Session, spark: SparkSession, scan: Scan) -> DataFrame:
    if session.is_connect:
        return _by_paths(spark, scan)
    from pyspark.sql import DataFrame

    partitions: dict[tuple[str | None, ...], int] = {}
    lines = []
    _check_reach(session, scan)
    for file in scan.files:
        place = partitions.setdefault(file.values, len(partitions))
        lines.append(f"{spark_uri(file.uri)}\t{file.size}\t{place}\t{file.stats}")
    values = json.dumps(list(partitions) or [[]])
    found = classes(session).Tables.read(
        spark._jsparkSession,
        scan.name,
        "\n".join(lines),
        ddl(scan.schema),
        ddl(scan.path_columns),
        values,
        _READERS[scan.format],
        dict(scan.options),
    )
    return DataFrame(found, spark)


def _check_reach(session: Session, scan: Scan) -> None:
    """Whether Spark knows the stores: one file of each tells."""
    places: dict[str, str] = {}
    for file in scan.files:
        scheme, _, rest = file.uri.partition("://")
        # All packs are in the lake's own store.
        place = scheme if scheme == "tlslice" else f"{scheme}://{rest.partition('/')[0]}"
        places.setdefault(place, file.uri)
    for place, uri in places.items():
        if place == "tlslice":
            uri = bytes.fromhex(uri.split("/")[4]).decode()
        check(session, spark_uri(uri))
        if place.startswith("s3://"):
            reach(session, place.removeprefix("s3://"))


def _by_paths(spark: SparkSession, scan: Scan) -> DataFrame:
    """For Spark Connect, which has no JVM here: Spark lists the paths itself."""
    from pyspark.sql import functions as f

    if packed := next((one for one in scan.files if one.uri.startswith("tlslice:")), None):
        raise Precondition(
            f"{scan.name} has small files, which Spark Connect cannot read ({packed.uri[-60:]}).",
            hint="Compact the table (trunkline table compact), or use spark.master.",
        )
    together: dict[tuple[str | None, ...], list[ScanFile]] = {}
    for file in scan.files:
        together.setdefault(file.values, []).append(file)
    whole: DataFrame | None = None
    for values, files in together.items():
        reader = spark.read.schema(ddl(scan.schema)).options(**dict(scan.options))
        frame = reader.format(scan.format.value).load([spark_uri(file.uri) for file in files])
        for column, value in zip(scan.path_columns, values, strict=True):
            if value is not None and column.type == "timestamp" and value[-1].isdigit():
                value += "Z"  # whatever zone the session has
            frame = frame.withColumn(column.name, f.lit(value).cast(column.type))
        whole = frame if whole is None else whole.unionAll(frame)
    return whole if whole is not None else spark.createDataFrame([], ddl(scan.schema))


def _brought_to(schema: Schema, frame: DataFrame, scan: Scan) -> DataFrame:
    """The same rows in the columns of the table: others are null, narrower types are widened."""
    nanoseconds = _nanoseconds(scan)
    has = {one.name.casefold(): one for one in (*scan.schema, *scan.path_columns)}
    wanted = [(one.name, one.type) for one in schema]
    kept = scan.may_be_nan
    if [(one.name, one.type) for one in has.values()] == wanted and not nanoseconds and not kept:
        return frame
    columns = []
    for name, type_ in wanted:
        there = has.get(name.casefold())
        value = f"CAST(NULL AS {type_})"
        if there is not None:
            types = parse_type(there.type), parse_type(type_)
            value = quoted(there.name)
            if name.casefold() in kept:
                # So that no comparison reaches the file, whose bounds leave NaN out.
                value = f"if(isnan({value}), CAST('NaN' AS {there.type}), {value})"
            value = brought(value, *types, nanoseconds.get(name.casefold(), ()))
        columns.append(f"{value} AS {quoted(name)}")
    return frame.selectExpr(*columns)


def _counting(scan: Scan) -> Scan:
    """Spark knows no nanoseconds: it reads them as whole numbers, and we make times of those."""
    ways = _nanoseconds(scan)
    if not ways:
        return scan
    columns = (
        replace(one, type=str(counting(parse_type(one.type), ways.get(one.name.casefold(), ()))))
        for one in scan.schema
    )
    return replace(scan, schema=Schema(tuple(columns)))


def _nanoseconds(scan: Scan) -> dict[str, list[Way]]:
    """The ways to them, by column."""
    found: dict[str, list[Way]] = {}
    for column, *way in json.loads(dict(scan.options).get("nanoseconds", "[]")):
        found.setdefault(column, []).append(tuple(way))
    return found


def write(
    session: Session,
    frame: DataFrame,
    *,
    stem: str,
    partition_by: Sequence[str] = (),
    rules: RowRules = NO_RULES,
    samples: int = SAMPLES,
) -> WriteReport:
    """Write the rows as Parquet under names that begin with `stem`, parted by columns.

    The columns to part by are not in the files: `Written.folder` says their values.
    """
    if session.is_connect:
        raise Precondition(
            "Spark Connect cannot write tables: it has no way to say what was written.",
            hint="Use spark.master for pipelines of sql and spark.",
        )
    refuse_types("The output", frame.schema)
    schema = schema_of(frame)
    if rules.bits is not None:
        schema = Schema(tuple(one for one in schema if one.name in rules.columns))
        added = [rules.bits.alias(_BITS)]
        if rules.quarantine is not None:
            added.append(rules.quarantine.alias(_RULE))
        frame = frame.select("*", *added)
    keys = tuple(column for name in partition_by if (column := schema.find(name)))
    inside = [n for n, column in enumerate(schema) if column not in keys]
    parting = [f"{_parted(column)} AS {RESERVED}p{n}" for n, column in enumerate(keys)]
    if rules.quarantine is not None:
        parting.insert(0, _RULE)
    bits = _BITS if rules.bits is not None else "0L"
    columns = [
        *map(quoted, schema.names),
        f"{bits} AS {_BITS}",
        *parting,
    ]
    stem = spark_uri(stem)
    check(session, stem)
    said = classes(session).Tables.write(
        frame._jdf, "\0".join(columns), stem, json.dumps(inside), len(parting), len(rules.names),
        rules.dropped, samples,
    )  # fmt: skip
    return _report(json.loads(said), has_rule=rules.quarantine is not None, samples=samples)


def hashed(session: Session, frame: DataFrame, name: str) -> DataFrame:
    """The same rows with the exact hash of each, as text, in one more column."""
    from pyspark.sql import DataFrame

    return DataFrame(classes(session).Tables.hashed(frame._jdf, name), frame.sparkSession)


def _report(said: dict[str, Any], *, has_rule: bool, samples: int) -> WriteReport:
    files = []
    for one in said["files"]:
        parts = [_value(part) for part in one["folder"].split("/")] if one["folder"] else []
        rule = (parts.pop(0) or "") if has_rule else ""
        folder = tuple(part and part[1:] for part in parts)
        files.append(
            Written(
                one["uri"],
                one["size"],
                one["rows"],
                int(one["first"], 16),
                int(one["second"], 16),
                folder,
                rule,
                one["statistics"],
            )
        )
    files.sort(key=lambda file: (file.rule, [part or "" for part in file.folder], file.uri))
    return WriteReport(
        tuple(file for file in files if file.rows),
        said["seen"],
        tuple(said["broken"]),
        tuple(tuple(rows[:samples]) for rows in said["samples"]),
    )


def _parted(column: Column) -> str:
    """What Spark parts the rows by: a value's text after a sign, so that none is taken for null.

    Moments are told in UTC, whatever the session's zone is.
    """
    value = quoted(column.name)
    if column.type == "timestamp":
        value = f"timestampadd(MICROSECOND, unix_micros({value}), {EPOCHS['timestamp_ntz']})"
    return f"concat('=', CAST({value} AS STRING))"


def _value(part: str) -> str | None:
    text = unquote(part.partition("=")[2])
    return None if text == _NO_VALUE else text


def ddl(schema: Schema) -> str:
    """The columns as Spark reads them; what a file holds may always be null."""
    return ", ".join(f"{quoted(one.name)} {one.type}" for one in schema)


def schema_of(frame: DataFrame) -> Schema:
    """The columns of a DataFrame, as ours."""
    return columns_of(frame.schema)


def classes(session: Session) -> Any:
    """Our classes in Spark's JVM."""
    context: Any = session.context
    if not session.has_classes:
        # A notebook's own Spark, which was started without us.
        jar.join(context, jar.jar(session.options.cache, find_java(), spark_home()))
        session.has_classes = True
    return context._jvm.io.trunkline
