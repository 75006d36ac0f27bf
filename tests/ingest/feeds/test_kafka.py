"""Topics of Kafka, on the broker that librdkafka brings along for tests.

That broker keeps transactions and their markers, but gives aborted messages to everybody: that
they are left out is the client's own `read_committed`, which is looked at as a setting here.
"""

from __future__ import annotations

import builtins
import json
import os
import signal
import subprocess
import sys
from typing import Any

import pytest
from confluent_kafka import Producer

from tests.ingest.feeds.lakes import Ingests
from tests.waiting import until
from trunkline.errors import Precondition
from trunkline.ingests.feeds import kafka
from trunkline.model.streams import FlowState


class Broker:
    """A broker in this process; it goes when its producer does."""

    def __init__(self) -> None:
        self._keeper: Any = Producer({"bootstrap.servers": "mock", "test.mock.num.brokers": 1,
                                      "log_level": 2})  # fmt: skip
        found = self._keeper.list_topics(timeout=20).brokers.values()
        self.servers = ",".join(f"{one.host}:{one.port}" for one in found)
        self._producer = Producer({"bootstrap.servers": self.servers, "log_level": 2})
        self._transactional = 0

    def send(self, *rows: Any, topic: str = "clicks", partition: int = 0, key: str = "") -> None:
        for row in rows:
            value = row if isinstance(row, bytes | None) else json.dumps(row).encode()
            self._producer.produce(topic, value, key or None, partition=partition)
        assert self._producer.flush(20) == 0

    def transaction(self, *rows: Any, topic: str = "clicks") -> None:
        self._transactional += 1
        producer = Producer({"bootstrap.servers": self.servers, "log_level": 2,
                             "transactional.id": f"t{self._transactional}"})  # fmt: skip
        producer.init_transactions(20)
        producer.begin_transaction()
        for row in rows:
            producer.produce(topic, json.dumps(row).encode(), partition=0)
        producer.commit_transaction(20)

    def options(self, **more: Any) -> dict[str, Any]:
        return {"servers": self.servers, "topics": ["clicks"], **more}


@pytest.fixture
def broker() -> Broker:
    return Broker()


def numbers(lake: Ingests) -> list[int]:
    return sorted(row["n"] for row in lake.rows("clicks") if row["n"] is not None)


def test_what_is_there_is_drained_once(lake: Ingests, broker: Broker) -> None:
    broker.send({"n": 1}, {"n": 2}, key="ada")
    broker.send({"n": 3}, partition=2)
    lake.declare("clicks", "kafka", broker.options())
    (done,) = lake.drain()
    assert (done.rows, done.error) == (3, "")
    assert lake.flow("clicks").position["clicks"] == {"0": 2, "1": 0, "2": 1, "3": 0}
    broker.send({"n": 4})
    lake.drain()
    assert lake.drain()[0].commits == 0
    assert numbers(lake) == [1, 2, 3, 4]
    first = lake.rows("clicks", "n")[0]
    told = (first["_key"], first["_topic"], first["_partition"], first["_offset"])
    assert told == ("ada", "clicks", 0, 0)
    assert first["_timestamp"].year >= 2026


def test_transactions_end_and_the_position_goes_past_their_marks(
    lake: Ingests, broker: Broker
) -> None:
    for n in range(3):
        broker.transaction({"n": 10 * n}, {"n": 10 * n + 1})
    lake.declare("clicks", "kafka", broker.options())
    assert lake.drain()[0].rows == 6
    assert lake.flow("clicks").position["clicks"]["0"] == 9
    assert lake.drain()[0].commits == 0
    broker.transaction({"n": 99})
    lake.drain()
    assert numbers(lake) == [0, 1, 10, 11, 20, 21, 99]


def test_only_what_was_committed_is_asked_for(lake: Ingests, broker: Broker) -> None:
    lake.declare("clicks", "kafka", broker.options())
    keeper = lake.keeper()
    with lake.core.database.read() as session:
        (row,) = _running(session)
    held = keeper._take(row)
    assert held is not None
    settings = kafka._settings(keeper._gathering(held).site)
    assert settings["isolation.level"] == "read_committed"
    assert settings["enable.auto.commit"] is False


def _running(session: Any) -> Any:
    from trunkline.ingests.keeper import _running

    return _running(session)


