"""What deletes, asks: a person on a terminal, a script for --yes; --dry-run shows what would go."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.run import Cli

COMMANDS = (
    ("repo", "delete", "orders"),
    ("branch", "delete", "orders@dev"),
    ("tag", "delete", "orders@v1"),
    ("env", "delete", "try"),
    ("project", "delete", "shop"),
    ("forget", "orders@main~1"),
    ("gc", "--grace", "0"),
    ("gc", "--grace", "0s"),
)


@pytest.fixture
def full(cli: Cli, lake: Path) -> Path:
    cli.ok("branch", "create", "orders@dev")
    (lake / "new.csv").write_text("1\n")
    cli.ok("put", "orders@dev", lake / "new.csv")
    cli.ok("put", "orders@main", lake / "new.csv")
    cli.ok("tag", "create", "orders@v1", "orders@dev")
    cli.ok("project", "create", "shop")
    cli.ok("env", "create", "try")
    return lake


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_script_must_say_that_it_means_it(cli: Cli, full: Path, command: tuple[str, ...]):
    before = everything(cli)
    refused = cli(*command)
    assert refused.code == 2
    assert refused.out == ""
    assert refused.err.endswith("Nobody is there to answer.\nhint: To do it: --yes.\n")
    assert refused.err.count("\n") == 2
    assert everything(cli) == before


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_dry_run_asks_nothing_and_does_nothing(cli: Cli, full: Path, command: tuple[str, ...]):
    before = everything(cli)
    assert cli.ok(*command, "--dry-run")
    assert cli.json(*command, "--dry-run")
    assert everything(cli) == before


def everything(cli: Cli) -> list[str]:
    asked = (("repo", "list"), ("branch", "list", "orders"), ("tag", "list", "orders"),
             ("env", "list"), ("project", "list"), ("log", "orders", "--all"),
             ("log", "--deleted"))  # fmt: skip
    return [cli.ok(*one) for one in asked]


def test_it_is_said_what_would_go_and_for_how_long_it_can_be_had_back(cli: Cli, full: Path):
    cli.ok("env", "delete", "try", "--yes")
    cli.ok("gc", "--grace", "0", "--yes")
    assert cli.ok("tag", "delete", "orders@v1", "-n") == (
        "Deleting tag orders@v1 would remove no commit.\n"
        "It can be had back for 1 day, and then until gc runs: trunkline undelete.\n"
    )
    found = cli.json("repo", "delete", "orders", "-n")
    assert found["takes"] == ["branch dev", "branch main", "tag v1"]
    assert (found["commits"], found["refused"]) == (3, None)
    told = cli.ok("forget", "orders@main", "-n")
    assert told.startswith("This would be refused: ")
    assert told.endswith("It cannot be had back.\n")


def test_deleted_listed_and_had_back(cli: Cli, full: Path):
    cli.ok("env", "delete", "try", "--yes", "--force")
    cli.ok("gc", "--grace", "0", "--yes")
    cli.ok("branch", "delete", "orders@dev", "--yes")
    cli.ok("repo", "delete", "orders", "--yes")
    (listed,) = cli.json("log", "--deleted")
    assert (listed["kind"], listed["repo"]["repo"], listed["ref"]) == ("repo", "orders", "")
    assert "repo  orders  -" in cli.ok("log", "--deleted", "orders")
    assert cli.ok("log", "--deleted", "other") == "Nothing that can be had back.\n"
    cli.ok("repo", "create", "orders")
    taken = cli("undelete", "orders")
    assert taken.code == 4
    assert "--as OTHER" in taken.err
    assert cli.ok("undelete", "orders", "--as", "old") == "Repo old is back.\n"
    assert cli.ok("undelete", "old@dev") == "Branch old@dev is back.\n"
    nothing = cli("undelete", "orders@x")
    assert nothing.code == 3
    assert "log --deleted" in nothing.err


def test_a_log_of_nothing_is_asked_whose(cli: Cli, lake: Path):
    asked = cli("log")
    assert asked.code == 2
    assert "log --deleted" in asked.err


@pytest.mark.parametrize(("typed", "left"), [(b"y\n", False), (b"n\n", True), (b"\n", True)])
def test_on_a_terminal_it_is_asked_after_showing_what_would_go(
    cli: Cli, full: Path, typed: bytes, left: bool
):
    master, slave = pty.openpty()
    try:
        child = subprocess.Popen(
            [sys.executable, "-m", "trunkline", "branch", "delete", "orders@dev"],
            stdin=slave,
            stdout=subprocess.PIPE,
            stderr=slave,
            env={**os.environ},
        )
        os.write(master, typed)
        child.communicate(timeout=120)
        said = os.read(master, 10_000).decode()
    finally:
        os.close(slave)
        os.close(master)
    assert "would remove no commit" in said
    assert "Delete branch orders@dev? [y/N]" in said
    assert ("dev" in cli.ok("branch", "list", "orders")) is left
    assert (child.returncode == 0) is not left
