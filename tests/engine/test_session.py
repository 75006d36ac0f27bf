"""Starting Spark: options, one line for what is wrong, a JVM that is ours, and a quick start."""

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.engine import runners
from tests.spark import free_port, python
from tests.strangers import modes_respected
from trunkline import settings
from trunkline.engine import archive, failures, launch
from trunkline.engine.daemon import installed_first
from trunkline.engine.environ import driver_environment
from trunkline.engine.home import spark_home
from trunkline.engine.java import find_java
from trunkline.engine.options import SparkOptions, default_memory, retrying
from trunkline.engine.session import start
from trunkline.engine.submit import run_sets
from trunkline.errors import Precondition, Unavailable, Usage


def options(tmp_path: Path, text: str = "", **environ: str) -> SparkOptions:
    file = tmp_path / "config.toml"
    file.write_text(text)
    return SparkOptions.of(settings.Settings({}, environ, file))


class TestOptions:
    def test_defaults(self, tmp_path):
        found = options(tmp_path)
        assert (found.master, found.remote, found.packages) == ("local[*]", "", ())
        conf = found.spark_conf()
        assert conf["spark.master"] == "local[*,4]"
        assert conf["spark.driver.bindAddress"] == "127.0.0.1"
        assert conf["spark.ui.enabled"] == "false"
        assert "spark.jars.packages" not in conf

    def test_any_setting_of_spark_from_the_file(self, tmp_path):
        text = '[spark]\nmemory = "2GiB"\n[spark.conf]\nspark.sql.cbo.enabled = false\n'
        found = options(tmp_path, text + '"spark.x" = "a;b"\n')
        assert found.conf == {"spark.sql.cbo.enabled": "false", "spark.x": "a;b"}
        assert found.spark_conf()["spark.driver.memory"] == "2048m"

    def test_any_setting_of_spark_from_the_environment(self, tmp_path):
        found = options(tmp_path, TRUNKLINE_SPARK_CONF="spark.ui.enabled=true; spark.x=a=b")
        assert found.spark_conf()["spark.ui.enabled"] == "true"
        assert found.conf["spark.x"] == "a=b"

    def test_a_cluster_is_not_bound_to_this_machine(self, tmp_path):
        conf = options(tmp_path, TRUNKLINE_SPARK_MASTER="spark://h:7077").spark_conf()
        assert "spark.driver.bindAddress" not in conf

    def test_packages(self, tmp_path):
        conf = options(tmp_path, TRUNKLINE_SPARK_PACKAGES="a.b:c_2.13:1.0, d:e:2").spark_conf()
        assert conf["spark.jars.packages"] == "a.b:c_2.13:1.0,d:e:2"

    @pytest.mark.parametrize(
        "environ, words",
        [
            ({"TRUNKLINE_SPARK_CONF": "sql.x=1"}, 'spark.conf: "sql.x"'),
            ({"TRUNKLINE_SPARK_CONF": "spark.x"}, "not of the form name=value"),
            (
                {"TRUNKLINE_SPARK_CONF": "spark.sql.ansi.enabled=false"},
                "ansi.enabled decides results",
            ),
            (
                {"TRUNKLINE_SPARK_CONF": "spark.sql.legacy.anything=1"},
                "legacy.anything decides results",
            ),
            ({"TRUNKLINE_SPARK_MEMORY": "64MiB"}, "512MiB or more"),
            ({"TRUNKLINE_SPARK_PACKAGES": "hadoop-aws"}, "not a Maven coordinate"),
        ],
    )
    def test_what_is_wrong_is_said_where_it_stands(self, tmp_path, environ, words):
        with pytest.raises(Usage, match=words):
            options(tmp_path, **environ)

    @pytest.mark.parametrize(
        "master, with_tries",
        [
            ("local", "local[1,4]"),
            ("local[3]", "local[3,4]"),
            ("local[*]", "local[*,4]"),
            ("local[2,1]", "local[2,1]"),
            ("local-cluster[2,1,512]", "local-cluster[2,1,512]"),
            ("spark://a:1", "spark://a:1"),
        ],
    )
    def test_local_masters_retry(self, master, with_tries):
        assert retrying(master) == with_tries

    def test_memory_fits_the_machine(self):
        assert 1 << 30 <= default_memory() <= 8 << 30


