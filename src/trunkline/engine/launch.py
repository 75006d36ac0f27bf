"""Spark's JVM as a process of ours: its command, environment, log, and its end.

pyspark would start it with this process's whole environment, settings on the command line for
everyone to read, and its chatter on the user's terminal.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import struct
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from trunkline.engine import warm
from trunkline.engine.java import Java
from trunkline.engine.options import SparkOptions, local_cores
from trunkline.engine.warm import TakenProcess
from trunkline.errors import DiskFull, Unavailable

START_TIMEOUT = 120.0
STOP_TIMEOUT = 10.0
KEPT_LOGS = 10
_LOG_AGE = 7 * 86400.0
_FOLDER = "trunkline-spark-"
_ANSWER, _PROPERTIES, _LOCK = "gateway", "spark.properties", "in-use"


@dataclass(frozen=True, slots=True)
class Jvm:
    """A running driver JVM, and where its gateway answers."""

    process: subprocess.Popen[bytes] | TakenProcess
    port: int
    secret: str
    folder: Path
    lock: IO[bytes]
    log: Path
    started: float = field(default_factory=time.time)
    commands: int = 1
    """How many commands it has served, with this one."""

    def alive(self) -> bool:
        return self.process.poll() is None

    def stop(self, timeout: float = STOP_TIMEOUT) -> int | None:
        """Close its stdin, upon which it ends; kill it if it does not."""
        with contextlib.suppress(OSError):
            if self.process.stdin is not None:
                self.process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout)
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.lock.close()
        return self.process.returncode

    def kill(self) -> None:
        if self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                self.process.send_signal(signal.SIGKILL)
            self.process.wait()

    def said(self) -> str:
        return tail(self.log)

    def leave(self, options: SparkOptions, key: str) -> bool:
        """Leave it, running, to the next command that has the same key. False if it may not."""
        stdin = self.process.stdin
        if self.commands >= warm.MOST_COMMANDS or stdin is None or not self.alive():
            return False
        left = warm.Warm(
            self.process.pid, self.port, self.secret, str(self.folder), str(self.log), key,
            options.driver_memory, local_cores(options.master), self.started, self.commands,
            options.linger, time.time(),
        )  # fmt: skip
        if not warm.leave(options.cache, left, stdin.fileno(), self.lock.fileno()):
            return False
        stdin.close()
        self.lock.close()
        if isinstance(self.process, subprocess.Popen):
            threading.Thread(target=self.process.wait, daemon=True).start()
        return True


def take(options: SparkOptions, key: str) -> Jvm | None:
    """One that an earlier command has left, now ours."""
    taken = warm.take(options.cache, key)
    if taken is None:
        return None
    left, stdin, lock = taken
    process = TakenProcess(left.pid, os.fdopen(stdin, "wb"))
    return Jvm(
        process, left.port, left.secret, Path(left.folder), os.fdopen(lock, "wb"),
        Path(left.log), left.started, left.commands + 1,
    )  # fmt: skip


def launch(
    java: Java,
    spark_home: Path,
    conf: Mapping[str, str],
    *,
    logs: Path,
    environ: Mapping[str, str],
    timeout: float = START_TIMEOUT,
) -> Jvm:
    """Start a driver JVM and wait until its gateway answers; else `Unavailable`."""
    try:
        _clear_away()
        folder = Path(tempfile.mkdtemp(prefix=_FOLDER))
        lock = _lock(folder)
    except OSError as error:
        raise DiskFull(f"Spark cannot start: no temporary folder ({error.strerror}).") from None
    try:
        log, stream = _open_log(logs, folder)
        with stream:
            jvm = _start(java, spark_home, conf, folder, lock, log, stream, environ)
        try:
            return _answered(jvm, timeout)
        except BaseException:
            jvm.kill()
            raise
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        lock.close()
        if isinstance(error, OSError):
            raise Unavailable(f"Spark cannot start: {error.strerror or error}.") from None
        raise


def _start(
    java: Java,
    spark_home: Path,
    conf: Mapping[str, str],
    folder: Path,
    lock: IO[bytes],
    log: Path,
    stream: IO[bytes],
    environ: Mapping[str, str],
) -> Jvm:
    properties = folder / _PROPERTIES
    # A file of 0600 in a folder of 0700: settings may hold passwords.
    with open(os.open(properties, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as out:
        local = {"spark.sql.warehouse.dir": str(folder / "tables")}
        out.writelines(_properties({**local, **conf}))
    # The variable would win over the setting, so it is left out where somebody has set that.
    scratch = {} if "spark.local.dir" in conf else {"SPARK_LOCAL_DIRS": str(folder)}
    environ = {name: value for name, value in environ.items() if name != "SPARK_LOCAL_DIRS"}
    process = subprocess.Popen(
        [spark_home / "bin" / "spark-submit", "--properties-file", properties,
         "--load-spark-defaults", "pyspark-shell"],
        stdin=subprocess.PIPE, stdout=stream, stderr=stream, cwd=folder,
        env={
            **environ, "JAVA_HOME": str(java.home), "SPARK_HOME": str(spark_home),
            **scratch, "SPARK_CONNECT_MODE": "0",
            "_PYSPARK_DRIVER_CONN_INFO_PATH": str(folder / _ANSWER),
        },
        start_new_session=True,  # Ctrl-C is for us; the JVM ends when its stdin closes
    )  # fmt: skip
    return Jvm(process, 0, "", folder, lock, log)


def _answered(jvm: Jvm, timeout: float) -> Jvm:
    """The same JVM, once it has said where its gateway is."""
    answer, end = jvm.folder / _ANSWER, time.monotonic() + timeout
    while not answer.exists():  # it is renamed into place, whole
        if not jvm.alive():
            raise JvmEnded(jvm.said())
        if time.monotonic() > end:
            raise Unavailable(
                f"Spark's JVM did not answer within {timeout:.0f} seconds.",
                hint=f"The machine may be overloaded; its log is {jvm.log}.",
            )
        time.sleep(0.02)
    content = answer.read_bytes()
    port, length = struct.unpack("!ii", content[:8])
    for read in (answer, jvm.folder / _PROPERTIES):
        read.unlink(missing_ok=True)  # both hold secrets
    return replace(jvm, port=port, secret=content[8 : 8 + length].decode())


def _lock(folder: Path) -> IO[bytes]:
    """Held as long as this process lives: the folder is in use."""
    lock = open(folder / _LOCK, "wb")  # noqa: SIM115  closed with the JVM
    fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    return lock


def _clear_away() -> None:
    """Remove what sessions left behind that were killed together with their JVM."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_FOLDER}*"):
        with contextlib.suppress(OSError), open(folder / _LOCK, "rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if folder.stat().st_uid == os.getuid():
                shutil.rmtree(folder, ignore_errors=True)


class JvmEnded(Exception):
    """The JVM ended before it answered; `said` is the end of its log."""

    def __init__(self, said: str) -> None:
        super().__init__(said)
        self.said = said


def _properties(conf: Mapping[str, str]) -> Iterator[str]:
    for name, value in conf.items():
        escaped = value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
        yield f"{name} = {escaped}\n"


def _open_log(logs: Path, folder: Path) -> tuple[Path, IO[bytes]]:
    """A new log in the cache folder; in the temporary one where that cannot be written."""
    try:
        logs.mkdir(parents=True, exist_ok=True)
        for old in sorted(logs.glob("spark-*.log"))[:-KEPT_LOGS]:
            # Its Spark may still run, and say that its log is there.
            if time.time() - old.stat().st_mtime > _LOG_AGE:
                old.unlink(missing_ok=True)
        unique = folder.name.rpartition("-")[2]
        log = logs / f"spark-{time.strftime('%Y%m%d-%H%M%S')}-{unique}.log"
        return log, open(log, "ab")
    except OSError:
        log = folder / "spark.log"
        return log, open(log, "ab")


def tail(log: Path, size: int = 20_000) -> str:
    try:
        with open(log, "rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - size))
            return file.read().decode(errors="replace")
    except OSError:
        return ""


def connect(jvm: Jvm) -> Any:
    """pyspark's gateway to that JVM."""
    from pyspark.java_gateway import launch_gateway

    # pyspark takes the address of a JVM that runs already from these two variables alone.
    address = {"PYSPARK_GATEWAY_PORT": str(jvm.port), "PYSPARK_GATEWAY_SECRET": jvm.secret}
    before = {name: os.environ.get(name) for name in address}
    os.environ.update(address)
    try:
        return launch_gateway()  # type: ignore[no-untyped-call]
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
