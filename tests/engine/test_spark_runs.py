"""The runner inside Spark: commands run there, and none outlives its task."""

import os
import threading
from pathlib import Path

import pytest

from tests.engine.runs import Bench, Run
from tests.engine.test_submit import alive
from tests.spark import python
from tests.waiting import until
from trunkline.engine.runner.entry import run_encoded
from trunkline.engine.runner.task import SetReport, SetTask
from trunkline.engine.submit import JobCancelled, cancel, run_sets


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def encoded(bench: Bench, count: int) -> list[bytes]:
    datums = [bench.datums({f"/{n}.txt": str(n)}) for n in range(count)]
    return [SetTask(number, one).encode() for number, one in enumerate(datums)]


def waiting_work(bench: Bench) -> bytes:
    """A command that leaves its number, and that of a child, in the file `pids`, and stays."""
    script = f"sleep 600 & echo $! $$ >> {bench.folder}/pids; sleep 600"
    return bench.work("sh", "-c", script).encode()


def numbers(bench: Bench) -> list[int]:
    place = bench.folder / "pids"
    return [int(pid) for pid in place.read_text().split()] if place.exists() else []


def test_commands_run_and_their_files_are_stored(spark, bench):
    work = bench.work("sh", "-c", "tr 0-9 a-j < $in > pfs/out/$(basename $in)")
    outcome = run_sets(spark, work.encode(), encoded(bench, 4), run_encoded, group="files")
    reports = [SetReport.decode(result) for result in outcome.results]
    assert [report.number for report in reports] == [0, 1, 2, 3]
    files = [Run(bench, work, report).files() for report in reports]
    assert files == [{"/0.txt": b"a"}, {"/1.txt": b"b"}, {"/2.txt": b"c"}, {"/3.txt": b"d"}]


@pytest.mark.slow
def test_cancelling_ends_the_commands_and_removes_their_folders(spark, bench):
    def run() -> None:
        with pytest.raises(JobCancelled):
            run_sets(spark, waiting_work(bench), encoded(bench, 2), run_encoded, group="waits")

    thread = threading.Thread(target=run)
    thread.start()
    until(lambda: len(numbers(bench)) == 4)
    cancel(spark, "waits")
    thread.join(120)
    assert not thread.is_alive()
    until(lambda: not any(map(alive, numbers(bench))))
    until(lambda: not list(bench.work_folder.iterdir()))


@pytest.mark.slow
@pytest.mark.parametrize("doomed", ["jvm", "driver"])
def test_killing_spark_ends_the_commands(bench, doomed):
    (bench.folder / "errand").write_bytes(waiting_work(bench))
    (bench.folder / "set").write_bytes(encoded(bench, 1)[0])
    code = """
        import json, os, signal, sys, threading
        from pathlib import Path
        from tests.engine.test_spark_runs import end_when_it_runs
        from trunkline.engine.options import SparkOptions
        from trunkline.engine.runner.entry import run_encoded
        from trunkline.engine.session import start
        from trunkline.engine.submit import run_sets
        from trunkline.errors import Unavailable
        folder = Path(os.environ["FOLDER"])
        spark = start(SparkOptions(master="local[1]"))
        pid = spark.jvm.process.pid if os.environ["DOOMED"] == "jvm" else os.getpid()
        threading.Thread(target=end_when_it_runs, args=(folder, pid)).start()
        work, one = (folder / "errand").read_bytes(), (folder / "set").read_bytes()
        try:
            run_sets(spark, work, [one], run_encoded, group="doomed")
        except Unavailable as error:
            print(json.dumps({"error": error.message}))
        spark.stop()
    """
    if doomed == "jvm":
        found = python(code, FOLDER=str(bench.folder), DOOMED=doomed)
        assert found["error"] == "Spark ended while the job ran."
    else:
        with pytest.raises(AssertionError):
            python(code, FOLDER=str(bench.folder), DOOMED=doomed)
    assert len(numbers(bench)) == 2
    until(lambda: not any(map(alive, numbers(bench))))


def end_when_it_runs(folder: Path, pid: int) -> None:
    until(lambda: len(numbers(Bench(folder))) == 2)
    os.kill(pid, 9)
