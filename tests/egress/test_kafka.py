"""Topics of Kafka as a target, on the broker that librdkafka brings along for tests.

That broker keeps transactions and their markers, but gives messages of aborted ones to everybody,
and lets older producers of the same name go on: that consumers leave the former out, and that the
latter can do nothing, is Kafka's own promise, and is not looked at here.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from tests.egress.senders import Dock
from tests.egress.worlds import FAILED, World
from trunkline.egress.targets import kafka
from trunkline.errors import Precondition, Unavailable
from trunkline.model.egress import Delivery


class Broker:
    """A broker in this process; it goes when its producer does."""

    def __init__(self) -> None:
        self._keeper: Any = Producer({"bootstrap.servers": "mock", "test.mock.num.brokers": 1,
                                      "log_level": 2})  # fmt: skip
        found = self._keeper.list_topics(timeout=20).brokers.values()
        self.servers = ",".join(f"{one.host}:{one.port}" for one in found)

    def messages(self, topic: str = "out") -> list[Any]:
        """All that can be read, partition by partition."""
        consumer = Consumer({"bootstrap.servers": self.servers, "group.id": "reader",
                             "enable.partition.eof": True, "isolation.level": "read_committed",
                             "auto.offset.reset": "earliest", "log_level": 2})  # fmt: skip
        partitions = consumer.list_topics(topic, timeout=20).topics[topic].partitions
        consumer.assign([TopicPartition(topic, one, 0) for one in partitions])
        found, left = [], set(partitions)
        while left:
            for message in consumer.consume(100, 0.2):
                if message.error() is None:
                    found.append(message)
                else:
                    left.discard(message.partition())
        consumer.close()
        return found

    def values(self) -> list[Any]:
        return sorted((json.loads(one.value()) for one in self.messages() if one.value()), key=str)


@pytest.fixture
def broker() -> Broker:
    return Broker()


@pytest.fixture
def dock(world: World, broker: Broker) -> Dock:
    return Dock(world.lake, "kafka", {"servers": broker.servers, "topic": "out"})


def things(*ids: int, v: str = "x") -> list[dict[str, Any]]:
    return [{"id": one, "v": v} for one in ids]


@pytest.mark.slow
def test_rows_that_are_new_are_messages(dock: Dock, broker: Broker) -> None:
    assert dock.deliver(things(1, 2)) == "sent 2 rows to out"
    commit = dock.before
    assert commit is not None
    assert dict(broker.messages()[0].headers())["trunkline-commit"] == commit.id.encode()
    assert dock.deliver(things(1, 2, 3)) == "sent 1 row to out"
    assert broker.values() == things(1, 2, 3)
    with pytest.raises(Precondition, match="messages without a key cannot tell"):
        dock.deliver(things(1))
    assert broker.values() == things(1, 2, 3)


def test_a_key_tells_what_changed_and_what_went(dock: Dock, broker: Broker) -> None:
    dock.options["key"] = ["id"]
    dock.deliver(things(1, 2))
    dock.deliver([*things(1, v="new"), *things(3)])
    newest = {one.key(): one.value() for one in broker.messages()}
    assert newest == {
        b"1": b'{"id":1,"v":"new"}',
        b"2": None,
        b"3": b'{"id":3,"v":"x"}',
    }


def test_changes_are_named(dock: Dock, broker: Broker) -> None:
    dock.options |= {"key": ["id"], "changes": True}
    dock.deliver(things(1, 2))
    dock.deliver([*things(1, v="new"), *things(3)])
    found = [(row["_change"], row["id"]) for row in broker.values()]
    assert found == [("delete", 2), ("insert", 1), ("insert", 2), ("insert", 3), ("update", 1)]


def test_what_happened_to_rows_without_a_key(dock: Dock, broker: Broker) -> None:
    dock.options["changes"] = True
    dock.deliver(things(1, 2))
    dock.deliver(things(2, 3))
    found = sorted((row["_change"], row["id"]) for row in broker.values())
    assert found == [("delete", 1), ("insert", 1), ("insert", 2), ("insert", 3)]


def test_a_second_send_finds_what_was_committed(dock: Dock, broker: Broker) -> None:
    """We die after the broker's commit: our own record does not know of it."""
    first = dock.write(things(1, 2))
    dock.send(first)
    dock.before = None
    other = Producer({"bootstrap.servers": broker.servers, "log_level": 2})
    other.produce("out", b'{"id":9,"v":"of others"}')
    assert other.flush(20) == 0
    assert dock.send(first).note == "out had it already"
    assert len(broker.messages()) == 3


def test_a_crash_before_the_commit_is_sent_again(
    dock: Dock, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The note is there, and no message: it was about to be sent."""
    first = dock.write(things(1, 2))

    def dies(*_: Any) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(kafka.KafkaSender, "_transact", dies)
        dock.send(first)
    assert dock.send(first).note == "sent 2 rows to out"
    assert broker.values() == things(1, 2)


def delivered(world: World, broker: Broker, commit: str, topic: str = "out") -> Delivery:
    return world.send(commit, {"kafka": {"servers": broker.servers, "topic": topic, "key": "id"}})


def test_another_topic_begins_anew_and_a_version_that_is_gone_is_said(
    world: World, dock: Dock, broker: Broker
) -> None:
    assert delivered(world, broker, dock.write(things(1, 2)).id).receipt["rows"] == 2
    second = dock.write(things(1, 2, 3)).id
    assert delivered(world, broker, second).receipt["rows"] == 1
    assert delivered(world, broker, dock.write(things(1, 2)).id, "new").receipt["rows"] == 2
    assert len(broker.messages("new")) == 2
    with world.lake._core.database.write() as session:
        session.execute("UPDATE deliveries SET commit_id = :gone WHERE position = 3",
                        {"gone": "f" * 32})  # fmt: skip
    done = delivered(world, broker, dock.write(things(1)).id, "new")
    assert done.state is FAILED
    assert done.reason.startswith("The version that new has is gone")
    assert len(broker.messages("new")) == 2


@pytest.mark.slow
def test_the_end_of_what_can_be_read_is_not_the_end(
    dock: Dock, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The topic goes on behind a transaction of somebody that is open: ours may be there too."""
    first = dock.write(things(1, 2))
    dock.send(first)
    marks = Consumer.get_watermark_offsets

    class Further(Consumer):
        def get_watermark_offsets(self, *args: Any, **more: Any) -> Any:
            low, high = marks(self, *args, **more)
            return low, high + 1 if more.get("cached") else high

    monkeypatch.setattr(kafka, "ASK_SECONDS", 1.0)
    monkeypatch.setattr("confluent_kafka.Consumer", Further)
    monkeypatch.setattr(kafka, "_SENDER", "another-sender")
    with pytest.raises(Unavailable, match="a transaction of somebody is open"):
        dock.send(first)


def test_a_broker_that_is_away(world: World) -> None:
    options = {"servers": "127.0.0.1:1", "topic": "out", "options": {"socket.timeout.ms": "500"}}
    dock = Dock(world.lake, "kafka", options)
    with pytest.MonkeyPatch.context() as patch, pytest.raises(Unavailable, match="Kafka cannot be"):
        patch.setattr(kafka, "ASK_SECONDS", 1.0)
        dock.deliver(things(1))
