"""A datum whose work is done by a Python function."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.engine.runs import Bench, Run, datum
from trunkline import errors
from trunkline.engine.runner.task import DatumInput, SetTask, read_part
from trunkline.engine.runner.ticker import STUCK

ROOT = Path(__file__).parents[2]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture(params=[False, True], ids=["in process", "isolated"])
def isolate(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def call(bench: Bench, source: str, datums=None, *, isolate=False, attempt=0, **fields) -> Run:
    """Run the function f of a module."""
    code = {"/m.py": textwrap.dedent(source)}
    work = bench.work(code=code, python="m.py:f", **fields)
    return bench.run(work, datums, isolate=isolate, attempt=attempt)


def test_files_in_and_files_out(bench, isolate):
    source = """
    def f(datum):
        one = datum.file("in")
        datum.write("/copy/" + one.name, one.read())
        datum.write("text", one.text().upper())
        datum.write("twice", "old")
        datum.write("twice", b"new")
        with one.open() as stream:
            datum.write("/stream", stream.read(3))
        (datum.out / "sub").mkdir()
        (datum.out / "sub" / "local").write_bytes(one.local.read_bytes())
        print(one.path, one.name, one.size, one.local.name, datum.id, datum.job)
    """
    run = call(bench, source, isolate=isolate)
    assert run.error == ""
    assert run.files() == {
        "/copy/a.txt": b"hello\n",
        "/text": b"HELLO\n",
        "/twice": b"new",
        "/stream": b"hel",
        "/sub/local": b"hello\n",
    }
    id_, job = run.result.id, run.work.job
    assert run.text("out") == [f"/a.txt a.txt 6 a.txt {id_} {job}"]
    assert bench.leftovers() == []


def test_many_datums_without_a_file_on_disk(bench):
    source = """
    def f(datum):
        one = datum.file("in")
        datum.write(one.name, one.read() * 2)
    """
    run = call(bench, source, bench.datums({f"/{n}": str(n) for n in range(5000)}))
    assert run.report.success == 5000
    assert len(run.report.parts) == 3
    assert run.files() == {f"/{n}": str(n).encode() * 2 for n in range(5000)}
    assert not list(bench.work_folder.glob("*/datum/*"))


def test_inputs_joins_and_groups(bench, isolate):
    lines = bench.put({"/d/a": "a", "/d/b": "b", "/c": "c", "/e": "e"})
    one = datum(
        DatumInput("left", "/d/", "c" * 32, (lines["/d/a"], lines["/d/b"]), join_on="k"),
        DatumInput("right", "/c", "c" * 32, (lines["/c"],), group_by="g"),
        DatumInput("right", "/e", "c" * 32, (lines["/e"],), group_by="g", empty_files=True),
    )
    source = """
    def f(datum):
        print({name: [file.path for file in files] for name, files in datum.inputs.items()})
        print(datum.join_on, datum.group_by)
        print([(one.read(), one.size, one.local.stat().st_size) for one in datum.inputs["right"]])
        print(datum.env["left_COMMIT"], datum.env["TL_PIPELINE"], datum.env["X"])
        for name in ("left", "nothing"):
            try:
                datum.file(name)
            except Exception as error:
                print(error)
    """
    run = call(bench, source, [one], isolate=isolate, env={"X": "1"}, secrets={"S": "topsecret"})
    assert run.error == ""
    assert run.text("out") == [
        "{'left': ['/d/a', '/d/b'], 'right': ['/c', '/e']}",
        "{'left': 'k'} {'right': 'g'}",
        "[(b'c', 1, 1), (b'', 0, 0)]",
        f"{'c' * 32} edges 1",
        "the input 'left' has 2 files: use datum.inputs",
        "\"no input is called 'nothing': there is left, right\"",
    ]


def test_large_files(bench, isolate):
    big = os.urandom(50_000)
    lines = bench.put({"/big": big}, pack_limit=1000)
    source = """
    def f(datum):
        one = datum.file("in")
        assert one.read() == one.local.read_bytes() == one.open().read()
        datum.write("x.bin", one.read())
    """
    one = datum(DatumInput("in", "/big", "c" * 32, (lines["/big"],)))
    run = call(bench, source, [one], isolate=isolate, pack_limit=1000)
    assert run.files() == {"/x.bin": big}
    assert run.result.outputs[0].split("\t")[3].startswith("data/")


@pytest.mark.parametrize(
    "body, error",
    [
        ("raise ValueError('too\\nlong')", "ValueError: too"),
        ("raise KeyError('x')", "KeyError: 'x'"),
        ("assert False", "AssertionError"),
        ("import sys; sys.exit(3)", "SystemExit: 3"),
        ("import sys; sys.exit()", "SystemExit"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("datum.write('a\\nb', '')", r"wrote a file with a bad name: 'a\nb'"),
        ("datum.write('/../b', '')", "wrote a file with a bad name: '../b'"),
        (
            "(datum.out / 'x').symlink_to('/etc/passwd')",
            "wrote a link that leads out of its folder: '/x'",
        ),
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
    ],
)
def test_failures(bench, isolate, body, error):
    source = f"def f(datum):\n    print('begun')\n    datum.write('a', 'b')\n    {body}\n"
    run = call(bench, source, bench.datums({"/1": "", "/2": ""}), isolate=isolate)
    assert [result.error for result in run.results] == [error] * 2
    assert run.files() == {}
    assert run.text("out") == ["begun"] * 2


def test_the_traceback_is_in_the_log_and_begins_in_the_users_code(bench, isolate):
    run = call(bench, "def g():\n    1 / 0\ndef f(datum):\n    g()\n", isolate=isolate)
    assert run.error == "ZeroDivisionError: division by zero"
    lines = run.text("err")
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[1].strip().startswith("File ") and lines[1].endswith('m.py", line 4, in f')
    assert lines[-1] == "ZeroDivisionError: division by zero"


def test_secrets_are_masked_in_errors(bench, isolate):
    source = "def f(datum):\n    raise ValueError(datum.env['KEY'])\n"
    run = call(bench, source, isolate=isolate, secrets={"KEY": "open sesame"})
    assert run.error == "ValueError: ***"
    assert "sesame" not in str(run.log)


def test_tries_and_error_command(bench, isolate, tmp_path):
    source = f"""
    from pathlib import Path
    def f(datum):
        count = Path({str(tmp_path / "count")!r})
        count.write_text(count.read_text() + "x" if count.exists() else "x")
        datum.write("tried", count.read_text())
        (datum.out / "also").touch()
        if len(count.read_text()) < 3:
            raise ValueError("not yet")
    """
    run = call(bench, source, isolate=isolate, datum_tries=3)
    assert (run.result.state, run.result.tries) == ("success", 3)
    assert run.files() == {"/tried": b"xxx", "/also": b""}
    bad = "def f(datum): raise ValueError"
    run = call(bench, bad, isolate=isolate, err_cmd=("sh", "-c", "ls pfs/in"))
    assert run.result.state == "recovered" and run.text("out") == ["a.txt"]


@pytest.mark.parametrize(
    "entry, error",
    [
        ("m.py:g", "python function not found: 'g' in m.py"),
        ("n.py:f", "python file not found: 'n.py' is not in the code"),
        ("../m.py:f", "python file not found: '../m.py' is not in the code"),
        ("m.py:x", "not a python function: 'x' in m.py"),
        ("bad.py:f", "SyntaxError: invalid syntax (bad.py, line 1)"),
        ("raises.py:f", "RuntimeError: at import"),
    ],
)
def test_code_that_cannot_be_called(bench, isolate, entry, error):
    code = {
        "/m.py": "x = 1\n",
        "/bad.py": "x = = 1",
        "/raises.py": "raise RuntimeError('at import')",
    }
    work = bench.work(code=code, python=entry, datum_tries=3)
    run = bench.run(work, bench.datums({"/1": "", "/2": ""}), isolate=isolate)
    assert [(result.error, result.tries) for result in run.results] == [(error, 1)] * 2


def test_without_any_code(bench):
    assert bench.run(bench.work(python="m.py:f")).error.startswith("python file not found")


def test_the_code_of_two_pipelines_is_kept_apart(bench):
    def code(name: str) -> dict[str, bytes | str]:
        return {
            "/m.py": "import helper, pkg.deep\ncalls = 0\ndef f(datum):\n"
            "    global calls\n    calls += 1\n    import late\n"
            "    print(helper.name, pkg.deep.name, late.name, calls)\n",
            "/helper.py": f"name = '{name}'\n",
            "/late.py": f"name = '{name}'\n",
            "/pkg/deep.py": f"name = '{name}'\n",
        }

    path, modules = list(sys.path), set(sys.modules)
    one = bench.work(code=code("one"), python="m.py:f")
    two = bench.work(code=code("two"), python="m.py:f")
    printed = [bench.run(work).text("out") for work in (one, two, one, two)]
    assert printed == [["one one one 1"], ["two two two 1"], ["one one one 2"], ["two two two 2"]]
    assert sys.path == path
    assert not {"helper", "late", "pkg", "pkg.deep"} & (set(sys.modules) - modules)


def test_a_module_may_have_the_name_of_another(bench, isolate):
    code = {"/json.py": "import csv\ndef f(datum):\n    print(csv.reader)\n"}
    run = bench.run(bench.work(code=code, python="json.py:f"), isolate=isolate)
    assert run.error == ""
    assert run.text("out") == ["<built-in function reader>"]


def test_what_is_printed(bench, isolate):
    source = r"""
    import logging, sys
    handler = logging.StreamHandler()
    logging.getLogger("mine").addHandler(handler)
    def f(datum):
        print("one\ntwo", end="")
        sys.stdout.buffer.write(b"\xff\n")
        sys.stderr.write("\udcff warned\n")
        logging.getLogger("mine").error("logged")
        print("unfinished", end="", flush=True)
    """
    before = sys.stdout, sys.stderr
    run = call(bench, source, bench.datums({"/1": "", "/2": ""}), isolate=isolate)
    assert (sys.stdout, sys.stderr) == before
    assert run.text("out") == ["one", "two\\xff", "unfinished"] * 2
    assert run.text("err") == ["\\udcff warned", "logged"] * 2
    assert {line["datum"] for line in run.log} == {result.id for result in run.results}


def test_live_logs(bench, isolate):
    source = (
        "import time\ndef f(datum):\n    print('early')\n    time.sleep(0.8)\n    print('late')\n"
    )
    run = call(bench, source, isolate=isolate, heartbeat=0.2)
    assert len(run.report.logs) == 2
    assert run.text("out") == ["early", "late"]


def test_time_out(bench, isolate):
    source = """
    import time
    def f(datum):
        if datum.file("in").read() == b"slow":
            try:
                time.sleep(600)
                open("MARK", "w").close()
            except Exception:
                pass
        datum.write("x" + datum.id, "")
    """
    mark = bench.folder / "slept"
    datums = bench.datums({"/1": "slow", "/2": "quick"})
    source = source.replace("MARK", str(mark))
    run = call(bench, source, datums, isolate=isolate, datum_timeout=0.4)
    assert [result.error for result in run.results] == ["timed out after 0.4 s", ""]
    assert not mark.exists(), "it was waited for"


def test_time_out_of_who_catches_everything(bench, isolate):
    source = """
    import time
    def f(datum):
        for _ in range(2):
            try:
                time.sleep(600)
            except BaseException:
                pass
        while True:
            datum.write("x", "y")
    """
    run = call(bench, source, isolate=isolate, datum_timeout=0.4)
    assert run.error == "timed out after 0.4 s"


# Nothing but the end of the process ends this: the signal is blocked, and the call is C.
HANG = """
import ctypes, signal
def f(datum):
    if datum.file("in").read() == b"hang":
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
        ctypes.{library}(None).sleep(600)
    datum.write("x" + datum.id, "")