class TestBeforeJava:
    """What is wrong is said without starting anything. Run where no session is there to join."""

    @pytest.fixture(autouse=True)
    def no_session(self, monkeypatch):
        def start_jvm(*_: object) -> None:
            pytest.fail("a Java was started")

        monkeypatch.setattr("trunkline.engine.session._adopt", lambda options: None)
        monkeypatch.setattr("trunkline.engine.session._start_jvm", start_jvm)

    @pytest.mark.parametrize("master", ["foo", "local[x]", "local[0]", "spark://h", "mesos://h:1"])
    def test_no_master(self, master):
        with pytest.raises(Usage, match="not a master that Spark knows"):
            start(SparkOptions(master=master))

    def test_nobody_at_the_master(self):
        with pytest.raises(Unavailable, match=r"spark.master: nothing answers at 127.0.0.1:\d+"):
            start(SparkOptions(master=f"spark://127.0.0.1:{free_port()}"))

    def test_nobody_at_the_remote(self):
        with pytest.raises(Unavailable, match="spark.remote: nothing answers at 127.0.0.1"):
            start(SparkOptions(remote=f"sc://127.0.0.1:{free_port()}"))

    def test_no_remote(self):
        with pytest.raises(Usage, match="not of the form sc://host:port"):
            start(SparkOptions(remote="http://there"))

    def test_no_spark_at_spark_home(self, monkeypatch, tmp_path):
        monkeypatch.setenv("SPARK_HOME", str(tmp_path))
        with pytest.raises(Precondition, match="There is no Spark in"):
            start(SparkOptions())

    def test_no_java(self, monkeypatch):
        monkeypatch.setattr("trunkline.engine.java._FOLDERS", ())
        monkeypatch.setenv("PATH", "")
        monkeypatch.delenv("JAVA_HOME", raising=False)
        with pytest.raises(Precondition, match="Java 17 or newer"):
            start(SparkOptions())


class TestEnvironment:
    def test_only_what_tasks_need(self):
        environ = {"PATH": "/bin", "AWS_PROFILE": "p", "SPARK_REMOTE": "sc://x", "TOKEN": "secret"}
        environ |= {"TRUNKLINE_CATALOG": "postgres://u:p@h", "HTTPS_PROXY": "x", "LC_ALL": "C"}
        passed = driver_environment(environ)
        assert set(passed) == {"PATH", "AWS_PROFILE", "HTTPS_PROXY", "LC_ALL"}

    def test_a_task_does_not_see_ours(self, spark):
        (found,) = run_sets(spark, b"", [b"a"], runners.environment, group="environ").results
        assert b"PYTEST_CURRENT_TEST" not in found

    def test_workers_import_the_installed_pyspark(self):
        zips = [
            str(spark_home() / "python" / "lib" / name) for name in ("pyspark.zip", "p-src.zip")
        ]
        site = str(spark_home().parent)
        assert installed_first([*zips, site]) == [site]
        assert installed_first(["/elsewhere/pyspark.zip", site]) == ["/elsewhere/pyspark.zip", site]
        assert installed_first(zips) == zips


class TestFolders:
    def test_what_a_killed_session_left_is_cleared_away(self, tmp_path, monkeypatch):
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        left, used = tmp_path / "trunkline-spark-left", tmp_path / "trunkline-spark-used"
        for folder in (left, used, tmp_path / "trunkline-spark-not-ours"):
            folder.mkdir()
        launch._lock(left).close()
        with launch._lock(used):
            launch._clear_away()
        kept = {path.name.removeprefix("trunkline-spark-") for path in tmp_path.iterdir()}
        assert kept == {"used", "not-ours"}

    def test_no_secret_stays_in_the_folder(self, spark):
        assert not list(spark.jvm.folder.glob("*.properties"))
        assert not (spark.jvm.folder / "gateway").exists()


