"""The command starts in a blink: it imports nothing that it does not need."""

import subprocess
import sys

import pytest

HEAVY = ("sqlalchemy", "alembic", "pyarrow", "numpy", "pandas", "pyspark", "pydantic", "rich")
LIGHT_COMMANDS = (
    ["log", "orders"],
    ["log", "-n", "1", "--oneline", "orders"],
    ["ls", "orders@main"],
    ["status"],
    ["repo", "list"],
    ["put", "orders@main:/c.csv", "in/a.csv"],
    ["cat", "orders@main:/a.csv"],
    ["diff", "orders@main", "orders@main"],
)


def imported(*args: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "trunkline", *args],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr.splitlines()[-2:]
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip().partition(".")[0] for line in lines}


@pytest.mark.parametrize("args", LIGHT_COMMANDS, ids=" ".join)
def test_a_light_command_imports_nothing_heavy(lake, args):
    assert imported(*args).isdisjoint(HEAVY)


@pytest.mark.parametrize("args", [["ls", "orders@main"], ["log", "orders"], ["status"]])
def test_a_listing_needs_no_object_store_client(lake, args):
    assert "obstore" not in imported(*args)


def test_help_of_one_command(lake):
    assert imported("ls", "--help").isdisjoint({*HEAVY, "obstore", "sqlite3"})
