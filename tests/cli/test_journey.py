"""One path through everything, as a person would walk it."""

import io
import json
import os
import tarfile
from pathlib import Path

import pytest

from tests.cli.run import process

pytestmark = pytest.mark.slow


class TestJson:
    """What others rely on."""

    def test_commit_list(self, cli, lake):
        cli.ok("put", "orders@main:/c.csv", "in/a.csv", "-m", "second")
        newest, oldest = cli.json("commit", "list", "orders@main")
        assert {
            "id", "repo", "branch", "parent", "message", "author", "started", "finished", "size",
            "files", "origin", "error",
        } <= newest.keys()  # fmt: skip
        assert (newest["message"], newest["parent"]) == ("second", oldest["id"])
        assert (oldest["message"], oldest["parent"]) == ("first", None)
        assert (newest["repo"]["repo"], newest["branch"], newest["origin"]) == (
            "orders",
            "main",
            "user",
        )
        assert (newest["files"], newest["size"], newest["error"]) == (3, 12, None)

    def test_ls(self, cli, lake):
        folder, file = sorted(cli.json("ls", "orders@main"), key=lambda f: f["type"], reverse=True)
        assert folder.keys() == file.keys() == {"path", "type", "size", "hash"}
        assert (folder["path"].rstrip("/"), folder["type"], folder["size"]) == (
            "/day=1", "folder", 8,
        )  # fmt: skip
        assert (file["path"], file["type"], file["size"], len(file["hash"])) == (
            "/a.csv", "file", 2, 64,
        )  # fmt: skip

    def test_diff(self, cli, lake):
        (lake / "in" / "a.csv").write_text("changed\n")
        cli.ok("put", "orders@main:/a.csv", "in/a.csv")
        cli.ok("put", "orders@main:/new.csv", "in/a.csv")
        cli.ok("rm", "-r", "orders@main:/day=1")
        changes = cli.json("diff", "orders@main~3", "orders@main")
        assert [(c["path"], c["change"], c["old_size"], c["new_size"]) for c in changes] == [
            ("/a.csv", "modified", 2, 8),
            ("/day=1/b.csv", "removed", 8, None),
            ("/new.csv", "added", None, 8),
        ]
        assert cli.ok("diff", "orders@main~3", "orders@main") == (
            "~ /a.csv  (2 B → 8 B)\n- /day=1/b.csv  (8 B)\n+ /new.csv  (8 B)\n"
        )
        assert cli.ok("diff", "orders@main~3", "orders@main", "--name-only") == (
            "/a.csv\n/day=1/b.csv\n/new.csv\n"
        )
        stat = cli.json("diff", "orders@main~3", "orders@main", "--stat")
        assert (stat["added"], stat["removed"], stat["modified"]) == (1, 1, 1)

    def test_repo_list(self, cli, lake):
        (repo,) = cli.json("repo", "list")
        assert {"name", "size", "branches", "created"} <= repo.keys()
        assert repo["name"] == {"project": "default", "repo": "orders"}
        assert repo["size"] == 10
        assert repo["branches"] == ["main"]

    @pytest.mark.parametrize(
        "args",
        [
            ["status"], ["project", "list"], ["repo", "inspect", "orders"],
            ["branch", "list", "orders"], ["tag", "list", "orders"], ["log", "orders"],
            ["log", "--graph", "orders"], ["commit", "inspect", "orders@main"],
            ["glob", "orders@main:/**.csv"], ["fsck", "--deep"], ["gc", "--dry-run"],
            ["config", "list"], ["config", "get", "project"], ["migrate"],
            ["merge", "orders@main", "orders@main", "--dry-run"],
        ],
        ids=" ".join,
    )  # fmt: skip
    def test_every_answer_is_json(self, cli, lake, args):
        cli.json(*args)

    def test_show(self, cli, lake):
        commit = cli.json("commit", "inspect", "orders@main")
        shown = cli.json("show", commit["id"])
        assert [c["id"] for c in shown["commits"]] == [commit["id"]]
        assert "+ /day=1/b.csv" in cli.ok("show", commit["id"])
        assert "+ /day=1/b.csv" in cli.ok("show", "orders@main")