class TestArchive:
    def test_it_belongs_to_one_java_and_one_spark(self, tmp_path):
        (tmp_path / "jars").mkdir()
        jar = tmp_path / "jars" / "a.jar"
        jar.write_bytes(b"1")
        java = find_java()
        first = archive.archive_path(tmp_path, java, tmp_path)
        assert archive.archive_path(tmp_path, java, tmp_path) == first
        jar.write_bytes(b"22")
        assert archive.archive_path(tmp_path, java, tmp_path) != first

    def test_never_two_at_once(self, tmp_path):
        with archive._alone(tmp_path) as first, archive._alone(tmp_path) as second:
            assert (first, second) == (True, False)
        with archive._alone(tmp_path) as again:
            assert again

    def test_a_failure_is_not_repeated_at_each_start(self, tmp_path, monkeypatch):
        tries = []

        def fail(*_: object) -> None:
            tries.append(1)
            raise OSError("no")

        monkeypatch.setattr("trunkline.engine.session.rehearse", fail)
        with pytest.raises(OSError, match="no"):
            archive.make(tmp_path)
        assert archive.make(tmp_path) is False
        assert len(tries) == 1
        assert not list(tmp_path.glob("*.part"))

    def test_no_harm_where_nothing_can_be_written(self, tmp_path):
        tmp_path.chmod(0o500)
        with modes_respected():
            archive.make_in_background(tmp_path / "cache")
        assert not (tmp_path / "cache").exists()

    def test_no_harm_without_room(self, tmp_path, monkeypatch):
        monkeypatch.setattr(archive, "NEEDED_SPACE", 1 << 80)
        monkeypatch.setattr("subprocess.Popen", None)
        archive.make_in_background(tmp_path)

    def test_a_spoilt_archive_is_passed_over(self, tmp_path):
        bad = tmp_path / "bad.jsa"
        bad.write_bytes(b"not an archive" * 1000)
        assert archive.is_ready(bad)
        done = os.popen(f"{find_java().path} {archive.use_option(bad)} -version 2>&1").read()
        assert "version" in done


class TestExplaining:
    @pytest.mark.parametrize(
        "said, kind, words",
        [
            ("Error: Could not reserve enough space for object heap", Precondition, "memory"),
            ("java.net.BindException: Cannot assign requested address", Unavailable, "listen"),
            (": java.io.IOException: No space left on device", Unavailable, "full"),
            (
                "ModuleNotFoundError: No module named 'trunkline'",
                Precondition,
                "lacks this version",
            ),
            ('Cannot run program "/x/python": error=2', Precondition, "no Python at /x/python"),
            (
                ": java.lang.IllegalArgumentException: spark.task.cpus should be int, but was a",
                Usage,
                "spark.task.cpus should be int, but was a.",
            ),
        ],
    )
    def test_in_one_line(self, said, kind, words):
        error = failures.explain(said)
        assert type(error) is kind
        assert words in error.message

    def test_the_cause_not_the_call(self):
        said = (
            "An error occurred while calling o1.x.\n: a.b.StrangeException: odd\n\tat a.b.C(D.java)"
        )
        assert failures.explain(said).message == "Spark failed: odd."


STARTED = """
    import json, os, signal, sys
    from trunkline.engine.session import start
    from trunkline.engine.options import SparkOptions
    from trunkline.errors import TrunklineError
    def begin(**options):
        return start(SparkOptions(**options))
    def attempt(**options):
        try:
            begin(**options).stop()
        except TrunklineError as error:
            return [type(error).__name__, error.message, error.hint]
"""


class TestProcess:
    """A Spark of its own, in a process of its own. `python` asserts that stderr stays empty."""

    @pytest.mark.slow
    def test_its_jvm_ends_with_it_and_may_be_killed(self):
        code = """
            before = signal.getsignal(signal.SIGINT)
            spark = begin(master="local[1]")
            facts = {"handler": signal.getsignal(signal.SIGINT) is before, "cores": spark.cores}
            facts |= {"id": spark.application_id, "alive": spark.alive()}
            facts["folder"] = str(spark.jvm.folder)
            os.kill(spark.jvm.process.pid, signal.SIGKILL)
            spark.jvm.process.wait()
            facts["dead"] = not spark.alive()
            spark.stop()
            again = begin(master="local[2]")
            facts["again"] = again.spark.range(5).count()
            facts["pid"] = again.jvm.process.pid
            print(json.dumps(facts))
        """
        found = python(STARTED, code)
        assert found["handler"]
        assert found["cores"] == 1
        assert found["id"].startswith("local-")
        assert found["alive"]
        assert found["dead"]
        assert found["again"] == 5
        assert not Path(found["folder"]).exists()
        assert ended(found["pid"]), "the JVM ends with the process that started it"
        assert not [path for path in Path.cwd().iterdir() if path.name == "spark-warehouse"]

    @pytest.mark.slow
    def test_what_only_java_finds_wrong(self):
        code = """
            print(json.dumps({
                "memory": attempt(memory=1 << 60),
                "value": attempt(conf={"spark.memory.fraction": "many"}),
            }))
        """
        found = python(STARTED, code)
        assert found["memory"][0] == "Precondition"
        assert "memory" in found["memory"][1]
        assert found["value"][0] == "Usage"
        assert found["value"][1] == 'spark.memory.fraction is wrong: For input string: "many".'


