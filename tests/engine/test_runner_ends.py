"""How a set ends when things go wrong: processes, folders, disks and retries."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.runs import Bench, again, datum
from tests.waiting import until
from trunkline import errors
from trunkline.engine.runner.task import DatumInput, SetTask, read_part

ROOT = Path(__file__).parents[2]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    done = subprocess.run(mount, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"mounting is not permitted here: {done.stderr.strip()}")
    yield folder
    # The guardian of this process has its working folder there, as long as the process lives.
    subprocess.run(["umount", "-l", str(folder)], check=True)


def sh(script: str) -> tuple[str, str, str]:
    return ("sh", "-c", script)


def is_alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for stream in (sys.stdin, sys.stdout, sys.stderr):
            stream.close()
        open(sys.argv[1], "w").write(str(os.getpid()))
        time.sleep(600)
    os._exit(0)
while not (os.path.exists(sys.argv[1]) and open(sys.argv[1]).read()):
    time.sleep(0.01)
"""


class TestProcesses:
    def test_children_in_the_background_end_with_the_command(self, bench, tmp_path):
        pids = tmp_path / "pids"
        script = (
            f"sleep 600 & echo $! >> {pids}; (sleep 600; echo x > pfs/out/late) & echo $! >> {pids}"
        )
        run = bench.run(bench.work(*sh(script)), bench.datums({"/1": "", "/2": ""}))
        assert run.report.success == 2
        assert run.files() == {}, "what sleeps in the background was waited for"
        assert not any(is_alive(int(pid)) for pid in pids.read_text().split())

    def test_a_daemon_that_left_the_session_ends_too(self, bench, tmp_path):
        code = {"/daemon.py": DAEMON}
        place = tmp_path / "daemon"
        run = bench.run(bench.work("python3", "daemon.py", str(place), code=code))
        assert run.error == ""
        assert not is_alive(int(place.read_text()))

    @pytest.mark.slow
    def test_a_daemon_ends_at_the_deadline(self, bench, tmp_path):
        place = tmp_path / "daemon"
        script = f"python3 daemon.py {place}; sleep 600"
        work = bench.work(*sh(script), code={"/daemon.py": DAEMON}, datum_timeout=3)
        assert bench.run(work).error == "timed out after 3 s"
        assert not is_alive(int(place.read_text()))

    def test_a_writer_that_stays_does_not_hold_up_the_log(self, bench):
        run = bench.run(bench.work(*sh("(while :; do echo noise; done) & sleep 0.1; echo end")))
        assert run.report.success == 1 and "end" in run.text("out")

    def test_ignored_signals_are_not_inherited(self, bench):
        run = bench.run(bench.work(*sh("yes | head -n 1; grep SigIgn /proc/self/status")))
        assert run.text("out")[0] == "y"
        ignored = int(run.text("out")[1].split()[1], 16)
        assert not ignored & 1 << signal.SIGPIPE - 1

    def test_descriptors_are_not_inherited(self, bench):
        fd = os.open("/etc/passwd", os.O_RDONLY)
        os.set_inheritable(fd, True)
        found = bench.run(bench.work(*sh("ls /proc/self/fd"))).text("out")
        os.close(fd)
        assert found == ["0", "1", "2", "3"]

    def test_the_folder_this_process_is_in_stays_the_same(self, bench, monkeypatch, tmp_path):
        monkeypatch.chdir(tmp_path)
        bench.run(bench.work("true"))
        assert os.getcwd() == str(tmp_path)

    def test_no_descriptor_is_left_open(self, bench):
        bench.run(bench.work("true"))
        gc.collect()  # what earlier tests left must not go in between
        before = len(os.listdir("/proc/self/fd"))
        bench.run(bench.work("false"))
        bench.run(bench.work(*sh("cat /pfs/in/*")))
        assert len(os.listdir("/proc/self/fd")) == before


