"""Jobs on the command line: run for real, then looked at from all sides."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.run import process
from tests.cli.test_terminal import on_a_terminal
from tests.spark import SHORT_LIVED_CONF

SPEC = """\
pipeline: {name: sizes}
input:
  pfs: {repo: orders, glob: "/*.csv"}
datum_tries: 1
transform:
  cmd: [sh]
  stdin:
    - cd pfs/orders
    - echo reading *
    - if grep -q bad *; then echo spoilt >&2; exit 3; fi
    - for f in *; do wc -c < $f > ../out/$f; done
---
pipeline: {name: total}
input:
  pfs: {repo: sizes, glob: /}
transform:
  cmd: [sh, -c, "cat pfs/sizes/* > pfs/out/all"]
"""
SLOW = """\
pipeline: {name: slow}
input:
  pfs: {repo: orders, glob: "/*.csv"}
transform:
  cmd: [sleep, "600"]
"""


@pytest.fixture
def graph(cli, lake, monkeypatch):
    monkeypatch.setenv("TRUNKLINE_SPARK_CONF", SHORT_LIVED_CONF)
    Path("graph.yaml").write_text(SPEC)
    Path("slow.yaml").write_text(SLOW)
    return lake


@pytest.mark.slow
def test_a_graph_from_apply_to_lineage(cli, graph, spark):
    cli.ok("pipeline", "apply", "graph.yaml", "--quiet")
    ran = cli.ok("run")
    sizes, total = (rf"{name}@\w{{12}}" for name in ("sizes", "total"))
    assert re.fullmatch(
        rf"▸ {sizes}  applied\n"
        r"(?:Starting Spark\nSpark is ready \([\d.]+ s\)\n)?"
        rf"✓ {sizes}  1 datum: 1 ran \([\d.]+s\)\n"
        rf"▸ {total}  applied\n"
        rf"✓ {total}  1 datum: 1 ran \([\d.]+s\)\n"
        r"2 jobs in [\d.]+s\.\n",
        ran,
    ), ran
    assert cli.ok("run") == "Nothing to run.\n"

    Path("in/c.csv").write_text("bad\n")
    commit = cli.json("put", "orders@main:/c.csv", "in/c.csv")["id"]
    failed = cli("run", "--json")
    assert failed.code == 1
    assert failed.err == ""
    assert [(one["pipeline"]["repo"], one["state"]) for one in failed.json["jobs"]] == [
        ("sizes", "failure"),
        ("total", "unrunnable"),
    ]
    job = f"sizes@{commit[:12]}"
    page = cli.ok("job", "inspect", job)
    assert re.search(
        r"^State: +failure: 1 of 2 datums failed: .*c\.csv: exited with 3$", page, re.M
    )
    assert "2 datums: 1 skipped, 1 failed" in page
    assert f"trunkline datum list {job} --state failed" in page
    assert cli("job", "wait", job).code == 1

    (datum,) = cli.json("datum", "list", job, "--state", "failed")
    assert datum["inputs"][0]["path"] == "/c.csv"
    assert "Error:    exited with 3" in cli.ok("datum", "inspect", job, datum["id"][:8])
    assert cli("datum", "inspect", job, "f00").code == 3
    lines = [json.loads(line) for line in cli.ok("job", "logs", job, "--json").splitlines()]
    assert [(one["stream"], one["text"]) for one in lines[:2]] == [
        ("out", "reading c.csv"),
        ("err", "spoilt"),
    ]
    said = cli.ok("job", "logs", job, "--datum", datum["id"])
    assert re.match(r"\d\d:\d\d:\d\d  reading", said)
    assert cli.json("job", "list", "--state", "unrunnable")[0]["pipeline"]["repo"] == "total"

    Path("in/c.csv").write_text("good\n")
    cli.ok("put", "orders@main:/c.csv", "in/c.csv")
    plan = cli.ok("plan").splitlines()
    assert plan[1].split()[:7] == ["sizes", "unchanged", "1", "1", "0", "1", "0"]
    events = on_a_terminal("run")
    assert "\x1b[32m✓ sizes@" in events
    assert "2 jobs in" in events
    assert cli.ok("cat", "total@main:/all") == "2\n5\n"

    tree = cli.ok("lineage", "total@main:/all")
    assert re.search(r"^│? +.─ sizes@\w+:/a\.csv .*by sizes v1", tree, re.MULTILINE)
    assert re.search(r"orders@\w+:/c\.csv", tree)
    assert "used by" not in cli.ok("lineage", "sizes@main:/a.csv", "--up")
    below = cli.json("lineage", "orders@main:/a.csv", "--down")
    assert below["up"] == []
    assert [one["repo"]["repo"] for one in below["down"]] == ["sizes"]
    assert cli.ok("lineage", "orders@main", "--dot").startswith("digraph")
    assert cli.ok("draw").splitlines() == [
        "╭────────╮   ┌─────────┐   ┌─────────┐",
        "│ orders │──▶│ ✓ sizes │──▶│ ✓ total │",
        "╰────────╯   └─────────┘   └─────────┘",
        "",
        "✓ success",
    ]
    assert {node["name"] for node in cli.json("draw")["nodes"]} == {"orders", "sizes", "total"}
    assert cli.ok("draw", "--dot").startswith("digraph")
    assert "Pipelines: 2, no job waits\n" in cli.ok("status")

    said = cli.ok("erase", "orders@main:/c.csv", "--yes")
    assert "Logs of 2 datums that read or wrote it are gone too.\n" in said
    left = cli.ok("job", "logs", job)
    assert "what this datum printed was erased" in left
    assert "spoilt" not in left


@contextmanager
def started(*args: str) -> Iterator[tuple[subprocess.Popen[str], Iterator[str]]]:
    """A command that runs beside the test, and its lines; it is gone when the test is."""
    run = subprocess.Popen(
        [sys.executable, "-m", "trunkline", *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
    )
    watch = threading.Timer(180, run.kill)
    watch.start()
    try:
        assert run.stdout is not None
        yield run, iter(run.stdout)
    finally:
        watch.cancel()
        if run.poll() is None:
            run.kill()
        run.communicate()


@pytest.mark.slow
def test_ctrl_c_lets_go_of_what_runs(cli, graph):
    cli.ok("pipeline", "apply", "slow.yaml")
    with started("run") as (run, lines):
        assert any("ready" in line for line in lines)
        time.sleep(1)
        os.killpg(run.pid, signal.SIGINT)
        assert any("· slow@" in line for line in lines)
        assert run.wait(120) == 130
        assert run.stderr is not None
        assert run.stderr.read() == "interrupted\n"
    (job,) = cli.json("job", "list")
    assert (job["state"], job["reason"]) == ("waiting", "its worker stopped")


@pytest.mark.slow
def test_a_worker_stops_when_asked_to(cli, graph):
    cli.ok("pipeline", "apply", "graph.yaml")
    seen = []
    with started("worker", "--name", "one", "--json") as (worker, lines):
        for line in lines:
            seen.append(json.loads(line))
            if seen[-1]["event"] == "ended" and seen[-1]["job"]["pipeline"]["repo"] == "total":
                break
        worker.terminate()
        assert worker.wait(120) == 0
    assert [one["event"] for one in seen if one["event"] != "spark"] == [
        "started", "ended", "started", "ended",
    ]  # fmt: skip
    assert {one["job"]["worker"] for one in seen if one["event"] == "started"} == {"one"}


def test_a_secret_comes_from_stdin(cli, lake):
    assert process("secret", "set", "token", stdin=b"hush\n").out == "Set the secret token.\n"
    listed = process("secret", "list")
    assert listed.out.split() == ["NAME", "token"]
    cli.ok("secret", "delete", "token")
    assert cli.ok("secret", "list") == "No secrets.\n"
