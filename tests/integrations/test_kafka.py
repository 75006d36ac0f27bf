"""Topics of a real broker: what the one of librdkafka, which other tests use, does not keep.

Transactions that were taken back are read by nobody; a sender that was replaced can do nothing; a
broker that is killed has everything when it comes back; and Spark's connector reads what the
client reads.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions, NewTopic

import trunkline as tl
from tests.egress.senders import Dock
from tests.egress.worlds import REPO
from tests.ingest.feeds.lakes import Ingests
from tests.kafkabroker import PACKAGE, PARTITIONS, Broker, CannotBeHad, a_broker
from tests.waiting import until
from trunkline.egress.base import Berth, Shipment
from trunkline.egress.targets import kafka, open_sender
from trunkline.engine import kafka as kafkatopics
from trunkline.engine.session import Session
from trunkline.errors import Precondition, Unavailable
from trunkline.ingests.keeper import Keeper
from trunkline.model.commits import Commit, RepoName
from trunkline.model.egress import Target

IN_EVERY_MIRROR = "4.0.0"  # Spark's connector for Kafka

_numbers = count()


@pytest.fixture(scope="module")
def broker(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Broker]:
    try:
        with a_broker(
            request.config.cache.mkdir("kafka") / "jars-of", tmp_path_factory.mktemp("kafka")
        ) as running:
            yield running
    except CannotBeHad:
        pytest.skip("this machine reaches no Maven repository")


@pytest.fixture
def topic() -> str:
    return f"topic-{next(_numbers)}"


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[tl.Lake]:
    tl.init(tmp_path / "lake").close()
    with tl.open(tmp_path / "lake", author="ada") as lake:
        yield lake


@pytest.fixture
def lake(opened: tl.Lake, tmp_path: Path) -> Iterator[Ingests]:
    ingests = Ingests(opened, tmp_path / "lake")
    try:
        yield ingests
    finally:
        ingests.stop()


class Topic:
    """Somebody's programs, which write to a topic and read it."""

    def __init__(self, servers: str, name: str) -> None:
        self.name = name
        self.servers = servers
        self.plain = Producer(self._settings())

    def _settings(self, **more: Any) -> dict[str, Any]:
        return {"bootstrap.servers": self.servers, "log_level": 2, **more}

    def send(self, *numbers: int, partition: int = 0) -> None:
        for n in numbers:
            self.plain.produce(self.name, json.dumps({"n": n}).encode(), partition=partition)
        assert self.plain.flush(60) == 0

    def begin(self, *numbers: int) -> Producer:
        """A transaction that is open: all of it is with the broker."""
        producer = Producer(self._settings(**{"transactional.id": f"t{next(_numbers)}"}))
        producer.init_transactions(60)
        producer.begin_transaction()
        for n in numbers:
            producer.produce(self.name, json.dumps({"n": n}).encode(), partition=0)
        assert producer.flush(60) == 0
        return producer

    def read(self) -> list[Any]:
        """The values that were committed."""
        consumer = Consumer(self._settings(**{
            "group.id": f"g{next(_numbers)}", "enable.partition.eof": True,
            "isolation.level": "read_committed", "auto.offset.reset": "earliest",
        }))  # fmt: skip
        partitions = consumer.list_topics(self.name, timeout=60).topics[self.name].partitions
        consumer.assign([TopicPartition(self.name, one, 0) for one in partitions])
        found, left = [], set(partitions)
        while left:
            for message in consumer.consume(100, 0.2):
                if message.error() is None:
                    found.append(json.loads(message.value() or b"null"))
                else:
                    left.discard(message.partition())
        consumer.close()
        return sorted(found, key=str)


@pytest.fixture
def theirs(broker: Broker, topic: str) -> Topic:
    return Topic(broker.servers, topic)


def declared(lake: Ingests, theirs: Topic, **options: Any) -> None:
    lake.declare("clicks", "kafka", {"servers": theirs.servers, "topics": [theirs.name], **options})


def numbers(lake: Ingests) -> list[int]:
    return sorted(row["n"] for row in lake.rows("clicks"))


@pytest.fixture(scope="module", autouse=True)
def _connector_in_reach(spark: Session) -> Iterator[None]:
    """A mirror may lack the connector of the newest Spark: an older one serves here as well."""
    with pytest.MonkeyPatch.context() as patch:
        try:
            kafkatopics._fetch(spark)
        except Precondition:
            older = kafkatopics._wanted(IN_EVERY_MIRROR)
            patch.setattr(kafkatopics, "_wanted", lambda version: older)
        yield


def drain(lake: Ingests, spark: Session) -> Any:
    (done,) = Keeper(lake.core, spark=lambda: spark).drain()
    assert not done.error, done.error
    return done