class TestText:
    def test_ls(self, cli, lake):
        assert set(cli.ok("ls", "orders@main").split()) == {"/a.csv", "/day=1/"}
        assert cli.ok("ls", "-r", "orders@main").split()[0] == "/a.csv"
        assert "8 B" in cli.ok("ls", "-l", "orders@main:/day=1")

    def test_log(self, cli, lake):
        head = cli.json("log", "orders")[0]
        text = cli.ok("log", "orders")
        assert text.startswith(f"commit {head['id']} (main)\n")
        assert "\n    first\n" in text
        assert cli.ok("log", "--oneline", "orders@main") == f"{head['id'][:12]} (main) first\n"

    def test_graph(self, cli, lake):
        cli.ok("branch", "create", "orders@side", "--from", "orders@main")
        cli.ok("put", "orders@side:/s.csv", "in/a.csv", "-m", "aside")
        cli.ok("put", "orders@main:/m.csv", "in/a.csv", "-m", "ahead")
        cli.ok("merge", "orders@side", "orders@main", "-m", "together")
        lines = cli.ok("log", "--graph", "orders@main").splitlines()
        assert lines[0].startswith("*  ")
        assert lines[0].endswith("(main) together")
        assert lines[1] == "|\\"
        assert lines[-1].startswith("*  ")
        assert lines[-1].endswith("first")

    def test_repo_inspect(self, cli, lake):
        text = cli.ok("repo", "inspect", "orders")
        assert text.startswith("Repo:        orders\nDescription: What is sold\n")
        assert "\nBranches:\n  main" in text

    def test_no_colour_off_a_terminal(self, cli, lake):
        assert "\x1b" not in cli.ok("log", "orders")
        assert "\x1b" in process("log", "orders", TRUNKLINE_COLOR="always").out


class TestFiles:
    def test_cat(self, cli, lake):
        assert cli.ok("cat", "orders@main:/day=1/b.csv") == "one,two\n"
        assert cli.ok("cat", "orders@main:/day=1/b.csv", "--range", "4-6") == "two"
        assert cli.ok("cat", "orders@main:/day=1/b.csv", "--offset", "4") == "two\n"
        assert cli.ok("cat", "orders@main:/day=1/b.csv", "--length", "3") == "one"

    def test_stdin_and_append(self, lake):
        assert process("put", "orders@main:/s.txt", "-", stdin=b"one\n").code == 0
        assert process("put", "orders@main:/s.txt", "-", "--append", stdin=b"two\n").code == 0
        assert process("cat", "orders@main:/s.txt").out == "one\ntwo\n"

    def test_get(self, cli, lake):
        cli.ok("get", "orders@main:/a.csv", "copy.csv")
        assert Path("copy.csv").read_text() == "a\n"
        cli.ok("get", "-r", "orders@main:/", "all")
        assert Path("all/day=1/b.csv").read_text() == "one,two\n"
        assert cli.ok("get", "orders@main:/a.csv", "-") == "a\n"
        assert cli("get", "orders@main:/a.csv", "copy.csv").code == 4
        cli.ok("get", "orders@main:/a.csv", "copy.csv", "--force")

    def test_tar_out_and_in(self, cli, lake):
        cli.ok("get", "orders@main:/", "all.tar", "--tar")
        with tarfile.open("all.tar") as archive:
            assert archive.getnames() == ["a.csv", "day=1/b.csv"]
        cli.ok("put", "orders@main:/again", "all.tar", "--untar")
        assert cli.ok("cat", "orders@main:/again/day=1/b.csv") == "one,two\n"
        streamed = process("get", "orders@main:/day=1", "-", "--tar").out
        with tarfile.open(fileobj=io.BytesIO(streamed.encode())) as archive:
            assert archive.getnames() == ["b.csv"]

    def test_rm_cp_glob(self, cli, lake):
        cli.ok("cp", "orders@main:/day=1", "orders@main:/day=2", "-m", "again")
        assert cli.ok("glob", "orders@main:/*/b.csv") == "/day=1/b.csv\n/day=2/b.csv\n"
        cli.ok("rm", "orders@main:/a.csv")
        assert cli("cat", "orders@main:/a.csv").code == 3
        assert cli.ok("cat", "orders@main^:/a.csv") == "a\n"

    def test_a_repeat_with_a_key_is_the_same_commit(self, cli, lake):
        first = cli.json("put", "orders@main:/k.csv", "in/a.csv", "--key", "k1")
        again = cli.json("put", "orders@main:/k.csv", "in/a.csv", "--key", "k1")
        assert first["id"] == again["id"]


