"""Topics of Kafka, by a client in this process.

Offsets are kept with the data, in the flow's position, and never with the broker: partitions are
assigned by hand, each from the offset behind what was committed last. Only what transactions of
producers have committed is read. There is never more than one batch in memory: a batch that is
full is committed before more is asked for, and the client itself holds little ahead.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from trunkline.errors import Precondition, Unavailable
from trunkline.ingests.feeds.base import Columns, Feed, Gathered, JsonLines, Piece, Site
from trunkline.model.tables import Column, Schema
from trunkline.tables.writing.casting import arrow_schema

if TYPE_CHECKING:
    import pyarrow as pa

ASK_SECONDS = 10.0
PARTITIONS_SECONDS = 10.0
"""How often it is looked for new partitions."""
_FEW = 1_000

Position = Mapping[str, Any]


def kafka_feed(site: Site) -> Feed:
    """By the client, or by Spark's connector if that is asked for."""
    if site.options.get("connector") == "spark":
        from trunkline.ingests.feeds.kafkaspark import SparkKafkaFeed

        return SparkKafkaFeed(site)
    return KafkaFeed(site)


def client() -> Any:
    """The library, which is installed only by those who want it."""
    try:
        import confluent_kafka
    except ImportError:
        raise Precondition(
            "Reading from Kafka needs confluent-kafka, which is not installed.",
            hint="pip install 'trunkline[kafka]'",
        ) from None
    return confluent_kafka


class KafkaFeed(Feed):
    def __init__(self, site: Site) -> None:
        super().__init__(site)
        given = site.options
        self._kafka = client()
        self._topics = [str(topic) for topic in given["topics"]]
        self._start = given.get("start", "earliest")
        self._value = str(given.get("value", "json"))
        self._settings = _settings(site)
        self._consumer: Any = None
        self._next: dict[tuple[str, int], int] = {}
        self._at: Position | None = None
        self._looked = 0.0
        self._error = ""

    def gather(self, position: Position, *, drain: bool) -> Gathered | None:
        try:
            return self._gather(position, drain)
        except self._kafka.KafkaException as error:
            self.close()
            raise _failed(error.args[0]) from None

    def refused(self, batch: Gathered, error: Exception) -> None:
        self._at = None

    def committed(self, batch: Gathered, written: object) -> None:
        self._at = batch.end

    def facts(self) -> Mapping[str, Any]:
        """How many messages it is behind, as far as the client has heard."""
        if self._consumer is None:
            return {}
        behind = 0
        for (topic, partition), offset in self._next.items():
            where = self._kafka.TopicPartition(topic, partition)
            _, high = self._consumer.get_watermark_offsets(where, cached=True)
            behind += max(0, high - offset)
        return {"lag": behind}

    def close(self) -> None:
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None
        self._at = None

    def _gather(self, position: Position, drain: bool) -> Gathered | None:
        self._open(position)
        ends = self._ends() if drain else {}
        source = self.site.source
        until = time.monotonic() + source.interval
        messages: list[Any] = []
        size = 0
        while len(messages) < source.rows and size < source.bytes:
            if self.site.stop.is_set() or (drain and self._reached(ends)):
                break
            left = until - time.monotonic()
            if left <= 0 and (messages or not drain):
                break
            few = min(_FEW, source.rows - len(messages))
            for message in self._consumer.consume(few, min(max(left, 0.05), 0.2)):
                if self._passed(message):
                    messages.append(message)
                    size += len(message.value() or b"") + len(message.key() or b"")
        if self._error:
            reason, self._error = self._error, ""
            if not messages:
                raise Unavailable(reason, hint="It is tried again.")
        self._note_ends()
        end = self._position()
        if not messages:
            if end == dict(position):
                return None
            return Gathered([], end)
        return Gathered([self._piece(messages)], end, origin=lambda: _origin(messages))

    # -- where it is -----------------------------------------------------------------------

    def _open(self, position: Position) -> None:
        """At the position, whatever was read and not committed."""
        if self._consumer is None:
            self._consumer = self._kafka.Consumer(self._settings, logger=_quiet())
            self._at = None
        new = time.monotonic() - self._looked > PARTITIONS_SECONDS
        if self._at == position and not new:
            return
        before = set(self._next)
        if self._at != position:
            self._next = {
                (topic, int(partition)): int(offset)
                for topic, offsets in position.items()
                for partition, offset in offsets.items()
                if topic in self._topics
            }
        self._find_partitions(first=not position)
        if self._at != position or set(self._next) != before:
            where = self._kafka.TopicPartition
            self._consumer.assign([where(*one, offset) for one, offset in self._next.items()])
        self._at = position

    def _find_partitions(self, *, first: bool) -> None:
        """All partitions of the topics. Those that came later are read from their beginning."""
        fresh = []
        for topic in self._topics:
            found = self._consumer.list_topics(topic, timeout=ASK_SECONDS).topics[topic]
            if found.error is not None:
                raise Unavailable(f'The topic "{topic}" cannot be read: {found.error.str()}')
            fresh += [(topic, one) for one in found.partitions if (topic, one) not in self._next]
        for topic, partition in fresh:
            self._next[topic, partition] = self._first(topic, partition, first)
        self._looked = time.monotonic()

    def _first(self, topic: str, partition: int, first: bool) -> int:
        where = self._kafka.TopicPartition(topic, partition)
        low, high = self._consumer.get_watermark_offsets(where, timeout=ASK_SECONDS)
        # A partition that is new was empty when the topic was first read.
        return int(high) if first and self._start == "latest" else int(low)

    def _ends(self) -> dict[tuple[str, int], int]:
        return {
            one: self._consumer.get_watermark_offsets(
                self._kafka.TopicPartition(*one), timeout=ASK_SECONDS
            )[1]
            for one in self._next
        }

    def _reached(self, ends: Mapping[tuple[str, int], int]) -> bool:
        # What ends a transaction has an offset too, and is never given to anybody.
        self._note_ends()
        return all(self._next[one] >= end for one, end in ends.items())

    def _note_ends(self) -> None:
        for one in self._consumer.position(
            [self._kafka.TopicPartition(*one) for one in self._next]
        ):
            key = (one.topic, one.partition)
            if one.offset > self._next[key]:
                self._next[key] = one.offset

    def _position(self) -> dict[str, dict[str, int]]:
        found: dict[str, dict[str, int]] = {}
        for (topic, partition), offset in sorted(self._next.items()):
            found.setdefault(topic, {})[str(partition)] = offset
        return found

    # -- messages --------------------------------------------------------------------------

    def _passed(self, message: Any) -> bool:
        """Whether it is a row; what is none moves the position all the same."""
        error = message.error()
        if error is None:
            key = (message.topic(), message.partition())
            if message.offset() < self._next[key]:
                return False  # from before it was assigned anew
            self._next[key] = message.offset() + 1
            return True
        if error.code() == self._kafka.KafkaError._PARTITION_EOF:
            key = (message.topic(), message.partition())
            self._next[key] = max(self._next[key], message.offset())
        else:
            self._error = f"Kafka: {error.str()}"
        return False

    def _piece(self, messages: list[Any]) -> Piece:
        extra = _columns(messages, self._value)
        sources = [f"{m.topic()}/{m.partition()}@{m.offset()}" for m in messages]
        if self._value == "json":
            # A message without a value says that its key is gone: a row of nulls.
            lines = [b"{}" if m.value() is None else m.value() for m in messages]
            return JsonLines(lines, sources, extra)
        import pyarrow as pa

        values = [m.value() for m in messages]
        if self._value == "text":
            texts = [None if v is None else v.decode(errors="backslashreplace") for v in values]
            array = pa.array(texts, pa.string())
        else:
            array = pa.array(values, pa.binary())
        return Columns(extra.add_column(0, "value", array), sources[0])


