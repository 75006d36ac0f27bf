"""A Spark that stays for the next command: what is handed on, what is not, and how it ends."""

import os
import signal
import stat
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.spark import ROOT, SHORT_LIVED, python
from tests.waiting import until
from trunkline.engine import warm
from trunkline.engine.options import cache_folder

BEGIN = f"""
    import json, os, sys
    from pathlib import Path
    from trunkline.engine import warm
    from trunkline.engine.options import SparkOptions
    from trunkline.engine.session import start

    def options(**others):
        conf = {{"spark.driver.extraJavaOptions": "{SHORT_LIVED}"}}
        given = {{"master": "local[1]", "memory": 1 << 30, "linger": 600.0, "conf": conf}}
        return SparkOptions(cache=Path({str(cache_folder())!r}), **(given | others))
"""


METASTORE = {
    "spark.sql.catalogImplementation": "hive",
    "spark.driver.extraJavaOptions": f"{SHORT_LIVED} -Dderby.system.home=PLACE",
}


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A TMPDIR of the test's own, its Sparks are nobody else's; sockets have short paths."""
    with tempfile.TemporaryDirectory(prefix="warm-", ignore_cleanup_errors=True) as folder:
        monkeypatch.setenv("TMPDIR", folder)
        monkeypatch.setattr(tempfile, "tempdir", None)
        yield Path(folder)
        warm.stop_all()
    tempfile.tempdir = None


def is_running(pid: int) -> bool:
    return not warm.is_gone(pid)


@pytest.mark.slow
def test_nothing_that_a_command_leaves_reaches_the_next(place):
    """Views, caches, settings and properties in the JVM; modules, an environment and a folder in
    Python's workers."""
    look = """
        def looks(session):
            context, spark = session.context, session.spark.newSession()
            system = context._jvm.java.lang.System
            hadoop = context._jsc.hadoopConfiguration()
            def in_worker(_):
                import os, sys
                yield "left_behind" in sys.modules, os.environ.get("LEFT"), os.getcwd()
            return {
                "pid": session.jvm.process.pid,
                "commands": session.jvm.commands,
                "tables": [row.name for row in spark.catalog.listTables()],
                "global": [row.name for row in spark.catalog.listTables("global_temp")],
                "functions": spark.catalog.functionExists("mine"),
                "conf": spark.conf.get("spark.sql.shuffle.partitions"),
                "hadoop": hadoop.get("fs.s3a.bucket.b.secret.key"),
                "opened": hadoop.get("fs.tlslice.impl"),
                "property": system.getProperty("left.behind"),
                "cached": len(context._jsc.getPersistentRDDs()),
                "checkpoints": context.getCheckpointDir(),
                "worker": context.parallelize([0], 1).mapPartitions(in_worker).collect()[0],
            }
    """
    first = python(
        BEGIN,
        look,
        """
        from dataclasses import replace
        bucket = {"fs.s3a.bucket.b.secret.key": "hush"}
        with start(options(bucket=bucket)) as session:
            clean = looks(session)
            context, spark = session.context, session.spark
            spark.range(3).createOrReplaceTempView("v")
            spark.range(3).createOrReplaceGlobalTempView("g")
            spark.udf.register("mine", lambda x: x)
            spark.conf.set("spark.sql.shuffle.partitions", "77")
            spark.range(3).cache().count()
            context.parallelize([1]).cache().count()
            context.setCheckpointDir(os.environ["TMPDIR"] + "/checkpoints")
            context._jvm.java.lang.System.setProperty("left.behind", "yes")
            def spoil(_):
                import os, sys, types
                sys.modules["left_behind"] = types.ModuleType("left_behind")
                os.environ["LEFT"] = "yes"
                os.chdir("/")
                yield 1
            context.parallelize([0], 1).mapPartitions(spoil).collect()
            context._jsc.hadoopConfiguration().unset("fs.tlslice.impl")
        print(json.dumps(clean))
        """,
    )
    second = python(
        BEGIN, look, "with start(options()) as session: print(json.dumps(looks(session)))"
    )
    assert (first["hadoop"], first["commands"]) == ("hush", 1)
    assert second == {**first, "hadoop": None, "commands": 2}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("made", "conf"),
    [
        ("CREATE DATABASE other LOCATION '{theirs}'", {}),
        ("CREATE TABLE t USING parquet LOCATION '{theirs}/t' AS SELECT 1 AS id", {}),
        ("SELECT 1", METASTORE),
    ],
    ids=["database", "table", "metastore"],
)
def test_where_a_catalog_holds_something_it_is_kept_and_nobody_else_is_served(place, made, conf):
    """It may be a metastore that many share: nothing of it is dropped."""
    theirs = place / "theirs"
    theirs.mkdir()
    (theirs / "mine.txt").write_text("mine")
    found = python(
        BEGIN,
        f"""
        with start(options(conf={conf!r})) as session:
            session.spark.sql({made.format(theirs=theirs)!r}).collect()
            print(json.dumps({{"pid": session.jvm.process.pid}}))
        """.replace("PLACE", str(place)),
    )
    until(lambda: not is_running(found["pid"]))
    assert warm.waiting() == []
    assert (theirs / "mine.txt").read_text() == "mine"
    assert (theirs / "t").exists() == ("/t'" in made)


