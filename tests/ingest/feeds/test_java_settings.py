"""What Java's clients are told: logins of Kafka, and where JDBC finds a database. No Java here."""

from __future__ import annotations

import pytest

from trunkline.connect.databases import Database
from trunkline.errors import Precondition
from trunkline.ingests.feeds.kafkaspark import java_settings
from trunkline.ingests.feeds.sqlspark import _url
from trunkline.model.clients import KAFKA_SPARK

LOGIN = {"sasl.mechanism": "SCRAM-SHA-256", "sasl.username": 'a"b', "sasl.password": "c\\d;"}


def test_a_login_is_written_as_for_the_other_client() -> None:
    made = java_settings(LOGIN)
    assert made == {
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required "
        'username="a\\"b" password="c\\\\d;";',
    }
    assert KAFKA_SPARK.refusal("sasl.jaas.config", made["sasl.jaas.config"]) is None
    plain = java_settings({**LOGIN, "sasl.mechanism": "PLAIN"})
    assert "plain.PlainLoginModule" in plain["sasl.jaas.config"]
    with pytest.raises(Precondition, match="cannot be sent"):
        java_settings({**LOGIN, "sasl.password": "a\nb"})


def test_pem() -> None:
    given = {"ssl.ca.pem": "C", "ssl.certificate.pem": "D", "ssl.key.pem": "K"}
    assert java_settings(given) == {
        "ssl.truststore.certificates": "C",
        "ssl.truststore.type": "PEM",
        "ssl.keystore.certificate.chain": "D",
        "ssl.keystore.key": "K",
        "ssl.keystore.type": "PEM",
    }


def test_a_database_has_no_settings_of_jdbc_in_its_name() -> None:
    assert _url(Database("postgresql://a@h:1/db")) == "jdbc:postgresql://h:1/db"
    for name in ("db%3FsocketFactory=a.B", "db&a=b", "db%3Ba=b", "db%2523"):
        with pytest.raises(Precondition, match="something else to JDBC"):
            _url(Database(f"postgresql://a@h:1/{name}"))