def _settings(site: Site) -> dict[str, Any]:
    given = {str(name): value for name, value in dict(site.options.get("options") or {}).items()}
    secrets = {name: site.options[name] for name, _ in site.source.secrets}
    return {
        # Little is held ahead of what is asked for.
        "queued.max.messages.kbytes": 16 * 1024,
        "fetch.wait.max.ms": 100,
        **given,
        **secrets,
        "bootstrap.servers": site.options["servers"],
        # A client must name one; offsets are not kept there.
        "group.id": f"trunkline-{site.name}",
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "enable.partition.eof": True,
        "isolation.level": "read_committed",
        "auto.offset.reset": "error",
    }


META = Schema(
    (
        Column("_key", "string"),
        Column("_topic", "string"),
        Column("_partition", "int"),
        Column("_offset", "bigint"),
        Column("_timestamp", "timestamp"),
    )
)


def _columns(messages: list[Any], value: str) -> pa.Table:
    """What a message has beside its value."""
    import pyarrow as pa

    keys = [message.key() for message in messages]
    schema = arrow_schema(META)
    if value == "binary":
        schema = schema.set(0, pa.field("_key", pa.binary()))
    else:
        keys = [None if key is None else key.decode(errors="backslashreplace") for key in keys]
    times = [message.timestamp()[1] * 1000 for message in messages]
    return pa.Table.from_arrays(
        [
            pa.array(keys, schema.field(0).type),
            pa.array([message.topic() for message in messages], pa.string()),
            pa.array([message.partition() for message in messages], pa.int32()),
            pa.array([message.offset() for message in messages], pa.int64()),
            pa.array(times, pa.int64()).cast(schema.field(4).type),
        ],
        schema=schema,
    )


def _origin(messages: list[Any]) -> str:
    topics = sorted({message.topic() for message in messages})
    return topics[0] if len(topics) == 1 else f"{len(topics)} topics"


def _failed(error: Any) -> Unavailable:
    text = error.str() if hasattr(error, "str") else str(error)
    return Unavailable(f"Kafka cannot be reached: {text}", hint="It is tried again.")


def _quiet() -> Any:
    """What the client has to say goes to the log, not to the screen."""
    import logging

    return logging.getLogger("trunkline.kafka")