class TestDeath:
    """What a worker leaves behind that is killed."""

    def start(self, bench: Bench, script: str, **fields) -> subprocess.Popen[bytes]:
        """Run a set in a process of its own."""
        task = bench.folder / "task"
        task.write_bytes(SetTask(3, bench.datums({"/1": "1", "/2": "2", "/3": "3"})).encode())
        work = bench.folder / "work.json"
        self.work = bench.work(*sh(script), **fields)
        work.write_bytes(self.work.encode())
        code = f"""
        from pathlib import Path
        from trunkline.engine.runner.task import Work, SetTask
        from trunkline.engine.runner.execute import run_set
        work = Work.decode(Path({str(work)!r}).read_bytes())
        task = SetTask.decode(Path({str(task)!r}).read_bytes())
        run_set(work, task, attempt=0, unique="first")
        """
        return subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], cwd=ROOT)

    def test_kill_9_ends_the_children_and_removes_the_folder(self, bench):
        pids = bench.folder / "pids"
        code = {"/daemon.py": DAEMON}
        script = f"sleep 600 & echo $! >> {pids}; echo $$ >> {pids}"
        script += f"; python3 daemon.py {bench.folder}/d; sleep 600"
        worker = self.start(bench, script, code=code)
        until(lambda: (bench.folder / "d").exists() and (bench.folder / "d").read_text())
        assert len(list(bench.work_folder.iterdir())) == 1
        worker.kill()
        worker.wait()
        found = [*pids.read_text().split(), (bench.folder / "d").read_text()]
        assert len(found) == 3
        until(lambda: not any(is_alive(int(pid)) for pid in found))
        until(lambda: not list(bench.work_folder.iterdir()))

    def test_a_normal_end_removes_the_folder_too(self, bench):
        worker = self.start(bench, "mkdir -p d/e; touch d/e/f; chmod 0 d")
        assert worker.wait() == 0
        until(lambda: not list(bench.work_folder.iterdir()))

    @pytest.mark.slow
    def test_finished_datums_survive_and_are_not_run_again(self, bench):
        ran = bench.folder / "ran"
        script = f"cat $in >> {ran}; cp $in pfs/out/; [ $(cat $in) = 3 ] && sleep 600; true"
        worker = self.start(bench, script)
        until(lambda: list(bench.store.list(self.work.parts)))
        worker.kill()
        worker.wait()
        assert ran.read_text() == "123"

        datums = SetTask.decode((bench.folder / "task").read_bytes()).datums
        quick = again(self.work, cmd=sh(script.replace("sleep 600", "true")))
        run = bench.run(quick, datums, attempt=1)
        assert ran.read_text() == "1233"
        assert run.report.success == 3 and run.report.repeated == 2
        assert run.files() == {"/1": b"1", "/2": b"2", "/3": b"3"}


class TestRetries:
    def test_only_parts_of_the_same_set_and_transaction_count(self, bench):
        datums = bench.datums({"/1": "1", "/2": "2"})
        work = bench.work(*sh("echo ran; cp $in pfs/out/; [ $(cat $in) = 1 ]"))
        assert bench.run(work, datums, number=1).report.success == 1
        assert bench.run(work, datums, number=17).report.repeated == 0
        other = bench.run(again(work, txn=work.txn[::-1]), datums, number=1, attempt=1)
        assert other.report.repeated == 0

        run = bench.run(work, datums, number=1, attempt=1)
        assert (run.report.repeated, run.report.success, run.report.failed) == (2, 1, 1)
        assert run.files() == {"/1": b"1"}
        assert run.text("out") == ["ran", "ran"]

    def test_an_empty_set(self, bench):
        run = bench.run(bench.work("true"), [])
        assert run.report.parts == [] and run.report.success == 0


