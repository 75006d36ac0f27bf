"""A datum whose work is done by a command: its files, its environment, its end."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.runs import Bench, again, datum
from tests.engine.test_runner_ends import is_alive
from tests.strangers import modes_respected
from trunkline.engine.runner.task import DatumInput, SetReport
from trunkline.model.pipelines import Sandbox

ROOT = Path(__file__).parents[2]
PRINT_ENVIRONMENT = (sys.executable, "-c", "import os,json; print(json.dumps(dict(os.environ)))")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def sh(script: str) -> tuple[str, str, str]:
    return ("sh", "-c", script)


def test_each_datum_sees_its_own_file_and_what_it_writes_is_stored(bench):
    datums = bench.datums({f"/d{n % 3}/{n}.txt": "x" * n for n in range(30)})
    work = bench.work(*sh('find pfs -type f | sort; wc -c < "$in" > pfs/out/$(basename "$in")'))
    run = bench.run(work, datums)
    assert run.report.success == 30 and run.report.failed == 0
    assert [result.key for result in run.results] == [one.key for one in datums]
    assert {path: int(data) for path, data in run.files().items()} == {
        f"/{n}.txt": n for n in range(30)
    }
    assert run.text("out") == [f"pfs/in/d{n % 3}/{n}.txt" for n in range(30)]
    assert {line["datum"] for line in run.log} == {one.id for one in datums}
    assert run.report.bytes_in == sum(range(30))
    assert run.report == SetReport.decode(run.report.encode())
    assert bench.leftovers() == []


def test_names_of_objects_carry_the_transaction_and_the_set(bench):
    work = bench.work(*sh("echo hi; echo 1 > pfs/out/a; head -c 3000 /dev/zero > pfs/out/b.csv.gz"))
    run = bench.run(again(work, pack_limit=1000), number=31)
    start = f"{work.parts}{work.txn}-1fxu1x"
    assert all(key.startswith(start) and key.endswith(".part") for key in run.report.parts)
    assert all(key.startswith(start) and key.endswith(".log") for key in run.report.logs)
    small, large = (line.split("\t") for line in run.result.outputs)
    assert small[3].startswith("packs/") and f"/{work.txn}-1fxu1x" in small[3]
    assert large[3].startswith("data/") and large[3].endswith(".csv.gz")
    assert f"/{work.txn}-1fxu1x" in large[3]
    assert run.files()["/b.csv.gz"] == bytes(3000)


def test_a_datum_sees_nothing_of_the_one_before(bench):
    many = bench.put({"/x/y/1": "1", "/x/y/2": "2", "/z": "3"})
    both = datum(
        DatumInput("left", "/x/", "c" * 32, (many["/x/y/1"], many["/x/y/2"])),
        DatumInput("right", "/z", "c" * 32, (many["/z"],)),
    )
    one = datum(DatumInput("right", "/z", "c" * 32, (many["/z"],)))
    work = bench.work(
        *sh("find pfs | sort; touch pfs/stray stray; mkdir pfs/out/e; rm -r pfs/right")
    )
    run = bench.run(work, [both, one, both])
    first = ["pfs", "pfs/left", "pfs/left/x", "pfs/left/x/y", "pfs/left/x/y/1", "pfs/left/x/y/2"]
    first += ["pfs/out", "pfs/right", "pfs/right/z"]
    second = ["pfs", "pfs/out", "pfs/right", "pfs/right/z"]
    assert run.text("out") == first + second + first
    assert run.report.success == 3
    assert run.files() == {}


def test_large_inputs_are_streamed_and_stay_for_the_next_datum_if_untouched(bench):
    big = os.urandom(300_000)
    lines = bench.put({"/big": big}, pack_limit=1000) | bench.put({"/a": "a", "/b": "b", "/c": "c"})
    datums = [
        datum(
            DatumInput("model", "/big", "c" * 32, (lines["/big"],)),
            DatumInput("in", f"/{name}", "c" * 32, (lines[f"/{name}"],)),
        )
        for name in "abc"
    ]
    script = 'stat -c %i pfs/model/big; cat pfs/model/big > pfs/out/$(basename "$in")'
    run = bench.run(bench.work(*sh(script)), datums)
    assert bench.leftovers() == []
    assert set(run.files().values()) == {big} and len(run.files()) == 3
    assert len(set(run.text("out"))) == 1

    harmful = bench.work(*sh(script + "; echo x >> pfs/model/big"))
    assert set(bench.run(harmful, datums).files().values()) == {big}
    cut = bench.work(*sh(script + "; : > pfs/model/big"))
    assert set(bench.run(cut, datums).files().values()) == {big}
    gone = bench.work(*sh(script + "; rm pfs/model/big"))
    assert set(bench.run(gone, datums).files().values()) == {big}


def test_empty_files_have_names_only(bench):
    lines = tuple(bench.put({"/d/a": "aaa", "/d/b": "bbb"}).values())
    one = datum(DatumInput("in", "/d/", "c" * 32, lines, empty_files=True))
    run = bench.run(bench.work(*sh("cd pfs/in/d; ls; cat *")), [one])
    assert run.text("out") == ["a", "b"]
    assert run.result.bytes_in == 0


def test_a_link_to_an_empty_file_stands_for_the_whole_one(bench):
    """As upstream's shuffle: nothing is read, and nothing is written again."""
    files = {"/d/big": "b" * 5000, "/d/a b\u00fc": "small", "/d/none": ""}
    lines = tuple(bench.put(files, pack_limit=1000).values())
    one = datum(DatumInput("in", "/d/", "c" * 32, lines, empty_files=True))
    scripts = (
        'cd pfs/out; mkdir x; for f in /pfs/in/d/*; do ln -s "$f" "x/$(basename "$f").l"; done',
        "ln -s ../in/d pfs/out/d; ln -s d/big pfs/out/again",
        'cd pfs/out; cp "$in"/big .; mv "$in"/none .; echo 1 > "$in/a b\u00fc"; ln -s ../in/d/a* .',
    )
    runs = [bench.run(bench.work(*sh(script)), [one]) for script in scripts]
    first, second, third = (run.files() for run in runs)
    assert first == {f"/x{path[2:]}.l": text.encode() for path, text in files.items()}
    assert second == {
        **{path: text.encode() for path, text in files.items()},
        "/again": b"b" * 5000,
    }
    keys = {line.split("\t")[3] for line in lines}
    for run in runs[:2]:
        assert {line.split("\t")[3] for line in run.result.outputs} <= keys
        assert {line.split("\t")[5] for line in run.result.outputs} == {one.id}
        assert run.result.bytes_in == 0 and run.text("note") == []
    assert third == {"/big": b"", "/none": b"", "/a b\u00fc": b"1\n"}
    assert runs[2].text("note")[0].startswith("/big: empty, as all copies")


