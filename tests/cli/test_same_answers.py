"""What commands print of a lake, in its folder and through a server, is the same to the letter."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

import trunkline as tl
from tests.cli.run import Cli
from tests.flows import INGEST, batch, stream_of
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


# What a command prints with --json, and where the API answers the same. Lists are its pages.
ROUTES = """
project list > /projects
repo list > /repos?project=default
tag list orders > /repos/default/orders/tags
commit list orders@main > /repos/default/orders/commits
commit inspect orders@v1 > /repos/default/orders/commits/v1
show orders@main > /sets/HEAD
ls orders@main > /repos/default/orders/files?at=main
glob orders@main:/**.csv > /repos/default/orders/glob?at=main&pattern=/**.csv
diff orders@main~1 orders@main > /diff?old=orders@main~1&new=orders@main
merge orders@side orders@main --dry-run > POST /merge {"source": "orders@side", "target": "orders@main", "dry_run": true}
table schema orders@main:/day=1 > /repos/default/orders/table?at=main&path=/day=1
table list > /tables?project=default
table history orders@main:/day=1 > /repos/default/orders/table/history?at=main&path=/day=1
table profile orders@main:/day=1 > /tables/profile?ref=orders@main:/day=1
table diff orders@v1:/day=1 orders@main:/day=1 --key one > /tables/diff?old=orders@v1:/day=1&new=orders@main:/day=1&key=one
pipeline list > /pipelines?project=default
plan > /projects/default/plan
job list > /jobs?project=default
lineage orders@main:/a.csv > /lineage?ref=orders@main:/a.csv
draw > /graph?project=default
stream list > /streams?project=default
ingest list > /ingests?project=default
pool list > /pools
env list > /environments?project=default
env status dev > /projects/default/environments/dev
env diff dev > /projects/default/environments/dev/diff
user list > /users
user inspect ada > /users/ada
token list > /tokens
stream batches sessions > /streams/default/sessions/batches
stream status sessions > /streams/default/sessions
checks list > /checks?project=default
egress list > /deliveries?project=default
audit > /audit
fsck > POST /fsck {}
gc --dry-run > POST /gc {"dry_run": true}
"""  # noqa: E501


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


@pytest.mark.slow
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


def test_the_api_answers_what_json_shows(cli: Cli, folder: Path):
    with tl.open(folder) as lake:
        lake.apply(stream_of("orders"))
        lake.apply(INGEST)
        with lake.commit("orders@main", message="more") as commit:
            commit.put("/c.csv", b"one,two\n5,6\n")
        batch(lake, "sessions", {"orders": commit.result.id}, {"late": 1}, watermark=1)
        batch(lake, "feed", {"value": 7}, {"rows": 7}, rows_in=8)
        lake.create_environment("dev")
        lake.create_branch("orders@gone")
        lake.delete_branch("orders@gone")
        lake.create_user("root", roles={"lake": "admin"})
        token = lake.create_token(owner="root").token
        head = lake.commit_info("orders@main").id
        with DOOR.to(lake, authenticated=True) as url:
            client = httpx2.Client(
                base_url=f"{url}/api/v1", headers={"Authorization": f"Bearer {token}"}
            )
            with client:
                wrong = [
                    line
                    for line in ROUTES.strip().splitlines()
                    if _shown(cli, line) != _answered(client, line.replace("HEAD", head))
                ]
    assert wrong == []


def _shown(cli: Cli, line: str) -> object:
    return _without_now(cli.json(*line.partition(" > ")[0].split()))


def _without_now(found: Any) -> Any:
    """All but when it was asked."""
    if isinstance(found, list):
        return [_without_now(one) for one in found]
    return {name: value for name, value in found.items() if name != "now"}


def _answered(client: httpx2.Client, line: str) -> object:
    place = line.partition(" > ")[2]
    if place.startswith("POST "):
        _, where, body = place.split(" ", 2)
        answer = client.post(where, json=json.loads(body))
    else:
        answer = client.get(place)
    assert answer.is_success, (line, answer.text)
    found = answer.json()
    return _without_now(found.get("items", found))