def ended(pid: int) -> bool:
    for _ in range(200):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, 0)
            time.sleep(0.05)
            continue
        return True
    return False


ADOPTED = """
import datetime as dt
import json
import pyarrow as pa
import trunkline as tl
from pyspark.sql import SparkSession

settings = {
    "spark.ui.enabled": "false",
    "spark.sql.session.timeZone": "Asia/Tokyo",
    "spark.sql.ansi.enabled": "false",
    "spark.sql.caseSensitive": "true",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.legacy.sizeOfNull": "true",
    "spark.sql.parquet.outputTimestampType": "INT96",
    "spark.sql.parser.escapedStringLiterals": "true",
    "spark.sql.shuffle.partitions": "3",
}
builder = SparkSession.builder.master("local[1]")
for name, value in settings.items():
    builder = builder.config(name, value)
theirs = builder.getOrCreate()
lake = tl.init(FOLDER)
lake.create_repo("events")
lake.write_table("events", pa.table({"At": [dt.datetime(2026, 1, 1, 20, tzinfo=dt.UTC)]}))
QUERY = r\"\"\"SELECT CAST(at AS date) AS day, try_cast('x' AS int) AS n,
size(CAST(NULL AS array<int>)) AS s,
typeof(TIMESTAMP '2026-01-01 00:00:00') AS t, '\\x41' AS raw FROM events\"\"\"
lake.apply({"pipeline": {"name": "days"}, "input": {"pfs": {"repo": "events", "glob": "/"}},
            "transform": {"sql": QUERY}})
(job,) = lake.run().jobs
assert job.state == "success", job.reason
tables = [lake.table("days"), lake.sql(QUERY, engine="spark")]
found = [one.arrow().to_pylist() for one in tables]
hour = lake.table("events").spark().selectExpr("hour(at) AS h").collect()[0]["h"]
still = {name: theirs.conf.get(name) for name in settings}
print(json.dumps([found, hour, still == settings], default=str))
"""


@pytest.mark.slow
def test_somebody_elses_spark_computes_what_ours_does_and_stays_as_it_was(tmp_path):
    code = ADOPTED.replace("FOLDER", repr(str(tmp_path / "lake")))
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found, hour, still = json.loads(done.stdout.splitlines()[-1])
    row = {"day": "2026-01-01", "n": None, "s": None, "t": "timestamp", "raw": "x41"}
    assert found == [[row], [row]]
    assert hour == 20
    assert still


@pytest.mark.slow
def test_shuffles_go_where_spark_local_dir_says(tmp_path):
    found = python(
        f"""
        import json, os
        from trunkline.engine.options import SparkOptions
        from trunkline.engine.session import start

        conf = {{"spark.local.dir": {str(tmp_path)!r}}}
        with start(SparkOptions(master="local[1]", conf=conf, archive=False)) as session:
            session.spark.range(1000).repartition(3).count()
            print(json.dumps({{"there": os.listdir({str(tmp_path)!r})}}))
        """,
        SPARK_LOCAL_DIRS="/nowhere",
    )
    assert any(name.startswith("blockmgr-") for name in found["there"]), found


def test_an_executor_without_memory_is_not_taken_for_the_driver():
    said = "Lost task 0.3 in stage 1.0 (TID 4) (10.0.0.7 executor 3): java.lang.OutOfMemoryError: x"
    assert "executor 3 ran out" in failures.explain(said).message
    assert "driver ran out" in failures.explain("java.lang.OutOfMemoryError: x").message