def test_the_environment_is_what_was_promised_and_nothing_else(bench, monkeypatch):
    monkeypatch.setenv("SERVER_PASSWORD", "hunter22")
    monkeypatch.setenv("TZ", "UTC")
    line = bench.put({"/2024/a.csv": "a"})["/2024/a.csv"]
    one = datum(
        DatumInput("my-in.put", "/2024/a.csv", "c" * 32, (line,), join_on="k1", group_by="g 1"),
        DatumInput("other", "/", "d" * 32, (line,)),
    )
    work = bench.work(
        *PRINT_ENVIRONMENT, env={"LEVEL": "3", "EMPTY": ""}, secrets={"TOKEN": "sesame-1234"}
    )
    run = bench.run(work, [one])
    found = json.loads(run.text("out")[0])
    home = found.pop("HOME")
    assert home.startswith(str(bench.work_folder)) and home.endswith("/datum")
    assert found.pop("PATH") == os.environ["PATH"]
    assert found.pop("LANG", None) == os.environ.get("LANG")
    assert found.pop("TZ") == "UTC"
    found.pop("LC_CTYPE", None)  # the interpreter that prints it sets this itself
    assert found == {
        "TL_JOB_ID": work.job,
        "TL_DATUM_ID": one.id,
        "TL_OUTPUT_COMMIT": work.output_commit,
        "TL_PIPELINE": "edges",
        "TL_PROJECT": "default",
        "PACH_JOB_ID": work.job,
        "PACH_DATUM_ID": one.id,
        "PACH_OUTPUT_COMMIT": work.output_commit,
        "PACH_OUTPUT_COMMIT_ID": work.output_commit,
        "PPS_PIPELINE_NAME": "edges",
        "PPS_PROJECT_NAME": "default",
        **dict.fromkeys(("TMPDIR", "TMP", "TEMP"), home.removesuffix("/datum") + "/tmp"),
        "my-in.put": "/pfs/my-in.put/2024/a.csv",
        "my-in.put_COMMIT": "c" * 32,
        "TL_DATUM_my-in.put_JOIN_ON": "k1",
        "PACH_DATUM_my-in.put_JOIN_ON": "k1",
        "TL_DATUM_my-in.put_GROUP_BY": "g 1",
        "PACH_DATUM_my-in.put_GROUP_BY": "g 1",
        "other": "/pfs/other",
        "other_COMMIT": "d" * 32,
        "LEVEL": "3",
        "EMPTY": "",
        "TOKEN": "***",
    }


def test_an_input_called_path_does_not_hide_the_programs(bench):
    datums = bench.datums({"/a": "a"}, name="PATH")
    assert bench.run(bench.work(*sh("ls pfs/PATH")), datums).text("out") == ["a"]


