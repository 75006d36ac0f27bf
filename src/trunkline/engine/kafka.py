"""Topics of Kafka through Spark's own connector, whose jar is fetched only when it is asked for."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trunkline.engine.session import Session
from trunkline.errors import Precondition, Unavailable

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

CONNECTOR = "org.apache.spark:spark-sql-kafka-0-10_2.13"
"""Of the same version as Spark itself."""

Offsets = Mapping[str, Mapping[str, int]]
"""By topic and partition."""

_lock = threading.Lock()


class KafkaTopics:
    """Reads ranges of offsets. Nothing is kept between them: who asks knows where he is."""

    def __init__(
        self, session: Session, servers: str, topics: Sequence[str], options: Mapping[str, str]
    ) -> None:
        self._spark = session.spark
        self._options = {
            **{f"kafka.{name}": value for name, value in options.items()},
            "kafka.bootstrap.servers": servers,
            "kafka.isolation.level": "read_committed",
            "subscribe": ",".join(topics),
        }
        _fetch(session)

    def ends(self, start: Offsets) -> dict[str, dict[str, int]]:
        """Behind the newest message of each partition that has any after `start`."""
        from pyspark.sql import functions

        rows = self._collected(
            self._frame(start, None)
            .groupBy("topic", "partition")
            .agg(functions.max("offset").alias("offset"))
        )
        found: dict[str, dict[str, int]] = {}
        for row in rows.to_pylist():
            found.setdefault(row["topic"], {})[str(row["partition"])] = row["offset"] + 1
        return found

    def read(self, start: Offsets, end: Offsets) -> pa.Table:
        """key, value, topic, partition, offset and timestamp of all messages from start to end."""
        frame = self._frame(start, end).select(
            *("key", "value", "topic", "partition", "offset", "timestamp")
        )
        return self._collected(frame.orderBy("topic", "partition", "offset"))

    def _frame(self, start: Offsets, end: Offsets | None) -> DataFrame:
        reader = self._spark.read.format("kafka").options(**self._options)
        reader = reader.option("startingOffsets", json.dumps(start) if start else "earliest")
        reader = reader.option("endingOffsets", json.dumps(end) if end else "latest")
        return reader.load()

    def _collected(self, frame: DataFrame) -> Any:
        from py4j.protocol import Py4JError  # type: ignore[import-untyped]
        from pyspark.errors import PySparkException

        try:
            return frame.toArrow()
        except (PySparkException, Py4JError) as error:
            raise Unavailable(
                f"Kafka cannot be read through Spark: {_first_line(error)}",
                hint="It is tried again.",
            ) from None


def _fetch(session: Session) -> None:
    """The connector into a running Spark, by its Maven coordinates; it is kept by Ivy."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    wanted = f"{CONNECTOR}:{session.spark.version}"
    with _lock:
        try:
            session.spark.sql(f"ADD JAR 'ivy://{wanted}'").collect()
        except (PySparkException, Py4JError) as error:
            raise Precondition(
                f"Spark's connector for Kafka ({wanted}) cannot be fetched: {_first_line(error)}",
                hint="Set spark.jars.repositories or spark.jars.ivySettings to where Maven's "
                "packages are, or use connector: client.",
            ) from None


def _first_line(error: Exception) -> str:
    java = getattr(error, "java_exception", None)
    text = str(java.getMessage()) if java is not None else str(error)
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[0][:300] if lines else type(error).__name__
