"""`trunkline abuse`, as an operator runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.reliability.harness import cli


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


def test_a_folder_that_holds_anything_is_left_alone(tmp_path: Path):
    (tmp_path / "mine").write_text("mine")
    done = cli("abuse", tmp_path)
    assert done.code == 4
    assert "not empty" in done.err
    assert [one.name for one in tmp_path.iterdir()] == ["mine"]