def test_code_is_in_the_working_folder(bench):
    code = {
        "/edges.py": "import helper, pkg.deep\nprint(helper.x, pkg.deep.y)\n",
        "/helper.py": "x = 1\n",
        "/pkg/deep.py": "y = 2\n",
        "/run.sh": "#!/bin/sh\necho ran\n",
    }
    run = bench.run(bench.work(*sh("ls; python3 edges.py; ./run.sh"), code=code))
    assert run.text("out") == ["edges.py", "helper.py", "pfs", "pkg", "run.sh", "1 2", "ran"]
    assert run.text("note") == []
    assert bench.run(bench.work("./run.sh", code=code)).text("out") == ["ran"]


def test_code_that_a_datum_replaced_is_back_for_the_next(bench):
    code = {"/a.sh": "echo good\n"}
    work = bench.work(*sh("sh a.sh; rm a.sh; echo 'echo bad' > a.sh"), code=code)
    assert bench.run(work, bench.datums({"/1": "", "/2": ""})).text("out") == ["good", "good"]


def test_a_working_folder_of_ones_own(bench):
    code = {"/app/main.sh": "pwd; ls\n", "/x.sh": "echo x\n"}
    work = bench.work(*sh("pwd; ls; cat pfs/in/*"), code=code, working_dir="/some/where")
    run = bench.run(work, bench.datums({"/1": "one\n", "/2": "two\n"}))
    inside = ["app", "pfs", "x.sh"]
    where = run.text("out")[0]
    assert where.endswith("/datum/some/where")
    assert run.text("out") == [where, *inside, "one", where, *inside, "two"]
    work = bench.work("sh", "main.sh", code=code, working_dir="app")
    assert bench.run(work).text("out")[1:] == ["main.sh"]


def test_stdin_is_given_line_by_line(bench):
    assert bench.run(bench.work("sh", stdin=("echo one", "echo $TL_PIPELINE"))).text("out") == [
        "one",
        "edges",
    ]
    many = bench.datums({"/1": "1", "/2": "2"})
    assert bench.run(bench.work("cat", stdin=("a", "b\n")), many).text("out") == ["a", "b"] * 2


def test_a_program_that_never_reads_its_stdin_is_fine(bench):
    work = bench.work("true", stdin=tuple("x" * 1000 for _ in range(1000)))
    assert bench.run(work).report.success == 1
    assert bench.run(bench.work("cat")).report.success == 1


def test_nothing_printed_makes_no_log(bench):
    assert bench.run(bench.work("true")).report.logs == []


def test_binary_output_is_kept_as_text(bench):
    run = bench.run(bench.work(*sh(r"printf 'a\377\000b\nc'; printf 'é\r\nx' >&2")))
    assert run.text("out") == ["a\\xff\x00b", "c"]
    assert run.text("err") == ["é", "x"]


def test_a_long_log_is_cut(bench):
    work = bench.work(*sh("yes 0123456789 | head -n 100000; exit 3"), log_limit=1100)
    run = bench.run(work)
    assert run.text("out") == ["0123456789"] * 100
    assert run.text("note")[0] == "the log is cut here: it has reached 1,100 bytes"
    assert run.error == "exited with 3"


def test_secrets_do_not_get_into_the_log(bench):
    value = 'p@ss/w"ord 1'
    script = (
        'echo "$KEY"; printf %s "$KEY" | base64; printf "u:$KEY" | base64; echo "$KEY" | xxd -p'
    )
    script += "; printf %s \"$KEY\" | od -An -tx1 | tr -d ' \\n'; exit 1"
    run = bench.run(bench.work(*sh(script), secrets={"KEY": value, "OTHER": "ab"}))
    everything = json.dumps(run.log)
    assert value not in everything and "cEBzcy93Im9yZCAx" not in everything
    assert "3a70407373" not in everything and "7040737" not in everything
    assert run.text("out")[0] == "***"
    assert repr(bench.work(secrets={"KEY": value})).find(value) < 0


def test_what_is_written_elsewhere_is_lost_and_said_so(bench):
    script = "mkdir .cache; touch a .cache/b pfs/c pfs/in/d; echo 1 > pfs/out/ok"
    run = bench.run(bench.work(*sh(script)))
    assert run.text("note") == [
        "4 files were written outside pfs/out and are lost: .cache/b, a, pfs/c, pfs/in/d"
    ]
    assert run.files() == {"/ok": b"1\n"}
    assert bench.leftovers() == []


def test_live_logs_are_written_while_a_datum_runs(bench):
    work = bench.work(*sh("echo early; sleep 0.7; echo late"), heartbeat=0.2)
    run = bench.run(work)
    assert len(run.report.logs) == 2
    assert run.text("out") == ["early", "late"]
    assert run.log[1]["at"] - run.log[0]["at"] > 400_000


