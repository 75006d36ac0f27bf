"""`trunkline abuse`, as an operator runs it."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.reliability.harness import cli
from trunkline.abuse.faults import run_within

pytestmark = pytest.mark.slow


def test_a_few_seconds_of_it_with_kills_lose_nothing(tmp_path):
    done = cli(
        "abuse", tmp_path / "lake", "--seconds", "8", "--clients", "4", "--workers", "0",
        "--kill", "--seed", "3", "--json",
    )  # fmt: skip
    report = json.loads(done.out)
    assert (done.code, report["lost"], report["wrong"]) == (0, [], [])
    assert sum(report["acts"].values()) > 0
    assert report["seed"] == 3


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--minutes", "1", "--seconds", "1"], 2, "one of them is enough"),
        (["--minutes", "0"], 2, "has to last"),
        (["--clients", "0"], 2, "at least one"),
        (["--servers", "2"], 2, "--catalog"),
        (["--catalog", "postgresql://db.example.org/x"], 2, "needs --store"),
        (["--store", "somewhere"], 2, "somewhere"),
        (["--disk", "--store", "s3://bucket/x"], 2, "--disk"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_made(tmp_path, options, code, said):
    done = cli("abuse", tmp_path / "lake", *options)
    assert done.code == code, done.err
    assert said in done.err
    assert not (tmp_path / "lake").exists()


def restarted(lake: Path, command: str) -> tuple[int, dict[str, Any]]:
    """A few seconds with nothing but restarts."""
    done = cli(
        "abuse", lake, "--seconds", "8", "--clients", "2", "--workers", "0", "--restart", command,
        "--json",
    )  # fmt: skip
    assert done.out, done.err
    report = json.loads(done.out)
    assert (report["lost"], report["wrong"]) == ([], [])
    return done.code, report


def test_a_fault_that_cannot_be_made_is_told_and_is_no_fault_of_the_lake(tmp_path):
    code, report = restarted(tmp_path / "lake", "echo no such database >&2; exit 3")
    assert code == 6
    (line,) = report["not_made"]
    assert "ended with 3: no such database" in line
    assert report["faults"] == {}


def test_a_restart_that_fails_is_tried_again(tmp_path):
    once = tmp_path / "once"
    code, report = restarted(tmp_path / "lake", f"test -e {once} || {{ touch {once}; exit 1; }}")
    assert (code, report["not_made"]) == (0, [])
    assert report["faults"]["catalog"] > 0


def test_a_restart_need_not_wait_for_what_it_started(tmp_path):
    """As `pg_ctl restart` does: the database has its output, and lives on."""
    assert run_within(f"sleep 100 & echo $! > {tmp_path}/pid", 60) == ""
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
    assert "did not end" in run_within("sleep 100", 0.1)


def test_a_folder_that_holds_anything_is_left_alone(tmp_path: Path):
    (tmp_path / "mine").write_text("mine")
    done = cli("abuse", tmp_path)
    assert done.code == 4
    assert "not empty" in done.err
    assert [one.name for one in tmp_path.iterdir()] == ["mine"]