CONNECTORS = pytest.mark.parametrize("connector", ["client", "spark"])


@CONNECTORS
def test_what_was_taken_back_is_not_read(
    lake: Ingests, theirs: Topic, spark: Session, connector: str
) -> None:
    theirs.begin(1, 2).commit_transaction(60)
    theirs.begin(3).abort_transaction(60)
    theirs.send(4, 5, partition=2)
    declared(lake, theirs, connector=connector)
    assert drain(lake, spark).rows == 4
    theirs.begin(6).abort_transaction(60)
    theirs.begin(7).commit_transaction(60)
    theirs.send(8, partition=PARTITIONS - 1)
    drain(lake, spark)
    assert numbers(lake) == [1, 2, 4, 5, 7, 8]
    assert drain(lake, spark).commits == 0
    places = {(row["_partition"], row["_offset"]) for row in lake.rows("clicks")}
    # What ends a transaction has an offset too, and so has what was taken back.
    assert places == {(0, 0), (0, 1), (0, 7), (2, 0), (2, 1), (3, 0)}


@CONNECTORS
def test_a_transaction_that_is_open_is_waited_for(
    lake: Ingests, theirs: Topic, spark: Session, connector: str
) -> None:
    theirs.send(1)
    still = theirs.begin(2)
    theirs.send(3)
    declared(lake, theirs, connector=connector)
    drain(lake, spark)
    assert numbers(lake) == [1]
    still.commit_transaction(60)
    drain(lake, spark)
    assert numbers(lake) == [1, 2, 3]


@CONNECTORS
def test_only_what_comes_from_now_on_and_partitions_that_are_new(
    lake: Ingests, theirs: Topic, spark: Session, connector: str
) -> None:
    theirs.send(1)
    theirs.send(2, partition=1)
    declared(lake, theirs, connector=connector, start="latest")
    drain(lake, spark)
    assert lake.commits("clicks") == []
    admin = AdminClient({"bootstrap.servers": theirs.servers})
    admin.create_partitions([NewPartitions(theirs.name, PARTITIONS + 1)])[theirs.name].result(60)
    until(lambda: len(admin.list_topics(theirs.name).topics[theirs.name].partitions) == 5)
    # Who has written before does not know yet that there are more.
    other = Topic(theirs.servers, theirs.name)
    other.send(3)
    other.send(4, partition=PARTITIONS)
    drain(lake, spark)
    assert numbers(lake) == [3, 4]


def test_large_topics_come_in_batches_through_spark(
    lake: Ingests, theirs: Topic, spark: Session
) -> None:
    for partition in range(3):
        theirs.send(*range(100 * partition, 100 * partition + 100), partition=partition)
    lake.declare(
        "clicks",
        "kafka",
        {"servers": theirs.servers, "topics": [theirs.name], "connector": "spark"},
        rows=90,
    )
    assert drain(lake, spark).rows == 300
    assert numbers(lake) == list(range(300))
    assert max(batch.rows_out for batch in lake.batches("clicks")) <= 90


def test_a_topic_that_was_made_anew_is_said(lake: Ingests, theirs: Topic, spark: Session) -> None:
    theirs.send(1, 2, 3)
    declared(lake, theirs, connector="spark")
    drain(lake, spark)
    admin = AdminClient({"bootstrap.servers": theirs.servers})
    admin.delete_topics([theirs.name])[theirs.name].result(60)
    until(lambda: theirs.name not in admin.list_topics().topics)
    Topic(theirs.servers, theirs.name).send(4)
    (done,) = Keeper(lake.core, spark=lambda: spark).drain()
    assert "was made anew" in done.error
    assert numbers(lake) == [1, 2, 3]