@pytest.mark.slow
def test_results_are_written_while_a_long_datum_runs(bench):
    datums = bench.datums({"/1": "0", "/2": "2.6"})
    run = bench.run(bench.work(*sh('sleep $(cat "$in")')), datums)
    assert len(run.report.parts) == 2


class TestFailures:
    def test_exit_code(self, bench):
        run = bench.run(bench.work(*sh("echo 1 > pfs/out/a; exit 3")))
        assert run.result.state == "failed"
        assert (run.error, run.result.code, run.result.tries) == ("exited with 3", 3, 1)
        assert run.files() == {}
        assert run.report.failed == 1

    def test_accepted_exit_codes(self, bench):
        run = bench.run(bench.work(*sh("echo 1 > pfs/out/a; exit 3"), accept_return_code=(2, 3)))
        assert run.result.state == "success" and run.result.code == 3
        assert run.files() == {"/a": b"1\n"}

    def test_signal(self, bench):
        run = bench.run(bench.work(*sh("kill -9 $$")))
        assert run.error == "killed by signal 9 (SIGKILL)"
        assert run.result.code == -9
        assert bench.run(bench.work(*sh("kill -TERM $$"))).error == "killed by signal 15 (SIGTERM)"

    @pytest.mark.slow
    def test_time_out(self, bench, tmp_path):
        pids = tmp_path / "pids"
        script = f"echo begun; sleep 600 & echo $$ $! > {pids}; sleep 600; touch {pids}-late"
        run = bench.run(bench.work(*sh(script), datum_timeout=2))
        assert run.error == "timed out after 2 s"
        assert run.text("out") == ["begun"]
        assert not any(is_alive(int(pid)) for pid in pids.read_text().split())
        assert not pids.with_name("pids-late").exists()

    def test_a_program_that_is_not_there(self, bench):
        run = bench.run(bench.work("no-such-program", "x", datum_tries=3))
        assert "there is no program 'no-such-program' in /" in run.error
        assert run.result.tries == 1
        run = bench.run(bench.work("./nothing", datum_tries=3))
        assert run.error == "cannot start ./nothing: No such file or directory"
        run = bench.run(bench.work("pfs/in/a.txt", datum_tries=3))
        assert run.error == "cannot start pfs/in/a.txt: Permission denied"

    def test_memory(self, bench):
        eat = "x = bytearray(400 << 20)"
        run = bench.run(bench.work(sys.executable, "-c", eat, memory=200 << 20))
        assert run.error == "exited with 1"
        assert "MemoryError" in "\n".join(run.text("err"))
        assert bench.run(bench.work(sys.executable, "-c", eat)).report.success == 1

    def test_each_try_has_a_clean_folder(self, bench, tmp_path):
        count = tmp_path / "count"
        script = f"ls pfs/out pfs/in . ; echo x >> {count}; touch pfs/out/junk junk; rm pfs/in/*;"
        script += f" [ $(wc -l < {count}) -ge 3 ] && rm pfs/out/junk && echo 1 > pfs/out/good"
        run = bench.run(bench.work(*sh(script), datum_tries=5))
        assert (run.result.state, run.result.tries, run.error) == ("success", 3, "")
        clean = [".:", "pfs", "", "pfs/in:", "a.txt", "", "pfs/out:"]
        assert run.text("out") == clean * 3
        assert [text for text in run.text("note") if text.startswith("try")] == [
            "try 1 of 5 failed: exited with 1",
            "try 2 of 5 failed: exited with 1",
        ]
        assert run.files() == {"/good": b"1\n"}

    def test_error_command(self, bench):
        work = bench.work(*sh("touch pfs/out/a; exit 1"), datum_tries=2, err_cmd=sh("ls pfs/*"))
        run = bench.run(work)
        assert run.result.state == "recovered"
        assert (run.error, run.result.tries) == ("exited with 1", 2)
        assert run.files() == {}
        assert run.text("out") == ["pfs/in:", "a.txt", "", "pfs/out:"]
        assert run.report.recovered == 1 and run.report.failed == 0

        run = bench.run(again(work, txn=work.txn, err_cmd=("sh",), err_stdin=("exit 4",)))
        assert run.result.state == "failed"
        assert "the error command failed: exited with 4" in run.text("note")