class TestHistory:
    def test_commits_by_hand(self, cli, lake):
        opened = cli.ok("commit", "start", "orders@main", "-m", "by hand").strip()
        cli.ok("put", "orders@main:/x.csv", "in/a.csv")
        assert cli("cat", "orders@main:/x.csv").code == 3
        done = cli.json("commit", "finish", "orders@main")
        assert done["id"] == opened
        assert cli.ok("cat", "orders@main:/x.csv") == "a\n"
        (branch,) = cli.json("commit", "drop", "orders@main")
        assert branch["head"] != opened
        assert cli("cat", "orders@main:/x.csv").code == 3

    def test_squash(self, cli, lake):
        cli.ok("put", "orders@main:/x.csv", "in/a.csv", "-m", "second")
        cli.ok("commit", "squash", "orders@main^")
        assert [c["message"] for c in cli.json("log", "orders")] == ["second"]
        assert cli.ok("cat", "orders@main:/day=1/b.csv") == "one,two\n"

    def test_branch_tag_move(self, cli, lake):
        cli.ok("tag", "create", "orders@v1", "orders@main", "-m", "good")
        cli.ok("branch", "create", "orders@side", "--from", "orders@v1")
        cli.ok("put", "orders@side:/x.csv", "in/a.csv")
        cli.ok("branch", "move", "orders@main", "orders@side")
        assert cli.ok("cat", "orders@main:/x.csv") == "a\n"
        assert cli("cat", "orders@v1:/x.csv").code == 3
        assert [b["name"] for b in cli.json("branch", "list", "orders")] == ["main", "side"]
        assert [t["name"] for t in cli.json("tag", "list", "orders")] == ["v1"]
        cli.ok("branch", "delete", "orders@side", "--yes")
        cli.ok("tag", "delete", "orders@v1", "--yes")

    def test_merge(self, cli, lake):
        cli.ok("branch", "create", "orders@side", "--from", "orders@main")
        for branch, text in (("side", "theirs"), ("main", "ours")):
            Path("in/a.csv").write_text(text)
            cli.ok("put", f"orders@{branch}:/a.csv", "in/a.csv")
        head = cli.json("log", "orders")[0]["id"]
        conflict = cli("merge", "orders@side", "orders@main")
        assert conflict.code == 4
        assert "/a.csv" in conflict.err
        as_json = json.loads(cli("merge", "orders@side", "orders@main", "--json").err)
        assert (as_json["code"], as_json["paths"]) == ("merge_conflict", ["/a.csv"])
        planned = cli("merge", "orders@side", "orders@main", "--dry-run")
        assert planned.code == 4
        assert "! /a.csv" in planned.out
        assert cli.json("log", "orders")[0]["id"] == head
        cli.ok("merge", "orders@side", "orders@main", "--theirs", "/*.csv")
        assert cli.ok("cat", "orders@main:/a.csv") == "theirs"

    def test_revert_and_cherry_pick(self, cli, lake):
        cli.ok("put", "orders@main:/bad.csv", "in/a.csv", "-m", "bad")
        cli.ok("branch", "create", "orders@old", "--from", "orders@main^")
        cli.ok("cherry-pick", "orders@main", "orders@old")
        assert cli.ok("cat", "orders@old:/bad.csv") == "a\n"
        cli.ok("revert", "orders@main")
        assert cli("cat", "orders@main:/bad.csv").code == 3

    def test_log_of_a_path(self, cli, lake):
        cli.ok("put", "orders@main:/x.csv", "in/a.csv", "-m", "x")
        assert [c["message"] for c in cli.json("log", "orders", "--path", "/x.csv")] == ["x"]
        assert [c["message"] for c in cli.json("log", "orders@main:/x.csv")] == ["x"]

    def test_forget_and_erase(self, cli, lake):
        cli.ok("put", "orders@main:/x.csv", "in/a.csv", "-m", "x")
        cli.ok("forget", "orders@main^", "--yes")
        assert cli("cat", "orders@main^:/a.csv").code == 3
        cli.ok("erase", "orders@main:/day=1/b.csv", "--reason", "asked to")
        result = cli("cat", "orders@main:/day=1/b.csv")
        assert result.code == 3
        cli.ok("gc", "--grace", "0s", "--yes")
        cli.ok("fsck", "--deep")


