"""Ways out: exit codes, the two shapes of an error, interrupts, closed pipes, bugs."""

import json
import re
import signal
import subprocess
import sys

import pytest

from tests.cli.run import process
from tests.test_surface import offered
from trunkline import errors
from trunkline.cli import entry, synonyms
from trunkline.cli.session import Session


class TestUsage:
    @pytest.mark.parametrize(
        "args, message",
        [
            (["ls"], "Missing argument 'REF'"),
            (["ls", "--bogus", "x"], "No such option: --bogus"),
            (["lss"], "Did you mean 'ls'"),
            (["repo", "lst"], "Did you mean 'list'"),
            (["log", "-n", "some", "orders"], "'some' is not a whole number"),
            (["ls", "a", "b"], "unexpected extra argument"),
        ],
    )
    def test_the_parsers_errors_have_our_shape(self, cli, args, message):
        result = cli(*args)
        assert (result.code, result.out) == (2, "")
        error, hint = result.err.splitlines()
        assert error.startswith("error: ")
        assert message in error
        assert hint.startswith("hint: See trunkline")
        as_json = cli(*args, "--json")
        assert as_json.code == 2
        assert json.loads(as_json.err)["code"] == "usage"

    def test_help_goes_to_stdout(self, cli):
        assert "Usage: trunkline repo create" in cli.ok("repo", "create", "--help")

    def test_version(self, cli):
        assert cli.ok("--version").startswith("trunkline 0.")