class TestOutputs:
    def test_folders_links_and_names(self, bench):
        script = """
        cd pfs/out; mkdir -p a/b empty/er; echo 1 > a/b/c; ln a/b/c hard
        ln -s a/b/c soft; ln -s ../in/a.txt input; ln -s "$in" absolute; ln -s a folder
        echo 5 > 'sp ace é'; mkdir a/in; ln -s ../../../in a/in/all
        """
        run = bench.run(bench.work(*sh(script)))
        assert run.error == ""
        one, hello = b"1\n", b"hello\n"
        assert run.files() == {
            "/a/b/c": one,
            "/hard": one,
            "/soft": one,
            "/input": hello,
            "/absolute": hello,
            "/a/in/all/a.txt": hello,
            "/folder/b/c": one,
            "/folder/in/all/a.txt": hello,
            "/sp ace é": b"5\n",
        }

    @pytest.mark.parametrize(
        "script, error",
        [
            (r"touch $(printf 'a\nb')", r"wrote a file with a bad name: 'a\nb'"),
            (r"touch $(printf 'a\377')", r"wrote a file with a bad name: 'a\udcff'"),
            (r"mkdir d; touch 'd/a\b'", r"wrote a file with a bad name: 'd/a\\b'"),
            ("ln -s /etc/passwd x", "wrote a link that leads out of its folder: '/x'"),
            ("ln -s /etc x", "wrote a link that leads out of its folder: '/x'"),
            ("ln -s nothing x", "wrote a link that leads nowhere: '/x'"),
            ("ln -s x x", "wrote a link that leads nowhere: '/x'"),
            ("mkdir d; ln -s .. d/up", "wrote a link to a folder that it is in: '/d/up'"),
            ("mkfifo p", "wrote a pipe, which cannot be stored: '/p'"),
            ("mkdir $(printf 'd\\te'); cd d*; touch f", r"wrote a file with a bad name: 'd\te/f'"),
        ],
    )
    def test_what_cannot_be_stored_fails_the_datum(self, bench, script, error):
        work = bench.work(*sh(f"IFS=; cd pfs/out; echo 1 > 0; {script}"))
        run = bench.run(work, bench.datums({"/1": "", "/2": ""}))
        assert [result.error for result in run.results] == [error] * 2
        assert run.files() == {}

    def test_a_name_that_is_too_long_for_a_lake(self, bench):
        deep = "/".join(["d" * 200] * 6)
        run = bench.run(bench.work(*sh(f"mkdir -p pfs/out/{deep}; touch pfs/out/{deep}/f")))
        assert run.error.startswith("wrote a file with a bad name: 'ddd")

    def test_names_are_stored_in_one_spelling(self, bench):
        run = bench.run(bench.work(*sh("printf 1 > pfs/out/$(printf 'e\\314\\201')")))
        assert run.files() == {"/é": b"1"}
        both = "cd pfs/out; touch $(printf 'e\\314\\201') $(printf '\\303\\251')"
        error = bench.run(bench.work(*sh(both))).error
        assert error.startswith("wrote two files whose names differ only in encoding: ")

    def test_out_itself_may_be_made_again_but_not_lead_elsewhere(self, bench):
        run = bench.run(bench.work(*sh("rm -r pfs/out; mkdir pfs/out; echo 1 > pfs/out/a")))
        assert run.files() == {"/a": b"1\n"}
        away = "rm -r pfs/out; ln -s /etc pfs/out"
        moved = f"mkdir -p {bench.folder}/x/out; rm -r pfs; ln -s {bench.folder}/x pfs"
        for script in (away, moved, "rm -r pfs", "rm -r pfs/out; touch pfs/out"):
            many = bench.datums({"/1": "", "/2": ""})
            run = bench.run(bench.work(*sh(script)), many)
            assert [result.error for result in run.results] == ["took pfs/out away"] * 2

    def test_what_cannot_be_read(self, bench):
        many = bench.datums({"/1": "", "/2": ""})
        with modes_respected():
            run = bench.run(bench.work(*sh("cd pfs/out; mkdir d; touch d/f; chmod 0 d")), many)
        assert [one.error for one in run.results] == [
            "wrote a folder that cannot be read: '/d'"
        ] * 2
        with modes_respected():
            run = bench.run(bench.work(*sh("cd pfs/out; touch f; chmod 0 f")), many)
        assert [one.error for one in run.results] == ["wrote a file that cannot be read: '/f'"] * 2

    def test_a_socket_is_refused(self, bench):
        bind = "import socket; socket.socket(socket.AF_UNIX).bind('s')"
        run = bench.run(bench.work(*sh(f'cd pfs/out; {sys.executable} -c "{bind}"')))
        assert run.error == "wrote a socket, which cannot be stored: '/s'"

    def test_twenty_thousand_files(self, bench):
        write = "[open(f'pfs/out/{n}', 'w').write(str(n)) for n in range(20000)]"
        run = bench.run(bench.work(sys.executable, "-c", write))
        assert run.error == ""
        assert run.files() == {f"/{n}": str(n).encode() for n in range(20000)}


