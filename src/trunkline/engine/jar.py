"""Our classes for Spark's JVM: compiled when first needed, by the compiler that Spark has in it.

So a table is read and written by Spark's own code, with neither a JDK nor a jar to ship. The jar
fits one Spark and one set of sources, which its name holds. Several environments share a cache:
a jar is held while a process uses it, and goes when nobody has used it for long.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Any, BinaryIO

from trunkline.engine.java import Java
from trunkline.engine.options import HADOOP_CONF
from trunkline.engine.private_api import check_jvm
from trunkline.errors import Precondition, Unavailable

SOURCES = Path(__file__).with_name("jvm")
UNUSED_AFTER = 30 * 86400.0
_ANY_TIME = (1980, 1, 1, 0, 0, 0)
# The JVM's archive of classes fits a jar of that time: one that is made again has it too.
_ANY_MODIFIED = 1_577_836_800
_PATIENCE = 120.0
_MAKING = "making-jar-"
_held: dict[Path, BinaryIO] = {}
_private: dict[Path, Path] = {}


def jar(cache: Path, java: Java, spark_home: Path) -> Path:
    """The jar for that Spark, made now if nobody has made it yet."""
    path = jar_path(cache, spark_home)
    if _take(path):
        return path
    try:
        _make(path, java, spark_home)
    except OSError:
        path = _make_private(path, java, spark_home)
    _take(path)
    return path


def jar_path(cache: Path, spark_home: Path) -> Path:
    digest = hashlib.sha256(str(spark_home).encode())
    for found in sorted((spark_home / "jars").glob("spark-sql_*.jar")):
        facts = found.stat()
        digest.update(f"\0{found.name}\0{facts.st_size}\0{facts.st_mtime_ns}".encode())
    for source in _sources():
        digest.update(source.read_bytes())
    return cache / f"trunkline-{digest.hexdigest()[:24]}.jar"


def _sources() -> list[Path]:
    return [SOURCES / "Compile.java", *sorted(SOURCES.glob("io/trunkline/*.java"))]


def _take(path: Path) -> bool:
    """Hold the jar for as long as this process lives. False if there is none, or a damaged one."""
    with contextlib.ExitStack() as stack:
        try:
            stream = stack.enter_context(open(path, "rb"))
            with contextlib.suppress(OSError):  # a file system may have no locks
                fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
            with zipfile.ZipFile(stream) as archive:
                if archive.testzip() is not None:
                    return False
            with contextlib.suppress(PermissionError):
                # Used now. The time of change stays: the JVM's archive of classes looks at it.
                os.utime(path, (time.time(), path.stat().st_mtime))
        except (OSError, zipfile.BadZipFile, EOFError, ValueError):
            return False
        stack.pop_all()
        _held[path] = stream
    return True


def _make_private(wanted: Path, java: Java, spark_home: Path) -> Path:
    """One of this process's own, as nobody may write to the cache."""
    path = _private.get(wanted)
    if path is not None and path.exists():
        return path
    try:
        path = _private[wanted] = Path(tempfile.mkdtemp(prefix="trunkline-jar-")) / wanted.name
        atexit.register(shutil.rmtree, path.parent, ignore_errors=True)
        _make(path, java, spark_home)
    except OSError as error:
        raise Precondition(
            f"What Spark needs for tables can be written neither to {wanted.parent} "
            f"nor to {tempfile.gettempdir()}: {error.strerror or error}.",
            hint="Free some space, or set XDG_CACHE_HOME to a folder that can be written.",
        ) from None
    return path


def _make(path: Path, java: Java, spark_home: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=_MAKING) as folder:
        _compile(folder, java, spark_home)
        part = Path(folder) / "part.jar"
        with zipfile.ZipFile(part, "w") as archive:
            for found in sorted(Path(folder).rglob("*.class")):
                name = found.relative_to(folder).as_posix()
                archive.writestr(zipfile.ZipInfo(name, _ANY_TIME), found.read_bytes())
        os.utime(part, (time.time(), _ANY_MODIFIED))
        os.replace(part, path)
    _clear_unused(path)


def _compile(folder: str, java: Java, spark_home: Path) -> None:
    check_jvm(spark_home)
    compiler, *sources = _sources()
    command: list[str | Path] = [
        java.home / "bin" / "java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC",
        "-cp", spark_home / "jars" / "*", "org.codehaus.janino.SimpleCompiler",
        compiler, "Compile", folder, *sources,
    ]  # fmt: skip
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
            timeout=_PATIENCE, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise Unavailable(
            f"What tables need was not compiled within {_PATIENCE:.0f} seconds.",
            hint="Is this machine very busy? Try again.",
        ) from None
    if done.returncode:
        if "No space left on device" in done.stderr:
            raise OSError(28, "No space left on device")
        raise Precondition(
            f"Spark in {spark_home} cannot compile what tables need: {_cause(done.stderr)}",
            hint="Use pyspark 4.3.",
        )


def _cause(said: str) -> str:
    """The compiler's own words, with the file's name only."""
    causes = re.findall(r"^(?!\s+at ).*(?:Exception|Error): .*$", said, re.MULTILINE)
    cause = re.sub(r"^.*?(?:Exception|Error): ", "", (causes or ["it gave no reason"])[-1])
    return cause.replace(f"{SOURCES}/", "").replace("io/trunkline/", "")[:300]


def _clear_unused(mine: Path) -> None:
    """Remove jars that nobody holds or has used for long, and what killed processes left."""
    for other in (*mine.parent.glob("trunkline-*.jar"), *mine.parent.glob(f"{_MAKING}*")):
        with contextlib.suppress(OSError):
            if other == mine or time.time() - other.stat().st_atime < UNUSED_AFTER:
                continue
            if other.is_dir():
                shutil.rmtree(other, ignore_errors=True)
                continue
            with open(other, "rb") as stream:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                other.unlink()


def join(context: Any, path: Path) -> None:
    """Bring the classes to a Spark that runs already: to its driver, and to executors by task."""
    jvm = context._jvm
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    while loader is not None and not loader.getClass().getName().endswith("MutableURLClassLoader"):
        loader = loader.getParent()
    if loader is None:
        raise Precondition(
            "This Spark takes no more classes, and tables need some of Trunkline's.",
            hint=f"Start it with spark.driver.extraClassPath={path}.",
        )
    loader.addURL(jvm.java.io.File(str(path)).toURI().toURL())
    context._jsc.addJar(str(path))
    for name, value in HADOOP_CONF.items():
        context._jsc.hadoopConfiguration().set(name, value)