class TestDisks:
    def test_a_transform_that_fills_the_disk_fails_alone(self, bench, small_disk):
        datums = bench.datums({"/1": "2000000", "/2": "1000"})
        work = bench.work(*sh("head -c $(cat $in) /dev/zero > pfs/out/x"), folder=str(small_disk))
        run = bench.run(work, datums)
        assert [result.state for result in run.results] == ["failed", "success"]
        assert "No space left on device" in "".join(run.text("err"))
        assert run.files() == {"/x": bytes(1000)}

    def test_inputs_that_do_not_fit_are_not_the_datums_fault(self, bench, small_disk):
        good = bench.datums({"/1": "1"})
        big = bench.datums({"/2": os.urandom(900_000), "/3": os.urandom(900_000)}, name="big")
        both = datum(*big[0].inputs, *renamed(big[1]))
        work = bench.work(*sh("cp $in pfs/out/ 2>/dev/null; true"), folder=str(small_disk))
        with pytest.raises(errors.DiskFull, match="No space left to lay out"):
            bench.run(work, [*good, both])
        # What was finished before is kept, and the next attempt goes on from there.
        (part,) = [one.key for one in bench.store.list(work.parts) if one.key.endswith(".part")]
        assert [result.key for result in read_part(bench.store.get(part))] == [good[0].key]
        run = bench.run(again(work, folder=str(bench.work_folder)), [*good, both], attempt=1)
        assert run.report.success == 2 and run.report.repeated == 1

    def test_a_store_without_space_is_not_the_datums_fault(self, bench, small_disk):
        bench.store.check()
        crowded = Bench(small_disk)
        datums = crowded.datums({f"/{n}": "x" for n in range(4)})
        work = crowded.work(
            *sh("head -c 400000 /dev/urandom > pfs/out/$TL_DATUM_ID"),
            folder=str(bench.folder / "w"),
        )
        with pytest.raises(errors.DiskFull):
            crowded.run(work, datums)
        for one in crowded.store.list(work.parts):
            if one.key.endswith(".part"):
                for result in read_part(crowded.store.get(one.key)):
                    crowded.store.head(result.outputs[0].split("\t")[3])

    def test_damaged_input_is_an_error_and_not_a_result(self, bench):
        datums = bench.datums({"/1": "one"})
        line = datums[0].inputs[0].lines[0].replace("\t3\t", "\t2\t")
        wrong = datum(DatumInput("in", "/1", "c" * 32, (line,)))
        with pytest.raises(errors.CorruptObject, match="/1"):
            bench.run(bench.work("true"), [wrong])

    @pytest.mark.parametrize("path", ["/../x", "/a/../../x", "//x", "/a/."])
    def test_a_path_never_leads_out_of_the_folder(self, bench, path):
        line = bench.put({"/1": "one"})["/1"].replace("/1\t", f"{path}\t", 1)
        wrong = datum(DatumInput("in", path, "c" * 32, (line,)))
        with pytest.raises(errors.InvalidPath):
            bench.run(bench.work("true"), [wrong])

    def test_a_working_folder_stays_inside_and_is_a_folder(self, bench):
        for folder in ("../x", "/a/../../x"):
            with pytest.raises(errors.Usage, match="outside"):
                bench.run(bench.work("true", working_dir=folder))
        with pytest.raises(errors.Usage, match="is not a folder"):
            bench.run(bench.work("true", code={"/x": "y"}, working_dir="x"))

    def test_a_name_that_no_disk_can_hold(self, bench):
        run = bench.run(bench.work("true"), bench.datums({"/" + "n" * 300: "x"}))
        assert run.error.endswith("cannot be a file here: File name too long")


def renamed(one) -> tuple[DatumInput, ...]:
    return tuple(DatumInput("more", two.path, two.commit, two.lines) for two in one.inputs)


def test_the_system_folder_is_the_default(bench, tmp_path, monkeypatch):
    # What ran in this process before may have made one already.
    monkeypatch.setattr("trunkline.engine.runner.workspace._spaces", {})
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "elsewhere"))
    (tmp_path / "elsewhere").mkdir()
    run = bench.run(bench.work(*sh("pwd"), folder=""))
    assert run.text("out")[0].startswith(f"{tmp_path}/elsewhere/trunkline-")


def test_an_interrupt_is_passed_on(bench, monkeypatch):
    def interrupt(self, *_):
        raise KeyboardInterrupt

    monkeypatch.setattr("trunkline.engine.runner.folder.Folder.lay_out", interrupt)
    with pytest.raises(KeyboardInterrupt):
        bench.run(bench.work("true"))


def test_importing_the_runner_loads_no_spark():
    code = "import sys, trunkline.engine.runner.execute; print('pyspark' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.strip() == "False"