@pytest.mark.slow
def test_who_may_use_it_and_how_it_ends(place):
    """One process plays several commands: each owns what it took until it stops."""
    found = python(
        BEGIN,
        """
        import contextlib, tempfile, time
        def play(**others):
            session = start(options(**others))
            pid = session.jvm.process.pid
            total = session.context.parallelize([1, 2]).sum()
            session.stop()
            return pid, total
        first, again = play(), play()
        waiting = [spark.pid for spark in warm.waiting()]
        # Two at once: the one that is at work is nobody else's.
        one = start(options())
        taken = warm.waiting()
        one.stop()
        # Another setting needs another JVM, which takes the place of the first.
        other = play(conf={"spark.sql.cbo.enabled": "true"})
        after = [spark.pid for spark in warm.waiting()]
        # One that has died, however, is no trouble to who would have had it.
        os.kill(other[0], 9)
        fresh = play(conf={"spark.sql.cbo.enabled": "true"})
        # Nobody waits for one that is not to stay.
        alone = play(linger=0.0, conf={"spark.sql.cbo.enabled": "false"})
        # What goes on when its command leaves is ended.
        busy = start(options(conf={"spark.sql.cbo.enabled": "true"}))
        import threading
        def long():
            with contextlib.suppress(Exception):
                busy.spark.range(0, 1 << 40, 1, 1).selectExpr("sum(id * id % 7)").collect()
        threading.Thread(target=long, daemon=True).start()
        while not busy.context._jsc.sc().statusTracker().getActiveJobIds():
            time.sleep(0.05)
        stuck = busy.jvm.process.pid
        busy.stop()
        while not warm.is_gone(stuck):
            time.sleep(0.05)
        (folder,) = Path(tempfile.gettempdir()).glob("trunkline-warm-*")
        print(json.dumps({
            "first": first, "again": again, "waiting": waiting, "taken": len(taken),
            "other": other, "after": after, "fresh": fresh, "alone": alone, "stuck": stuck,
            "end": len(warm.waiting()), "mode": oct(folder.stat().st_mode & 0o777),
            "left": [path.name for path in folder.glob("*.sock")],
        }))
        """,
    )
    pid = found["first"][0]
    assert found["again"] == [pid, 3]
    assert (found["waiting"], found["taken"]) == ([pid], 0)
    assert found["other"][0] != pid
    assert found["after"] == [found["other"][0]]
    assert found["fresh"][0] not in (pid, found["other"][0])
    assert found["alone"][0] != found["fresh"][0] == found["stuck"]
    assert (found["end"], found["left"], found["mode"]) == (0, [], "0o700")
    assert not any(map(is_running, (pid, found["other"][0], found["alone"][0], found["stuck"])))


@pytest.mark.slow
def test_it_ends_with_its_owner_when_it_is_idle_and_when_it_is_told(place):
    def owner(*then: str, linger: float = 600.0) -> tuple[subprocess.Popen[str], int]:
        lines = [*map(textwrap.dedent, (BEGIN, f"session = start(options(linger={linger}))"))]
        lines += ["print(session.jvm.process.pid, flush=True)", *then]
        process = subprocess.Popen(
            [sys.executable, "-c", "\n".join(lines)], stdout=subprocess.PIPE, text=True, cwd=ROOT
        )
        assert process.stdout is not None
        return process, int(process.stdout.readline())

    process, pid = owner("sys.stdin.read()")
    process.send_signal(signal.SIGKILL)
    process.communicate()
    until(lambda: not is_running(pid))
    assert warm.waiting() == []

    process, pid = owner("session.stop()", linger=1.0)
    process.communicate()
    until(lambda: not is_running(pid))
    until(lambda: warm.waiting() == [])

    process, pid = owner("session.stop()")
    process.communicate()
    assert [spark.pid for spark in warm.waiting()] == [pid]
    assert warm.stop_all() == 1
    assert not is_running(pid)
    assert (warm.waiting(), warm.stop_all()) == ([], 0)


def test_where_others_could_come_in_none_is_left(place):
    folder = place / f"trunkline-warm-{os.getuid()}"
    folder.mkdir(mode=0o755)
    folder.chmod(0o755)
    assert warm.take(cache_folder(), "key") is None
    spark = warm.Warm(1, 2, "secret", "/nowhere", "/nowhere/log", "key", 1, 1, 0.0, 1, 60.0)
    assert not warm.leave(cache_folder(), spark, 0, 0)
    assert list(folder.iterdir()) == []
    assert stat.S_IMODE(folder.stat().st_mode) == 0o755


def test_a_keeper_that_hangs_or_talks_nonsense_is_passed_over(place, monkeypatch):
    import socket

    monkeypatch.setattr(warm, "_ANSWER_WITHIN", 0.2)
    folder = place / f"trunkline-warm-{os.getuid()}"
    folder.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(warm.socket_of(folder, cache_folder())))
        door.listen()
        began = time.monotonic()
        assert warm.take(cache_folder(), "key") is None
        assert warm.waiting() == []
        assert time.monotonic() - began < 60
    assert warm.stop_all() == 0
