"""The comparison of pages forgives what no run can repeat, and nothing else."""

import os
from pathlib import Path

import pytest

from tests.docs.console import ROOT, Ids, Shell, compare, steps

ID_1 = "01a1dd29b6a67abc8def0123456789ab"
ID_2 = "01a1dd29b8647abc8def0123456789ab"
ID_3 = "01a1dd29b94d7abc8def0123456789ab"


@pytest.mark.parametrize(
    "shown, real",
    [
        (["done"], ["done"]),
        ([], []),
        ([f"commit {ID_1}"], [f"commit {ID_2}"]),
        ([f"at {ID_1[:12]}", f"commit {ID_1}"], [f"at {ID_2[:12]}", f"commit {ID_2}"]),
        (["Date: 2026-01-01 10:00:00 +0000"], ["Date: 2027-03-04 11:22:33 +0100"]),
        (["  (12 ms)"], ["  (1,234 ms)"]),
        (["Kept 3 objects (1.2 KiB)."], ["Kept 3 objects (1.3 KiB)."]),
        (["✓ a  1 datum: 1 ran (5.3s)"], ["✓ a  1 datum: 1 ran (12.1s)"]),
        (["1 job in 5.3s."], ["1 job in 1m02s."]),
        (["Spark is ready (3.5 s)"], ["Spark is ready (11.0 s)"]),
        (["JOB  TOOK  WHY", "a    0.1s  new"], ["JOB   TOOK  WHY", "a    10.1s  new"]),
        (["12:00:01 3fa2  hello"], ["13:10:11 3fa2  hello"]),
        (["Rate:   0.3 datums/s, 25 B/s"], ["Rate:   1,200 datums/s, 2.5 KiB/s"]),
        (["a", "…", "z"], ["a", "b", "c", "z"]),
        (["a", "…", "z"], ["a", "z"]),
        (["…"], []),
        (["token tl_65dff54ec54bdf11_…"], ["token tl_0123456789abcdef_Ff2Os5-x_Y"]),
        (['{"request_id":"%s"}' % ("a" * 32)], ['{"request_id":"%s"}' % ("b" * 32)]),
        (["…", f"b {ID_1}"], [f"a {ID_2}", f"b {ID_3}"]),
    ],
)
def test_same(shown, real):
    assert compare(shown, real, Ids())


@pytest.mark.parametrize(
    "shown, real",
    [
        (["done"], ["Done"]),
        (["done"], []),
        ([], ["surprise"]),
        (["done"], ["done", "and more"]),
        (["3 files, 1.2 MiB"], ["3 files, 1.3 MiB"]),
        (["3 files"], ["4 files"]),
        (["Kept 3 objects (1.2 KiB)."], ["Kept 4 objects (1.2 KiB)."]),
        (["day=2026-01-01"], ["day=2026-01-02"]),
        # One id on the page is one id in the run, and the other way round.
        ([f"{ID_1} {ID_1}"], [f"{ID_2} {ID_3}"]),
        ([f"{ID_1} {ID_2}"], [f"{ID_3} {ID_3}"]),
        ([f"commit {ID_1}"], [f"commit {ID_1[:12]}"]),
        # Content hashes are not ids: equal bytes have equal hashes in every run.
        (["file 90 B  1e0d06d0e456"], ["file 90 B  1e0d06d0e457"]),
        (["2 datums: 1 ran, 1 skipped (5.3s)"], ["2 datums: 2 ran (5.3s)"]),
        (["NAME  SIZE"], ["NAME   SIZE"]),
        (["a", "…", "z"], ["a", "b", "c"]),
        (["a", "…", "b", "…", "c"], ["a", "c", "b"]),
        (["… and more"], ["something"]),
    ],
)
def test_different(shown, real):
    assert compare(shown, real, Ids()) is None


def test_ids_stay_bound_between_commands():
    ids = compare([f"made {ID_1[:12]}"], [f"made {ID_2[:12]}"], Ids())
    assert ids
    assert ids.in_run(f"show {ID_1[:12]}") == f"show {ID_2[:12]}"
    assert compare([f"commit {ID_1}"], [f"commit {ID_3}"], ids) is None


def page_of(folder: Path, text: str) -> Path:
    page = folder / "page.md"
    page.write_text(text)
    return page


def test_blocks_become_steps(tmp_path):
    console = "```console\n$ cat <<E\n> a\n>\n> E\na\n\n$ true\n```\n\n"
    text = console + "```python run\nprint(1)\n```\n\n```text\n1\n```\n"
    found = steps(page_of(tmp_path, text))
    assert [(s.command, s.expected) for s in found] == [
        ("cat <<E\na\n\nE", ["a", ""]),
        ("true", []),
        ("print(1)", ["1"]),
    ]


def test_a_block_may_hold_output_with_prompts(tmp_path):
    found = steps(page_of(tmp_path, "```console one\n$ make demo\n$ trunkline init\n```\n"))
    assert [(s.command, s.expected) for s in found] == [("make demo", ["$ trunkline init"])]


@pytest.mark.slow
def test_a_server_is_heard_and_stopped_with_the_page(tmp_path):
    shell = Shell(tmp_path)
    shell.run("mkdir ~/x && cd ~/x && trunkline init")
    code, said = shell.run("trunkline serve --workers 0 &")
    assert code == 0
    assert said == [
        "Serving /home/ada/x at http://127.0.0.1:8470, no worker. Ctrl-C stops it.",
        "S3 at http://127.0.0.1:8471.",
    ]
    assert shell.run("curl -s http://127.0.0.1:8470/healthz") == (0, ['{"status":"ok"}'])
    process = int((tmp_path / "served").read_text())
    shell.close()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


@pytest.mark.slow
def test_a_server_that_does_not_start_says_why(tmp_path):
    shell = Shell(tmp_path)
    code, said = shell.run("trunkline serve &")
    assert code
    assert said[0].startswith("error: There is no lake")
    shell.close()


def test_the_shell_keeps_its_folder_and_sees_exit_codes(tmp_path):
    shell = Shell(tmp_path)
    assert shell.run("mkdir ~/x && cd ~/x") == (0, [])
    assert shell.run("pwd") == (0, ["/home/ada/x"])
    assert shell.run("export A=1; false") == (1, [])
    assert shell.run("echo $? $A") == (0, ["1 1"])
    assert shell.run("printf 'no newline'") == (0, ["no newline"])
    assert shell.run("echo out; echo err >&2; exit_code() { return 3; }; exit_code") == (
        3,
        ["out", "err"],
    )
    assert shell.run_python("import sys; print(sys.stdin.read() == '')") == (0, ["True"])
    shell.close()
    assert ROOT.joinpath("Makefile").is_file()