# Run where no namespaces for mounts can be had.
WITHOUT_MEANS = """
import json, sys
from pathlib import Path
from tests.engine.runs import Bench
from trunkline.model.pipelines import Sandbox

bench = Bench(Path(sys.argv[1]))
script = ("sh", "-c", 'echo x > "$TMPDIR/x"; ls "$TMPDIR"; echo "$in"; cat pfs/in/* /pfs/in/*')
must = bench.run(bench.work(*script, sandbox=Sandbox.ON, datum_tries=3))
may = bench.run(bench.work(*script, accept_return_code=(1,)), bench.datums({"/1": "1\\n"}))
off = bench.run(bench.work(*script, sandbox=Sandbox.OFF))
answers = [may.text("out"), may.text("note"), off.text("note"), bench.leftovers()]
print(json.dumps([must.error, must.result.tries, *answers]))
"""


class TestSandbox:
    def test_pfs_at_the_root(self, bench):
        script = 'cat /pfs/in/a.txt; echo "$in"; cat "$in" > /pfs/out/b; ln -s "$in" /pfs/out/l'
        for choice in (Sandbox.ON, Sandbox.AUTO):
            run = bench.run(bench.work(*sh(script), sandbox=choice))
            assert run.error == ""
            assert run.text("out") == ["hello", "/pfs/in/a.txt"]
            assert run.files() == {"/b": b"hello\n", "/l": b"hello\n"}

    def test_a_program_that_is_installed_finds_it(self, bench, tmp_path):
        """As upstream's edges.py, which nothing in its spec tells to read /pfs."""
        edges = tmp_path / "elsewhere" / "edges.py"
        edges.parent.mkdir()
        edges.write_text(
            "import os, shutil\n"
            "for folder, _, files in os.walk('/pfs/images'):\n"
            "    for file in files:\n"
            "        shutil.copy(os.path.join(folder, file), os.path.join('/pfs/out', file))\n"
        )
        many = bench.datums({f"/{n}.png": str(n) for n in range(20)}, name="images")
        run = bench.run(bench.work(sys.executable, str(edges)), many)
        assert run.files() == {f"/{n}.png": b"%d" % n for n in range(20)}

    def test_working_folders_and_code_are_where_they_are_outside(self, bench):
        many = bench.datums({f"/{n}": str(n) for n in range(5)})
        run = bench.run(bench.work("sh", "x.sh", code={"/x.sh": "cat /pfs/in/*"}), many)
        assert run.text("out") == list("01234")
        wd = bench.work(*sh("pwd; cat /pfs/in/* ./pfs/in/*"), working_dir="deep/er")
        assert bench.run(wd).text("out")[1:] == ["hello", "hello"]

    def test_off_is_off_and_a_hint_is_given(self, bench):
        run = bench.run(bench.work(*sh('echo "$in"; ls /pfs/in'), sandbox=Sandbox.OFF))
        assert run.text("out")[-1].startswith(str(bench.work_folder))
        hint = "there is no /pfs here, only pfs/ in the working folder"
        assert hint in run.text("note")

    def test_a_command_that_removes_everything_fails_nobody_else(self, bench):
        many = bench.datums({f"/{n}": str(n) for n in range(3)})
        look = "cat c; ls /tmp | grep -c x; cat /pfs/in/*; : > /tmp/x"
        remove = 'rm -rf pfs /pfs/* "$TMPDIR" /tmp/* 2>/dev/null; true'
        run = bench.run(bench.work(*sh(f"{look}; {remove}"), code={"/c": "kept\n"}), many)
        assert run.text("out") == [text for n in range(3) for text in ("kept", "0", str(n))]
        assert [result.error for result in run.results] == ["took pfs/out away"] * 3

    def test_one_that_ends_what_started_it_fails_alone(self, bench):
        many = bench.datums({f"/{n}": str(n) for n in range(3)})
        script = 'test $(cat "$in") != 1 || kill -9 $PPID; cp "$in" pfs/out/'
        run = bench.run(bench.work(*sh(script)), many)
        assert [result.state for result in run.results] == ["success", "failed", "success"]

    def test_it_is_the_same_user_and_may_have_namespaces_of_its_own(self, bench):
        run = bench.run(bench.work(*sh("id -u; unshare -Ur true && echo nested; : > /new")))
        assert run.text("out") == [str(os.geteuid()), "nested"]
        assert not os.path.exists("/new")

    def test_without_any_means_on_fails_and_auto_goes_on(self, tmp_path):
        limit = 'echo 0 > /proc/sys/user/max_mnt_namespaces; exec "$@"'
        python = [sys.executable, "-c", WITHOUT_MEANS, str(tmp_path)]
        done = subprocess.run(
            ["unshare", "-Ur", "sh", "-c", limit, "sh", *python],
            env={**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), *sys.path))},
            capture_output=True,
            text=True,
            check=True,
        )
        error, tries, out, notes, off, left = json.loads(done.stdout)
        assert error.startswith(
            "no sandbox can be had: this machine lets its worker have no namespaces"
        )
        assert tries == 1
        assert out[0] == "x" and out[1].startswith(str(tmp_path)) and out[2:] == ["1"]
        hint = "there is no /pfs here, only pfs/ in the working folder"
        assert notes[0].startswith(f"{hint}, and /tmp is the machine's")
        assert off[0] == hint
        assert left == []


