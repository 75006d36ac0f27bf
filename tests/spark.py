"""A real Spark for tests: one session for the whole run, and a cluster for those that need one.

The session is started by the first test that asks. There can be one in a process: what a test
starts through the product itself joins it. Tests that need another Spark run in `python`.
"""

from __future__ import annotations

import atexit
import json
import os
import socket
import subprocess
import sys
import textwrap
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from trunkline.engine import session
from trunkline.engine.home import spark_home
from trunkline.engine.java import find_java
from trunkline.engine.options import SparkOptions

ROOT = Path(__file__).parent.parent
# Executors import the tests' own functions by name.
# A JVM of a test ends before code that was compiled with care has paid for the compiling.
SHORT_LIVED = "-XX:TieredStopAtLevel=1"
CONF = {
    "spark.executorEnv.PYTHONPATH": str(ROOT),
    "spark.driver.extraJavaOptions": SHORT_LIVED,
    "spark.executor.extraJavaOptions": SHORT_LIVED,
}
# For the `TRUNKLINE_SPARK_CONF` of processes that start a Spark of their own.
SHORT_LIVED_CONF = ";".join(
    f"spark.{where}.extraJavaOptions={SHORT_LIVED}" for where in ("driver", "executor")
)

_shared: session.Session | None = None


def shared_session() -> session.Session:
    """The session of this run, on two cores; a new one if a test has killed it."""
    global _shared
    if _shared is None or not _shared.alive():
        if _shared is None:
            atexit.register(_stop)
        _stop()
        _shared = session.start(SparkOptions(master="local[2]", conf=CONF))
    return _shared


def _stop() -> None:
    if _shared is not None:
        _shared.stop()


def python(*parts: str, **environ: str) -> dict[str, Any]:
    """Run code in a process of its own; what it prints last is JSON."""
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(map(textwrap.dedent, parts))],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, **environ},
        timeout=180,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == "", f"this reaches the user: {done.stderr}"
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@dataclass
class Cluster:
    """A standalone master and its workers, each a JVM of this machine."""

    url: str
    status_url: str
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def options(self, **conf: str) -> SparkOptions:
        small = {"spark.executor.memory": "512m", "spark.executor.cores": "1"}
        return SparkOptions(master=self.url, conf={**CONF, **small, **conf})

    def status(self) -> dict[str, Any]:
        with urllib.request.urlopen(self.status_url, timeout=60) as answer:
            found: dict[str, Any] = json.load(answer)
        return found

    def executors(self, number: int) -> list[psutil.Process]:
        """The executors of a worker: its children that are JVMs, none of anybody else."""
        with suppress(psutil.NoSuchProcess):
            children = psutil.Process(self.workers[number].pid).children()
            return [child for child in children if "java" in child.name()]
        return []

    def kill_worker(self, number: int) -> int:
        """SIGKILL a worker and its executors, as when the machine loses power. How many died."""
        doomed = self.executors(number)
        self.workers[number].kill()
        for executor in doomed:
            for process in [executor, *executor.children(recursive=True)]:
                with suppress(psutil.NoSuchProcess):
                    process.kill()
        self.workers[number].wait()
        return len(doomed)


@contextmanager
def standalone_cluster(folder: Path, workers: int = 2) -> Iterator[Cluster]:
    """A master and its workers, one core each, on ports of this machine alone."""
    started: list[subprocess.Popen[bytes]] = []
    host, port, page = "127.0.0.1", free_port(), free_port()
    cluster = Cluster(f"spark://{host}:{port}", f"http://{host}:{page}/json/")
    place = ["--host", host]
    try:
        master = [*place, "--port", str(port), "--webui-port", str(page)]
        started.append(_daemon(folder, "master", "master.Master", *master))
        _until(lambda: "aliveworkers" in cluster.status(), started)
        for number in range(workers):
            size = ["--cores", "1", "--memory", "600m", "--webui-port", "0"]
            where = ["--work-dir", str(folder / f"work-{number}")]
            name = f"worker-{number}"
            started.append(
                _daemon(folder, name, "worker.Worker", *place, *size, *where, cluster.url)
            )
            cluster.workers.append(started[-1])
        _until(lambda: cluster.status()["aliveworkers"] == workers, started)
        yield cluster
    finally:
        for process in reversed(started):
            _end(process)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _daemon(folder: Path, name: str, main: str, *arguments: str) -> subprocess.Popen[bytes]:
    home = spark_home()
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "JAVA_HOME": str(find_java().home),
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(folder),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
    }
    with open(folder / f"{name}.log", "wb") as log:
        return subprocess.Popen(
            [home / "bin" / "spark-class", f"org.apache.spark.deploy.{main}", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environ,
            cwd=folder,
            start_new_session=True,
        )


def _until(is_so: Any, started: list[subprocess.Popen[bytes]], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while True:
        with suppress(OSError, KeyError):
            if is_so():
                return
        assert all(process.poll() is None for process in started), "a part of the cluster ended"
        assert time.monotonic() < end, "the cluster did not come up"
        time.sleep(0.1)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Stop a daemon and what it started: executors, and Python below them."""
    below: list[psutil.Process] = []
    with suppress(psutil.NoSuchProcess):
        below = psutil.Process(process.pid).children(recursive=True)
    process.terminate()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for child in below:
        with suppress(psutil.NoSuchProcess):
            child.kill()
