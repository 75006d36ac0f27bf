"""Tables of SQL databases through Spark's JDBC, in parts that are read side by side.

The rows go from the database to files without passing through the driver. The parts are read by
connections of their own, so they need not be of one state of the database.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from trunkline.engine.session import Session
from trunkline.errors import NotAllowed, Precondition, TrunklineError, Unavailable

_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class JdbcTable:
    """What to read and where. `columns` are the names and types that the files get."""

    url: str
    query: str
    columns: Sequence[tuple[str, str]]
    driver: str = ""
    package: str = ""
    user: str = ""
    password: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Split:
    """How it is parted: ranges of a column's values, the least and the largest as text."""

    column: str
    least: str
    most: str
    parts: int


def copy_table(session: Session, table: JdbcTable, split: Split | None, folder: str) -> None:
    """Read the table, and write it to a folder as Parquet, a file for each part."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException
    from pyspark.sql import functions

    if table.package:
        _fetch(session, table.package)
    options: dict[str, Any] = {
        "url": table.url,
        "dbtable": f"({table.query}) trunkline_source",
        "user": table.user,
        "password": table.password,
        "driver": table.driver,
        "fetchsize": "10000",
        "preferTimestampNTZ": "true",
        "sessionInitStatement": "SET TimeZone TO 'UTC'" if "postgresql" in table.url else "",
    }
    if split is not None:
        options |= {
            "partitionColumn": split.column,
            "lowerBound": split.least,
            "upperBound": split.most,
            "numPartitions": str(split.parts),
        }
    try:
        reader = session.spark.read.format("jdbc")
        frame = reader.options(**{name: one for name, one in options.items() if one}).load()
        chosen = []
        for (name, type_), given in zip(table.columns, frame.schema.fields, strict=True):
            column = frame[_quoted(given.name)]
            if given.dataType.typeName() in ("array", "map", "struct"):
                column = functions.to_json(column)
            chosen.append(column.cast(type_).alias(name))
        frame.select(*chosen).write.mode("overwrite").parquet(folder)
    except (PySparkException, Py4JError) as error:
        raise _told(error, table) from None


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _fetch(session: Session, package: str) -> None:
    """The driver into a running Spark, by its Maven coordinates; it is kept by Ivy."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    with _lock:
        try:
            session.spark.sql(f"ADD JAR 'ivy://{package}?transitive=false'").collect()
        except (PySparkException, Py4JError) as error:
            raise Precondition(
                f"The driver {package} cannot be fetched: {_first_line(error)}",
                hint="Set spark.jars.repositories or spark.jars.ivySettings to where Maven's "
                "packages are, or put its jar into spark.jars.",
            ) from None


def _told(error: Exception, table: JdbcTable) -> TrunklineError:
    text = _first_line(error)
    if table.password:
        text = text.replace(table.password, "***")
    if "ClassNotFound" in text or "No suitable driver" in text:
        return Precondition(
            f"Spark has no driver {table.driver or 'for ' + table.url}.",
            hint="Name its package: jdbc: {package: org.postgresql:postgresql:42.7.4}.",
        )
    if "authentication failed" in text or "Access denied" in text:
        return NotAllowed(f"The database does not let Spark in: {text}")
    return Unavailable(f"The database cannot be read through Spark: {text}",
                       hint="It is tried again.")  # fmt: skip


def _first_line(error: Exception) -> str:
    java = getattr(error, "java_exception", None)
    text = str(java.toString()) if java is not None else str(error)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    # What the database said stands behind what Spark said of it.
    caused = [line for line in lines if "SQLException" in line or "ClassNotFound" in line]
    return (caused or lines or [type(error).__name__])[0][:300]
