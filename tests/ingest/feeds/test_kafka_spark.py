"""Kafka through Spark's connector, whose jar may not be had here: then it says so in one line."""

from __future__ import annotations

import pytest

from tests.ingest.feeds.lakes import Ingests
from trunkline.engine import kafka
from trunkline.engine.session import Session
from trunkline.errors import Precondition
from trunkline.ingests.keeper import Keeper

OPTIONS = {"servers": "127.0.0.1:1", "topics": ["clicks"], "connector": "spark"}


def test_a_jar_that_cannot_be_had(
    lake: Ingests, spark: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka, "CONNECTOR", "io.trunkline:no-such-connector")
    with pytest.raises(Precondition) as caught:
        kafka.KafkaTopics(spark, "127.0.0.1:1", ["clicks"], {})
    assert "io.trunkline:no-such-connector:" in caught.value.message
    assert "\n" not in caught.value.message and "connector: client" in caught.value.hint
    lake.declare("clicks", "kafka", OPTIONS)
    (done,) = Keeper(lake.core, spark=lambda: spark).drain()
    assert "cannot be fetched" in done.error and lake.commits("clicks") == []


def test_without_a_spark_it_says_so(lake: Ingests) -> None:
    lake.declare("clicks", "kafka", OPTIONS)
    (done,) = lake.drain()
    assert done.error.startswith("There is no Spark here to read Kafka with.")