class TestErrors:
    @pytest.mark.parametrize("error", errors.TrunklineError.__subclasses__())
    def test_exit_code_and_shape_follow_from_the_class(self, cli, monkeypatch, error):
        def fail(self):
            raise error("The line\nbreaks.", hint="Mend it.")

        monkeypatch.setattr(Session, "open", fail)
        result = cli("ls", "x")
        assert result.code == error.exit_code
        assert result.err == "error: The line breaks.\nhint: Mend it.\n"
        assert json.loads(cli("ls", "x", "--json").err) == {
            "code": error.code,
            "message": "The line\nbreaks.",
            "hint": "Mend it.",
        }

    def test_a_bug_is_called_one(self, cli, monkeypatch):
        monkeypatch.setattr(Session, "open", lambda self: 1 / 0)
        result = cli("ls", "x")
        assert result.code == 1
        assert result.err.startswith("error: ZeroDivisionError: division by zero (this is a bug)")
        assert "Traceback" not in result.err

    def test_a_bug_in_full_for_who_asks(self, cli, monkeypatch):
        monkeypatch.setattr(Session, "open", lambda self: 1 / 0)
        monkeypatch.setenv("TRUNKLINE_DEBUG", "1")
        assert "Traceback" in cli("ls", "x").err

    def test_an_interrupt(self, cli, monkeypatch):
        def interrupt(self):
            raise KeyboardInterrupt

        monkeypatch.setattr(Session, "open", interrupt)
        result = cli("ls", "x")
        assert (result.code, result.err) == (130, "interrupted\n")

    def test_a_full_disk(self, cli, monkeypatch):
        def full(self):
            raise OSError(28, "No space left on device", "/x")

        monkeypatch.setattr(Session, "open", full)
        result = cli("ls", "x")
        assert result.code == 7
        assert result.err.startswith("error: The disk is full.")

    def test_a_closed_pipe_is_no_news(self, cli, monkeypatch):
        def closed(self):
            raise BrokenPipeError

        monkeypatch.setattr(Session, "open", closed)
        monkeypatch.setattr(entry, "_abandon_stdout", lambda: None)
        result = cli("ls", "x")
        assert (result.code, result.err) == (141, "")

    def test_no_lake(self, cli, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        result = cli("status")
        assert result.code == 3
        assert "There is no lake in" in result.err

    def test_a_server_that_does_not_answer(self, cli):
        result = cli("--lake", "http://127.0.0.1:9", "status")
        assert result.code == 7
        assert result.err.startswith("error: The server http://127.0.0.1:9 cannot be reached")

    def test_an_address_of_another_kind(self, cli):
        result = cli("--lake", "ftp://example.org", "status")
        assert result.code == 2
        assert "folders only" in result.err


class TestWordsOfOthers:
    @pytest.mark.parametrize(
        "typed, wanted",
        [
            ("create repo x", "repo create"),
            ("list repo", "repo list"),
            ("list file r@master", "ls REPO@BRANCH"),
            ("logs -p x", "job logs PIPELINE"),
            ("wait x", "job wait JOB"),
            ("inspect commit r@main", "commit inspect"),
            ("pipeline create -f x", "pipeline apply FILE"),
            ("pipeline update x", "pipeline apply FILE"),
            ("pipeline stop x", "pipeline pause NAME"),
            ("start pipeline x", "pipeline resume NAME"),
            ("job stop x", "job cancel JOB"),
            ("apply -f x", "pipeline apply FILE"),
            ("put r@main:/a -f x", "put REPO@BRANCH:/PATH FILE"),
            ("pipeline apply -f x", "pipeline apply FILE"),
            ("branch create r@b --head main", "branch create REPO@BRANCH --from REF"),
        ],
    )
    def test_they_lead_to_ours(self, cli, typed, wanted):
        result = cli(*typed.split())
        assert result.code == 2
        assert result.err.splitlines()[1] == f"hint: Here it is: trunkline {wanted}"
        assert "Did you mean" not in result.err

    def test_what_nobody_says_is_told_by_its_spelling(self, cli):
        assert "Did you mean 'why'?" in cli("pipeline", "whi").err

    def test_every_one_leads_to_a_command_that_is_there(self):
        known = set(offered())
        for command in {**synonyms._COMMANDS, **synonyms._OPTIONS}.values():
            for part in re.split(r", (?:then )?(?!as in)", command.removeprefix("NOUN")):
                words = part.replace("create, as in ", "").split()
                assert {" ".join(words[:1]), " ".join(words[:2])} & known or "as in" in part, part


class TestSharedOptions:
    @pytest.mark.parametrize("place", ["before", "after", "between"])
    def test_they_stand_anywhere(self, cli, lake, tmp_path_factory, monkeypatch, place):
        monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
        flags, group, word = ["--json", "--lake", lake], "repo", "list"
        args = {
            "before": [*flags, group, word],
            "after": [group, word, *flags],
            "between": [group, *flags, word],
        }[place]
        assert [repo["name"]["repo"] for repo in json.loads(cli.ok(*args))] == ["orders"]

    def test_from_the_environment(self, lake):
        assert (
            json.loads(process("repo", "list", TRUNKLINE_JSON="1").out)[0]["name"]["repo"]
            == "orders"
        )

    def test_quiet(self, cli, lake):
        assert cli.ok("repo", "create", "other", "-q") == ""

    def test_a_project_of_its_own(self, cli, lake):
        cli.ok("project", "create", "shop")
        cli.ok("--project", "shop", "repo", "create", "orders")
        assert cli.json("repo", "list", "--project", "shop")[0]["name"]["project"] == "shop"


class TestStreams:
    def test_an_interrupted_put_leaves_nothing(self, cli, lake):
        before = cli.json("log", "orders")
        command = [sys.executable, "-m", "trunkline", "put", "orders@main:/x", "-"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as running:
            assert running.stdin
            assert running.stderr
            running.stdin.write(bytes(4 << 20))
            running.stdin.flush()  # returns when nearly all of it has been read
            running.send_signal(signal.SIGINT)
            assert running.wait(90) == 130
            assert running.stderr.read() == b"interrupted\n"
        assert cli.json("log", "orders") == before
        cli.ok("gc", "--grace", "0s", "--yes")
        assert cli.json("fsck", "--deep")["unused_objects"] == 0

    def test_a_closed_stdout(self, lake):
        done = subprocess.run(
            f"{sys.executable} -m trunkline ls orders@main >&-",
            shell=True,
            capture_output=True,
        )
        assert (done.returncode, done.stderr) == (0, b"")

    def test_a_full_stdout(self, lake):
        done = subprocess.run(
            f"{sys.executable} -m trunkline ls orders@main >/dev/full",
            shell=True,
            capture_output=True,
        )
        assert done.returncode == 7
        assert done.stderr.startswith(b"error: The disk is full.")
        assert b"ignored" not in done.stderr

    def test_an_alphabet_that_lacks_our_letters(self, cli, lake):
        cli.ok("put", "orders@main:/日.csv", "in/a.csv")
        result = process("ls", "orders@main", PYTHONIOENCODING="ascii")
        assert (result.code, result.err) == (0, "")
        assert "/\\u65e5.csv" in result.out
