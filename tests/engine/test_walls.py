"""What is confined reaches its inputs and its outputs, and nothing else of the machine."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.engine.runs import Bench, Run
from tests.strangers import NOBODY, can_be_another, stranger
from trunkline.engine.runner.sandbox import why_no_wall
from trunkline.engine.runner.wall import SETTINGS
from trunkline.model.pipelines import Sandbox

pytestmark = pytest.mark.skipif(bool(why_no_wall()), reason="no namespaces on this machine")


@pytest.fixture
def bench() -> Iterator[Bench]:
    """Not in /dev/shm, where other tests are: those behind a wall have one of their own."""
    place = Path(__file__).parents[2] / ".tmp"
    place.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place) as folder:
        yield Bench(Path(folder))


@pytest.fixture(params=["cmd", "python"])
def tried(request: pytest.FixtureRequest, bench: Bench) -> Callable[..., Run]:
    """Runs lines of Python in a command, or in a function; what they printed."""

    def run(lines: str, **fields: Any) -> Run:
        body = textwrap.dedent(lines).strip()
        if request.param == "cmd":
            return bench.run(
                bench.work(sys.executable, "x.py", code={"/x.py": body}, sandbox="on", **fields)
            )
        code = {"/x.py": "def f(datum):\n" + textwrap.indent(body, "    ")}
        return bench.run(bench.work(code=code, python="x.py:f", sandbox="on", **fields))

    return run


def works(bench: Bench, **fields: Any) -> Run:
    return bench.run(bench.work(sandbox=Sandbox.ON, **fields))


def test_inputs_outputs_code_and_scratch_are_there(tried):
    run = tried(
        """
        import os, tempfile
        print(open("/pfs/in/a.txt").read().strip(), len(os.listdir("/tmp")) < 5)
        open("/pfs/out/b", "w").write("b")
        with tempfile.NamedTemporaryFile() as file: print(os.path.dirname(file.name) != "")
        import trunkline
        """
    )
    assert run.error == ""
    assert run.text("out") == ["hello True", "True"]
    assert run.files() == {"/b": b"b"}


def test_files_of_the_machine_are_not_there(tried, bench):
    lake = str(bench.folder / "store")
    places = ["/root/.ssh", "/home", "/etc/shadow", "/etc/ssl/private", "/run", "/var/run", "/sys",
              "/opt", "/srv", "/mnt", "/boot", "/dev/mem", "/dev/kmsg", "/dev/tty", "/dev/vda",
              "/proc/1/root/home", os.path.expanduser("~/.aws"), lake,
              str(bench.folder / "work.json"), "/.proc/1"]  # fmt: skip
    (bench.folder / "work.json").write_text("secret")
    run = tried(
        f"""
        import os
        for place in {places!r}:
            if os.path.exists(place): print(place)
        """
    )
    assert run.error == ""
    assert run.text("out") == []


STAMPED = """
d=$(stat -c %y pfs)
rm -r pfs/in && ln -s /etc pfs/in && touch -d "$d" pfs && touch pfs/out/$TL_DATUM_ID
"""
"""A link in the place of a folder, and the look of nothing having been touched."""


def test_programs_can_be_read_and_nothing_can_be_written(tried, bench):
    run = tried(
        """
        import os, sys
        for place in ("/usr/x", "/etc/passwd", "/etc/x", "/x", "/bin/x",
                      "/proc/sys/kernel/core_pattern", sys.prefix + "/x", "/dev/x"):
            try: open(place, "w").close()
            except OSError: continue
            print(place)
        """
    )
    assert run.error == ""
    assert run.text("out") == []


def test_there_is_no_network_and_no_socket_of_others(tried, bench):
    with socket.socket() as door, socket.socket(socket.AF_UNIX) as abstract:
        door.bind(("127.0.0.1", 0))
        door.listen()
        abstract.bind("\0trunkline-test-wall")
        abstract.listen()
        run = tried(
            f"""
            import socket
            for kind, where in ((socket.AF_INET, ("127.0.0.1", {door.getsockname()[1]})),
                                (socket.AF_UNIX, "\\0trunkline-test-wall"),
                                (socket.AF_INET, ("1.1.1.1", 53))):
                try: socket.socket(kind).connect(where)
                except OSError as error: print(error.strerror)
            own = socket.create_server(("127.0.0.1", 0))
            socket.create_connection(own.getsockname())
            print("its own")
            """
        )
    assert run.error == ""
    assert run.text("out") == ["Connection refused"] * 2 + ["Network is unreachable", "its own"]


def test_there_are_no_other_processes(tried, bench):
    run = tried(
        f"""
        import os
        numbers = [int(name) for name in os.listdir("/proc") if name.isdigit()]
        print(max(numbers) < 100, os.getppid() < 3)
        for pid in (1, {os.getpid()}):
            for name in ("environ", "mem", "root/etc", "fd/0", "cwd/x"):
                try: open(f"/proc/{{pid}}/{{name}}").read(1)
                except OSError: continue
                print(pid, name)
        try: os.kill({os.getpid()}, 9)
        except OSError as error: print(error.strerror)
        """
    )
    assert run.error == ""
    assert run.text("out") == ["True True", "No such process"]


def test_it_has_no_rights_and_gets_none(tried):
    run = tried(
        """
        import ctypes, os
        libc = ctypes.CDLL(None, use_errno=True)
        status = dict(line.split(":", 1) for line in open("/proc/self/status"))
        print({status[name].strip("\\t\\n0") for name in ("CapEff", "CapPrm", "CapBnd", "CapAmb")})
        print(status["NoNewPrivs"].strip())
        for flags in (0x10000000, 0x20000, 0x40000000):
            print(libc.unshare(flags))
        print(libc.mount(b"none", b"/tmp", b"tmpfs", 0, None), libc.umount2(b"/proc", 2))
        print(libc.ptrace(16, 1, 0, 0))
        try: os.mknod("/tmp/disk", 0o60600, os.makedev(8, 0))
        except OSError: print("no device")
        for name in ("null", "zero", "full", "random", "urandom"):
            try: os.chmod("/dev/" + name, 0o666), print(name)
            except OSError: pass
        open("/dev/null", "w").write("x")
        """
    )
    assert run.error == ""
    assert run.text("out") == ["{''}", "1", *["-1"] * 3, "-1 -1", "-1", "no device"]


def test_nothing_stays_for_the_next_one(bench):
    look = "ls /tmp /dev/shm | grep -c -x left; ipcs -m 2>/dev/null | grep -c 666; cat $in"
    leave = "echo > /tmp/left; echo > /dev/shm/left; ipcmk -M 8 -p 666 >/dev/null; sleep 600 &"
    run = bench.run(
        bench.work("sh", "-c", f"{look}; {leave}", sandbox=Sandbox.ON),
        bench.datums({f"/{n}": f"{n}\n" for n in range(3)}),
    )
    assert [one.error for one in run.results] == [""] * 3
    assert run.text("out") == [text for n in range(3) for text in ("0", "0", str(n))]


@pytest.mark.parametrize(
    "trick",
    [
        "rm -r pfs/out; ln -s /etc pfs/out",
        "ln -s /etc/passwd pfs/out/x",
        "ln -s /etc pfs/out/x",
        "mv pfs x; mkdir pfs; ln -s /etc pfs/out",
        STAMPED,
    ],
)
def test_links_lead_nobody_out_who_looks_from_outside(bench, trick):
    datums = bench.datums({f"/{n}": f"{n}\n" for n in range(2)})
    run = bench.run(bench.work("sh", "-c", trick, sandbox=Sandbox.ON), datums)
    assert not any(b"root:" in data for data in run.files().values())
    assert not os.path.exists("/etc/1")
    assert bench.leftovers() == []


def test_how_it_ends_is_told(bench):
    for script, error in (
        ("exit 7", "exited with 7"),
        ("kill -9 $$", "killed by signal 9 (SIGKILL)"),
        ("kill -TERM $$", "killed by signal 15 (SIGTERM)"),
        ("sleep 600 & sleep 600", "timed out after 1 s"),
    ):
        run = works(bench, cmd=("sh", "-c", script), datum_timeout=1.0)
        assert run.error == error
    run = works(bench, cmd=("/opt/nothing",))
    assert run.error == "cannot start /opt/nothing: No such file or directory"
    assert any("sandbox.paths" in line for line in run.text("note"))


def test_folders_that_an_admin_names_can_be_read(bench, tmp_path):
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "m").write_text("model\n")
    script = f"cat {folder}/m; echo x > {folder}/m || echo no"
    run = works(bench, cmd=("sh", "-c", script), shown=(str(folder),))
    assert run.text("out") == ["model", "no"]
    assert (folder / "m").read_text() == "model\n"


def test_the_lake_is_hidden_also_below_what_is_shown(tmp_path):
    bench = Bench(tmp_path / ".trunkline")
    run = bench.run(
        bench.work("sh", "-c", f"ls -A {tmp_path}/.trunkline 2>/dev/null; echo end",
                   sandbox=Sandbox.ON, shown=(str(tmp_path),),
                   hidden=(str(tmp_path / ".trunkline"),))
    )  # fmt: skip
    assert "store" not in run.text("out")


def test_a_function_has_nothing_of_the_worker(bench, monkeypatch):
    monkeypatch.setenv("TRUNKLINE_SERVER_KEY", "k" * 32)
    source = """
    import os, sys
    def f(datum):
        print([name for name in os.environ if "KEY" in name], "pytest" in sys.modules)
        print(datum.file("in").read(), datum.env["E"], os.environ["S"])
        raise ValueError("over")
    """
    fields = {"secrets": {"S": "open sesame"}, "env": {"E": "1"}, "python": "m.py:f"}
    run = works(bench, code={"/m.py": textwrap.dedent(source)}, datum_tries=2, **fields)
    assert run.error == "ValueError: over"
    assert run.result.tries == 2
    assert run.text("out")[:2] == ["[] False", "b'hello\\n' 1 ***"]
    assert 'File "' in "".join(run.text("err"))


def test_the_error_command_is_confined_too(bench):
    run = works(bench, cmd=("false",), err_cmd=("sh", "-c", "ls /home && exit 1; exit 0"))
    assert run.result.state == "recovered"


def test_no_key_is_among_the_settings_that_are_shown():
    assert not [one for one in SETTINGS if "private" in one or "shadow" in one or "ssh" in one]


@pytest.mark.parametrize(
    "answer",
    [
        "os.mkfifo(A)",
        "os.mkdir(A)",
        "os.symlink('/etc/hosts', A)",
        "open(A, 'w').write('[' * 60000)",
    ],
)
def test_what_a_function_says_of_its_end_is_not_trusted(bench, answer):
    code = (
        f"import os\nA = os.environ['TMPDIR'] + '/answer'\ndef f(datum):\n    {answer}; os._exit(3)"
    )
    assert works(bench, code={"/m.py": code}, python="m.py:f").error == "exited with 3"


AS_NOBODY = """
import os, sys
from pathlib import Path
from tests.engine.runs import Bench
from trunkline.engine.environ import keep_to_itself
keep_to_itself()
bench = Bench(Path.cwd() / "bench")
look = f"for name in environ mem maps; do head -c 9 /proc/{os.getpid()}/$name && echo seen; done"
print(bench.run(bench.work("sh", "-c", f"{look}; id -u")).text("out"))
print(bench.run(bench.work("sh", "-c", "id -u; ls /home /run", sandbox="on")).text("out"))
"""


@pytest.mark.skipif(not can_be_another(), reason="nobody else to be here")
def test_who_has_no_rights_can_have_a_wall_and_looks_into_no_worker():
    root = Path(__file__).parents[2]
    with stranger(PYTHONPATH=os.pathsep.join((str(root), *sys.path))) as somebody:
        done = somebody.python("-c", AS_NOBODY)
    assert done.stdout.splitlines() == [f"['{NOBODY}']"] * 2, done.stderr


WITHOUT_MEANS = """
import json, sys
from pathlib import Path
from tests.engine.runs import Bench
from trunkline.engine.runner.sandbox import why_no_wall
bench = Bench(Path(sys.argv[1]))
mark = Path(sys.argv[1]) / "ran"
command = bench.run(bench.work("touch", str(mark), sandbox="on", datum_tries=3))
code = {"/m.py": f"def f(datum):\\n    open({str(mark)!r}, 'w')"}
function = bench.run(bench.work(code=code, python="m.py:f", sandbox="on"))
print(json.dumps([command.error, function.error, mark.exists(), why_no_wall()]))
"""


def test_where_none_can_be_had_nothing_runs(tmp_path):
    limit = 'echo 0 > /proc/sys/user/max_net_namespaces; exec "$@"'
    python = [sys.executable, "-c", WITHOUT_MEANS, str(tmp_path)]
    root = Path(__file__).parents[2]
    done = subprocess.run(
        ["unshare", "-Ur", "sh", "-c", limit, "sh", *python],
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(root), *sys.path))},
        capture_output=True,
        text=True,
        check=True,
    )
    command, function, ran, why = json.loads(done.stdout)
    assert command.startswith("no sandbox can be had: this machine lets its worker have no")
    assert function == command
    assert not ran
    assert why
