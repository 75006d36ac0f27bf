"""People's SQL on Spark: in a session of its own, where nothing but the given tables is seen."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trunkline.engine import tables
from trunkline.engine.session import Session
from trunkline.errors import Precondition
from trunkline.model.tables import Scan, Schema

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.errors import PySparkException
    from pyspark.sql import DataFrame

Views = Mapping[str, tuple[Sequence[Scan], Schema]]

# What SQL must not do, whatever is said in it: read paths, or leave the session's own views.
_CONF = {
    "spark.sql.runSQLOnFiles": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
}


def ask(session: Session, text: str, views: Views, params: Mapping[str, Any] | None) -> DataFrame:
    """The DataFrame of a query. Raises what Spark raises; see `said`."""
    if session.is_connect:
        raise Precondition(
            "Queries on Spark need a session in this process, not Spark Connect.",
            hint="Unset spark.remote, or use --engine duckdb.",
        )
    # Errors are shown by us, once, and not as lines of JSON.
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    spark = session.spark.newSession()
    for name, value in _CONF.items():
        spark.conf.set(name, value)
    for name, (scans, schema) in views.items():
        frame = tables.read(session, scans, schema, spark)
        # Through Spark's own parser the name would need quotes, which it then keeps.
        frame.createOrReplaceTempView(_quoted(name))
    return spark.sql(text, args=dict(params)) if params else spark.sql(text)


def columns(frame: DataFrame) -> list[tuple[str, str]]:
    return [(field.name, field.dataType.simpleString()) for field in frame.schema.fields]


def to_arrow(frame: DataFrame, limit: int | None = None) -> pa.Table:
    return (frame if limit is None else frame.limit(limit)).toArrow()


def errors() -> tuple[type[BaseException], ...]:
    """What a query may end in: Spark's own errors, and those of the bridge to its JVM."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    return PySparkException, Py4JError


def is_analysis(error: BaseException) -> bool:
    """Whether the text of the query is at fault."""
    from pyspark.errors import AnalysisException, ParseException

    return isinstance(error, AnalysisException | ParseException)


def place(error: PySparkException) -> tuple[int, int] | None:
    """Where in the text it is: first and last character, if Spark says so."""
    try:
        for context in error.getQueryContext():
            start, stop = int(context.startIndex()), int(context.stopIndex())
            if stop >= start >= 0:
                return start, stop
    except Exception:  # a context of a DataFrame has no place in a text
        return None
    return None


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