"""


def in_a_worker(bench: Bench, source: str, **fields) -> tuple[subprocess.Popen[bytes], list]:
    work = bench.work(code={"/m.py": source}, python="m.py:f", **fields)
    datums = bench.datums({"/1": "quick", "/2": "hang", "/3": "quick"})
    (bench.folder / "task").write_bytes(SetTask(3, datums).encode())
    (bench.folder / "work.json").write_bytes(work.encode())
    code = f"""
    from pathlib import Path
    from trunkline.engine.runner.task import Work, SetTask
    from trunkline.engine.runner.execute import run_set
    work = Work.decode(Path("{bench.folder}/work.json").read_bytes())
    task = SetTask.decode(Path("{bench.folder}/task").read_bytes())
    run_set(work, task, attempt=0, unique="first")
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    return subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL), [work, datums]


@pytest.mark.slow
def test_a_function_that_cannot_be_interrupted_ends_the_worker_and_is_on_record(bench):
    worker, (work, datums) = in_a_worker(bench, HANG.format(library="CDLL"), datum_timeout=0.5)
    assert worker.wait(120) == STUCK
    run = bench.run(work, datums, attempt=1)
    assert [result.error for result in run.results] == ["", "timed out after 0.5 s", ""]
    assert run.report.repeated == 2