class TestScratch:
    """A command has /tmp to itself, and nothing stays there."""

    REDUCE = 'mkdir /tmp/out && for w in $(cat "$in"); do echo 1 >> /tmp/out/$w; done'

    def test_each_datum_finds_it_empty(self, bench):
        """As upstream's word_count, whose sums grew with every datum."""
        many = bench.datums({f"/{n}": "the cat the" for n in range(9)})
        count = "for f in /tmp/out/*; do wc -l < $f > pfs/out/$(basename $f)-$(basename $in); done"
        run = bench.run(bench.work(*sh(f"{self.REDUCE} && {count}")), many)
        assert [result.error for result in run.results] == [""] * 9
        assert {data.strip() for path, data in run.files().items() if "the" in path} == {b"2"}
        assert run.text("note") == []
        assert not os.path.exists("/tmp/out")
        assert self.left(bench) == []

    def test_each_try_and_the_error_command_too(self, bench):
        fields = {"datum_tries": 3, "err_cmd": sh("ls /tmp /var/tmp $TMPDIR | grep -c word; true")}
        run = bench.run(bench.work(*sh(f"{self.REDUCE}; : > /var/tmp/word; exit 3"), **fields))
        assert [result.state for result in run.results] == ["recovered"]
        assert not any("File exists" in line for line in run.text("err"))
        assert run.text("out") == ["0"]
        assert self.left(bench) == []

    def test_it_is_what_tempfile_uses_and_no_other_place(self, bench):
        program = (
            "import os, tempfile; d = tempfile.mkdtemp(); open(d + '/x', 'w').write('1')\n"
            "print(os.path.samefile(os.path.dirname(d), '/tmp'), os.listdir('/tmp').count('y'))\n"
            "open('/tmp/y', 'w'); os.chmod(d, 0); os.chmod('/tmp', 0o700)"
        )
        many = bench.datums({f"/{n}": "" for n in range(3)})
        run = bench.run(bench.work(sys.executable, "-c", program), many)
        assert run.text("out") == ["True 0"] * 3
        first = program.partition("\n")[0]
        off = bench.run(bench.work(sys.executable, "-c", first, sandbox=Sandbox.OFF))
        assert off.error == ""
        assert self.left(bench) == []

    @pytest.mark.parametrize("isolate", [False, True])
    def test_a_function_leaves_nothing_either(self, bench, isolate):
        code = {
            "/f.py": "import os, tempfile\n"
            "def f(datum):\n"
            "    tempfile.NamedTemporaryFile(delete=False).write(b'x')\n"
            "    os.system('echo > $TMPDIR/y')\n"
            "    datum.write('/n', str(len(os.listdir(tempfile.gettempdir()))).encode())\n"
        }
        before = tempfile.gettempdir(), os.environ.get("TMPDIR")
        many = bench.datums({f"/{n}": str(n) for n in range(3)})
        run = bench.run(bench.work(code=code, python="f.py:f"), many, isolate=isolate)
        assert [run.files(one) for one in run.results] == [{"/n": b"2"}] * 3
        assert (tempfile.gettempdir(), os.environ.get("TMPDIR")) == before
        assert self.left(bench) == []

    @pytest.fixture
    def there(self) -> Iterator[Path]:
        """A folder straight in the machine's /tmp."""
        folder = Path(tempfile.mkdtemp(dir="/tmp"))
        yield folder
        shutil.rmtree(folder)

    def test_programs_and_files_that_it_names_are_there(self, bench, there):
        (there / "bin").mkdir()
        (there / "bin/prog").write_text(f"#!/bin/sh\ncat {there}/data $1\n: >> {there}/data\n")
        (there / "bin/prog").chmod(0o755)
        (there / "data").write_text("read\n")
        one, two = f"{there}/bin/prog", f"{there}/data"
        for command in ((one, two), sh(f"{one} {two}"), ("sh", "-c", f'"{one}" <{two} {two}')):
            run = bench.run(bench.work(*command))
            assert run.text("out") == ["read", "read"]
            assert any("Read-only" in line for line in run.text("err"))
        run = bench.run(bench.work("prog", two, env={"PATH": f"{there}/bin:{os.defpath}"}))
        assert run.text("out") == ["read", "read"]
        run = bench.run(bench.work("sh", stdin=(f". {one}",)))
        assert run.text("out") == ["read"]

    def test_a_lake_is_there_for_who_names_it(self, there):
        lake = Bench(there / ".trunkline")
        for named, found in ((there, ["store"]), ("/tmp/*", [])):
            run = lake.run(lake.work(*sh(f"ls {named}/.trunk*/ | grep -x store")))
            assert run.text("out") == found

    def test_what_lies_there_by_chance_is_not_there_and_it_is_said_so(self, bench, there):
        (there / "left").write_text("old\n")
        script = f"mkdir {there} && echo new >> {there}/left; cat {there}/left"
        run = bench.run(bench.work(*sh(script)))
        assert run.text("out") == ["old"]
        assert (there / "left").read_text() == "old\n"
        folder = bench.run(bench.work(*sh(f"cd {there} && cat left")))
        assert folder.result.state == "failed"
        assert any(f"{there} of this machine" in line for line in folder.text("note"))

    def left(self, bench: Bench) -> list[str]:
        (space,) = bench.work_folder.iterdir()
        # The way to the working folder, where that is in /tmp itself.
        way = [space / "tmp" / str(path).removeprefix("/tmp/") for path in (space, *space.parents)]
        return [str(path) for path in (space / "tmp").rglob("*") if path not in way]


