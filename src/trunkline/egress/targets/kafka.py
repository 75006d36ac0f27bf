"""A topic of Kafka: each row that is new or changed is a message.

A version is one transaction: consumers that read with `isolation.level: read_committed` see it as
a whole or not at all. Rows that went are told by a message without a value for their key, or with
`changes` by one that says so.

*Once:* before it sends, it notes with the broker (as offsets of a group of its own that nobody
reads by) which version it is about to send, and where the topic ends. After a crash the same
version finds that note, and looks from there on for messages that bear its name: if there are
some, the transaction was committed, and nothing is sent again. Brokers keep such a note for
`offsets.retention.minutes`, a week if nothing else is set; a crash that is older is sent again.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from trunkline.egress.base import Berth, Sender, Sent, Shipment
from trunkline.egress.targets.rowsending import in_words, json_rows, keyed_changes
from trunkline.errors import NotFound, Precondition, Unavailable
from trunkline.pipelines.spec.codec import target_from
from trunkline.storage.catalog import deliveries, repos
from trunkline.storage.catalog.deliveries import DeliveryRow
from trunkline.tables.reading.cells import plain

if TYPE_CHECKING:
    import pyarrow as pa

ASK_SECONDS = 20.0
COMMIT_SECONDS = 120.0
_COMMIT, _SENDER = "trunkline-commit", "trunkline-sender"
_MANY = 10_000
_LOOKS = 5

Message = tuple[bytes | None, bytes | None]


class KafkaSender(Sender):
    in_order = True

    def __init__(self, berth: Berth) -> None:
        super().__init__(berth)
        given = berth.options
        self._topic = str(given["topic"])
        self._key = tuple(map(str, given.get("key") or ()))
        self._changes = bool(given.get("changes", False))
        self._kafka = _client()
        self._settings = {
            **{str(name): value for name, value in dict(given.get("options") or {}).items()},
            **{name: given[name] for name, _ in berth.target.secrets},
            "bootstrap.servers": given["servers"],
        }
        self._producer: Any = None

    def send(self, shipment: Shipment) -> Sent:
        try:
            return self._send(shipment)
        except self._kafka.KafkaException as error:
            self.close()
            raise _failed(error.args[0]) from None
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        # A transaction that is open ends with its producer, or when the next one begins.
        self._producer = None

    def _send(self, shipment: Shipment) -> Sent:
        producer = self._opened()
        consumer = self._kafka.Consumer(self._reading(), logger=_quiet())
        try:
            partitions = self._partitions(producer)
            noted = self._noted(consumer, partitions, shipment.commit.id)
            if noted and self._is_there(consumer, noted, shipment.commit.id):
                return Sent(f"{self._topic} had it already", rows=0)
            if not noted:
                self._note(consumer, partitions, shipment.commit.id)
        finally:
            consumer.close()
        count = self._transact(producer, shipment)
        return Sent(f"sent {in_words(count)} to {self._topic}", rows=count)

    # -- the transaction -------------------------------------------------------------------

    def _opened(self) -> Any:
        """A producer: older ones of the same name can do nothing from now on."""
        if self._producer is None:
            settings = {
                "transaction.timeout.ms": 900_000,
                "compression.type": "zstd",
                "linger.ms": 50,
                **self._settings,
                "transactional.id": f"trunkline/{self.berth.id}",
                "enable.idempotence": True,
            }
            producer = self._kafka.Producer(settings, logger=_quiet())
            producer.init_transactions(ASK_SECONDS)
            self._producer = producer
        return self._producer

    def _transact(self, producer: Any, shipment: Shipment) -> int:
        headers = {_COMMIT: shipment.commit.id, _SENDER: self.berth.id}
        producer.begin_transaction()
        count = 0
        try:
            for key, value in self._messages(shipment):
                if self.berth.stop.is_set():
                    raise Unavailable("It was told to stop.")
                self._produce(producer, key, value, headers)
                count += 1
                if not count % _MANY:
                    self.berth.progress(count)
            producer.commit_transaction(COMMIT_SECONDS)
        except BaseException:
            self._abort(producer)
            raise
        self.berth.progress(count)
        return count

    def _produce(
        self, producer: Any, key: bytes | None, value: bytes | None, headers: Mapping[str, str]
    ) -> None:
        while True:
            try:
                producer.produce(self._topic, value, key, headers=dict(headers))
                producer.poll(0)
                return
            except BufferError:
                producer.poll(0.5)

    def _abort(self, producer: Any) -> None:
        try:
            producer.abort_transaction(ASK_SECONDS)
        except self._kafka.KafkaException:
            # The broker ends it: when the next producer begins, or when its time is over.
            self.close()

    # -- what was sent before --------------------------------------------------------------

    def _reading(self) -> dict[str, Any]:
        return {
            **self._settings,
            "group.id": f"trunkline-egress/{self.berth.id}",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
        }

    def _partitions(self, producer: Any) -> list[int]:
        """Those of the topic, which the broker may make when it is asked for."""
        for _ in range(_LOOKS):
            found = producer.list_topics(self._topic, timeout=ASK_SECONDS).topics[self._topic]
            if found.error is None and found.partitions:
                return sorted(found.partitions)
            self.berth.stop.wait(0.5)
        reason = found.error.str() if found.error is not None else "it has no partitions"
        raise NotFound(
            f'The topic "{self._topic}" cannot be written to: {reason}.',
            hint="Make it, or look at topic.",
        )

    def _noted(self, consumer: Any, partitions: Iterable[int], commit: str) -> dict[int, int]:
        """Where the topic ended when this version was begun, if it ever was."""
        where = [self._kafka.TopicPartition(self._topic, one) for one in partitions]
        return {
            one.partition: one.offset
            for one in consumer.committed(where, ASK_SECONDS)
            if one.offset >= 0 and one.metadata == commit
        }

    def _note(self, consumer: Any, partitions: Iterable[int], commit: str) -> None:
        offsets = []
        for one in partitions:
            where = self._kafka.TopicPartition(self._topic, one)
            _, high = consumer.get_watermark_offsets(where, timeout=ASK_SECONDS)
            offsets.append(self._kafka.TopicPartition(self._topic, one, high, commit))
        consumer.commit(offsets=offsets, asynchronous=False)

    def _is_there(self, consumer: Any, noted: Mapping[int, int], commit: str) -> bool:
        """Whether a message of this version was committed. One is enough: all were, or none."""
        place = self._kafka.TopicPartition
        consumer.assign([place(self._topic, one, offset) for one, offset in noted.items()])
        left, until = set(noted), time.monotonic() + ASK_SECONDS
        while left:
            # It waits until there are so many, or the time is over.
            messages = consumer.consume(_MANY, 0.2)
            if messages:
                until = time.monotonic() + ASK_SECONDS
            elif time.monotonic() > until:
                raise Unavailable(
                    f"The end of {self._topic} cannot be read: a transaction of somebody is open.",
                    hint="It is tried again.",
                )
            for message in messages:
                error = message.error()
                if error is None:
                    headers = dict(message.headers() or ())
                    mine = headers.get(_SENDER) == self.berth.id.encode()
                    if mine and headers.get(_COMMIT) == commit.encode():
                        return True
                elif error.code() == self._kafka.KafkaError._PARTITION_EOF:
                    part = place(self._topic, message.partition())
                    _, high = consumer.get_watermark_offsets(part, cached=True)
                    # Before that it ends only for now: a transaction of somebody is open.
                    if message.offset() >= high:
                        left.discard(message.partition())
                else:
                    raise _failed(error)
        return False

    # -- messages --------------------------------------------------------------------------

    def _messages(self, shipment: Shipment) -> Iterator[Message]:
        last = self._last(shipment)
        if last is not None and target_from(last.spec).options.get("topic") != self._topic:
            # It went elsewhere: another topic begins anew.
            shipment = Shipment(shipment.core, shipment.commit, shipment.path, None)
        elif last is not None and shipment.before is None:
            raise self._gone()
        if self._key:
            yield from self._by_key(shipment)
            return
        changes = shipment.changes()
        if changes is None:
            self._refuse_gone(shipment)
            yield from self._rows(shipment.batches(), "insert")
            return
        if changes.removed_rows and not self._changes:
            raise Precondition(
                f"{in_words(changes.removed_rows)} changed or went since the version before, "
                "which messages without a key cannot tell.",
                hint="Name a key, or write changes: true.",
            )
        if self._changes:
            yield from self._rows(changes.removed, "delete")
        yield from self._rows(changes.added, "insert")

    def _by_key(self, shipment: Shipment) -> Iterator[Message]:
        if shipment.changes() is None:
            self._refuse_gone(shipment)
        changes = keyed_changes(shipment, self._key)
        before = self._keys_before(shipment) if self._changes else set()
        for batch in changes.rows():
            for row in json_rows(batch):
                key = self._key_of(row)
                yield key, self._value(row, "update" if key in before else "insert")
        for row in json_rows(changes.gone):
            yield self._key_of(row), self._value(row, "delete") if self._changes else None

    def _keys_before(self, shipment: Shipment) -> set[bytes]:
        """The keys of rows that were there and changed: their new ones are updates."""
        changes = shipment.changes()
        if changes is None:
            return set()
        rows = (row for batch in changes.removed for row in json_rows(batch))
        return {self._key_of(row) for row in rows}

    def _refuse_gone(self, shipment: Shipment) -> None:
        if shipment.before is not None:
            raise self._gone()

    def _gone(self) -> Precondition:
        return Precondition(
            f"The version that {self._topic} has is gone: what changed since then cannot be told.",
            hint="Deliver to another topic.",
        )

    def _last(self, shipment: Shipment) -> DeliveryRow | None:
        """The newest delivery that is done, also if its commit is gone by now."""
        name = self.berth.target.name
        with shipment.core.database.read() as session:
            repo = repos.key_of(session, shipment.commit.repo)
            last = deliveries.last_done(session, repo, name) if repo is not None else None
            return deliveries.find(session, repo, last, name) if repo is not None and last else None

    def _rows(self, batches: Iterable[pa.RecordBatch], change: str) -> Iterator[Message]:
        for batch in batches:
            for row in json_rows(batch):
                yield None, self._value(row, change)

    def _value(self, row: dict[str, Any], change: str) -> bytes:
        body = {"_change": change, **row} if self._changes else row
        return _json(body)

    def _key_of(self, row: Mapping[str, Any]) -> bytes:
        """The value of the key; of several columns, an object."""
        found = {name.casefold(): value for name, value in row.items()}
        values = {name: found[name.casefold()] for name in self._key}
        if len(values) > 1:
            return _json(values)
        (value,) = values.values()
        return value.encode() if isinstance(value, str) else _json(value)


def _json(value: Any) -> bytes:
    return json.dumps(plain(value), ensure_ascii=False, separators=(",", ":")).encode()


def _client() -> Any:
    try:
        import confluent_kafka
    except ImportError:
        raise Precondition(
            "Writing to Kafka needs confluent-kafka, which is not installed.",
            hint="pip install 'trunkline[kafka]'",
        ) from None
    return confluent_kafka


def _failed(error: Any) -> Unavailable:
    text = error.str() if hasattr(error, "str") else str(error)
    return Unavailable(f"Kafka cannot be written to: {text}", hint="It is tried again.")


def _quiet() -> logging.Logger:
    """What the client has to say goes to the log, not to the screen."""
    return logging.getLogger("trunkline.kafka")