def test_where_partitions_begin_and_end(
    theirs: Topic, spark: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Java's client is asked, in Spark's own process. It is a part of the connector."""
    part = f"org.apache.kafka:kafka-clients:{PACKAGE.rpartition(':')[2]}"

    def fetch(session: Session) -> None:
        session.spark.sql(f"ADD JAR 'ivy://{part}?transitive=false'").collect()

    monkeypatch.setattr(kafkatopics, "_fetch", fetch)
    theirs.begin(1, 2).commit_transaction(60)
    still = theirs.begin(3)
    theirs.send(4, partition=2)
    topics = kafkatopics.KafkaTopics(spark, theirs.servers, [theirs.name], {})
    empty = (0, 0)
    # What ends a transaction has an offset too.
    assert topics.ranges() == {theirs.name: {"0": (0, 3), "1": empty, "2": (0, 1), "3": empty}}
    still.commit_transaction(60)
    assert topics.ranges()[theirs.name]["0"] == (0, 5)
    with pytest.raises(Unavailable, match='The topic "nope" cannot be read: the broker has none'):
        kafkatopics.KafkaTopics(spark, theirs.servers, ["nope"], {}).ranges()
    monkeypatch.setattr(kafkatopics, "ASK_MILLISECONDS", "1000")
    with pytest.raises(Unavailable, match="Kafka cannot be read through Spark: ") as caught:
        kafkatopics.KafkaTopics(spark, "127.0.0.1:1", [theirs.name], {}).ranges()
    assert "\n" not in caught.value.message


def test_a_broker_that_is_killed_has_all_when_it_is_back(
    lake: Ingests, theirs: Topic, broker: Broker
) -> None:
    declared(lake, theirs)
    theirs.send(*range(50))
    lake.start()
    until(lambda: len(numbers(lake)) == 50)
    broker.kill()
    sending = threading.Thread(target=theirs.send, args=range(50, 100))
    sending.start()
    broker.start()
    sending.join(60)
    until(lambda: len(numbers(lake)) >= 100)
    lake.stop()
    assert numbers(lake) == list(range(100))


# -- out ---------------------------------------------------------------------------------------


@pytest.fixture
def dock(opened: tl.Lake, theirs: Topic) -> Dock:
    opened.create_repo(REPO)
    return Dock(opened, "kafka", {"servers": theirs.servers, "topic": theirs.name})


def sender(dock: Dock) -> kafka.KafkaSender:
    """One of several that believe they are the one."""
    target = Target("out", "kafka", options=dock.options)
    berth = Berth(RepoName("default", REPO), target, dock.options, threading.Event(), "L")
    found = open_sender(berth)
    assert isinstance(found, kafka.KafkaSender)
    return found


def shipment(dock: Dock, commit: Commit) -> Shipment:
    return Shipment(dock.lake._core, commit, "/", None)


def rows(*numbers: int) -> list[dict[str, Any]]:
    return [{"n": n} for n in numbers]


def test_a_sender_that_was_replaced_can_do_nothing(dock: Dock, theirs: Topic) -> None:
    first = dock.write(rows(1, 2))
    old, new = sender(dock), sender(dock)
    old._opened()
    new._opened()
    with pytest.raises(Unavailable, match="Kafka cannot be written to"):
        old.send(shipment(dock, first))
    assert theirs.read() == []
    assert new.send(shipment(dock, first)).note == f"sent 2 rows to {theirs.name}"
    assert theirs.read() == rows(1, 2)
    # It came back, and finds that all is done.
    assert old.send(shipment(dock, first)).note == f"{theirs.name} had it already"
    assert theirs.read() == rows(1, 2)


def test_a_sender_that_died_in_the_middle_has_sent_nothing(dock: Dock, theirs: Topic) -> None:
    first = dock.write(rows(1, 2))
    dying = sender(dock)

    class Dying:
        """A producer that sends all, and neither commits it nor takes it back."""

        def __init__(self, real: Producer) -> None:
            self._real = real

        def __getattr__(self, name: str) -> Any:
            return getattr(self._real, name)

        def commit_transaction(self, *_: Any) -> None:
            assert self._real.flush(60) == 0
            raise KeyboardInterrupt

        def abort_transaction(self, *_: Any) -> None:
            pass

    dying._producer = Dying(dying._opened())
    with pytest.raises(KeyboardInterrupt):
        dying.send(shipment(dock, first))
    assert sender(dock).send(shipment(dock, first)).note == f"sent 2 rows to {theirs.name}"
    assert theirs.read() == rows(1, 2)


def test_behind_a_transaction_that_is_open_it_cannot_be_told(
    dock: Dock, theirs: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    admin = AdminClient({"bootstrap.servers": theirs.servers})
    admin.create_topics([NewTopic(theirs.name, 1)])[theirs.name].result(60)
    first = dock.write(rows(1))
    somebody = theirs.begin(8)
    sender(dock).send(shipment(dock, first))
    with monkeypatch.context() as patch:
        patch.setattr(kafka, "ASK_SECONDS", 5.0)
        with pytest.raises(Unavailable, match="a transaction of somebody is open"):
            sender(dock).send(shipment(dock, first))
    somebody.commit_transaction(60)
    assert sender(dock).send(shipment(dock, first)).note == f"{theirs.name} had it already"
    assert theirs.read() == rows(1, 8)


def test_out_of_one_lake_and_into_another(lake: Ingests, dock: Dock, theirs: Topic) -> None:
    dock.deliver(rows(*range(1000)))
    dock.deliver(rows(*range(1200)))
    declared(lake, theirs)
    lake.drain()
    assert numbers(lake) == list(range(1200))
