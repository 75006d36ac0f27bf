"""A Spark driver: started quickly and quietly, looked after, and stopped whole."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trunkline.engine import archive, buckets, failures, launch, warm
from trunkline.engine.environ import driver_environment
from trunkline.engine.home import spark_home, worker_python
from trunkline.engine.jar import jar
from trunkline.engine.java import find_java
from trunkline.engine.options import SparkOptions, local_cores
from trunkline.engine.private_api import check_python
from trunkline.engine.sessions import settle
from trunkline.errors import Precondition, TrunklineError, Unavailable, Usage
from trunkline.model.best_effort import BestEffort
from trunkline.model.recent import Recent

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)
REACH_TIMEOUT = 5.0
CONTEXT_TIMEOUT = 120.0
_MOST_SPARES = 64
_SERIAL = "-XX:+UseSerialGC"
_ADDRESS = r"(?:[^\s:/,]+|\[[^\]]+\]):\d+"
_MASTER = (
    r"local(\[(\*|[1-9]\d*)(, *\d+)?\])?|local-cluster\[.+\]|yarn|k8s://.+|"
    rf"spark://{_ADDRESS}(,{_ADDRESS})*"
)
_LOG4J = Path(__file__).with_name("log4j2.properties")


class Session:
    """A running Spark. `context` is None on Spark Connect, which has neither RDDs nor a JVM here.

    `runs` are the groups that `submit` runs, with Spark's name for each; `spares` the SQL
    sessions of pipelines that none uses just now.

    A session that was there before us (a notebook's) is used, and left running by `stop`. One of
    ours stays for the next command, if the options say so; `key` is what that must agree on.
    """

    def __init__(
        self,
        options: SparkOptions,
        context: SparkContext | None,
        spark: SparkSession | None = None,
        jvm: launch.Jvm | None = None,
        key: str = "",
    ) -> None:
        self.options = options
        self._key = key
        self.context = context
        self.jvm = jvm
        self.runs: dict[str, str] = {}
        self.spares: Recent[str, SparkSession] = Recent(_MOST_SPARES)
        self.has_classes = jvm is not None
        """Whether its JVM has our own classes, which tables need."""
        self._spark = spark
        self._lock = threading.Lock()

    @property
    def is_connect(self) -> bool:
        return self.context is None

    @property
    def spark(self) -> SparkSession:
        """The SQL session: made when first asked for, since datum jobs need none."""
        with self._lock:
            if self._spark is None:
                from pyspark.sql import SparkSession

                assert self.context is not None
                spark = SparkSession(self.context, self._after_others())
                # What somebody else's session is set to stays as it is.
                self._spark = spark if self.jvm is not None else spark.newSession()
                settle(self._spark)
        return self._spark

    def _after_others(self) -> Any:
        """In a JVM that has served others, an SQL session that knows nothing of theirs."""
        if self.jvm is None or self.jvm.commands == 1:
            return None
        return _leftovers(self.context).session()

    @property
    def cores(self) -> int:
        """How many tasks run at once, as far as Spark knows by now."""
        if self.context is None:
            return self._connect_cores
        return int(self.context.defaultParallelism)

    @cached_property
    def _connect_cores(self) -> int:
        return self.spark.range(10_000).selectExpr("spark_partition_id()").distinct().count()

    @cached_property
    def application_id(self) -> str:
        if self.context is None:
            return str(self.spark.conf.get("spark.app.id", ""))
        return str(self.context.applicationId)

    def alive(self) -> bool:
        """Whether it can take a job: its JVM runs, and Spark has not given up."""
        if self.jvm is not None and not self.jvm.alive():
            return False
        with BestEffort("Asking Spark whether it runs"):
            if self.context is None:
                return not self.spark.is_stopped  # type: ignore[attr-defined]
            return not self.context._jsc.sc().isStopped()
        return False

    def stop(self) -> None:
        """Leave it to the next command, or end it and its JVM, also one that hangs or is gone."""
        if self.jvm is None:
            if self.context is None:
                with BestEffort("Stopping Spark"):
                    self.spark.stop()
            return
        if self._key and self.alive():
            with _alarm(launch.STOP_TIMEOUT, self.jvm.kill):
                _forget_context(runs_on=True)
            if self.jvm.leave(self.options, self._key):
                return
        with _alarm(launch.STOP_TIMEOUT, self.jvm.kill), BestEffort("Stopping Spark"):
            if self.jvm.alive():
                self.context._jsc.stop()  # type: ignore[union-attr]
        _forget_context()
        self.jvm.stop()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def start(options: SparkOptions) -> Session:
    """A session as asked for. One clear line if it cannot be had, within a bounded time."""
    session = _start(options)
    buckets.introduce(session)
    return session


def _start(options: SparkOptions) -> Session:
    spark_home()
    if options.remote:
        return _start_connect(options)
    if running := _adopt(options):
        return running
    _reach_one(_masters(options.master))
    if left := _take(options):
        return left
    java, extra = find_java(), ""
    wanted = archive.archive_path(options.cache, java, spark_home())
    ready = options.archive and archive.is_ready(wanted)
    if ready:
        extra = archive.use_option(wanted)
    session = _start_jvm(options, extra)
    if options.archive and not ready:
        archive.make_in_background(options.cache)
    return session


def is_running() -> bool:
    """Whether this process has a Spark already: `start` would use that one."""
    if "pyspark" not in sys.modules:
        return False
    from pyspark import SparkContext

    return SparkContext._active_spark_context is not None


def rehearse(cache: Path, java_option: str, patience: float) -> None:
    """Start Spark with that option of Java's, use what jobs use, and wait for the JVM to end."""
    options = SparkOptions(master="local[1]", memory=1 << 30, cache=cache, archive=False)
    session = _start_jvm(options, java_option)
    try:
        assert session.context is not None
        session.context.parallelize([b"x"], 1).map(bytes.upper).collect()
        session.spark.range(10).selectExpr("id % 3 AS k").groupBy("k").count().collect()
        _rehearse_tables(session)
        session.spark.stop()
    finally:
        _forget_context()
        if session.jvm is not None:
            session.jvm.stop(patience)


def _rehearse_tables(session: Session) -> None:
    from trunkline.engine import tables
    from trunkline.model.tables import Format, Scan, ScanFile, Schema

    with tempfile.TemporaryDirectory() as folder:
        frame = session.spark.range(10).selectExpr("id", "cast(id % 3 AS string) AS k")
        done = tables.write(session, frame, stem=f"file:{folder}/x-", partition_by=["k"])
        files = tuple(ScanFile(one.uri, one.size, one.folder, one.stats) for one in done.files)
        columns = tables.schema_of(frame)
        inside, parts = Schema(columns.columns[:1]), Schema(columns.columns[1:])
        scan = Scan("rehearsal", Format.PARQUET, inside, parts, files)
        tables.read(session, [scan], columns).filter("id > 3").groupBy("k").count().collect()


def _conf(options: SparkOptions) -> dict[str, str]:
    conf = options.spark_conf()
    _add_jar(conf, jar(options.cache, find_java(), spark_home()), is_local=options.is_local)
    return conf


def _environment(options: SparkOptions, conf: Mapping[str, str]) -> dict[str, str]:
    environ = driver_environment(os.environ)
    if options.is_local:
        environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")  # whatever the host's name resolves to
    python = conf.get("spark.pyspark.python") or os.environ.get("PYSPARK_PYTHON") or sys.executable
    return {**environ, "PYSPARK_PYTHON": python}


def _key(options: SparkOptions, conf: Mapping[str, str], environ: Mapping[str, str]) -> str:
    """Empty where Spark ends with its command."""
    if not options.is_local or options.linger <= 0:
        return ""
    java = find_java()
    return warm.key_of(conf, environ, str(java.home), java.version, str(spark_home()))


def _take(options: SparkOptions) -> Session | None:
    """The Spark that an earlier command left. Whatever is wrong with it, another is started."""
    conf = _conf(options)
    environ = _environment(options, conf)
    key = _key(options, conf, environ)
    jvm = launch.take(options, key) if key else None
    if jvm is None:
        return None
    python = environ["PYSPARK_PYTHON"]
    script = jvm.folder / "python"
    try:
        context = _make_context(jvm, str(script) if script.exists() else python)
        # Its own Python workers: those of other commands hold modules and folders of theirs.
        context.environment["TRUNKLINE_COMMAND"] = str(jvm.commands)
        session = Session(options, context, jvm=jvm, key=key)
        if session.alive():
            return session
    except Exception:
        log.debug("The Spark that was left does not answer; starting another", exc_info=True)
    _forget_context()
    jvm.stop(0)
    return None


def _start_jvm(options: SparkOptions, java_options: str) -> Session:
    conf = _conf(options)
    environ = _environment(options, conf)
    key, python = _key(options, conf, environ), environ["PYSPARK_PYTHON"]
    collector = _SERIAL if options.is_local and local_cores(options.master) <= 2 else ""
    ours = f'{collector} "-Dlog4j2.configurationFile={_LOG4J.as_uri()}" {java_options} '
    conf["spark.driver.extraJavaOptions"] = ours + conf.get("spark.driver.extraJavaOptions", "")
    try:
        jvm = launch.launch(
            find_java(), spark_home(), conf, logs=options.cache / "logs", environ=environ
        )
    except launch.JvmEnded as ended:
        raise failures.explain(ended.said) from None
    try:
        if options.is_local:
            python = worker_python(jvm.folder, python)
        context = _make_context(jvm, python)
        if key:
            _leftovers(context).remember(context._jsc.sc())
        return Session(options, context, jvm=jvm, key=key)
    except BaseException as error:
        said, log = str(error) if jvm.alive() else f"{jvm.said()}\n{error}", jvm.log
        _forget_context()
        jvm.stop(0)
        if isinstance(error, TrunklineError) or not isinstance(error, Exception):
            raise
        raise failures.explain(said, log) from None


def _add_jar(conf: dict[str, str], own: Path, *, is_local: bool) -> None:
    """Our classes, for the driver by its class path: it must know them before any job does."""
    others = conf.get("spark.driver.extraClassPath")
    conf["spark.driver.extraClassPath"] = f"{own}:{others}" if others else str(own)
    if not is_local:
        others = conf.get("spark.jars")
        conf["spark.jars"] = f"{own},{others}" if others else str(own)


def _make_context(jvm: launch.Jvm, python: str) -> SparkContext:
    from pyspark import SparkConf, SparkContext

    check_python()
    late = threading.Event()

    def give_up() -> None:
        late.set()
        jvm.kill()

    with _alarm(CONTEXT_TIMEOUT, give_up), _own_interrupts():
        try:
            gateway = launch.connect(jvm)
            if jvm.commands == 1:
                context = SparkContext(conf=SparkConf(_jvm=gateway.jvm), gateway=gateway)
            else:
                running = gateway.jvm.io.trunkline.Leftovers.context()
                conf = SparkConf(_jconf=running.sc().conf())
                context = SparkContext(conf=conf, gateway=gateway, jsc=running)
        except Exception:
            if late.is_set():
                raise Unavailable(
                    f"Spark was not ready within {CONTEXT_TIMEOUT:.0f} seconds.",
                    hint=f"Check spark.master; the log is {jvm.log}.",
                ) from None
            raise
    context.pythonExec = python
    failures.hush()
    # It would print a traceback when the JVM is gone; `alive` and the job say that better.
    context._accumulatorServer.handle_error = lambda *_: None  # type: ignore[method-assign]
    return context


@contextlib.contextmanager
def _own_interrupts() -> Iterator[None]:
    """Keep our handler of Ctrl-C: pyspark puts its own in its place."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ours = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, ours)


@contextlib.contextmanager
def _alarm(seconds: float, action: Callable[[], Any]) -> Iterator[None]:
    timer = threading.Timer(seconds, action)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _leftovers(context: Any) -> Any:
    return context._jvm.io.trunkline.Leftovers


def _forget_context(*, runs_on: bool = False) -> None:
    """Let the next session have a JVM of its own: pyspark keeps the first one's gateway forever.

    One that runs on is only let go of.
    """
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    gateway, context = SparkContext._gateway, SparkContext._active_spark_context
    if gateway is not None:
        with BestEffort("Letting go of Spark"):
            if runs_on:
                _end_callbacks(gateway)
                gateway.close()
            else:
                gateway.shutdown()
    if server := getattr(context, "_accumulatorServer", None):
        # The context's own `stop` would wait for it, up to a second and for nothing.
        threading.Thread(target=server.shutdown, daemon=True).start()
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = None


def _end_callbacks(gateway: Any) -> None:
    """What the JVM asks of this process while a stream runs. Whoever waits for a question reads
    an end first: to close what another thread reads from would wait for that thread."""
    server = gateway._callback_server
    for connection in list(server.connections) if server is not None else ():
        with contextlib.suppress(OSError):
            connection.socket.shutdown(socket.SHUT_RDWR)
    gateway.shutdown_callback_server()


def _adopt(options: SparkOptions) -> Session | None:
    """The Spark that runs in this process already: of a notebook, or of spark-submit."""
    if "PYSPARK_GATEWAY_PORT" not in os.environ and "pyspark" not in sys.modules:
        return None
    from pyspark import SparkContext

    check_python()
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        return Session(options, SparkContext.getOrCreate())
    context = SparkContext._active_spark_context
    running = None if context is None else Session(options, context)
    if running and not running.alive():
        _forget_context()
        return None
    return running


def _start_connect(options: SparkOptions) -> Session:
    host, _, port = options.remote.removeprefix("sc://").partition("/")[0].partition(":")
    if not options.remote.startswith("sc://") or not host:
        raise Usage(f'spark.remote: "{options.remote}" is not of the form sc://host:port.')
    address = f"{host}:{port or 15002}"
    _reach(address, "spark.remote")
    try:
        from pyspark.sql.connect.session import SparkSession as ConnectSession
    except ImportError as error:
        raise Precondition(
            f"Spark Connect needs more packages: {error}.".replace("\n", " "),
            hint="pip install 'trunkline[connect]'.",
        ) from None
    builder = ConnectSession.builder.remote(options.remote)
    for name, value in options.conf.items():
        builder = builder.config(name, value)
    try:
        spark: Any = builder.create()
        spark.version  # noqa: B018  asks the server
    except Exception as error:
        raise failures.explain(str(error)) from None
    return Session(replace(options, archive=False), None, spark)


def _masters(master: str) -> list[str]:
    """The addresses in spark://a:7077,b:7077; a master of another kind has none that we know."""
    if not re.fullmatch(_MASTER, master):
        raise Usage(
            f'spark.master: "{master}" is not a master that Spark knows.',
            hint="Use local[*], local[4], spark://host:port, yarn or k8s://host:port.",
        )
    return master.removeprefix("spark://").split(",") if master.startswith("spark://") else []


def _reach_one(masters: list[str]) -> None:
    """With several masters, one leads and the others may be away."""
    for address in masters[:-1]:
        with contextlib.suppress(Unavailable):
            _reach(address, "spark.master")
            return
    if masters:
        _reach(masters[-1], "spark.master")


def _reach(address: str, setting: str) -> None:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), REACH_TIMEOUT).close()
    except (OSError, ValueError):
        raise Unavailable(
            f"{setting}: nothing answers at {address}.",
            hint="Check the address, and that Spark runs there.",
        ) from None
