"""A real broker of Kafka, from Maven Central: one node that is its own controller."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from tests.spark import SHORT_LIVED, free_port
from trunkline.engine.home import spark_home
from trunkline.engine.java import find_java

PACKAGE = "org.apache.kafka:kafka_2.13:4.1.1"
PARTITIONS = 4
_START_SECONDS = 90
_PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={folder}/logs
num.partitions={partitions}
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
"""


class CannotBeHad(Exception):
    """No Maven repository is in reach."""


def jars(kept: Path) -> Path:
    """The folder with the broker's jars. Spark fetches them as it does its own packages."""
    done = kept / "fetched"
    if not done.is_file():
        shutil.rmtree(kept, ignore_errors=True)
        kept.mkdir(parents=True)
        nothing = kept / "nothing.py"
        nothing.touch()
        command = [
            str(spark_home() / "bin" / "spark-submit"), "--packages", PACKAGE,
            "--conf", f"spark.jars.ivy={kept}", str(nothing),
        ]  # fmt: skip
        environ = {**os.environ, "JAVA_HOME": str(find_java().home)}
        ran = subprocess.run(command, capture_output=True, text=True, env=environ, timeout=400)
        if ran.returncode:
            raise CannotBeHad(ran.stderr[-2000:])
        done.touch()
    return kept / "jars"


class Broker:
    def __init__(self, kept: Path, folder: Path) -> None:
        # Scala's own classes are not fetched: Spark has them.
        (scala,) = (spark_home() / "jars").glob("scala-library-2.13*.jar")
        self._classes = f"{jars(kept)}/*:{scala}"
        self._folder = folder
        port, controller = free_port(), free_port()
        self.servers = f"127.0.0.1:{port}"
        self._properties = folder / "server.properties"
        self._properties.write_text(
            _PROPERTIES.format(
                port=port, controller=controller, folder=folder, partitions=PARTITIONS
            )
        )
        name = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=").replace("-", "0")
        format_it = self._java("kafka.tools.StorageTool", "format", "-t", name, "-c")
        subprocess.run([*format_it, str(self._properties)], check=True, capture_output=True)
        self._process: subprocess.Popen[bytes] | None = None

    def _java(self, main: str, *arguments: str) -> list[str]:
        java = str(find_java().home / "bin" / "java")
        return [java, "-Xmx384m", SHORT_LIVED, "-cp", self._classes, main, *arguments]

    def start(self) -> None:
        """Also once more, after it was killed."""
        with (self._folder / "broker.log").open("ab") as log:
            self._process = subprocess.Popen(
                [*self._java("kafka.Kafka"), str(self._properties)],
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self._folder,
            )
        client = AdminClient({"bootstrap.servers": self.servers, "log_level": 0})
        deadline = time.monotonic() + _START_SECONDS
        while True:
            try:
                client.list_topics(timeout=2)
                return
            except KafkaException:
                ended = self._process.poll() is not None
                if ended or time.monotonic() > deadline:
                    said = (self._folder / "broker.log").read_text(errors="replace")
                    raise AssertionError(f"the broker did not start: {said[-3000:]}") from None

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()


@contextmanager
def a_broker(kept: Path, folder: Path) -> Iterator[Broker]:
    broker = Broker(kept, folder)
    try:
        broker.start()
        yield broker
    finally:
        broker.kill()