class TestUsedAgain:
    """Files are used again by the next datum: it must not be able to tell."""

    def test_contents_sizes_and_modes_are_those_of_new_files(self, bench):
        sizes = [9000, 10, 0, 5000, 3, 4096, 1]
        datums = bench.datums({f"/{n}": os.urandom(size) for n, size in enumerate(sizes)})
        script = 'stat -c "%s %a" "$in"; cp "$in" pfs/out/; chmod 4755 "$in" pfs/out/*'
        run = bench.run(bench.work(*sh(f"{script}; echo more >> $in")), datums)
        assert [text.split()[0] for text in run.text("out")] == [str(size) for size in sizes]
        assert len({text.split()[1] for text in run.text("out")}) == 1
        assert [len(data) for _, data in sorted(run.files().items())] == sizes

    def test_a_file_with_another_name_elsewhere_is_not_written_to(self, bench):
        elsewhere = bench.folder / "elsewhere"
        elsewhere.mkdir()
        datums = bench.datums({f"/{n}": f"in {n}" for n in range(6)})
        script = f'cp "$in" pfs/out/x; ln pfs/out/x {elsewhere}/out$(basename "$in")'
        script += f'; ln "$in" {elsewhere}/in$(basename "$in")'
        # In a sandbox there are no links from /pfs to other places.
        work = bench.work(*sh(script), sandbox=Sandbox.OFF)
        assert bench.run(work, datums).report.success == 6
        for n in range(6):
            assert (elsewhere / f"out{n}").read_text() == f"in {n}"
            assert (elsewhere / f"in{n}").read_text() == f"in {n}"

    @pytest.mark.parametrize(
        "harm",
        [
            'rm "$in"; mkfifo "$in"',
            'rm "$in"; ln -s /etc/passwd "$in"',
            'rm "$in"; mkdir "$in"',
            'mv "$in" "$in.old"',
            'mv "$in" pfs/out/moved',
            'touch "$in.new"; rm "$in.new"',
            'chmod 0 "$in"; chmod 0 pfs/in',
            "mkdir -p pfs/out/a/b/c; touch pfs/out/a/b/c/d; ln -s a pfs/out/l",
            "rm -r pfs/in",
            "chmod 0 pfs",
            "chmod 0 .",
            'd=$(pwd); mv "$d" "$d.old"; ln -s /etc "$d"',
        ],
    )
    def test_nothing_a_datum_does_to_its_files_is_seen_by_the_next(self, bench, harm):
        lines = bench.put({f"/{n}": str(n) for n in range(6)})
        one = [datum(DatumInput("in", path, "c" * 32, (line,))) for path, line in lines.items()]
        two = datum(*(DatumInput("in", path, "c" * 32, (lines[path],)) for path in ("/2", "/3")))
        other = datum(DatumInput("more", "/4", "c" * 32, (lines["/4"],)))
        script = (
            f"find pfs -type f | sort | tr '\\n' ' '; cat $(find pfs -type f); echo; {harm}; true"
        )
        script = f"in=$(find pfs -type f | head -n 1); {script}"
        datums = [one[0], one[1], two, one[1], one[0], other, one[5], one[4]]
        run = bench.run(bench.work(*sh(script)), datums)
        harmless = "chmod 0 p" not in harm and "chmod 0 ." not in harm and "/etc " not in harm
        assert not harmless or [result.error for result in run.results] == [""] * 8
        first, second, third, *rest = run.text("out")
        assert (first, second) == ("pfs/in/0 0", "pfs/in/1 1")
        assert third.startswith("pfs/in/2 pfs/in/3 ")
        assert rest == [
            "pfs/in/1 1",
            "pfs/in/0 0",
            "pfs/more/4 4",
            "pfs/in/5 5",
            "pfs/in/4 4",
        ]
        assert Path("/etc/passwd").read_text().startswith("root:")
        assert bench.leftovers() == []