class TestLake:
    def test_init_says_where(self, cli, tmp_path):
        assert cli.json("init", tmp_path / "new")["lake"].startswith(str(tmp_path / "new"))
        assert (tmp_path / "new" / ".trunkline").is_dir()
        assert cli("init", tmp_path / "new").code == 4

    def test_found_from_below(self, cli, lake, monkeypatch):
        monkeypatch.chdir(lake / "in" / "day=1")
        assert cli.ok("cat", "orders@main:/a.csv") == "a\n"

    def test_config(self, cli, lake):
        cli.ok("config", "set", "pack.limit", "2MiB")
        (value,) = [v for v in cli.json("config", "list") if v["name"] == "pack.limit"]
        assert (value["value"], value["source"]) == (2 << 20, "lake")
        cli.ok("config", "unset", "pack.limit")
        assert cli.json("config", "get", "pack.limit")["source"] == "default"
        cli.ok("config", "set", "author", "me", "--user")
        cli.ok("put", "orders@main:/x.csv", "in/a.csv")
        assert cli.json("log", "orders")[0]["author"] == "me"
        cli.ok("config", "unset", "author", "--user")

    def test_doctor(self, cli, lake):
        checks = {check["name"]: check for check in json.loads(cli("doctor", "--json").out)}
        for name in ("python", "packages", "java", "spark", "disk", "settings", "catalog", "store"):
            assert checks[name]["state"] in ("ok", "note"), checks[name]

    def test_doctor_outside_a_lake(self, cli, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        assert "note     lake" in cli.ok("doctor")

    def test_deletes(self, cli, lake):
        cli.ok("project", "create", "shop")
        cli.ok("project", "delete", "shop", "--yes")
        cli.ok("repo", "delete", "orders", "--yes")
        assert cli.json("repo", "list") == []
        assert cli.ok("repo", "list").startswith("No repos yet")


def test_in_processes_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("a\n")
    for args in (
        ["init"],
        ["repo", "create", "orders"],
        ["put", "orders@main:/a.csv", "a.csv", "-m", "first"],
        ["branch", "create", "orders@side", "--from", "orders@main"],
        ["put", "orders@side:/b.csv", "a.csv"],
        ["merge", "orders@side", "orders@main"],
    ):
        result = process(*args)
        assert result.code == 0, result.err
    assert process("ls", "orders@main").out.split() == ["/a.csv", "/b.csv"]
    assert process("cat", "orders@main:/none").code == 3


def test_a_closed_pipe(lake):
    for number in range(300):
        (lake / "in" / f"{number:04}-{'x' * 200}").write_text("")
    assert process("put", "-r", "orders@main:/many", "in").code == 0
    read, write = os.pipe()
    os.close(read)
    import subprocess
    import sys

    done = subprocess.run(
        [sys.executable, "-m", "trunkline", "ls", "-r", "orders@main"],
        stdout=write,
        stderr=subprocess.PIPE,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (141, b"")


def test_get_says_what_erasure_left_out(cli, lake):
    cli.ok("cp", "orders@main:/a.csv", "orders@main:/copy.csv")
    said = cli.ok("erase", "orders:/a.csv", "--reason", "asked")
    assert "orders:/copy.csv shared these bytes, and has lost them too." in said
    assert "Left out 2 files erased on purpose." in cli.ok("get", "orders@main~1", "out")
    assert [path.name for path in (lake / "out").rglob("*.csv")] == ["b.csv"]