@pytest.mark.slow
def test_a_function_that_lets_no_thread_run_ends_the_worker(bench):
    worker, (work, datums) = in_a_worker(bench, HANG.format(library="PyDLL"), datum_timeout=0.5)
    assert worker.wait(120) == 1
    run = bench.run(work, datums, attempt=1, isolate=True)
    assert [result.error for result in run.results] == ["", "timed out after 0.5 s", ""]


@pytest.mark.parametrize(
    "body, error",
    [
        ("import ctypes; ctypes.string_at(0)", "killed by signal 11 (SIGSEGV)"),
        ("import os; os.kill(os.getpid(), 9)", "killed by signal 9 (SIGKILL)"),
        ("import os; os._exit(7)", "exited with 7"),
        ("bytearray(1 << 30)", "MemoryError"),
    ],
)
def test_a_crash_fails_one_datum_only_when_isolated(bench, body, error):
    source = f"def f(datum):\n    if datum.file('in').read() == b'bad':\n        {body}\n"
    source += "    datum.write(datum.id, '')\n"
    datums = bench.datums({"/1": "", "/2": "bad", "/3": ""})
    run = call(bench, source, datums, isolate=True, memory=700 << 20)
    assert [result.error for result in run.results] == ["", error, ""]
    assert len(run.files()) == 2
    if "SIGSEGV" in error:
        assert "Fatal Python error: Segmentation fault" in run.text("err")


