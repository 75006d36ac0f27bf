"""What commands print of a lake, in its folder and through a server, is the same to the letter."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import trunkline as tl
from tests.cli.run import Cli
from tests.served import DOOR

# Not status, which says where the server is, nor token list, which says when ours was used.
COMMANDS = """
project list
repo list --all-projects
repo inspect orders
branch list orders
tag list orders
log orders
log --graph orders
log --oneline orders
commit list orders@main
commit inspect orders@v1
show orders@main
ls orders@main
ls -r orders@main:/day=1
ls orders@nobody
ls nothing@main
glob orders@main:/**.csv
cat orders@main:/day=1/b.csv
cat orders@main:/nothing.csv
diff orders@main~1 orders@main
diff orders@main~1 orders@main --stat
merge orders@side orders@main --dry-run
table head orders@main:/day=1
table schema orders@main:/day=1
table list
table profile orders@main:/day=1
table diff orders@v1:/day=1 orders@main:/day=1 --key one
sql FROM%"orders:/day=1"
sql FROM%nothing
sql FROM%orders%WHERE
pipeline list
pipeline inspect copy
pipeline inspect cpoy
pipeline versions copy
plan
draw
job list
job inspect copy@main
datum list copy@nothing
lineage orders@main:/a.csv
lineage copy@main
stream list
ingest list
pool list
secret list
checks list
backfill list
user list
role list
fsck --deep
gc --dry-run
"""


@pytest.fixture
def folder(cli: Cli, lake: Path) -> Path:
    cli.ok("tag", "create", "orders@v1", "orders@main")
    cli.ok("branch", "create", "orders@side", "--from", "orders@main")
    Path("in/day=1/b.csv").write_text("one,two\n1,2\n3,4\n")
    for branch in ("main", "side"):
        cli.ok("put", "-r", f"orders@{branch}:/", "in", "-m", f"more on {branch}")
    Path("copy.json").write_text(
        json.dumps(
            {
                "pipeline": {"name": "copy"},
                "input": {"pfs": {"repo": "orders", "glob": "/*"}},
                "transform": {"cmd": ["true"]},
            }
        )
    )
    cli.ok("pipeline", "apply", "copy.json")
    cli.ok("user", "create", "ada", "--no-password")
    return lake


def test_answers(cli: Cli, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    commands = [
        [word.replace("%", " ") for word in line.split()] for line in COMMANDS.strip().splitlines()
    ]
    with tl.open(folder) as lake:
        token = lake.create_token(owner=lake.create_user("root", roles={"lake": "admin"}).name)
        here = [said(cli, words) for words in commands]
        (tmp_path / "away").mkdir()
        monkeypatch.chdir(tmp_path / "away")
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        with DOOR.to(lake, authenticated=True) as url:
            monkeypatch.setenv("TRUNKLINE_LAKE", url)
            monkeypatch.setenv("TRUNKLINE_TOKEN", token.token)
            there = [said(cli, words) for words in commands]
    for words, expected, found in zip(commands, here, there, strict=True):
        assert found == expected, words


def said(cli: Cli, words: list[str]) -> list[str]:
    """The exit code, and what is printed: for people, then as JSON."""
    plain, as_json = cli(*words), cli(*words, "--json")
    return [str(plain.code), plain.out, plain.err, str(as_json.code), as_json.out, as_json.err]
