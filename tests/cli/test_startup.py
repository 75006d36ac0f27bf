"""The command starts in a blink: it imports nothing that it does not need."""

import json
import subprocess
import sys

import pytest

from trunkline import sdk

HEAVY = (
    "sqlalchemy", "alembic", "pyarrow", "numpy", "pandas", "pyspark", "pydantic", "rich", "yaml",
)  # fmt: skip
LIGHT_COMMANDS = (
    ["log", "orders"],
    ["log", "-n", "1", "--oneline", "orders"],
    ["ls", "orders@main"],
    ["status"],
    ["repo", "list"],
    ["put", "orders@main:/c.csv", "in/a.csv"],
    ["cat", "orders@main:/a.csv"],
    ["diff", "orders@main", "orders@main"],
    ["pipeline", "list"],
    ["pipeline", "inspect", "sizes"],
    ["pipeline", "versions", "sizes"],
    ["job", "list"],
    ["job", "inspect", "sizes@{job}"],
    ["job", "logs", "sizes@{job}"],
    ["datum", "list", "sizes@{job}"],
    ["backfill", "list"],
    ["pool", "list"],
    ["draw"],
)
SPEC = """\
{"pipeline": {"name": "sizes"}, "input": {"pfs": {"repo": "orders", "glob": "/*"}},
 "transform": {"cmd": ["true"]}, "schedule": {"cron": "0 6 * * *"}}
"""


@pytest.fixture(scope="module")
def piped(tmp_path_factory):
    """A lake with a pipeline whose job waits; nothing changes in it."""
    folder = tmp_path_factory.mktemp("lake")
    with sdk.init(folder) as lake:
        lake.create_repo("orders")
        for name in ("a.csv", "b.csv"):
            with lake.commit("orders@main") as commit:
                commit.put(f"/{name}", b"1\n")
        lake.apply(json.loads(SPEC))
        job = lake.run_pipeline("sizes")
    (folder / "in").mkdir()
    (folder / "in" / "a.csv").write_text("a\n")
    return folder, job


def imported(*args: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "trunkline", *args],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr.splitlines()[-2:]
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip().partition(".")[0] for line in lines}


@pytest.mark.parametrize("args", LIGHT_COMMANDS, ids=" ".join)
def test_a_light_command_imports_nothing_heavy(piped, args, monkeypatch):
    folder, job = piped
    monkeypatch.chdir(folder)
    found = imported(*(word.replace("{job}", job) for word in args))
    assert found.isdisjoint(HEAVY), found & {*HEAVY}


@pytest.mark.parametrize("args", [["ls", "orders@main"], ["log", "orders"], ["status"]])
def test_a_listing_needs_no_object_store_client(lake, args):
    assert "obstore" not in imported(*args)


def test_help_of_one_command(lake):
    assert imported("ls", "--help").isdisjoint({*HEAVY, "obstore", "sqlite3"})