def test_isolated_children_end_with_their_datum(bench, tmp_path):
    source = f"""
    import subprocess
    def f(datum):
        child = subprocess.Popen(["sleep", "600"], start_new_session=True)
        open("{tmp_path}/pid", "w").write(str(child.pid))
    """
    call(bench, source, isolate=True)
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text()}").exists()


def test_a_pool_of_a_function_is_left_alone_by_commands(bench, tmp_path):
    source = f"""
    import subprocess
    child = subprocess.Popen(["sleep", "600"])
    def f(datum):
        open("{tmp_path}/pid", "w").write(str(child.pid))
    """
    call(bench, source)
    pid = int((tmp_path / "pid").read_text())
    assert bench.run(bench.work("sh", "-c", "sleep 600 &")).report.success == 1
    assert "sleep" in Path(f"/proc/{pid}/cmdline").read_text()
    os.kill(pid, 9)
    os.waitpid(pid, 0)


def test_an_error_of_the_store_is_not_the_functions_even_if_it_catches_it(bench):
    source = "def f(datum):\n    try:\n        datum.file('in').read()\n"
    source += "    except Exception:\n        pass\n"
    (good,) = bench.datums({"/1": "one"})
    line = good.inputs[0].lines[0].replace("\t3\t", "\t2\t")
    wrong = datum(DatumInput("in", "/2", "c" * 32, (line,)))
    work = bench.work(code={"/m.py": source}, python="m.py:f")
    with pytest.raises(errors.CorruptObject):
        bench.run(work, [good, wrong])
    (part,) = [info.key for info in bench.store.list(work.parts)]
    assert [result.key for result in read_part(bench.store.get(part))] == [good.key]


def test_one_path_by_two_ways_is_an_error(bench):
    source = "def f(datum):\n    datum.write('/a', '')\n    (datum.out / 'a').touch()\n"
    assert call(bench, source).error == "wrote '/a' twice: by datum.write and into datum.out"
