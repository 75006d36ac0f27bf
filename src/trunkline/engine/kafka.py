"""Topics of Kafka through Spark's own connector, whose jar is fetched only when it is asked for."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from trunkline.engine.session import Session
from trunkline.errors import Precondition, Unavailable

if TYPE_CHECKING:
    import pyarrow as pa

CONNECTOR = "org.apache.spark:spark-sql-kafka-0-10_2.13"
"""Of the same version as Spark itself."""

ASK_MILLISECONDS = "20000"

Offsets = Mapping[str, Mapping[str, int]]
"""By topic and partition."""
Range = tuple[int, int]

_lock = threading.Lock()


class KafkaTopics:
    """Reads ranges of offsets. Nothing is kept between them: who asks knows where he is."""

    def __init__(
        self, session: Session, servers: str, topics: Sequence[str], options: Mapping[str, str]
    ) -> None:
        self._spark = session.spark
        self._topics = topics
        self._settings = {
            "default.api.timeout.ms": ASK_MILLISECONDS,
            "request.timeout.ms": ASK_MILLISECONDS,  # must not be longer
            **options,
            "bootstrap.servers": servers,
            "isolation.level": "read_committed",
            "allow.auto.create.topics": "false",
        }
        _fetch(session)

    def ranges(self) -> dict[str, dict[str, Range]]:
        """Of each partition where it begins, and where what was committed ends."""
        with _said(), self._client() as (consumer, place):
            return {topic: self._of_topic(consumer, place, topic) for topic in self._topics}

    def read(self, start: Offsets, end: Offsets) -> pa.Table:
        """key, value, topic, partition, offset and timestamp of all messages from start to end.

        Only the partitions that both name are read.
        """
        partitions = {topic: [int(one) for one in offsets] for topic, offsets in end.items()}
        reader = self._spark.read.format("kafka").option("assign", json.dumps(partitions))
        reader = reader.options(
            **{f"kafka.{name}": value for name, value in self._settings.items()}
        )
        reader = reader.option("startingOffsets", json.dumps(start))
        reader = reader.option("endingOffsets", json.dumps(end))
        with _said():
            frame = reader.load().select(
                *("key", "value", "topic", "partition", "offset", "timestamp")
            )
            return frame.orderBy("topic", "partition", "offset").toArrow()

    def _of_topic(self, consumer: Any, place: Any, topic: str) -> dict[str, Range]:
        partitions = consumer.partitionsFor(topic) or ()
        numbers = sorted(one.partition() for one in partitions)
        if not numbers:
            raise Unavailable(
                f'The topic "{topic}" cannot be read: the broker has none of that name.',
                hint="It is tried again.",
            )
        java = self._spark._jvm
        assert java is not None
        places = java.java.util.ArrayList()
        for number in numbers:
            places.add(place(topic, number))
        begins, ends = consumer.beginningOffsets(places), consumer.endOffsets(places)
        return {
            str(number): (int(begins[where]), int(ends[where]))
            for number, where in zip(numbers, places, strict=True)
        }

    @contextmanager
    def _client(self) -> Iterator[tuple[Any, Any]]:
        """A consumer of Java's client, and how to name a partition.

        Its classes came with the connector, after Spark's start: only Spark's own loader has them.
        """
        java, session = self._spark._jvm, self._spark._jsparkSession
        assert java is not None
        loader = session.sharedState().jarClassLoader()
        settings = java.java.util.HashMap()
        plain = "org.apache.kafka.common.serialization.ByteArrayDeserializer"
        for name, value in {
            **self._settings,
            "key.deserializer": plain,
            "value.deserializer": plain,
        }.items():
            settings.put(name, value)
        thread = java.java.lang.Thread.currentThread()
        before = thread.getContextClassLoader()
        thread.setContextClassLoader(loader)
        try:
            class_of, number = java.java.lang.Class.forName, java.java.lang.Integer.TYPE
            makes = self._constructor(
                loader, "clients.consumer.KafkaConsumer", class_of("java.util.Map")
            )
            names = self._constructor(
                loader, "common.TopicPartition", class_of("java.lang.String"), number
            )
            consumer = makes(settings)
            try:
                yield consumer, names
            finally:
                consumer.close()
        finally:
            thread.setContextClassLoader(before)

    def _constructor(self, loader: Any, name: str, *kinds: Any) -> Any:
        java, gateway = self._spark._jvm, self._spark.sparkContext._gateway
        assert java is not None
        assert gateway is not None

        def array(kind: Any, *values: Any) -> Any:
            made = gateway.new_array(kind, len(values))
            for number, value in enumerate(values):
                made[number] = value
            return made

        found = loader.loadClass(f"org.apache.kafka.{name}")
        makes = found.getConstructor(array(java.java.lang.Class, *kinds))
        return lambda *given: makes.newInstance(array(java.java.lang.Object, *given))


@contextmanager
def _said() -> Iterator[None]:
    """What Spark or the client throws, in one line."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise Unavailable(
            f"Kafka cannot be read through Spark: {_first_line(error)}", hint="It is tried again."
        ) from None


def _fetch(session: Session) -> None:
    """The connector into a running Spark, by its Maven coordinates; it is kept by Ivy."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    if CONNECTOR in (session.spark.conf.get("spark.jars.packages", "") or ""):
        return  # settings name one, and Spark began with it
    wanted = _wanted(session.spark.version)
    with _lock:
        try:
            session.spark.sql(f"ADD JAR 'ivy://{wanted}'").collect()
        except (PySparkException, Py4JError) as error:
            raise Precondition(
                f"Spark's connector for Kafka ({wanted}) cannot be fetched: {_first_line(error)}",
                hint="Set spark.jars.repositories or spark.jars.ivySettings to where Maven's "
                "packages are, name another version in spark.packages, or use connector: client.",
            ) from None


def _wanted(version: str) -> str:
    return f"{CONNECTOR}:{version}"


def _first_line(error: Exception) -> str:
    java = getattr(error, "java_exception", None)
    while java is not None and java.getCause() is not None:
        java = java.getCause()
    text = f"{java.getMessage() or java.getClass().getName()}" if java is not None else str(error)
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[0][:300] if lines else type(error).__name__
