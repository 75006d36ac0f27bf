"""Environments on the command line, as far as nothing needs to run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.run import Cli

SPEC = """\
pipeline: {name: sizes}
input:
  pfs: {repo: orders, glob: "/no-such-file"}
transform:
  cmd: ["true"]
"""


@pytest.fixture
def dev(cli: Cli, lake: Path) -> Cli:
    Path("sizes.yaml").write_text(SPEC)
    Path("other.yaml").write_text(SPEC + "  env: {WORD: other}\n")
    cli.ok("pipeline", "apply", "sizes.yaml")
    cli.ok("env", "create", "dev")
    return cli


def test_create_list_and_delete(cli: Cli, lake: Path):
    assert cli.ok("env", "list") == "No environments: trunkline env create NAME.\n"
    said = cli.ok("env", "create", "dev", "--from", "main")
    assert said == "Created environment dev from main: 1 branch, 0 pipelines.\n"
    head, line = cli.ok("env", "list").splitlines()
    assert head.split() == ["NAME", "FROM", "CREATED", "BY"]
    assert line.split()[:2] == ["dev", "main"]
    assert cli.json("env", "list", "--all")[0]["project"] == "default"
    assert cli.ok("env", "status", "dev") == "dev is as main: 0 pipelines, no difference.\n"
    assert cli.ok("env", "diff", "dev") == "dev is as main: no difference.\n"
    assert cli.ok("env", "merge", "dev") == "Nothing to merge dev into main.\n"
    assert cli.ok("env", "sync", "dev") == "Nothing to sync dev with main.\n"
    assert cli.ok("env", "delete", "dev", "--yes") == "Deleted environment dev.\n"
    assert cli.json("env", "list") == []


def test_a_change_is_shown_reviewed_and_published(dev: Cli):
    assert "1 job waiting" not in dev.ok("pipeline", "apply", "other.yaml", "--env", "dev")
    Path("c.csv").write_text("c\n")
    dev.ok("put", "orders@dev:/c.csv", "c.csv")
    assert dev.ok("pipeline", "list", "--env", "dev").splitlines()[1].split()[:2] == ["sizes", "2"]
    assert dev.ok("pipeline", "list").splitlines()[1].split()[:2] == ["sizes", "1"]
    jobs = dev.ok("job", "list").splitlines()
    assert jobs[0].split()[:3] == ["JOB", "BRANCH", "STATE"]
    assert [line.split()[1] for line in jobs[1:]] == ["dev", "dev", "main"]

    shown = dev.ok("env", "status", "dev").splitlines()
    assert shown[0] == "dev: 0 pipelines as in main."
    assert re.fullmatch(r"sizes +2 +1  changed here +\w+", shown[3])
    assert shown[6].split() == ["orders@dev", "1", "0"]

    diff = dev.ok("env", "diff", "dev").splitlines()
    assert "pipeline sizes: changed here" in diff
    assert "+  env: {WORD: other}" in diff
    assert "orders@dev: files: 1 added (+2 B)" in diff
    assert "  + /c.csv" in diff, diff

    result = dev("env", "merge", "dev")
    assert result.code != 0
    assert result.err.splitlines() == [
        "error: Jobs of dev are not over: sizes.",
        "hint: Let them end first: trunkline run",
    ]
    dev.ok("run")
    assert dev.ok("env", "merge", "dev", "--dry-run").splitlines() == [
        "updated pipeline sizes: from version 2",
        "forwarded repo orders: 1 commit",
        "Would merge dev into main. Nothing was done.",
    ]
    *_, last = dev.ok("env", "merge", "dev").splitlines()
    assert re.fullmatch(
        r"Merged dev into main as \w{12}: 1 output taken over, nothing computed.", last
    )
    assert dev.ok("cat", "orders@main:/c.csv") == "c\n"
    dev.ok("env", "delete", "dev", "--yes")


def test_what_is_not_merged_goes_only_by_force(dev: Cli):
    dev.ok("pipeline", "apply", "other.yaml", "--env", "dev")
    result = dev("env", "delete", "dev", "--yes")
    assert result.err.splitlines() == [
        "error: dev has what main has not: sizes.",
        "hint: Merge it: trunkline env merge dev; or throw it away with --force.",
    ]
    dev.ok("env", "delete", "dev", "--force", "--yes")
    assert dev.json("job", "list")[0]["state"] == "killed"


def test_plan_run_and_delete_in_an_environment(dev: Cli):
    plan = dev.ok("plan", "other.yaml", "--env", "dev").splitlines()[1].split()
    assert plan[:3] == ["sizes", "update", "2"]
    assert dev.json("plan", "--env", "dev")["pipelines"][0]["name"]["repo"] == "sizes"
    assert dev.json("pipeline", "run", "sizes", "--env", "dev")["job"]
    assert (
        dev.ok("pipeline", "delete", "sizes", "--env", "dev", "--yes")
        == "Deleted pipeline sizes in dev.\n"
    )
    assert dev.json("pipeline", "list", "--env", "dev") == []
    assert dev.json("pipeline", "list")[0]["name"]["repo"] == "sizes"


@pytest.mark.parametrize(
    "words, error",
    [
        (("env", "status", "div"), 'There is no environment "div" in the project default.'),
        (("env", "create", "dev"), "The project default has an environment dev already."),
        (("env", "create", "x", "--from", "dev"), "An environment starts from main, not from dev."),
        (("env", "create", "a b"), '"a b" cannot be the name of a environment'),
        (("env", "sync", "dev", "--strategy", "mine"), '"mine" is no strategy.'),
        (("pipeline", "list", "--all", "--env", "dev"), "An environment is one project's"),
        (("pipeline", "apply", "sizes.yaml", "--env", "x"), 'There is no environment "x"'),
        (("branch", "delete", "orders@dev", "--yes"), "orders@dev belongs to the environment dev."),
    ],
    ids=" ".join,
)
def test_mistakes_are_told_in_a_line(dev: Cli, words: tuple[str, ...], error: str):
    result = dev(*words)
    assert result.code not in (0, 1)
    assert result.err.startswith(f"error: {error}")
    assert "Traceback" not in result.err


def test_the_graph_of_an_environment(dev: Cli):
    Path("more.yaml").write_text(SPEC.replace("sizes", "more").replace("orders", "sizes"))
    dev.ok("pipeline", "apply", "more.yaml", "--env", "dev")
    here = dev.json("draw", "--env", "dev")
    assert {node["name"]: node["kind"] for node in here["nodes"]} == {
        "orders": "repo", "sizes": "pipeline", "more": "pipeline",
    }  # fmt: skip
    assert ("sizes", "more") in [(edge["source"], edge["target"]) for edge in here["edges"]]
    details = {node["name"]: node["detail"] for node in here["nodes"]}
    assert details["sizes"].endswith("as on main"), "it has not run here"
    assert [node["name"] for node in dev.json("draw")["nodes"]] == ["orders", "sizes"]
    assert "more" in dev.ok("draw", "--env", "dev")
    assert "more" not in dev.ok("draw")
    wrong = dev("draw", "--env", "nosuch")
    assert wrong.err.startswith('error: There is no environment "nosuch" in the project default.')
    assert dev("draw", "--env", "dev", "--at", "1234").code == 2