def test_bad_messages_and_those_without_a_value(lake: Ingests, broker: Broker) -> None:
    broker.send({"n": 1}, b"not json", {"n": "x"}, key="k")
    broker.send(None, key="gone")
    lake.declare("clicks", "kafka", broker.options(), schema="n BIGINT")
    (done,) = lake.drain()
    assert (done.rows, done.malformed) == (2, 2)
    assert {row["source"] for row in lake.malformed("clicks")} == {"clicks/0@1", "clicks/0@2"}
    (tombstone,) = [row for row in lake.rows("clicks") if row["n"] is None]
    assert tombstone["_key"] == "gone"


@pytest.mark.parametrize("value, wanted", [("text", "\\xff"), ("binary", b"\xff")])
def test_values_that_are_no_json(lake: Ingests, broker: Broker, value: str, wanted: Any) -> None:
    broker.send(b"\xff")
    lake.declare("clicks", "kafka", broker.options(value=value))
    lake.drain()
    assert [row["value"] for row in lake.rows("clicks")] == [wanted]


def test_only_what_comes_from_now_on(lake: Ingests, broker: Broker) -> None:
    broker.send({"n": 1})
    lake.declare("clicks", "kafka", broker.options(start="latest"))
    lake.drain()
    assert lake.commits("clicks") == []
    broker.send({"n": 2})
    lake.drain()
    assert numbers(lake) == [2]


def test_it_goes_on_while_it_is_watched(lake: Ingests, broker: Broker) -> None:
    lake.declare("clicks", "kafka", broker.options(), rows=50)
    broker.send({"n": -1})
    lake.start()
    until(lambda: lake.commits("clicks"))
    for n in range(5):
        broker.send(*({"n": 100 * n + i} for i in range(100)), partition=n % 4)
    until(lambda: len(numbers(lake)) == 501)
    lake.stop()
    assert numbers(lake) == [-1, *range(500)]
    assert max(batch.rows_out for batch in lake.batches("clicks")) <= 50


def test_a_broker_that_disappears(lake: Ingests) -> None:
    lake.declare("clicks", "kafka", {"servers": "127.0.0.1:1", "topics": ["clicks"],
                                     "options": {"socket.timeout.ms": 1000}})  # fmt: skip
    kafka_seconds, kafka.ASK_SECONDS = kafka.ASK_SECONDS, 1.0
    try:
        (done,) = lake.drain()
    finally:
        kafka.ASK_SECONDS = kafka_seconds
    assert done.error.startswith("Kafka cannot be reached: ")
    assert lake.flow("clicks").state is FlowState.FAILED
    broker = Broker()
    broker.send({"n": 1})
    lake.declare("clicks", "kafka", broker.options())
    lake.drain()
    assert numbers(lake) == [1] and lake.flow("clicks").state is FlowState.IDLE


def test_without_the_library_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def missing(name: str, *rest: Any) -> Any:
        if name == "confluent_kafka":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(Precondition) as caught:
        kafka.client()
    assert caught.value.hint == "pip install 'trunkline[kafka]'"


@pytest.mark.slow
@pytest.mark.parametrize("point", ["ingest.gathered", "ingest.written", "ingest.committed"])
def test_each_message_once_also_after_kill(lake: Ingests, broker: Broker, point: str) -> None:
    lake.declare("clicks", "kafka", broker.options(), rows=10)
    broker.transaction(*({"n": n} for n in range(35)))
    assert _drain_elsewhere(str(lake.folder), f"{point}:2") == -signal.SIGKILL
    until(lambda: _drain_elsewhere(str(lake.folder), "") == 0 and len(numbers(lake)) >= 35)
    assert numbers(lake) == list(range(35))


def _drain_elsewhere(folder: str, crash: str) -> int:
    script = (
        "import sys, trunkline as tl\n"
        "from trunkline.ingests.keeper import Keeper\n"
        "with tl.open(sys.argv[1], author='x') as lake:\n"
        "    Keeper(lake._core, lease_seconds=1.0).drain()\n"
    )
    environment = {**os.environ, **({"TRUNKLINE_CRASH_AT": crash} if crash else {})}
    return subprocess.run(
        [sys.executable, "-c", script, folder], env=environment, check=False, timeout=120
    ).returncode
